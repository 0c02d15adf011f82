// The certificate authorities that the tenant trusts.

import { useSignal } from "@preact/signals";
import { call } from "../../api";
import type { List } from "../../list";
import type { TrustedCertificate } from "../../reference";
import { now, Time } from "../../time";
import { Action, Button, StatusMark } from "../../ui/kit";
import { ListCard } from "../../ui/loaded";
import { type SmallColumn, SmallTable } from "../../ui/small_table";
import { ID_SOURCES, issuingOf, shortOf, stateOfAuthority } from "../../values/certificates";
import { addressOf } from "./address";
import { Details } from "./details";
import { NewAuthority, PlatformAuthority } from "./new";
import { Proof } from "./proof";
import { Revoked } from "./revoked";

/** A window of the page. */
type Opened = { kind: "details" | "proof" | "revoked"; of: TrustedCertificate } | { kind: "new" | "platform" };
type Open = (opened: Opened) => void;

export function Authorities(props: { of: List<TrustedCertificate>; mayChange: boolean; onChanged: () => void }) {
  const { of, mayChange, onChanged } = props;
  const open = useSignal<Opened | null>(null);
  const show: Open = (opened) => (open.value = opened);
  const opened = open.value;
  const close = () => (open.value = null);
  const issuing = issuingOf(of.data.value ?? [], now.value);
  const columns: SmallColumn<TrustedCertificate>[] = [
    [
      "Authority",
      (one) => (
        <>
          <b>{one.name}</b> <span class="faint">{one.subject}</span>{" "}
          {one.tenantCertificateAuthority && (
            <span class="mark">{one === issuing ? "issues certificates" : "of the platform"}</span>
          )}
        </>
      ),
    ],
    ["Fingerprint", (one) => <code title={one.fingerprint}>{shortOf(one.fingerprint)}</code>],
    ["Id of the device", (one) => ID_SOURCES[one.deviceIdFrom]],
    ["New devices", (one) => (one.autoRegistrationEnabled ? "register" : "refused")],
    ["Valid until", (one) => <Time at={one.notAfter} />],
    ["Private key", (one) => (one.proofOfPossessionValid ? "proven" : "not proven")],
    ["State", (one) => <StatusMark of={stateOfAuthority(one, now.value)} />],
    ["Actions", (one) => <Actions of={one} mayChange={mayChange} show={show} onChanged={onChanged} />, "actions"],
  ];
  return (
    <ListCard
      title="Trusted authorities"
      of={of}
      noun="trusted certificate"
      empty={<p>The tenant trusts no authority, so its devices log in with passwords.</p>}
      actions={
        mayChange && (
          <>
            <Button onClick={() => show({ kind: "platform" })}>Authority of the platform</Button>
            <Button class="primary" onClick={() => show({ kind: "new" })}>
              Trust an authority
            </Button>
          </>
        )
      }
      below={
        opened && <WindowOf opened={opened} show={show} mayChange={mayChange} onClose={close} onChanged={onChanged} />
      }>
      {(list) => (
        <SmallTable
          label="Authorities"
          columns={columns}
          rows={list}
          rowClass={(one) => (one.status === "DISABLED" ? "past" : undefined)}
        />
      )}
    </ListCard>
  );
}

interface OpenedProps {
  opened: Opened;
  show: Open;
  mayChange: boolean;
  onClose: () => void;
  onChanged: () => void;
}

function WindowOf({ opened, show, mayChange, onClose, onChanged }: OpenedProps) {
  const created = (of: TrustedCertificate) => {
    onChanged();
    show({ kind: "proof", of });
  };
  switch (opened.kind) {
    case "new":
      return <NewAuthority onClose={onClose} onCreated={created} />;
    case "platform":
      return <PlatformAuthority onClose={onClose} onChanged={onChanged} />;
    case "details":
      return <Details of={opened.of} mayChange={mayChange} onClose={onClose} onChanged={onChanged} />;
    case "proof":
      return <Proof of={opened.of} onClose={onClose} onChanged={onChanged} />;
    case "revoked":
      return <Revoked of={opened.of} mayChange={mayChange} onClose={onClose} onChanged={onChanged} />;
  }
}

function Actions(props: { of: TrustedCertificate; mayChange: boolean; show: Open; onChanged: () => void }) {
  const { of: one, mayChange, show, onChanged } = props;
  const remove = {
    title: `Delete the authority ${one.name}?`,
    text:
      "The sessions of its devices end at once, and they log in by it no more. What is known about their certificates " +
      "is deleted, also which of them are revoked.",
    button: "Delete authority",
    typed: one.name.trim(),
  };
  return (
    <span class="row-actions">
      {mayChange && !one.proofOfPossessionValid && (
        <Button class="small" label={`Prove the key of ${one.name}`} onClick={() => show({ kind: "proof", of: one })}>
          Prove
        </Button>
      )}
      <Button class="small" label={`Details of ${one.name}`} onClick={() => show({ kind: "details", of: one })}>
        Details
      </Button>
      <Button class="small" label={`Revoked by ${one.name}`} onClick={() => show({ kind: "revoked", of: one })}>
        Revoked
      </Button>
      {mayChange && <Switch of={one} onChanged={onChanged} />}
      {mayChange && (
        <Action
          class="small"
          label={`Delete the authority ${one.name}`}
          confirm={remove}
          run={() => call("DELETE", addressOf(one)).then(onChanged)}
          done={`The authority ${one.name} was deleted.`}>
          Delete
        </Action>
      )}
    </span>
  );
}

/** The button that disables an authority, or enables a disabled one. */
function Switch({ of: one, onChanged }: { of: TrustedCertificate; onChanged: () => void }) {
  const setStatus = (status: TrustedCertificate["status"]) => () =>
    call("PUT", addressOf(one), { body: { status } }).then(onChanged);
  if (one.status === "DISABLED")
    return (
      <Action class="small" label={`Enable the authority ${one.name}`} run={setStatus("ENABLED")}>
        Enable
      </Action>
    );
  const question = {
    title: `Disable the authority ${one.name}?`,
    text: "The sessions of its devices end at once, and they stay out until it is enabled again.",
    button: "Disable authority",
  };
  return (
    <Action class="small" label={`Disable the authority ${one.name}`} confirm={question} run={setStatus("DISABLED")}>
      Disable
    </Action>
  );
}
