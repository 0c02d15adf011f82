// Logging in and out. The password is exchanged for an access token, which the browser keeps in a cookie that no script
// can read, and which is renewed while the console is used.

import { ApiError, call, get, replacing, sessionOf } from "./api";
import type { AccessToken, RecoveryCodes, TotpSecret } from "./reference";
import { basic, bearer, logOut, session } from "./session";

export const WRONG_CODE = "The code is wrong or was used before. Wait for the next one.";

/** A token is renewed no more often than this. */
const SHORTEST_MS = 1000;
/** Timers of browsers last no longer. */
const LONGEST_MS = 2 ** 31 - 1;
let renewal = 0;
/** Whether the user logged in with the identity provider, and so logs out there, too. */
let isOfProvider = false;
/** Whether a renewal is due, which waits until the tab is shown. */
let isDue = false;

/** The reasons for which the server refuses a right password. */
export const CODE_MISSING = "security/Second Factor Required";
export const CODE_WRONG = "security/Second Factor Wrong";
export const NOT_SET_UP = "security/Second Factor Not Set Up";

const SECRET = "/user/currentUser/totpSecret";

/** Logs in with `tenant/user` or `user`, and with a code if the user has a second factor. */
export async function logIn(user: string, password: string, code?: string): Promise<void> {
  const body = { name: `Console, ${navigator.platform || "a browser"}` };
  const made = await call<AccessToken>("POST", "/user/currentUser/tokens", {
    authorization: basic(user, password),
    code,
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

/** A second factor that no code has confirmed yet. */
export interface Begun {
  authorization: string;
  secret: TotpSecret;
}

/** Requests the secret of a second factor, with the password. */
export async function beginSetUp(user: string, password: string): Promise<Begun> {
  const authorization = basic(user, password);
  return { authorization, secret: await call<TotpSecret>("POST", SECRET, { authorization }) };
}

/** Confirms the second factor with a code, and returns the recovery codes. */
export const confirmSetUp = ({ authorization }: Begun, code: string): Promise<string[]> =>
  call<RecoveryCodes>("POST", `${SECRET}/verify`, { authorization, body: { code } }).then((made) => made.recoveryCodes);

/** Removes the second factor, with a code. */
export const removeSecondFactor = (code: string) => call("DELETE", SECRET, { authorization: authorizationNow(), code });

/** A wrong code is no reason to end the log-in, as another 401 would be. */
const authorizationNow = () => bearer(session.peek()!.token);

/**
 * Changes the password of the user, with a code if it has a second factor. All its tokens are revoked, so it logs in
 * again with the new password; with a second factor, it needs the next code for that.
 */
export async function changePassword(present: string, password: string, code?: string): Promise<void> {
  const { tenant, user } = session.peek()!;
  const name = `${tenant}/${user}`;
  replacing.on = true;
  try {
    await call("PUT", "/user/currentUser", { authorization: basic(name, present), code, body: { password } });
    if (code) return logOut("Your password was changed. Log in with it and with the next code.");
    await logIn(name, password);
  } catch (error) {
    if (error instanceof ApiError && error.reason === CODE_WRONG) throw new Error(WRONG_CODE);
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
