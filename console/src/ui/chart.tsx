// A live chart of time series. Dragging zooms in, a double click shows the whole range again.

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";

export interface Line {
  label: string;
  unit?: string;
  /** A custom property of the style sheet. */
  color: string;
}
export type Data = [x: number[], ...y: (number | null)[][]];

export const COLORS = ["--line-1", "--line-2", "--line-3", "--line-4", "--line-5", "--line-6"];

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

/** Returns the labels of the time axis, as exact as the shown span requires. */
function timeLabels(splits: number[]): string[] {
  const span = splits[splits.length - 1] - splits[0];
  const options: Intl.DateTimeFormatOptions =
    span > 3 * 86_400 ? { day: "numeric", month: "short" } : { hour: "2-digit", minute: "2-digit", second: span < 600 ? "2-digit" : undefined, hourCycle: "h23" };
  const shown = new Intl.DateTimeFormat(undefined, options);
  return splits.map((seconds) => shown.format(seconds * 1000));
}

export interface ChartHandle {
  /** Shows other data and keeps the zoom. */
  set(data: Data): void;
}

export function Chart(props: {
  lines: Line[];
  data: Data;
  height: number;
  label: string;
  handle?: (chart: ChartHandle) => void;
  /** The shown span in seconds up to now, for charts that move with the time. */
  span?: number;
  fill?: boolean;
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
      const axis = { stroke: colorOf("--faint"), grid, ticks: { show: false }, font: "12px system-ui", size: 34 };
      plot.current = new uPlot(
        {
          width: element.clientWidth,
          height: props.height,
          legend: { show: false },
          cursor: { drag: { x: true, y: false }, points: { size: 7 } },
          scales: { x: { range: (_, min, max) => rangeOf(min, max) } },
          axes: [{ ...axis, space: 80, values: (_, splits) => timeLabels(splits) }, { ...axis, size: 48, space: 32 }],
          series: [
            {},
            ...props.lines.map((line) => ({
              label: line.label,
              stroke: colorOf(line.color),
              width: 1.75,
              fill: props.fill ? faded(colorOf(line.color)) : undefined,
              points: { show: false },
              spanGaps: false,
            })),
          ],
          hooks: {
            setSelect: [(chart) => (zoomed.current = chart.select.width > 0)],
            setCursor: [(chart) => showValues(chart)],
          },
        },
        last,
        element,
      );
      plot.current.over.addEventListener("dblclick", () => (zoomed.current = false));
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
        const value = data[index + 1][at];
        return value == null ? "" : `${line.label} ${format(value)}${line.unit ? ` ${line.unit}` : ""}`;
      });
      readout.textContent = [new Date(data[0][at] * 1000).toLocaleString(), ...parts.filter(Boolean)].join("  ·  ");
    };
    make();
    const observer = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height: props.height }));
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
      dark.removeEventListener("change", make);
      plot.current?.destroy();
      plot.current = null;
    };
  }, [props.lines.map((line) => line.label).join(), props.span]);
  useEffect(() => plot.current?.setData(props.data, !zoomed.current), [props.data]);
  return (
    <div class="chart" ref={box} role="img" aria-label={props.label}>
      <div class="readout" aria-hidden="true" />
    </div>
  );
}

const numbers = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 5 });
export const format = (value: number) => numbers.format(value);
