// Requests to the server. Errors contain the message of the server.

import { isCut } from "./cut";
import type { CurrentTenant, CurrentUser, Statistics, User } from "./reference";
import { bearer, logOut, type Session, session } from "./session";
import { type Params, path, withQuery } from "./values/addresses";

export { path, withQuery };

export class ApiError extends Error {
  constructor(
    /** The status of the response; 0 when there was none. */
    readonly status: number,
    message: string,
    /** The member `error` of the response. */
    readonly reason = "",
  ) {
    super(message);
  }
}

export interface Options {
  body?: unknown;
  /** The media type of a text body. */
  type?: string;
  accept?: string;
  /** The value of `Authorization` instead of the token of the user who is logged in. */
  authorization?: string;
  /** The code of the second factor. */
  code?: string;
  /** Whether the browser keeps the cookie of the response. */
  keepsCookie?: boolean;
  signal?: AbortSignal;
  /** The `ETag` without which the server changes nothing. */
  ifMatch?: string;
}

const UNREACHABLE = "The server cannot be reached. Check that it is running and that the network is up.";

async function send(method: string, path: string, options: Options): Promise<Response> {
  const token = session.value?.token;
  const authorization = options.authorization ?? (token && bearer(token));
  const headers: Record<string, string> = { Accept: options.accept ?? "application/json" };
  if (authorization) headers.Authorization = authorization;
  if (options.ifMatch) headers["If-Match"] = options.ifMatch;
  if (options.code) headers.TFAToken = options.code;
  let body: BodyInit | undefined;
  if (options.body instanceof FormData || options.body instanceof Blob) body = options.body;
  else if (options.type) [body, headers["Content-Type"]] = [String(options.body), options.type];
  else if (options.body !== undefined)
    [body, headers["Content-Type"]] = [JSON.stringify(options.body), "application/json"];
  if (isCut.peek()) throw new ApiError(0, UNREACHABLE);
  try {
    // The request uses no stored credentials, because the browser would otherwise open its own password window after a
    // 401.
    const credentials = options.keepsCookie ? "same-origin" : "omit";
    return await fetch(path, { method, headers, body, credentials, signal: options.signal });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new ApiError(0, UNREACHABLE);
  }
}

/** The body of an error; empty if a proxy responded. */
function errorOf(body: string): { error?: string; message?: string } {
  try {
    return JSON.parse(body);
  } catch {
    return {};
  }
}

const CHANGED = "Somebody else has changed it meanwhile, so nothing was saved. Close this window and begin again.";

async function failure(response: Response): Promise<ApiError> {
  if (response.status === 412) return new ApiError(412, CHANGED);
  const { error, message } = errorOf(await response.text().catch(() => ""));
  return new ApiError(response.status, message ?? `${response.status} ${response.statusText}`, error);
}

/** A value as the server has it, with its `ETag`. */
export interface Tagged<T> {
  value: T;
  /** Absent if the server is of an earlier version. */
  tag?: string;
}

async function exchange<T>(method: string, path: string, options: Options): Promise<Tagged<T>> {
  const used = session.peek()?.token;
  const response = await send(method, path, options);
  // A request that began before the user changed its password says nothing about the new log-in.
  if (response.status === 401 && !options.authorization && used) ended(used);
  if (response.status === 403 && !options.authorization) refreshRights();
  if (!response.ok) throw await failure(response);
  const text = await response.text();
  const isJson = response.headers.get("Content-Type")?.includes("json");
  const value = (text && isJson ? JSON.parse(text) : text) as T;
  return { value, tag: response.headers.get("ETag") ?? undefined };
}

/** Sends a request and returns the JSON of the response. */
export const call = async <T = unknown>(method: string, path: string, options: Options = {}): Promise<T> =>
  (await exchange<T>(method, path, options)).value;

/** Reads a value that is to be changed with `ifMatch`. */
export const getTagged = <T>(path: string) => exchange<T>("GET", path, {});

export const get = <T>(path: string, options?: Options) => call<T>("GET", path, options);

/** Like `get`, but `null` for a server of an earlier version, which does not have the path. */
export const getIfKnown = <T>(path: string) =>
  get<T>(path).catch((error) => (error.status === 404 ? null : Promise.reject(error)));

