// A live chart of time series. Dragging zooms in, a double click shows the whole range again.

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { between, timeLabels, valueLabels } from "../values/numbers";
import { type Data, isolated } from "../values/series";

export interface Line {
  label: string;
  unit?: string;
  /** A custom property of the style sheet. */
  color: string;
  /** The lengths of dashes and gaps in pixels; a solid line without it. */
  dash?: number[];
}

/**
 * Returns the colour of a custom property as `rgb(…)`; the property itself contains one for light and one for dark.
 */
function colorOf(name: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

const faded = (color: string) => color.replace(/^rgb\((.*)\)$/, "rgba($1, 0.12)");

/** Returns the width that the labels of an axis need, in pixels. */
const widthOf = (labels: string[] | null) =>
  Math.max(48, 14 + 7 * Math.max(0, ...(labels ?? []).map((label) => label.length)));

export interface ChartHandle {
  /** Shows other data and keeps the zoom. */
  set(data: Data): void;
}

export function Chart(props: {
  lines: Line[];
  data: Data;
  height: number;
  label: string;
  /** The unit of the axis of values. */
  unit?: string;
  handle?: (chart: ChartHandle) => void;
  /** The shown span in seconds up to now, for charts that move with the time. */
  span?: number;
  fill?: boolean;
  /** Whether the data has a second column for each line, after those of all lines: the least value beside the most. */
  band?: boolean;
}) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const zoomed = useRef(false);
  useEffect(() => {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    let last = props.data;
    const element = box.current!;
    const make = () => {
      plot.current?.destroy();
      const grid = { stroke: colorOf("--grid"), width: 1 };
      const drawn = props.lines.map((line) => ({
        label: line.label,
        stroke: colorOf(line.color),
        width: 1.75,
        dash: line.dash,
        fill: props.fill ? faded(colorOf(line.color)) : undefined,
        points: {
          size: 5,
          filter: (chart: uPlot, index: number, show: boolean) => (show ? null : isolated(chart.data[index])),
        },
        spanGaps: false,
      }));
      const axis = { stroke: colorOf("--faint"), grid, ticks: { show: false }, font: "12px system-ui", size: 34 };
      plot.current = new uPlot(
        {
          width: element.clientWidth,
          height: props.height,
          legend: { show: false },
          cursor: { drag: { x: true, y: false }, points: { size: 7 } },
          scales: { x: { range: (_, min, max) => rangeOf(min, max) } },
          axes: [
            { ...axis, space: 80, values: (_, splits) => timeLabels(splits) },
            { ...axis, size: (_, labels) => widthOf(labels), space: 32, values: (_, splits) => valueLabels(splits) },
          ],
          series: [{}, ...drawn, ...(props.band ? drawn : [])],
          bands: props.band
            ? drawn.map((line, index) => ({ series: [index + 1, index + 1 + drawn.length], fill: faded(line.stroke) }))
            : [],
          hooks: {
            setSelect: [(chart) => (zoomed.current = chart.select.width > 0)],
            setCursor: [(chart) => showValues(chart)],
            // The shown span, which tests read.
            setScale: [
              ({ scales: { x } }) =>
                Object.assign(element.dataset, { from: Math.round(x.min ?? 0), to: Math.round(x.max ?? 0) }),
            ],
          },
        },
        last,
        element,
      );
    };
    const rangeOf = (min: number, max: number): [number, number] => {
      if (props.span && !zoomed.current) {
        const end = Date.now() / 1000;
        return [end - props.span, end];
      }
      return min === max ? [min - 60, max + 60] : [min, max];
    };
    const readout = element.querySelector<HTMLElement>(".readout")!;
    const showValues = ({ cursor, data }: uPlot) => {
      const at = cursor.idx;
      if (at == null || (cursor.left ?? -1) < 0) {
        readout.textContent = "";
        return;
      }
      const parts = props.lines.map((line, index) => {
        const most = data[index + 1][at];
        const least = props.band ? data[index + 1 + props.lines.length][at] : most;
        if (most == null || least == null) return "";
        return `${line.label} ${between(least, most)}${line.unit ? ` ${line.unit}` : ""}`;
      });
      readout.textContent = [new Date(data[0][at] * 1000).toLocaleString("en-GB"), ...parts.filter(Boolean)].join(
        "  ·  ",
      );
    };
    make();
    // The listener runs before that of the chart, which asks for the range.
    const unzoom = () => (zoomed.current = false);
    element.addEventListener("dblclick", unzoom, true);
    const observer = new ResizeObserver(() =>
      plot.current?.setSize({ width: element.clientWidth, height: props.height }),
    );
    observer.observe(element);
    dark.addEventListener("change", make);
    props.handle?.({
      set(data) {
        last = data;
        plot.current?.setData(data, !zoomed.current);
        if (zoomed.current) plot.current?.redraw();
      },
    });
    return () => {
      observer.disconnect();
      element.removeEventListener("dblclick", unzoom, true);
      dark.removeEventListener("change", make);
      plot.current?.destroy();
      plot.current = null;
    };
  }, [props.lines.map((line) => line.label).join(), props.span, props.band]);
  useEffect(() => plot.current?.setData(props.data, !zoomed.current), [props.data]);
  return (
    <div class="chart" ref={box} role="img" aria-label={props.label}>
      {props.unit && (
        <div class="unit" aria-hidden="true">
          {props.unit}
        </div>
      )}
      <div class="readout" aria-hidden="true" />
    </div>
  );
}
