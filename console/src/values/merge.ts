// Lists whose members are loaded by pages and change by notifications.

import type { Message } from "cometd";
import type { Alarm } from "../types";

/**
 * Applies notifications to a list. New objects are added at the start or the end; objects that no longer match leave
 * the list. An object without an id was not stored, so it belongs to no list.
 */
export function apply<T extends { id: string }>(
  list: T[],
  messages: Message[],
  matches: (item: T) => boolean,
  newest: "first" | "last" = "first",
): T[] {
  const changed = new Map<string, T | null>();
  for (const { data } of messages) {
    const { realtimeAction, data: inner } = data as Notification<T>;
    const id = idOf(inner);
    if (!id) continue;
    if (realtimeAction === "DELETE" || typeof inner === "string") changed.set(id, null);
    else changed.set(id, matches(inner) ? inner : null);
  }
  const kept: T[] = [];
  for (const item of list) {
    const after = changed.get(item.id);
    if (after) kept.push(after);
    else if (after === undefined) kept.push(item);
    changed.delete(item.id);
  }
  const added = [...changed.values()].filter((item): item is T => !!item);
  return newest === "first" ? [...added.reverse(), ...kept] : [...kept, ...added];
}

const idOf = (inner: string | { id: string }) => (typeof inner === "string" ? inner : inner?.id);

/** Adds a page. Objects that arrived in notifications meanwhile are in the list already. */
export function join<T>(list: T[], following: T[], keyOf: (item: T) => string | number): T[] {
  const known = new Set(list.map(keyOf));
  return [...list, ...following.filter((item) => !known.has(keyOf(item)))];
}

/** The data of a notification: the whole object, or its id when it was deleted. */
export interface Notification<T> {
  realtimeAction: "CREATE" | "UPDATE" | "DELETE";
  data: T | string;
}

type Timed = Pick<Alarm, "time" | "id">;

/** Sorts the newest first. */
export const byTime = (a: Timed, b: Timed) => Date.parse(b.time) - Date.parse(a.time) || Number(b.id) - Number(a.id);
