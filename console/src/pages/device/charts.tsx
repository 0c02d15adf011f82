// The measurements of a device: live for short spans, aggregated for long ones.

import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { get, withQuery } from "../../api";
import { useLoad } from "../../load";
import type { Measurement, Series } from "../../types";
import { Chart, type ChartHandle, COLORS, type Data, format } from "../../ui/chart";
import { Card, Choice, States } from "../../ui/kit";
import { of } from "./channels";

const SPANS: Record<string, { seconds: number; text: string; aggregation?: string }> = {
  "15m": { seconds: 900, text: "15 min" },
  "1h": { seconds: 3600, text: "1 h" },
  "1d": { seconds: 86_400, text: "1 day", aggregation: "MINUTELY" },
  "7d": { seconds: 7 * 86_400, text: "7 days", aggregation: "HOURLY" },
  "90d": { seconds: 90 * 86_400, text: "90 days", aggregation: "DAILY" },
};
const MOST_CHARTS = 12;

/** The series of one fragment with the same unit, which share an axis. */
interface Panel {
  key: string;
  fragment: string;
  unit: string;
  names: string[];
  data: Data;
}

/** Aggregates are drawn as the middle of minimum and maximum. */
function panelsOf({ series, values }: Series): Panel[] {
  const times = Object.keys(values).map((time): [number, string] => [Date.parse(time) / 1000, time]).sort((a, b) => a[0] - b[0]);
  const keyOf = (one: Series["series"][number]) => `${one.type} ${one.unit ?? ""}`;
  const keys = [...new Set(series.map(keyOf))].slice(0, MOST_CHARTS);
  return keys.map((key) => {
    const columns = series.flatMap((one, index) => (keyOf(one) === key ? [index] : []));
    const rows = times.filter(([, time]) => columns.some((column) => values[time][column]));
    const column = (index: number) => rows.map(([, time]) => (values[time][index] ? (values[time][index]!.min + values[time][index]!.max) / 2 : null));
    return {
      key,
      fragment: series[columns[0]].type,
      unit: series[columns[0]].unit ?? "",
      names: columns.map((index) => series[index].name),
      data: [rows.map(([seconds]) => seconds), ...columns.map(column)],
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
      const result = await get<Series>(
        withQuery("/measurement/measurements/series", {
          source: id,
          dateFrom: new Date(now - seconds * 1000).toISOString(),
          dateTo: new Date(now + 60_000).toISOString(),
          aggregationType: aggregation,
          revert: aggregation ? undefined : true,
        }),
      );
      truncated.value = result.truncated;
      return panelsOf(result);
    },
    [id, span.value],
    {
      ...of("measurements", id),
      take: (messages) => {
        if (aggregation || !panels.data.value) return;
        const measured = messages.filter((one) => one.data.realtimeAction === "CREATE").map((one) => one.data.data as Measurement);
        if (!append(panels.data.value, measured)) return panels.reload();
        for (const panel of panels.data.value) handles.current.get(panel.key)?.set(panel.data);
        latest.value += 1;
      },
    },
  );
  latest.value;
  return (
    <Card title="Measurements" aside={<Choice label="Span" value={span.value} options={Object.entries(SPANS).map(([key, { text }]) => [key, text])} onChange={(value) => (span.value = value)} />}>
      {truncated.value && <p class="hint">There are more than 5000 values; the newest are shown.</p>}
      <States of={panels} isEmpty={(list) => list.length === 0} empty={<p>It measured nothing in this span. New measurements appear here by themselves.</p>}>
        {(list) => (
          <div class="panels">
            {list.map((panel) => (
              <div key={panel.key} class="panel">
                <h3>{panel.fragment.replace(/^plat_/, "")}</h3>
                <ul class="legend">
                  {panel.names.map((name, index) => (
                    <li key={name}><span class={`dot line-${(index % COLORS.length) + 1}`} />{name} <b class="value" key={latest.value}>{last(panel.data[index + 1])} {panel.unit}</b></li>
                  ))}
                </ul>
                <Chart
                  lines={panel.names.map((name, index) => ({ label: name, unit: panel.unit, color: COLORS[index % COLORS.length] }))}
                  data={panel.data}
                  height={150}
                  span={aggregation ? undefined : seconds}
                  label={`${panel.fragment}: ${panel.names.map((name, index) => `${name} ${last(panel.data[index + 1])} ${panel.unit}`).join(", ")}`}
                  handle={(chart) => handles.current.set(panel.key, chart)}
                />
              </div>
            ))}
          </div>
        )}
      </States>
    </Card>
  );
}

const last = (values: (number | null)[] | number[]) => {
  const value = values.findLast((one) => one !== null);
  return value == null ? "–" : format(value);
};

/** Appends measurements. Returns false when a series is new, or when a value is older than the last one. */
function append(panels: Panel[], measured: Measurement[]): boolean {
  for (const one of measured) {
    const at = Date.parse(one.time) / 1000;
    for (const [fragment, value] of Object.entries(one)) {
      if (typeof value !== "object" || value === null || fragment === "source") continue;
      const series = Object.entries(value as Record<string, { value?: number }>).filter(([, entry]) => typeof entry?.value === "number");
      if (series.length === 0) continue;
      const known = panels.filter((panel) => panel.fragment === fragment);
      if (series.some(([name]) => !known.some((panel) => panel.names.includes(name)))) return panels.length >= MOST_CHARTS;
      for (const { names, data: [xs, ...columns] } of known) {
        if (!series.some(([name]) => names.includes(name))) continue;
        if (xs.length > 0 && at < xs[xs.length - 1]) return false;
        xs.push(at);
        names.forEach((name, index) => columns[index].push(series.find(([other]) => other === name)?.[1].value ?? null));
      }
    }
  }
  return true;
}
