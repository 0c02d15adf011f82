// The proof that the tenant has the private key of an authority: a code that is signed with it.

import { useSignal } from "@preact/signals";
import { call } from "../../api";
import type { TrustedCertificate } from "../../reference";
import { now, Time } from "../../time";
import { Action, Dialog, Field, Form, tell, type WindowProps } from "../../ui/kit";
import { codeOf, signatureOf, signingCommand } from "../../values/certificates";
import { addressOfProof } from "./address";

export function Proof({ of, onClose, onChanged }: WindowProps & { of: TrustedCertificate }) {
  const authority = useSignal(of);
  const code = codeOf(authority.value, now.value);
  const request = async () => {
    authority.value = await call<TrustedCertificate>("POST", `${addressOfProof(of)}/verification-code`);
    onChanged();
  };
  const send = async (form: FormData) => {
    const file = form.get("file") as File;
    const bytes = file.size > 0 ? await file.arrayBuffer() : new TextEncoder().encode(String(form.get("signed")));
    const signed = signatureOf(new Uint8Array(bytes));
    if (!signed) throw new Error("Paste the signed code, or choose the file that contains it.");
    await call("POST", `${addressOfProof(of)}/pop`, { body: { proofOfPossessionSignedVerificationCode: signed } });
    tell(`You have proven that you have the key of ${of.name}. Its certificates log in devices now.`);
    onChanged();
    onClose();
  };
  return (
    <Dialog title={`Prove the key of ${of.name}`} onClose={onClose}>
      <p>
        Whoever has the private key signs a code with it. Otherwise anybody could name the authority of somebody else,
        and receive its devices.
      </p>
      {code ? (
        <Form send={send} action="Prove" beside={<Action run={request}>Another code</Action>}>
          <p>
            Code: <code class="secret">{code}</code>{" "}
            <span class="faint">
              to be signed by <Time at={authority.value.proofOfPossessionVerificationCodeUsableUntil} />
            </span>
          </p>
          <p>This command signs it, where the key is:</p>
          <pre tabIndex={0}>{signingCommand(code, "authority.key")}</pre>
          <Field label="Signed code" hint="What the command printed, in base64.">
            <textarea name="signed" rows={3} class="code" spellcheck={false} />
          </Field>
          <Field label="Or a file with the signed code" hint="In base64, or as openssl dgst writes it.">
            <input name="file" type="file" />
          </Field>
        </Form>
      ) : (
        <Action class="primary" run={request}>
          Request a code
        </Action>
      )}
    </Dialog>
  );
}
