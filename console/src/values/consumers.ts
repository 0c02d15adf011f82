// Named consumers of notifications: how fast their backlog grows, what they missed, what a move of their position does.

import type { ConsumerReader, NotificationConsumer } from "../reference";
import { format } from "./numbers";
import { amountOf } from "./standing";
import { timeOfDay } from "./times";

type Kept = Pick<NotificationConsumer, "name" | "creationTime" | "state" | "position" | "newest" | "backlog">;

/** What one read says of a consumer. */
interface Reading {
  /** The time of the read in milliseconds. */
  at: number;
  of: Kept;
}
/** The last reads of each consumer by its name, the oldest first. */
export type Readings = ReadonlyMap<string, Reading[]>;

/** The time over which the rate of a backlog is determined. */
const WINDOW_MS = 10_000;

/** Returns whether the backlogs of two reads say nothing about its rate: it was moved back, lapsed, or is another one. */
const isBreak = (before: Kept, after: Kept) =>
  before.creationTime !== after.creationTime || before.state !== after.state || before.position > after.position;

/** Adds a read of all consumers. Those that are gone are forgotten. */
export function withRead(known: Readings, consumers: Kept[], at: number): Readings {
  const kept = consumers.map((one): [string, Reading[]] => {
    const before = (known.get(one.name) ?? []).filter((reading) => at - reading.at <= WINDOW_MS);
    const last = before.at(-1);
    const isNew = !last || isBreak(last.of, one);
    return [one.name, [...(isNew ? [] : before), { at, of: one }]];
  });
  return new Map(kept);
}

/** Returns by how many notifications a second the backlog grows; `null` as long as there are not two reads. */
export function rateOf(readings: Reading[] = []): number | null {
  const [first, last] = [readings[0], readings.at(-1)];
  if (!first || !last || last.at <= first.at) return null;
  return (last.of.backlog.notifications - first.of.backlog.notifications) / ((last.at - first.at) / 1000);
}

/** `+12.5/s`, `−3/s`, `steady`. */
export function rateInWords(rate: number | null): string {
  if (rate === null) return "–";
  const rounded = Math.round(rate * 10) / 10;
  // A slow change is one too.
  if (rounded === 0 && rate !== 0) return rate > 0 ? "under +0.1/s" : "under −0.1/s";
  if (rounded === 0) return "steady";
  return `${rounded > 0 ? "+" : "−"}${format(Math.abs(rounded))}/s`;
}

const WAYS: Record<ConsumerReader["way"], string> = {
  LONG_POLL: "long polls",
  EVENTS: "server-sent events",
  BAYEUX: "a Bayeux session",
};
export const wayInWords = ({ way }: Pick<ConsumerReader, "way">) => WAYS[way] ?? way;
/** The address is unknown where a proxy hides it. */
export const addressInWords = ({ address }: { address?: string }) => (address ? `from ${address}` : "from somewhere");

const rangeOf = (from: number, to: number) =>
  from === to ? from.toLocaleString() : `${from.toLocaleString()} to ${to.toLocaleString()}`;

/** Returns what a consumer that lapsed does not get. It misses more until it is read. */
export function missedInWords({ position, newest }: Pick<Kept, "position" | "newest">): string {
  if (newest <= position) return "It has missed nothing yet.";
  const amount = amountOf(newest - position, "notification");
  return `It has missed ${amount} so far: ${rangeOf(position + 1, newest)}.`;
}

/** Where a consumer begins, or goes on after a move. */
export type Place =
  { kind: "now" } | { kind: "earliest" } | { kind: "time"; at: Date } | { kind: "position"; position: number };

/** Returns a place as the server takes it. */
export function valueOf(place: Place): string | number {
  if (place.kind === "time") return place.at.toISOString();
  return place.kind === "position" ? place.position : place.kind;
}

export function placeInWords(place: Place): string {
  if (place.kind === "time") return timeOfDay(place.at);
  if (place.kind === "position") return `position ${place.position.toLocaleString()}`;
  return place.kind === "now" ? "now" : "the earliest";
}

/** Returns what moving a consumer does to it, and to whoever reads it. */
export function moveInWords(
  consumer: Pick<NotificationConsumer, "position" | "newest" | "backlog" | "reader">,
  place: Place,
): string {
  const reader = consumer.reader && `Its reader, ${addressInWords(consumer.reader)}, goes on there.`;
  return [effectOf(consumer, place), reader].filter(Boolean).join(" ");
}

/** Returns what deleting a consumer does to what waits for it, and to whoever reads it. */
export function deletionInWords({ backlog, reader }: Pick<NotificationConsumer, "backlog" | "reader">): string {
  const { notifications } = backlog;
  const waiting =
    notifications === 0
      ? "Nothing waits for it."
      : `What waits for it will not be delivered: ${amountOf(notifications, "notification")}.`;
  return reader ? `${waiting} Its reader, ${addressInWords(reader)}, is refused from then on.` : waiting;
}

function effectOf({ position, newest, backlog }: Pick<Kept, "position" | "newest" | "backlog">, place: Place): string {
  switch (place.kind) {
    case "now": {
      if (backlog.notifications === 0) return "Nothing waits for it now, so it skips nothing.";
      return `${amountOf(backlog.notifications, "notification")} that waited for it will not be delivered.`;
    }
    case "earliest":
      return "All that the journal still has will be delivered again, also what was handled before.";
    case "time":
      return "What was handled since then will be delivered again. What waits from before will not be delivered.";
    case "position":
      return effectOfPosition(position, newest, place.position);
  }
}

function effectOfPosition(position: number, newest: number, to: number): string {
  if (to > newest) return `The newest position is ${newest.toLocaleString()}.`;
  if (to === position) return "It is there already.";
  const amount = amountOf(Math.abs(to - position), "notification");
  return to < position
    ? `${amount} will be delivered again: ${rangeOf(to + 1, position)}.`
    : `${amount} will not be delivered: ${rangeOf(position + 1, to)}.`;
}

/** Returns a typed amount in its smallest unit; `undefined` where nothing was typed. */
export function amountIn(typed: FormDataEntryValue | null, unit: FormDataEntryValue | null): number | undefined {
  const text = String(typed ?? "").trim();
  return text === "" ? undefined : Math.round(Number(text) * Number(unit ?? 1));
}
