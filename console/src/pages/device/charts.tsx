// The measurements of a device: live for short spans, aggregated for long ones.

import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { Message } from "cometd";
import { get, withQuery } from "../../api";
import { useCalm, useLoad } from "../../load";
import type { SeriesValues } from "../../reference";
import type { Measurement } from "../../types";
import { Chart, type ChartHandle } from "../../ui/chart";
import { Button, Choice } from "../../ui/kit";
import { LineMark, lookOf } from "../../ui/lines";
import { LoadedCard } from "../../ui/loaded";
import { append, newestInWords, type Panel, panelsOf } from "../../values/series";
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
/** The charts that are drawn at first. */
const CHARTS_AT_FIRST = 12;

const labelOf = (panel: Panel) => {
  const newest = panel.names.map((name, index) => `${name} ${newestInWords(panel, index)} ${panel.unit}`);
  return `${panel.fragment}: ${newest.join(", ")}`;
};

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
  const number = panels.data.value?.length ?? 0;
  return (
    <LoadedCard
      title="Measurements"
      of={panels}
      actions={
        <Choice
          label="Span"
          value={span.value}
          options={Object.entries(SPANS).map(([key, { text }]) => [key, text])}
          onChange={(value) => (span.value = value)}
        />
      }
      isEmpty={(list) => list.length === 0}
      empty={<p>It measured nothing in this span.</p>}
      below={
        <>
          {number > most.value && (
            <p>
              <span class="partial">
                {most.value} of {number} charts
              </span>{" "}
              <Button class="plain" onClick={() => (most.value += CHARTS_AT_FIRST)}>
                Show more charts
              </Button>
            </p>
          )}
          {truncated.value && (
            <p class="hint">There are more values than the server sends at once; only the newest are shown.</p>
          )}
        </>
      }>
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
                      {newestInWords(panel, index)} {panel.unit}
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
                label={labelOf(panel)}
                handle={(chart) => handles.current.set(panel.key, chart)}
              />
            </div>
          ))}
        </div>
      )}
    </LoadedCard>
  );
}
