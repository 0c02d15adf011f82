// The data of charts of measurements: series that share an axis, with gaps, and later values.

import type { SeriesValues } from "../reference";
import type { Measurement } from "../types";
import { between } from "./numbers";

/** The most charts of a device. */
const MOST_PANELS = 200;

/** The series of one fragment with the same unit, which share an axis. */
export interface Panel {
  /** Whether the data has the least of each series besides the most. */
  band: boolean;
  /** The length of the span that was read, in seconds. */
  seconds: number;
  key: string;
  fragment: string;
  unit: string;
  names: string[];
  data: Data;
}

type Column = Data[1];

/** A gap between two values that is this many times as long as usual is shown as one. */
const LONG = 3;

/** The usual distance of values: the median of the last ones. */
function usual(xs: number[]): number {
  const distances = xs
    .slice(-100)
    .map((x, index, all) => x - (all[index - 1] ?? x))
    .slice(1)
    .filter((one) => one > 0)
    .sort((a, b) => a - b);
  return distances[Math.floor(distances.length / 2)] ?? Infinity;
}

/**
 * Marks where data is missing for long, because the chart connects neighbours. A `null` ends a line; `undefined` means
 * that another series has a value at this time.
 */
function withGaps(xs: number[], columns: Column[]): Data {
  const longest = LONG * usual(xs);
  const times: number[] = [];
  const out = columns.map((): Column => []);
  xs.forEach((x, row) => {
    if (row > 0 && x - xs[row - 1] > longest) {
      times.push((x + xs[row - 1]) / 2);
      out.forEach((column) => column.push(null));
    }
    times.push(x);
    out.forEach((column, index) => column.push(columns[index][row]));
  });
  out.forEach((column) => endLines(times, column));
  return [times, ...out];
}

/** Ends the line of one series where it has no value for long while others have. */
function endLines(xs: number[], column: Column): void {
  const rows = column.flatMap((value, row) => (value == null ? [] : [row]));
  const longest = LONG * usual(rows.map((row) => xs[row]));
  rows.forEach((row, index) => {
    const before = rows[index - 1];
    if (index > 0 && xs[row] - xs[before] > longest) column.fill(null, before + 1, row);
  });
}

/** Aggregates have two columns for each series: the most, and then the least of all series. */
export function panelsOf({ series, values }: SeriesValues, seconds: number, band: boolean): Panel[] {
  const times = Object.keys(values)
    .map((time): [number, string] => [Date.parse(time) / 1000, time])
    .sort((a, b) => a[0] - b[0]);
  const keyOf = (one: SeriesValues["series"][number]) => `${one.type} ${one.unit ?? ""}`;
  const keys = [...new Set(series.map(keyOf))].slice(0, MOST_PANELS);
  return keys.map((key) => {
    const columns = series.flatMap((one, index) => (keyOf(one) === key ? [index] : []));
    const rows = times.filter(([, time]) => columns.some((column) => values[time][column]));
    const column = (of: "min" | "max") => (index: number) => rows.map(([, time]) => values[time][index]?.[of]);
    const all = [...columns.map(column("max")), ...(band ? columns.map(column("min")) : [])];
    return {
      band,
      seconds,
      key,
      fragment: series[columns[0]].type,
      unit: series[columns[0]].unit ?? "",
      names: columns.map((index) => series[index].name),
      data: withGaps(
        rows.map(([seconds]) => seconds),
        all,
      ),
    };
  });
}

/** The last value of a series, or the least and the most of the last group of values. */
export function newestInWords({ names, data }: Panel, index: number): string {
  const most = data[index + 1];
  const row = most.findLastIndex((one) => one != null);
  const least = data[index + 1 + names.length] ?? most;
  return row < 0 ? "–" : between(least[row] as number, most[row] as number);
}

/** Adds measurements, in the order of their times. Returns false when a series is new. */
export function append(panels: Panel[], measured: Measurement[]): boolean {
  for (const one of measured) {
    const at = Date.parse(one.time) / 1000;
    for (const [fragment, value] of Object.entries(one)) {
      if (typeof value !== "object" || value === null || fragment === "source") continue;
      const series = Object.entries(value as Record<string, { value?: number }>).filter(
        ([, entry]) => typeof entry?.value === "number",
      );
      if (series.length === 0) continue;
      const known = panels.filter((panel) => panel.fragment === fragment);
      if (series.some(([name]) => !known.some((panel) => panel.names.includes(name))))
        return panels.length >= MOST_PANELS;
      for (const panel of known)
        if (series.some(([name]) => panel.names.includes(name)))
          add(panel, at, (name) => series.find(([other]) => other === name)?.[1].value);
    }
  }
  return true;
}

/** Adds the values of one time to the data of a panel. A value may arrive after a younger one. */
function add(
  { names, data: [xs, ...columns] }: Panel,
  at: number,
  valueOf: (name: string) => number | undefined,
): void {
  const before = xs[xs.length - 1] ?? at;
  if (at >= before) {
    if (at - before > LONG * usual(xs)) {
      xs.push((at + before) / 2);
      columns.forEach((column) => column.push(null));
    }
    xs.push(at);
    names.forEach((name, index) => columns[index].push(valueOf(name)));
    return;
  }
  const row = xs.findIndex((x) => x >= at);
  if (xs[row] === at) {
    names.forEach((name, index) => (columns[index][row] = valueOf(name) ?? columns[index][row]));
    return;
  }
  xs.splice(row, 0, at);
  names.forEach((name, index) => columns[index].splice(row, 0, valueOf(name)));
}

export type Data = [x: number[], ...y: (number | null | undefined)[][]];

/** Returns the indices of values without a neighbour, which a line alone would not show. */
export function isolated(values: ArrayLike<number | null | undefined>): number[] {
  const has = (index: number) => index >= 0 && index < values.length && values[index] != null;
  return Array.from(values, (_, index) => index).filter((index) => has(index) && !has(index - 1) && !has(index + 1));
}
