import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { between, bytes, format, periodInWords, timeLabels, valueLabels } from "../src/values/numbers";

test("numbers have five digits that count", () => {
  deepEqual([0, 1234.567, 0.0001234567, -5].map(format), ["0", "1,234.6", "0.00012346", "-5"]);
});

test("a group of values is its least and its most", () => {
  equal(between(2, 2), "2");
  equal(between(1.5, 2), "1.5 to 2");
});

test("bytes have the unit that fits", () => {
  const sizes = [0, 999, 1000, 1234, 5_678_900, 1e9, 2.5e12];
  deepEqual(sizes.map(bytes), ["0 bytes", "999 bytes", "1 kB", "1.23 kB", "5.68 MB", "1 GB", "2,500 GB"]);
});

test("unknown bytes are not zero", () => deepEqual([null, undefined].map(bytes), ["–", "–"]));

test("periods have the unit that fits", () => {
  deepEqual([0.5, 59, 60, 90, 3600, 86_400].map(periodInWords), ["0.5 s", "59 s", "1 min", "1.5 min", "1 h", "24 h"]);
});

test("an axis of values has the digits of its steps", () => {
  deepEqual(valueLabels([0, 5, 10]), ["0", "5", "10"]);
  deepEqual(valueLabels([1.01, 1.02]), ["1.01", "1.02"]);
  deepEqual(valueLabels([0, 2e6, 4e6]), ["0", "2E6", "4E6"]);
  deepEqual(valueLabels([0, 0.0005]), ["0", "500E-6"]);
  deepEqual(valueLabels([7]), ["7"]);
});

const at = (text: string) => Date.parse(text) / 1000;

test("an axis of times is as exact as its span, and midnight is a date", () => {
  deepEqual(timeLabels([at("2024-03-10T10:00:00+01:00"), at("2024-03-10T10:00:30+01:00")]), ["10:00:00", "10:00:30"]);
  deepEqual(timeLabels([at("2024-03-10T22:00:00+01:00"), at("2024-03-11T00:00:00+01:00")]), ["22:00", "11 Mar"]);
  deepEqual(timeLabels([at("2024-03-10T12:00:00+01:00"), at("2024-03-20T12:00:00+01:00")]), ["10 Mar", "20 Mar"]);
});
