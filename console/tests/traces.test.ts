import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import type { NotificationTraceRecord } from "../src/reference";
import {
  fieldTime,
  follow,
  FULL,
  KEPT,
  NOTHING,
  paramsOf,
  questionOf,
  subjectInWords,
  toneOf,
} from "../src/values/traces";

const BEGIN = Date.parse("2026-11-29T10:00:00.000Z");
const record = (number: number, ms = number, more = {}): NotificationTraceRecord => ({
  time: new Date(BEGIN + ms).toISOString(),
  server: "one",
  number,
  type: "STORED",
  text: `record ${number}`,
  ...more,
});
const numbersOf = ({ rows }: { rows: { record: NotificationTraceRecord }[] }) => rows.map((row) => row.record.number);

test("records that were already there are left out, and the newest is the first", () => {
  const first = follow(NOTHING, [record(1), record(2)]);
  const second = follow(first, [record(1), record(2), record(3)]);
  deepEqual(numbersOf(second), [3, 2, 1]);
  equal(second.total, 3);
  equal(follow(second, [record(3)]).total, 3);
});

test("records of two servers with the same name and number are both there", () => {
  const of = follow(NOTHING, [record(1), record(1, 1, { text: "another" })]);
  equal(of.total, 2);
});

test("the next request overlaps, so that a record that arrives late is not missed", () => {
  const first = follow(NOTHING, [record(1, 0), record(2, 5000)]);
  equal(first.since, "2026-11-29T10:00:03.000Z");
  const second = follow(first, [record(9, 4000, { server: "two" }), record(2, 5000)]);
  deepEqual(numbersOf(second), [2, 9, 1]);
  equal(follow(second, []).since, first.since);
});

test("a full response is continued at its end, and its records are not shown again", () => {
  const all = Array.from({ length: FULL }, (_, index) => record(index, index));
  const first = follow(NOTHING, all);
  equal(first.isBehind, true);
  equal(first.since, all[FULL - 1].time);
  const second = follow(first, [all[FULL - 1], record(FULL, FULL)]);
  equal(second.isBehind, false);
  equal(second.total, FULL + 1);
  equal(second.since, first.since);
  equal(second.rows.length, KEPT);
  equal(numbersOf(second)[0], FULL);
});

test("records that were dropped do not come back", () => {
  const all = Array.from({ length: FULL - 1 }, (_, index) => record(index, index));
  const first = follow(NOTHING, all);
  equal(follow(first, all).total, FULL - 1);
});

test("a question is read from an address and written into it", () => {
  const question = { id: "4711", kind: "session", name: "abc", since: "" } as const;
  deepEqual(paramsOf(question), { id: "4711", user: "", session: "abc", consumer: "", since: "" });
  deepEqual(questionOf(new URLSearchParams("id=4711&session=abc")), question);
  deepEqual(questionOf(new URLSearchParams("")), { id: "", kind: "user", name: "", since: "" });
});

test("causes are good, bad or neither", () => {
  deepEqual(["SENT", "FILTER", "SESSION", "SOMETHING_NEW"].map(toneOf), ["good", "bad", "neutral", "neutral"]);
});

test("a subject has a name", () => {
  equal(subjectInWords({ device: "4711" }), "the device 4711");
  equal(subjectInWords({ user: "mia" }), "the user mia");
  equal(subjectInWords({ session: "0123456789abcdef" }), "the session 01234567…");
  equal(subjectInWords({}), "the whole tenant");
});

test("a time of an address fills its field, and nothing else does", () => {
  const at = new Date(2026, 10, 29, 10, 5, 7);
  equal(fieldTime(at.toISOString()), "2026-11-29T10:05:07");
  deepEqual([fieldTime(""), fieldTime("yesterday")], ["", ""]);
});
