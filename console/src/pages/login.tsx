// The log-in page.

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { get } from "../api";
import { asError } from "../load";
import { logIn } from "../log_in";
import type { LoginOptionCollection } from "../reference";
import { loggedOutBecause } from "../session";
import { Field } from "../ui/kit";

export function LogIn() {
  const error = useSignal("");
  const busy = useSignal(false);
  const provider = useSignal<string | undefined>(undefined);
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
    [busy.value, error.value] = [true, ""];
    try {
      await logIn(String(form.get("user")).trim(), String(form.get("password")));
      loggedOutBecause.value = "";
    } catch (failed) {
      const { status, message } = asError(failed);
      error.value = status === 401 ? "User or password is wrong." : message;
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
    </main>
  );
}
