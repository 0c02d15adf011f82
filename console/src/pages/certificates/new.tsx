// The windows for a further authority: one of the company or of a manufacturer, or one that the platform makes.

import { useSignal } from "@preact/signals";
import { call } from "../../api";
import type { TrustedCertificate } from "../../reference";
import { Dialog, Field, Form, FormDialog, tell, type WindowProps } from "../../ui/kit";
import { ID_SOURCES, pemOf } from "../../values/certificates";
import { addressOfAuthorities } from "./address";

/** The choice whether certificates register devices that have no user yet. */
export function RegistersField({ isChecked = false }: { isChecked?: boolean }) {
  return (
    <label class="check">
      <input type="checkbox" name="registers" defaultChecked={isChecked} /> Its certificates register devices that have
      no user yet
    </label>
  );
}

export function DaysField({ days }: { days: number }) {
  return (
    <Field label="Days for which it issues certificates" hint="1 to 3650">
      <input name="days" type="number" required min={1} max={3650} defaultValue={days} />
    </Field>
  );
}

interface NewProps {
  onClose: () => void;
  onCreated: (authority: TrustedCertificate) => void;
}

export function NewAuthority({ onClose, onCreated }: NewProps) {
  const pem = useSignal("");
  const choose = async (event: Event) => {
    const file = (event.target as HTMLInputElement).files?.[0];
    if (file) pem.value = pemOf(new Uint8Array(await file.arrayBuffer()));
  };
  const send = async (form: FormData) => {
    const made = await call<TrustedCertificate>("POST", addressOfAuthorities(), {
      body: {
        name: String(form.get("name")).trim(),
        certInPemFormat: pem.value,
        deviceIdFrom: form.get("deviceIdFrom"),
        autoRegistrationEnabled: form.has("registers"),
      },
    });
    tell(`${made.name} was added. Its certificates count when you have proven that you have its private key.`);
    onCreated(made);
  };
  return (
    <Dialog title="Trust an authority" onClose={onClose}>
      <Form send={send} action="Add">
        <Field label="Name">
          <input name="name" required autocomplete="off" />
        </Field>
        <Field label="File with its certificate" hint="PEM or DER, one certificate, without its private key.">
          <input type="file" accept=".pem,.crt,.cer,.der,application/x-x509-ca-cert" onChange={choose} />
        </Field>
        <Field label="Certificate in PEM">
          <textarea
            rows={6}
            class="code"
            required
            spellcheck={false}
            placeholder="-----BEGIN CERTIFICATE-----"
            value={pem.value}
            onInput={(event) => (pem.value = event.currentTarget.value)}
          />
        </Field>
        <Field label="Id of a device" hint="The part of its certificate that is the id. It cannot be changed later.">
          <select name="deviceIdFrom">
            {Object.entries(ID_SOURCES).map(([source, text]) => (
              <option key={source} value={source}>
                {text}
              </option>
            ))}
          </select>
        </Field>
        <RegistersField />
      </Form>
    </Dialog>
  );
}

export function PlatformAuthority({ onClose, onChanged }: WindowProps) {
  const send = async (form: FormData) => {
    const made = await call<TrustedCertificate>("POST", "/certificate-authority", {
      body: { name: String(form.get("name")).trim() || undefined, deviceCertificateDays: Number(form.get("days")) },
    });
    tell(`The platform issues certificates of ${made.name} now.`);
  };
  return (
    <FormDialog title="Authority of the platform" onClose={onClose} onChanged={onChanged} send={send} action="Make it">
      <p>
        The platform makes a key, which never leaves it, and issues certificates to devices that enroll (EST). An
        earlier authority of the platform stays trusted and issues no more.
      </p>
      <Field label="Name">
        <input name="name" autocomplete="off" />
      </Field>
      <DaysField days={365} />
    </FormDialog>
  );
}
