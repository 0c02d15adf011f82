import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import type { NotificationConsumer } from "../src/reference";
import {
  addressInWords,
  amountIn,
  deletionInWords,
  missedInWords,
  moveInWords,
  placeInWords,
  rateInWords,
  rateOf,
  type Readings,
  valueOf,
  wayInWords,
  withRead,
} from "../src/values/consumers";

const consumer = (more: Partial<NotificationConsumer> = {}) =>
  ({
    name: "billing",
    creationTime: "2026-01-01T00:00:00Z",
    state: "ACTIVE",
    position: 41,
    newest: 57,
    backlog: { notifications: 16, bytes: 5321 },
    ...more,
  }) as NotificationConsumer;
const waiting = (notifications: number, more: Partial<NotificationConsumer> = {}) =>
  consumer({ backlog: { notifications, bytes: 1 }, ...more });

/** Returns the rate after reads at these seconds. */
function rateAfter(...reads: [seconds: number, one: NotificationConsumer][]) {
  const none: Readings = new Map();
  return rateOf(reads.reduce((known, [at, one]) => withRead(known, [one], at * 1000), none).get("billing"));
}

test("the rate of a backlog is that between the first and the last read of ten seconds", () => {
  equal(rateAfter([0, waiting(0)], [2, waiting(20)], [4, waiting(60)]), 15);
  equal(rateAfter([0, waiting(60)], [4, waiting(20)]), -10);
  equal(rateAfter([0, waiting(0)], [2, waiting(100)], [11, waiting(100)]), 0);
});

test("one read has no rate", () => {
  equal(rateAfter([0, waiting(5)]), null);
  equal(rateAfter([0, waiting(5)], [0, waiting(9)]), null);
  equal(rateAfter([0, waiting(5)], [30, waiting(9)]), null);
});

test("a move back, a lapse and another consumer of the same name begin anew", () => {
  equal(rateAfter([0, waiting(5)], [2, waiting(50, { position: 3 })]), null);
  equal(rateAfter([0, waiting(5)], [2, waiting(0, { state: "LAPSED" })]), null);
  equal(rateAfter([0, waiting(5)], [2, waiting(0, { creationTime: "2026-01-02T00:00:00Z" })]), null);
});

test("reads of consumers that are gone are forgotten", () => {
  const known = withRead(new Map(), [waiting(1), waiting(1, { name: "other" })], 0);
  deepEqual([...withRead(known, [waiting(1)], 1000).keys()], ["billing"]);
});

test("a rate has its sign, and only one of nothing is steady", () => {
  deepEqual([12.54, -3, 0, 0.01, -0.01, null].map(rateInWords), [
    "+12.5/s",
    "−3/s",
    "steady",
    "under +0.1/s",
    "under −0.1/s",
    "–",
  ]);
});

test("ways to read are words", () => {
  deepEqual(
    (["LONG_POLL", "EVENTS", "BAYEUX"] as const).map((way) => wayInWords({ way })),
    ["long polls", "server-sent events", "a Bayeux session"],
  );
});

test("what a consumer missed is behind its position", () => {
  equal(missedInWords({ position: 41, newest: 1057 }), "It has missed 1,016 notifications so far: 42 to 1,057.");
  equal(missedInWords({ position: 41, newest: 42 }), "It has missed 1 notification so far: 42.");
  equal(missedInWords({ position: 41, newest: 41 }), "It has missed nothing yet.");
});

test("a place is what the server takes", () => {
  const at = new Date("2026-01-02T03:04:05Z");
  deepEqual([{ kind: "now" } as const, { kind: "earliest" } as const, { kind: "time", at } as const].map(valueOf), [
    "now",
    "earliest",
    "2026-01-02T03:04:05.000Z",
  ]);
  equal(valueOf({ kind: "position", position: 0 }), 0);
  equal(placeInWords({ kind: "time", at }), "04:04:05");
  equal(placeInWords({ kind: "position", position: 1234 }), "position 1,234");
});

test("a move to now skips what waits", () => {
  equal(moveInWords(consumer(), { kind: "now" }), "16 notifications that waited for it will not be delivered.");
  equal(moveInWords(waiting(0), { kind: "now" }), "Nothing waits for it now, so it skips nothing.");
});

test("a move to a position says what comes again and what is skipped", () => {
  const to = (position: number) => moveInWords(consumer(), { kind: "position", position });
  equal(to(40), "1 notification will be delivered again: 41.");
  equal(to(0), "41 notifications will be delivered again: 1 to 41.");
  equal(to(57), "16 notifications will not be delivered: 42 to 57.");
  equal(to(41), "It is there already.");
  equal(to(58), "The newest position is 57.");
});

test("a move says that a reader goes on at the new place", () => {
  const reader = { way: "EVENTS", since: "2026-01-01T00:00:00Z", address: "10.0.0.7", server: "a" } as const;
  equal(
    moveInWords(consumer({ reader }), { kind: "earliest" }),
    "All that the journal still has will be delivered again, also what was handled before. " +
      "Its reader, from 10.0.0.7, goes on there.",
  );
});

test("a deletion says what is lost and who is refused", () => {
  const reader = { way: "EVENTS", since: "2026-01-01T00:00:00Z", address: "10.0.0.7", server: "a" } as const;
  equal(deletionInWords(waiting(0)), "Nothing waits for it.");
  equal(
    deletionInWords(waiting(1, { reader })),
    "What waits for it will not be delivered: 1 notification. Its reader, from 10.0.0.7, is refused from then on.",
  );
  equal(addressInWords({}), "from somewhere");
});

test("an amount is in the smallest unit, and nothing typed is none", () => {
  equal(amountIn("1.5", "3600"), 5400);
  equal(amountIn("66", "1000"), 66_000);
  equal(amountIn(" ", "1000"), undefined);
  equal(amountIn(null, null), undefined);
});
