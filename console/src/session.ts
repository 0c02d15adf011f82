// The user who is logged in. Credentials are kept in memory, or in the storage of the tab if the user chooses so.

import { computed, signal } from "@preact/signals";

/** The key in sessionStorage, which belongs to one tab and one origin. */
const KEPT = "platform-console";

export interface Session {
  /** The credentials as they follow `Basic` in `Authorization`. */
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
/** The credentials, which stay the same when the rights of the user change. */
export const token = computed(() => session.value?.token);
export const isManagement = computed(() => session.value?.tenant === "management");

/** Encodes `tenant/user:password` as Basic credentials, in UTF-8. */
export function tokenOf(user: string, password: string): string {
  const bytes = new TextEncoder().encode(`${user}:${password}`);
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}

export function kept(): string | null {
  try {
    return sessionStorage.getItem(KEPT);
  } catch {
    return null;
  }
}

export function keep(token: string | null): void {
  try {
    if (token) sessionStorage.setItem(KEPT, token);
    else sessionStorage.removeItem(KEPT);
  } catch {
    // Without storage the session lasts as long as the page.
  }
}

export function logOut(because = ""): void {
  keep(null);
  loggedOutBecause.value = because;
  session.value = null;
}
