// The revoked certificates of an authority: by serial number, or by the list that the authority published.

import { call } from "../../api";
import { useList } from "../../list";
import { ReasonField } from "../../parts/device_certificates";
import type { RevokedCertificate, TrustedCertificate } from "../../reference";
import { Time } from "../../time";
import { Dialog, Field, Form, tell, type WindowProps } from "../../ui/kit";
import { States } from "../../ui/loaded";
import { ask } from "../../ui/question";
import { type SmallColumn, SmallTable } from "../../ui/small_table";
import { ListStanding, MoreRows } from "../../ui/standing";
import { addressOf } from "./address";

const COLUMNS: SmallColumn<RevokedCertificate>[] = [
  ["Serial number", (one) => <code>{one.serialNumber}</code>],
  ["Revoked", (one) => <Time at={one.revocationTime} />],
  ["Reason", (one) => one.reason ?? <span class="faint">–</span>],
];

interface RevokedProps extends WindowProps {
  of: TrustedCertificate;
  mayChange: boolean;
}

export function Revoked({ of, mayChange, onClose, onChanged }: RevokedProps) {
  const list = useList<RevokedCertificate>({
    path: `${addressOf(of)}/revoked-certificates`,
    member: "revokedCertificates",
    keyOf: (one) => `${one.serialNumber} ${one.revocationTime}`,
  });
  const revoked = () => {
    onChanged();
    onClose();
  };
  return (
    <Dialog title={`Revoked certificates of ${of.name}`} onClose={onClose}>
      <p class="faint">
        <ListStanding of={list} noun="certificate" />
      </p>
      <States of={list} isEmpty={(rows) => rows.length === 0} empty={<p>None of its certificates is revoked.</p>}>
        {(rows) => <SmallTable class="failures" label="Revoked certificates" columns={COLUMNS} rows={rows} />}
      </States>
      <MoreRows of={list} noun="certificate" />
      {mayChange && <BySerial of={of} onChanged={revoked} />}
      {mayChange && <ByList of={of} onChanged={revoked} />}
    </Dialog>
  );
}

function BySerial({ of, onChanged }: { of: TrustedCertificate; onChanged: () => void }) {
  const send = async (data: FormData) => {
    const serialNumber = String(data.get("serialNumber")).trim();
    const question = {
      title: `Revoke the certificate ${serialNumber} of ${of.name}?`,
      text: "The sessions of its device end at once. This is final.",
      button: "Revoke certificate",
    };
    if (!(await ask(question))) return;
    const body = { serialNumber, reason: String(data.get("reason")).trim() || undefined };
    await call("POST", `${addressOf(of)}/revoked-certificates`, { body });
    tell(`The certificate ${serialNumber} is revoked.`);
    onChanged();
  };
  return (
    <Form send={send} action="Revoke">
      <Field label="Serial number" hint="Hexadecimal digits. A certificate can be revoked before its first use.">
        <input name="serialNumber" required spellcheck={false} autocomplete="off" />
      </Field>
      <ReasonField />
    </Form>
  );
}

function ByList({ of, onChanged }: { of: TrustedCertificate; onChanged: () => void }) {
  const send = async (data: FormData) => {
    const file = data.get("file") as File;
    const question = {
      title: `Revoke all certificates of the list ${file.name}?`,
      text: "The sessions of their devices end at once. This is final: a later list without them changes nothing.",
      button: "Revoke these certificates",
    };
    if (!(await ask(question))) return;
    await call("PUT", `${addressOf(of)}/crl`, { body: new Blob([file], { type: "application/pkix-crl" }) });
    tell(`All certificates of ${file.name} are revoked.`);
    onChanged();
  };
  return (
    <Form send={send} action="Revoke all of the list">
      <Field label="List of revoked certificates" hint="A CRL that the authority signed, in PEM or DER, up to 8 MiB.">
        <input name="file" type="file" required accept=".crl,.pem,.der,application/pkix-crl" />
      </Field>
    </Form>
  );
}
