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

export function logOut(because = ""): void {
  loggedOutBecause.value = because;
  session.value = null;
}
