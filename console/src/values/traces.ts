// Traces of notifications, what they record, and what a diagnosis finds.

import type { NotificationTrace, NotificationTraceRecord } from "../reference";

export type Receiver = "user" | "session" | "consumer";

/** The kinds of receivers of a change, with the name of the field that identifies one. */
export const RECEIVERS: [kind: Receiver, text: string, field: string][] = [
  ["user", "a user", "Name of the user"],
  ["session", "a session", "Id of the session"],
  ["consumer", "a consumer", "Name of the consumer"],
];

/** A change that is explained: of what, for whom, and since when. */
export interface Question {
  id: string;
  kind: Receiver;
  name: string;
  /** A time of the server's format; empty for the last ten minutes. */
  since: string;
}

/** Returns the question that an address contains. Its parts may be empty. */
export function questionOf(params: URLSearchParams): Question {
  const kind = RECEIVERS.find(([kind]) => params.get(kind))?.[0] ?? "user";
  return { id: params.get("id") ?? "", kind, name: params.get(kind) ?? "", since: params.get("since") ?? "" };
}

/** Returns the parameters of the address of a question. */
export const paramsOf = ({ id, kind, name, since }: Question): Record<string, string> => ({
  ...Object.fromEntries(RECEIVERS.map(([kind]) => [kind, ""])),
  id,
  [kind]: name,
  since,
});

export type Tone = "good" | "bad" | "neutral";

const GOOD = new Set(["PUBLISHED", "SENT", "IN_LIST", "ACKNOWLEDGED"]);
const BAD = new Set([
  "UNKNOWN_OBJECT",
  "NO_CHANGE",
  "NOT_PUBLISHED",
  "NO_USER",
  "NO_SESSION",
  "SESSION_BEGAN_LATER",
  "SESSION_ENDED",
  "DENIED",
  "REFUSED",
  "THROTTLED",
  "REQUEST_FAILED",
  "NOT_SUBSCRIBED",
  "FILTER",
  "MODULE_NOT_DEPLOYED",
  "LAPSED",
  "NOT_IN_JOURNAL",
]);

/** Returns whether the cause of a finding, or the type of a record, brings a notification to its receiver. */
export const toneOf = (cause: string): Tone => (GOOD.has(cause) ? "good" : BAD.has(cause) ? "bad" : "neutral");

/** What a new trace is about. Without members it is about the whole tenant. */
export type Subject = Partial<Pick<NotificationTrace, "device" | "user" | "session">>;

/** Returns a subject in words, to follow a preposition. */
export function subjectInWords({ device, user, session }: Subject): string {
  if (device !== undefined) return `the device ${device}`;
  if (user !== undefined) return `the user ${user}`;
  return session === undefined ? "the whole tenant" : `the session ${shortened(session)}`;
}

/** The characters of a session's id that tell it apart from others. */
const SHOWN = 8;
export const shortened = (session: string) => `${session.slice(0, SHOWN)}…`;

/** The records of a trace as they are read again and again. */
export interface Followed {
  /** The newest records, the last one first. */
  rows: Row[];
  /** The number of records that were read, whether they are kept or not. */
  total: number;
  /** The time from which the next request reads; absent before the first record. */
  since?: string;
  /** Whether the server has more records than it returned. */
  isBehind: boolean;
  /** The times of the records that the next response may repeat. */
  seen: Map<string, number>;
}

export interface Row {
  number: number;
  record: NotificationTraceRecord;
}

/** The most records that a page keeps. */
export const KEPT = 500;
/** The most records of a response. */
export const FULL = 1000;
/** Requests overlap by this, because the records of another server arrive later, or its clock is slow. */
const OVERLAP_MS = 2000;

export const NOTHING: Followed = { rows: [], total: 0, isBehind: false, seen: new Map() };

/**
 * Adds the records of a response. Those that an earlier response had are left out. They are compared as a whole,
 * because two servers may have the same name and the same numbers.
 */
export function follow(before: Followed, records: NotificationTraceRecord[]): Followed {
  const seen = new Map(before.seen);
  const added: Row[] = [];
  for (const record of records) {
    const key = JSON.stringify(record);
    if (seen.has(key)) continue;
    seen.set(key, Date.parse(record.time));
    added.push({ number: before.total + added.length + 1, record });
  }
  const isBehind = records.length >= FULL;
  const newest = records[records.length - 1]?.time;
  const since = later(before.since, newest && (isBehind ? newest : earlier(newest)));
  const from = since === undefined ? -Infinity : Date.parse(since);
  return {
    rows: [...added, ...before.rows].sort(byTime).slice(0, KEPT),
    total: before.total + added.length,
    since,
    isBehind,
    seen: new Map([...seen].filter(([, time]) => time >= from)),
  };
}

/** Returns the later of two times. A request that went back would repeat records that are no longer known. */
const later = (before?: string, time?: string) =>
  before && (!time || Date.parse(time) < Date.parse(before)) ? before : time;
const earlier = (time: string) => new Date(Date.parse(time) - OVERLAP_MS).toISOString();

/** Sorts the newest first. */
const byTime = (a: Row, b: Row) => Date.parse(b.record.time) - Date.parse(a.record.time) || b.number - a.number;

/** Returns a time of the server as the value of a field for times, or nothing if it is none. */
export function fieldTime(time: string): string {
  const at = new Date(time);
  if (!time || Number.isNaN(at.getTime())) return "";
  const local = new Date(at.getTime() - at.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 19);
}
