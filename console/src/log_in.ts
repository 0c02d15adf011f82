// Logging in and out. The password is exchanged for an access token, which the browser keeps in a cookie that no script
// can read, and which is renewed while the console is used.

import { ApiError, call, get, replacing, sessionOf } from "./api";
import type { AccessToken } from "./reference";
import { basic, bearer, logOut, session } from "./session";

/** A token is renewed no more often than this. */
const SHORTEST_MS = 1000;
/** Timers of browsers last no longer. */
const LONGEST_MS = 2 ** 31 - 1;
let renewal = 0;
/** Whether the user logged in with the identity provider, and so logs out there, too. */
let isOfProvider = false;
/** Whether a renewal is due, which waits until the tab is shown. */
let isDue = false;

/** Logs in with `tenant/user` or `user`. */
export async function logIn(user: string, password: string): Promise<void> {
  const body = { name: `Console, ${navigator.platform || "a browser"}` };
  const made = await call<AccessToken>("POST", "/user/currentUser/tokens", {
    authorization: basic(user, password),
    body,
  });
  const token = made.accessToken!;
  // Where the browser keeps nothing, the log-in lasts as long as the page.
  await call("PUT", "/console/login", { authorization: bearer(token), keepsCookie: true }).catch(() => undefined);
  session.value = await sessionOf(token);
  isOfProvider = false;
  renewAfter(made.expiresIn);
}

/** Continues with the token that the browser kept. */
export async function resume(token: string): Promise<void> {
  const kept = await get<AccessToken>("/user/currentUser/tokens/current", { authorization: bearer(token) });
  session.value = await sessionOf(token);
  isOfProvider = kept.identityProvider !== undefined;
  renewAfter(kept.expiresIn);
}

/** Revokes the token, which logs out every tab, and continues at the identity provider if the user logged in there. */
export async function endLogIn(): Promise<void> {
  clearTimeout(renewal);
  try {
    await call("DELETE", "/user/currentUser/tokens/current");
    logOut();
    if (isOfProvider) location.assign("/console/sso/logout");
  } catch (error) {
    if (!session.peek()) return;
    const { message } = error as Error;
    logOut(
      `This tab is logged out, but the server could not revoke the log-in, which lasts until it expires: ${message}`,
    );
  }
}

/**
 * Changes the password of the user. All its tokens are revoked, so it logs in again with the new password.
 */
export async function changePassword(present: string, password: string): Promise<void> {
  const { tenant, user } = session.peek()!;
  const name = `${tenant}/${user}`;
  replacing.on = true;
  try {
    await call("PUT", "/user/currentUser", { authorization: basic(name, present), body: { password } });
    await logIn(name, password);
  } catch (error) {
    throw error instanceof ApiError && error.status === 401 ? new Error("The present password is wrong.") : error;
  } finally {
    replacing.on = false;
  }
}

function renewAfter(seconds: number): void {
  clearTimeout(renewal);
  isDue = false;
  renewal = window.setTimeout(due, Math.min(LONGEST_MS, Math.max(SHORTEST_MS, seconds * 500)));
}

function due(): void {
  isDue = document.hidden;
  if (!isDue) void renew();
}

async function renew(): Promise<void> {
  const { token } = session.peek() ?? {};
  if (!token) return;
  try {
    const { expiresIn } = await call<AccessToken>("PUT", "/user/currentUser/tokens/current");
    if (session.peek()?.token === token) renewAfter(expiresIn);
  } catch {
    // A refusal has ended the log-in. Otherwise it is tried again.
    if (session.peek()?.token === token) renewAfter(10);
  }
}

document.addEventListener("visibilitychange", () => isDue && due());
