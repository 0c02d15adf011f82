import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { meanBetween, parseMetrics, ratesOf } from "../src/values/metrics";

const sample = (at: number, sums: Record<string, number>) => ({ at, sums: new Map(Object.entries(sums)) });

test("a metric is the sum over its labels, and buckets are left out", () => {
  const sums = parseMetrics(
    [
      "# HELP a_total What it is",
      'a_total{tenant="x"} 2',
      'a_total{tenant="y"} 3',
      "b 1.5e3",
      'c_bucket{le="1"} 9',
    ].join("\n"),
  );
  deepEqual(
    [...sums],
    [
      ["a_total", 5],
      ["b", 1500],
    ],
  );
});

test("a rate is the difference a second", () => {
  const samples = [sample(10, { a: 0 }), sample(12, { a: 6 }), sample(13, { a: 6 })];
  deepEqual(ratesOf(samples, ["a", "b"]), [
    [12, 13],
    [3, 0],
    [0, 0],
  ]);
});

test("a counter that decreased has no rate", () => {
  deepEqual(ratesOf([sample(1, { a: 5 }), sample(2, { a: 1 })], ["a"]), [[2], [null]]);
});

test("a mean is that of what was added", () => {
  const first = sample(1, { x_sum: 100, x_count: 10 });
  equal(meanBetween([first, sample(2, { x_sum: 106, x_count: 12 })], "x"), 3);
  equal(meanBetween([first, first], "x"), null);
  equal(meanBetween([], "x"), null);
});
