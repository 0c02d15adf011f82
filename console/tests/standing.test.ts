import { equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { amountInWords, amountOf, isLive, standingOf } from "../src/values/standing";

const watch = { isConnected: true, channels: 2, accepted: 2, hasFailed: false };

test("data is live when every channel was accepted and announces all of it", () => {
  ok(isLive(watch));
  ok(isLive({ ...watch, isWhole: true }));
});

test("data is not live when anything is missing", () => {
  ok(!isLive({ ...watch, isConnected: false }));
  ok(!isLive({ ...watch, accepted: 1 }));
  ok(!isLive({ ...watch, channels: 0, accepted: 0 }));
  ok(!isLive({ ...watch, isWhole: false }));
  ok(!isLive({ ...watch, hasFailed: true }));
});

test("data that is read regularly is so until it is late or fails", () => {
  equal(standingOf({ age: 11_000, every: 2, hasFailed: false }), "read");
  equal(standingOf({ age: 11_001, every: 2, hasFailed: false }), "loaded");
  equal(standingOf({ age: 0, every: 2, hasFailed: true }), "loaded");
  equal(standingOf({ age: 0, hasFailed: false }), "loaded");
});

test("one is not a plural", () => {
  equal(amountOf(0, "alarm"), "0 alarms");
  equal(amountOf(1, "alarm"), "1 alarm");
  equal(amountOf(1234, "alarm"), "1,234 alarms");
});

test("a part of a list never looks like the whole", () => {
  equal(amountInWords(5, "alarm", { isPartial: false, total: null }), "5 alarms");
  equal(amountInWords(500, "alarm", { isPartial: true, total: 1200 }), "500 of 1,200 alarms");
  equal(amountInWords(500, "alarm", { isPartial: true, total: null }), "500 or more alarms");
  equal(amountInWords(1, "alarm", { isPartial: true, total: 1 }), "1 or more alarms");
});
