import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { type Sent, verdictOfStorm } from "../src/values/ledger";

const sent: Sent = { isRunning: false, seconds: 10, confirmed: 100, uncertain: 5, refused: 0, problem: "", endedAt: 0 };
const verdict = (stored: number, seen: number, now = 1000, isCut = false) =>
  verdictOfStorm(sent, stored, seen, { now, isCut });
const LATE = 30_001;

test("all is well when what was confirmed is stored and has arrived", () => {
  for (const stored of [100, 103, 105]) equal(verdict(stored, stored)[0], "good");
});

test("alarms that nobody sent are bad at once", () => {
  deepEqual(verdict(107, 107), ["bad", "2 alarms are stored that were not sent."]);
});

test("what is missing may still come, until it is late", () => {
  deepEqual(verdict(98, 98), ["open", "2 confirmed alarms are not stored."]);
  deepEqual(verdict(98, 98, LATE), ["bad", "2 confirmed alarms are not stored."]);
  deepEqual(verdict(101, 99), ["open", "2 stored alarms have not arrived here."]);
  deepEqual(verdict(101, 99, LATE), ["bad", "2 stored alarms have not arrived here."]);
});

test("nothing is said while the storm goes on, or while the network is cut", () => {
  equal(verdictOfStorm({ ...sent, isRunning: true }, 0, 0, { now: LATE, isCut: false })[0], "open");
  equal(verdict(0, 0, LATE, true)[0], "open");
});
