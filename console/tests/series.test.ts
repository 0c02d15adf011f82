import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import type { Measurement } from "../src/types";
import { append, isolated, newestInWords, panelsOf } from "../src/values/series";

const time = (seconds: number) => new Date(seconds * 1000).toISOString();
const series = [
  { name: "a", type: "plat_A", unit: "C" },
  { name: "b", type: "plat_A", unit: "C" },
  { name: "c", type: "plat_A", unit: null },
];
type Value = [min: number, max: number] | null;
const valuesOf = (rows: Record<number, Value[]>) =>
  Object.fromEntries(
    Object.entries(rows).map(([at, row]) => [time(Number(at)), row.map((one) => one && { min: one[0], max: one[1] })]),
  );
const panels = (rows: Record<number, Value[]>, band = false) =>
  panelsOf({ series, values: valuesOf(rows), truncated: false }, 3600, band);
const measured = (at: number, fragments: object) =>
  ({ id: "1", type: "t", time: time(at), source: {}, ...fragments }) as Measurement;

test("series of a fragment share a chart if they have the same unit", () => {
  const [first, second, ...others] = panels({ 0: [[1, 2], null, [5, 5]], 10: [null, [3, 4], null] });
  deepEqual([first.names, first.unit, second.names, second.unit, others], [["a", "b"], "C", ["c"], "", []]);
  deepEqual(first.data, [
    [0, 10],
    [2, undefined],
    [undefined, 4],
  ]);
  deepEqual(second.data, [[0], [5]]);
});

test("aggregates have the most of each series, and then the least", () => {
  deepEqual(panels({ 0: [[1, 2], [3, 4], null] }, true)[0].data, [[0], [2], [4], [1], [3]]);
});

test("rows are in the order of their times, and a long gap ends the lines", () => {
  const value = (at: number): Value[] => [[at, at], [at, at], null];
  // The server may send the newest first.
  const rows = Object.entries(valuesOf({ 0: value(0), 10: value(10), 20: value(20), 60: value(60) }));
  const { data } = panelsOf({ series, values: Object.fromEntries(rows.reverse()), truncated: false }, 3600, false)[0];
  deepEqual(data[0], [0, 10, 20, 40, 60]);
  deepEqual(data[1], [0, 10, 20, null, 60]);
});

test("a series without values for long ends while others go on", () => {
  const row = (at: number, both: boolean): Value[] => [[at, at], both ? [at, at] : null, null];
  const rows = Object.fromEntries([0, 1, 2, 3, 4, 5, 6, 7, 8].map((at) => [at, row(at, at < 3 || at > 7)]));
  deepEqual(panels(rows)[0].data[2], [0, 1, 2, null, null, null, null, null, 8]);
});

test("a measurement is added at its time", () => {
  const list = panels({ 0: [[1, 1], [1, 1], null], 10: [[2, 2], [2, 2], null], 20: [[3, 3], [3, 3], null] });
  equal(append(list, [measured(30, { plat_A: { a: { value: 4 } }, note: "x" })]), true);
  deepEqual(list[0].data, [
    [0, 10, 20, 30],
    [1, 2, 3, 4],
    [1, 2, 3, undefined],
  ]);
  append(list, [measured(15, { plat_A: { b: { value: 9 } } })]);
  deepEqual(list[0].data, [
    [0, 10, 15, 20, 30],
    [1, 2, undefined, 3, 4],
    [1, 2, 9, 3, undefined],
  ]);
  append(list, [measured(10, { plat_A: { a: { value: 7 } } })]);
  deepEqual(list[0].data[1], [1, 7, undefined, 3, 4]);
});

test("a measurement after a long time begins a new line", () => {
  const list = panels({ 0: [[1, 1], null, null], 10: [[2, 2], null, null] });
  append(list, [measured(100, { plat_A: { a: { value: 3 } } })]);
  deepEqual(list.find(({ names }) => names.includes("a"))!.data.slice(0, 2), [
    [0, 10, 55, 100],
    [1, 2, null, 3],
  ]);
});

test("a new series asks for all of them", () => {
  const list = panels({ 0: [[1, 1], null, null] });
  equal(append(list, [measured(1, { plat_A: { z: { value: 1 } } })]), false);
  equal(append(list, [measured(1, { plat_B: { a: { value: 1 } } })]), false);
  equal(append(list, [measured(1, { plat_B: { a: { value: "text" } }, other: 5, nothing: null })]), true);
});

test("the newest value is that of its series, and none is a dash", () => {
  const list = panels({ 0: [[1, 1], [2, 3], null], 10: [[5, 5], null, null] }, true);
  deepEqual(
    [0, 1].map((index) => newestInWords(list[0], index)),
    ["5", "2 to 3"],
  );
  equal(newestInWords({ ...list[0], data: [[0], [null], [null]] }, 0), "–");
});

test("values without a neighbour are known", () => {
  deepEqual(isolated([1, null, 2, 3, undefined, 0]), [0, 5]);
  deepEqual(isolated([]), []);
});
