// The measurements of a device: live for short spans, aggregated for long ones.

import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { Message } from "cometd";
import { get, withQuery } from "../../api";
import { useCalm, useLoad } from "../../load";
import type { SeriesValues } from "../../reference";
import type { Measurement } from "../../types";
import { between, Chart, type ChartHandle, type Data } from "../../ui/chart";
import { Card, Choice, States } from "../../ui/kit";
import { LineMark, lookOf } from "../../ui/lines";
import { Standing } from "../../ui/standing";
import { of } from "./channels";

const SPANS: Record<string, { seconds: number; text: string; aggregation?: string }> = {
  "15m": { seconds: 900, text: "15 min" },
  "1h": { seconds: 3600, text: "1 h" },
  "1d": { seconds: 86_400, text: "1 day", aggregation: "MINUTELY" },
  "7d": { seconds: 7 * 86_400, text: "7 days", aggregation: "HOURLY" },
  "90d": { seconds: 90 * 86_400, text: "90 days", aggregation: "DAILY" },
};
/** A series that is new is loaded with the others at most this often. */
const NEW_SERIES_SECONDS = 5;
/** The charts that are drawn at first, and the panels that are kept. */
const CHARTS_AT_FIRST = 12;
const MOST_PANELS = 200;

/** The series of one fragment with the same unit, which share an axis. */
interface Panel {
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
function panelsOf({ series, values }: SeriesValues, seconds: number, band: boolean): Panel[] {
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

export function Charts({ id }: { id: string }) {
  const span = useSignal("1h");
  const { seconds, aggregation } = SPANS[span.value];
  const handles = useRef(new Map<string, ChartHandle>());
  const latest = useSignal(0);
  const truncated = useSignal(false);
  const panels = useLoad(
    async () => {
      const now = Date.now();
      const result = await get<SeriesValues>(
        withQuery("/measurement/measurements/series", {
          source: id,
          dateFrom: new Date(now - seconds * 1000).toISOString(),
          dateTo: new Date(now + 60_000).toISOString(),
          aggregationType: aggregation,
          revert: aggregation ? undefined : true,
        }),
      );
      truncated.value = result.truncated;
      return panelsOf(result, seconds, !!aggregation);
    },
    [id, span.value],
    // Aggregates are computed by the server, so they are as old as their load.
    aggregation ? undefined : { ...of("measurements", id), take: (messages) => take(messages) },
  );
  const take = (messages: Message[]) => {
    if (!panels.data.value) return;
    const measured = messages
      .filter((one) => one.data.realtimeAction === "CREATE")
      .map((one) => one.data.data as Measurement);
    if (!append(panels.data.value, measured)) return again();
    for (const panel of panels.data.value) handles.current.get(panel.key)?.set(panel.data);
    latest.value += 1;
  };
  // A device that sends ever new series must not load all of them with each measurement.
  const again = useCalm(NEW_SERIES_SECONDS, panels.reload);
  const most = useSignal(CHARTS_AT_FIRST);
  latest.value;
  return (
    <Card
      title="Measurements"
      aside={
        <>
          <Standing of={panels} />
          <Choice
            label="Span"
            value={span.value}
            options={Object.entries(SPANS).map(([key, { text }]) => [key, text])}
            onChange={(value) => (span.value = value)}
          />
        </>
      }>
      {truncated.value && (
        <p class="hint">There are more values than the server sends at once; only the newest are shown.</p>
      )}
      <States of={panels} isEmpty={(list) => list.length === 0} empty={<p>It measured nothing in this span.</p>}>
        {(list) => (
          <div class="panels">
            {list.slice(0, most.value).map((panel) => (
              <div key={panel.key} class="panel">
                <h3>{panel.fragment.replace(/^plat_/, "")}</h3>
                <ul class="legend">
                  {panel.names.map((name, index) => (
                    <li key={name}>
                      <LineMark index={index} />
                      {name}{" "}
                      <b class="value" key={latest.value}>
                        {last(panel, index)} {panel.unit}
                      </b>
                    </li>
                  ))}
                </ul>
                <Chart
                  lines={panel.names.map((name, index) => ({ label: name, unit: panel.unit, ...lookOf(index) }))}
                  unit={panel.unit}
                  data={panel.data}
                  height={150}
                  span={panel.seconds}
                  band={panel.band}
                  label={`${panel.fragment}: ${panel.names.map((name, index) => `${name} ${last(panel, index)} ${panel.unit}`).join(", ")}`}
                  handle={(chart) => handles.current.set(panel.key, chart)}
                />
              </div>
            ))}
          </div>
        )}
      </States>
      {(panels.data.value?.length ?? 0) > most.value && (
        <p>
          <span class="partial">
            {most.value} of {panels.data.value!.length} charts
          </span>{" "}
          <button type="button" class="plain" onClick={() => (most.value += CHARTS_AT_FIRST)}>
            Show more charts
          </button>
        </p>
      )}
    </Card>
  );
}

/** The last value of a series, or the least and the most of the last group of values. */
function last({ names, data }: Panel, index: number): string {
  const most = data[index + 1];
  const row = most.findLastIndex((one) => one != null);
  const least = data[index + 1 + names.length] ?? most;
  return row < 0 ? "–" : between(least[row] as number, most[row] as number);
}

/** Adds measurements, in the order of their times. Returns false when a series is new. */
function append(panels: Panel[], measured: Measurement[]): boolean {
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
