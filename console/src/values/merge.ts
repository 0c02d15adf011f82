// Lists whose members are loaded by pages and change by notifications.

import type { Message } from "cometd";
import type { Alarm, ManagedObject } from "../types";
import { SEVERITIES } from "./words";

/**
 * Applies notifications to a list. New objects are added at the start; objects that no longer match leave the list. An
 * object without an id was not stored, so it belongs to no list.
 */
export function apply<T extends { id: string }>(list: T[], messages: Message[], matches: (item: T) => boolean): T[] {
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
  return [...added.reverse(), ...kept];
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

/**
 * Returns whether notifications may change a count of devices: an object is new, gone, or available in another way.
 * `known` keeps the availability of each.
 */
export function mayChangeCounts(known: Map<string, string>, messages: Message[]): boolean {
  let isChange = false;
  for (const { data } of messages) {
    const { realtimeAction, data: object } = data as Notification<ManagedObject>;
    if (realtimeAction !== "UPDATE" || typeof object === "string") {
      isChange = true;
      continue;
    }
    const status = object.plat_Availability?.status ?? "";
    if (known.get(object.id) !== status) isChange = true;
    known.set(object.id, status);
  }
  return isChange;
}

type Ranked = Pick<Alarm, "severity">;

/** Returns 0 for the most urgent severity, and more for others. */
export const rankOf = ({ severity }: Ranked) => SEVERITIES.indexOf(severity);

/** Sorts the most urgent first, and of those the newest. */
export const bySeverity = (a: Timed & Ranked, b: Timed & Ranked) => rankOf(a) - rankOf(b) || byTime(a, b);
