// The certificates by which devices log in: their state, and the button that revokes one.

import { useRef } from "preact/hooks";
import { call, path, withQuery } from "../api";
import { type List, useList } from "../list";
import type { DeviceCertificate } from "../reference";
import { session } from "../session";
import { now, Time } from "../time";
import { Action, Field, StatusMark } from "../ui/kit";
import { stateOfCertificate } from "../values/certificates";

const address = () => path`/tenant/tenants/${session.value!.tenant}/device-certificates`;

/** Lists the certificates of the devices of the tenant, or of one user. */
export const useDeviceCertificates = (user: string): List<DeviceCertificate> =>
  useList<DeviceCertificate>({
    path: address(),
    member: "deviceCertificates",
    params: { user },
    keyOf: (one) => one.fingerprint,
  });

export function CertificateState({ of: one }: { of: DeviceCertificate }) {
  return (
    <>
      <StatusMark of={stateOfCertificate(one, now.value)} />
      {one.revocationTime && (
        <span class="faint">
          {" "}
          <Time at={one.revocationTime} />
        </span>
      )}
    </>
  );
}

/** The field for the reason of a revocation. */
export function ReasonField({ note }: { note?: (reason: string) => void }) {
  return (
    <Field label="Reason" hint="It is shown with the serial number among the revoked certificates.">
      <input name="reason" maxLength={200} autocomplete="off" onInput={(event) => note?.(event.currentTarget.value)} />
    </Field>
  );
}

export function Revoke({ of: one, onChanged }: { of: DeviceCertificate; onChanged: () => void }) {
  const reason = useRef("");
  if (one.revocationTime) return null;
  const question = () => {
    reason.current = "";
    return Promise.resolve({
      title: `Revoke the certificate ${one.serialNumber} of ${one.user}?`,
      text: (
        <>
          The sessions of the device end at once. This is final: the device needs another certificate.
          <ReasonField note={(text) => (reason.current = text)} />
        </>
      ),
      button: "Revoke certificate",
    });
  };
  const revoke = () =>
    call("DELETE", withQuery(address() + path`/${one.fingerprint}`, { reason: reason.current.trim() })).then(onChanged);
  return (
    <Action
      class="small"
      label={`Revoke the certificate ${one.serialNumber} of ${one.user}`}
      confirm={question}
      run={revoke}
      done={`The certificate of ${one.user} is revoked.`}>
      Revoke
    </Action>
  );
}
