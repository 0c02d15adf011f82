// The user who is logged in. The page holds an access token in memory only; the password is exchanged for it at once.

import { computed, signal } from "@preact/signals";

export interface Session {
  /** The access token. */
  token: string;
  tenant: string;
  user: string;
  roles: Set<string>;
  /** The ids of the devices and groups for which the user has rights in addition to its roles. */
  permitted: string[];
}

export const session = signal<Session | null>(null);
/** The reason why the log-in page is shown again. */
export const loggedOutBecause = signal("");

/**
 * Returns whether the user holds one of the roles. The server decides in any case; this only hides actions that it
 * would reject.
 */
export const can = (...roles: string[]) => roles.some((role) => session.value?.roles.has(role));
/** Like `can`, but also true for users with permissions on single devices, for whom the server filters lists. */
export const canSee = (...roles: string[]) => can(...roles) || !!session.value?.permitted.length;
/** The token, which stays the same when the rights of the user change. */
export const token = computed(() => session.value?.token);
export const isManagement = computed(() => session.value?.tenant === "management");

/** Encodes `tenant/user:password` as the value of `Authorization`, in UTF-8. */
export function basic(user: string, password: string): string {
  const bytes = new TextEncoder().encode(`${user}:${password}`);
  return `Basic ${btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""))}`;
}

export const bearer = (token: string) => `Bearer ${token}`;

/** Takes the token that the server wrote into the page, because the browser keeps the log-in. */
export function tokenOfPage(): string | undefined {
  const given = document.querySelector<HTMLMetaElement>('meta[name="platform-token"]');
  given?.remove();
  return given?.content;
}

/** The reasons for which the identity provider did not log somebody in, by the word in the address of the page. */
const REFUSALS = new Map([
  ["begin", "This browser has not begun the log-in, or too long ago. Begin again."],
  ["refused", "The identity provider refused the log-in."],
  ["unconfirmed", "The identity provider did not confirm the log-in. Try again."],
  ["token", "The identity provider confirmed the log-in in a way that the server does not accept."],
  ["user", "The identity provider does not say who you are here."],
  ["password", "There is a user with your name that logs in with a password."],
  ["disabled", "Your user is disabled."],
  ["unoffered", "There is no log-in with an identity provider at this address."],
  ["busy", "Too many log-ins come from your address. Try again in a minute."],
]);

/** Takes the reason for which the identity provider did not log in the visitor out of the address of the page. */
export function refusalOfPage(): string {
  const word = new URLSearchParams(location.search).get("sso");
  if (word === null) return "";
  history.replaceState(history.state, "", location.pathname + location.hash);
  return REFUSALS.get(word) ?? "The log-in with the identity provider did not work. Try again.";
}

export function logOut(because = ""): void {
  loggedOutBecause.value = because;
  session.value = null;
}
