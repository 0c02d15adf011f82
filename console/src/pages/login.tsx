// The log-in page.

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { ApiError, get } from "../api";
import { asError } from "../load";
import { beginSetUp, type Begun, CODE_MISSING, CODE_WRONG, logIn, NOT_SET_UP, WRONG_CODE } from "../log_in";
import { CodeField, SetUp } from "../parts/second_factor";
import type { LoginOptionCollection } from "../reference";
import { loggedOutBecause } from "../session";
import { Field } from "../ui/kit";

export function LogIn() {
  const error = useSignal("");
  const busy = useSignal(false);
  const provider = useSignal<string | undefined>(undefined);
  const asksCode = useSignal(false);
  const begun = useSignal<Begun | null>(null);
  const first = useRef<HTMLInputElement>(null);
  useEffect(() => {
    document.title = "Log in · platform";
    first.current?.focus();
    // Without a response, the log-in with a password works nevertheless.
    get<LoginOptionCollection>("/tenant/loginOptions").then(
      ({ loginOptions }) => {
        provider.value = loginOptions.find(({ type }) => type === "OAUTH2")?.initRequest;
      },
      () => undefined,
    );
  }, []);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.target as HTMLFormElement);
    const [user, password] = [String(form.get("user")).trim(), String(form.get("password"))];
    [busy.value, error.value] = [true, ""];
    try {
      await logIn(user, password, String(form.get("code") ?? "").trim());
      loggedOutBecause.value = "";
    } catch (failed) {
      const { status, message } = asError(failed);
      const reason = failed instanceof ApiError ? failed.reason : "";
      if (reason === CODE_MISSING) asksCode.value = true;
      else if (reason === NOT_SET_UP)
        begun.value = await beginSetUp(user, password).catch((problem) => ((error.value = problem.message), null));
      else if (reason === CODE_WRONG) error.value = WRONG_CODE;
      else error.value = status === 401 ? "User or password is wrong." : message;
    } finally {
      busy.value = false;
    }
  };
  return (
    <main class="login">
      <form class="card" onSubmit={submit}>
        <svg viewBox="0 0 120 32" class="wave" aria-hidden="true">
          <path d="M2 18h22l10-13 14 24 11-16 6 5h53" />
        </svg>
        <h1>platform</h1>
        {loggedOutBecause.value && (
          <p class="notice warn" role="alert">
            {loggedOutBecause.value}
          </p>
        )}
        <Field label="User" hint="tenant/user, such as main/admin. Without a tenant, the address decides.">
          <input ref={first} name="user" autocomplete="username" autocapitalize="none" spellcheck={false} required />
        </Field>
        <Field label="Password">
          <input name="password" type="password" autocomplete="current-password" required />
        </Field>
        {asksCode.value && <CodeField isRequired={false} />}
        {error.value && (
          <p class="problem" role="alert">
            {error.value}
          </p>
        )}
        <button type="submit" class="primary" disabled={busy.value}>
          {busy.value ? "Logging in" : "Log in"}
        </button>
        {provider.value && <a href={provider.value}>Log in with the identity provider</a>}
      </form>
      {begun.value && (
        <section class="card" aria-label="Second factor">
          <p>A group to which you belong requires a second factor. Set it up, and log in with the next code.</p>
          <SetUp begun={begun.value} onDone={() => ([begun.value, asksCode.value] = [null, true])} />
        </section>
      )}
    </main>
  );
}
