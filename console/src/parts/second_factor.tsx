// Setting up a second factor: the secret for the authenticator, a code that confirms it, and the recovery codes.

import { useSignal } from "@preact/signals";
import { type Begun, confirmSetUp } from "../log_in";
import { Button, Field, Form } from "../ui/kit";
import { QrCode } from "../ui/qr";

export function CodeField({ isRequired = true }: { isRequired?: boolean }) {
  return (
    <Field label="Code" hint="The six digits that your authenticator shows, or a recovery code.">
      <input name="code" autocomplete="one-time-code" autocapitalize="none" spellcheck={false} required={isRequired} />
    </Field>
  );
}

/** The steps after the secret was requested. `onDone` runs when the person has seen the recovery codes. */
export function SetUp({ begun, onDone }: { begun: Begun; onDone: () => void }) {
  const codes = useSignal<string[] | null>(null);
  const send = async (form: FormData) => {
    codes.value = await confirmSetUp(begun, String(form.get("code")).replaceAll(" ", ""));
  };
  if (codes.value)
    return (
      <div class="stacked" role="status">
        <p>
          The second factor is set up. Keep these recovery codes: each replaces the authenticator once, and they are not
          shown again.
        </p>
        <ul class="codes" aria-label="Recovery codes">
          {codes.value.map((code) => (
            <li key={code}>
              <code>{code}</code>
            </li>
          ))}
        </ul>
        <Button class="primary" onClick={onDone}>
          I have saved the codes
        </Button>
      </div>
    );
  return (
    <Form send={send} action="Confirm">
      <p>Scan this code with an authenticator, such as the app of your phone:</p>
      <QrCode of={begun.secret.uri} label="The secret, for the camera" />
      <p>
        Or enter the secret in it, or in your password manager: <code class="secret">{begun.secret.secret}</code>
      </p>
      <p class="hint">
        On this device, <a href={begun.secret.uri}>this link</a> opens the authenticator.
      </p>
      <Field label="Code" hint="The six digits that the authenticator shows then.">
        <input name="code" autocomplete="one-time-code" inputMode="numeric" required />
      </Field>
    </Form>
  );
}
