import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { ago, exactly, short, timeOfDay } from "../src/values/times";

const NOW = Date.parse("2024-03-10T15:00:00+01:00");
const before = (seconds: number) => new Date(NOW - seconds * 1000);

test("a time of today is a time of day, another one has its date", () => {
  equal(short(new Date("2024-03-10T14:03:22Z"), NOW), "15:03:22");
  equal(short(new Date("2024-03-09T23:30:00Z"), NOW), "00:30:00");
  equal(short(new Date("2024-03-09T22:30:00Z"), NOW), "9 Mar, 23:30");
  equal(short(new Date("2023-12-31T12:00:00Z"), NOW), "31 Dec 2023, 13:00");
});

test("a relative time has the unit that fits", () => {
  const seconds = [0, 9, 10, 44, 60, 3599, 3600, 86_399, 86_400, 3 * 86_400];
  deepEqual(
    seconds.map((one) => ago(before(one), NOW)),
    [
      "just now",
      "just now",
      "10 sec ago",
      "40 sec ago",
      "1 min ago",
      "60 min ago",
      "1 hr ago",
      "24 hr ago",
      "yesterday",
      "3 days ago",
    ],
  );
});

test("a time to come is ahead", () => {
  equal(ago(before(-120), NOW), "in 2 min");
  equal(ago(before(-5), NOW), "just now");
});

test("midnight is zero, and not twenty-four", () =>
  equal(timeOfDay(new Date("2024-03-10T00:00:00+01:00")), "00:00:00"));

test("the exact time has its zone", () => match(exactly(new Date(NOW)), /Sunday.* 15:00:00 (CET|GMT\+1)/));