/** Sends a file as a form and reports its progress from 0 to 1, which `fetch` cannot do. */
export function upload<T>(path: string, file: File, progress: (part: number) => void): Promise<T> {
  const form = new FormData();
  form.append("file", file);
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", path);
    request.setRequestHeader("Accept", "application/json");
    request.setRequestHeader("Authorization", bearer(session.value?.token ?? ""));
    request.upload.onprogress = (event) => event.lengthComputable && progress(event.loaded / event.total);
    request.onerror = () => reject(new ApiError(0, UNREACHABLE));
    request.onload = () => {
      if (request.status < 400) resolve(JSON.parse(request.responseText) as T);
      else {
        const { message } = errorOf(request.responseText);
        reject(new ApiError(request.status, message ?? `${request.status} ${request.statusText}`));
      }
    };
    request.send(form);
  });
}

/**
 * Returns the number of members of a collection without reading them, or `null` where the server does not count: for
 * users who see a part of the collection only.
 */
export async function count(path: string, params: Params): Promise<number | null> {
  const page = await get<{ statistics: Statistics }>(withQuery(path, { ...params, pageSize: 1, withTotalPages: true }));
  return page.statistics.totalPages ?? null;
}

/** Saves the content of a response as a file. */
export async function download(path: string, name: string): Promise<void> {
  const response = await send("GET", path, { accept: "*/*" });
  if (!response.ok) throw await failure(response);
  const address = URL.createObjectURL(await response.blob());
  const anchor = Object.assign(document.createElement("a"), { href: address, download: name });
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** While the user changes its password, its old token is refused before there is a new one. */
export const replacing = { on: false };

/** Ends a log-in that the server no longer accepts: it expired or was revoked, or the user was changed. */
function ended(token: string): void {
  if (!replacing.on && session.peek()?.token === token)
    logOut("The server no longer accepts your log-in. Log in again.");
}

/** Returns the user of a token with its rights. */
export async function sessionOf(token: string): Promise<Session> {
  const authorization = bearer(token);
  const tenant = await get<CurrentTenant>("/tenant/currentTenant", { authorization });
  let me: CurrentUser | undefined;
  try {
    me = await get<CurrentUser>("/user/currentUser", { authorization });
  } catch (error) {
    // A user without the right to read its own record can log in nevertheless.
    if (!(error instanceof ApiError) || error.status !== 403) throw error;
  }
  const name = tenant.name;
  const roles = new Set(me?.effectiveRoles?.map((role) => role.name));
  const permitted = me && !READS_ALL.every((role) => roles.has(role)) ? await permittedTo(me, name, token) : [];
  return { token, tenant: name, user: me?.userName ?? "unknown user", roles, permitted };
}

/** Whoever holds these roles needs no rights for single devices. */
const READS_ALL = [
  "ROLE_INVENTORY_READ",
  "ROLE_ALARM_READ",
  "ROLE_EVENT_READ",
  "ROLE_MEASUREMENT_READ",
  "ROLE_DEVICE_CONTROL_READ",
];

/** Returns the ids for which the user has rights itself or by its groups, which the current user does not contain. */
async function permittedTo(me: CurrentUser, tenant: string, token: string): Promise<string[]> {
  const authorization = bearer(token);
  const user = await get<User>(path`/user/${tenant}/users/${me.userName}`, { authorization }).catch(() => null);
  const ofGroups = user?.groups.references.map(({ group }) => group.devicePermissions ?? {}) ?? [];
  return [...new Set([me.devicePermissions ?? {}, ...ofGroups].flatMap(Object.keys))];
}

/** Rights are read again at most this often. */
const REFRESH_MS = 5_000;
let refreshed = -REFRESH_MS;
let isWaiting = false;

/**
 * Reads the rights of the user again after a refusal, so that the menu and the buttons match them. Credentials that are
 * no longer accepted end the log-in.
 */
export async function refreshRights(): Promise<void> {
  const { token } = session.peek() ?? {};
  if (!token || isWaiting) return;
  isWaiting = true;
  await new Promise((resolve) => setTimeout(resolve, refreshed + REFRESH_MS - performance.now()));
  [isWaiting, refreshed] = [false, performance.now()];
  try {
    const now = await sessionOf(token);
    const before = session.peek();
    if (before?.token !== token) return;
    const rights = ({ roles, permitted }: Session) => [...roles, ...permitted].sort().join();
    if (rights(now) !== rights(before)) session.value = now;
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) ended(token);
  }
}
