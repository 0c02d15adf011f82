// What is known of an authority, and its settings.

import { call } from "../../api";
import type { TrustedCertificate } from "../../reference";
import { Time } from "../../time";
import { Dialog, FactList, Field, Form, tell, type WindowProps } from "../../ui/kit";
import { ID_SOURCES } from "../../values/certificates";
import { addressOf } from "./address";
import { DaysField, RegistersField } from "./new";

interface DetailsProps extends WindowProps {
  of: TrustedCertificate;
  mayChange: boolean;
}

export function Details({ of: one, mayChange, onClose, onChanged }: DetailsProps) {
  const send = async (form: FormData) => {
    const days = one.tenantCertificateAuthority ? Number(form.get("days")) : undefined;
    const name = String(form.get("name")).trim();
    await call("PUT", addressOf(one), {
      body: { name, autoRegistrationEnabled: form.has("registers"), deviceCertificateDays: days },
    });
    tell(`The authority ${name} was changed.`);
    onChanged();
    onClose();
  };
  return (
    <Dialog title={`Details of ${one.name}`} onClose={onClose}>
      <FactList
        of={[
          ["Subject", one.subject],
          ["Issuer", one.issuer],
          ["Serial number", <code>{one.serialNumber}</code>],
          ["Fingerprint", <code>{one.fingerprint}</code>],
          ["Valid from", <Time at={one.notBefore} />],
          ["Valid until", <Time at={one.notAfter} />],
          ["Id of a device", ID_SOURCES[one.deviceIdFrom]],
        ]}
      />
      <details>
        <summary>Certificate in PEM</summary>
        <pre tabIndex={0}>{one.certInPemFormat}</pre>
      </details>
      {mayChange && (
        <Form send={send} action="Save">
          <Field label="Name">
            <input name="name" required defaultValue={one.name} autocomplete="off" />
          </Field>
          <RegistersField isChecked={one.autoRegistrationEnabled} />
          {one.tenantCertificateAuthority && <DaysField days={one.deviceCertificateDays ?? 365} />}
        </Form>
      )}
    </Dialog>
  );
}
