// A long list in which only the visible rows exist, presented as a table to screen readers.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { recall, remember } from "../router";
import { useKeptFocus } from "./focus";

export interface Column<T> {
  title: string;
  /** Whether only screen readers get the title. */
  hiddenTitle?: boolean;
  /** The size of a column in a CSS grid. */
  width: string;
  /** Whether the column is left out in narrow windows. */
  wide?: boolean;
  cell: (item: T) => ComponentChildren;
  /** The two-line content that narrow windows show instead. */
  narrow?: { width: string; cell: (item: T) => ComponentChildren };
}

/** The heights of a row in pixels. */
const [ROW, NARROW_ROW] = [44, 60];
/** The number of rows above and below the visible area that exist too. */
const MARGIN = 8;

/** Returns whether the page is being printed, for which all rows exist. */
function useWholeInPrint(): boolean {
  const isWhole = useSignal(false);
  useEffect(() => {
    const begin = () => (isWhole.value = true);
    const end = () => (isWhole.value = false);
    addEventListener("beforeprint", begin);
    addEventListener("afterprint", end);
    return () => {
      removeEventListener("beforeprint", begin);
      removeEventListener("afterprint", end);
    };
  }, []);
  return isWhole.value;
}

/** Copies selected rows as lines with tabs, as spreadsheets take them. A selection within a row is copied as it is. */
function copyLines(event: ClipboardEvent): void {
  const selection = getSelection();
  const rows = [...(event.currentTarget as HTMLElement).querySelectorAll(".virtual-row")].filter((row) =>
    selection?.containsNode(row, true),
  );
  if (rows.length < 2) return;
  const lines = rows.map((row) => [...row.children].map((cell) => cell.textContent?.trim()).join("\t"));
  event.clipboardData?.setData("text/plain", lines.join("\n"));
  event.preventDefault();
}

export function VirtualTable<T>(props: {
  label: string;
  columns: Column<T>[];
  items: T[];
  keyOf: (item: T) => string;
  rowClass?: (item: T) => string;
  /** Called when the end becomes visible and the list is incomplete. */
  onEnd?: () => void;
  total?: number | null;
  /** The filters of the list. With others it begins at its top again. */
  filters?: string;
}) {
  const box = useRef<HTMLDivElement>(null);
  const view = useSignal({ top: 0, height: 600, narrow: false });
  const place = `place of ${props.label} ${props.filters ?? ""}`;
  const measure = () => {
    // An observer may still report after the table has left the page.
    if (!box.current) return;
    remember(place, box.current.scrollTop);
    const { scrollTop, clientHeight, clientWidth } = box.current;
    const narrow = clientWidth < 620;
    const next = { top: Math.floor(scrollTop / (narrow ? NARROW_ROW : ROW)), height: clientHeight, narrow };
    const last = view.peek();
    if (next.top !== last.top || next.height !== last.height || next.narrow !== last.narrow) view.value = next;
  };
  useLayoutEffect(() => {
    box.current!.scrollTop = recall<number>(place) ?? 0;
  }, [place]);
  useKeptFocus(box);
  useEffect(() => {
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  const isWhole = useWholeInPrint();
  const { top, height, narrow } = view.value;
  const row = narrow ? NARROW_ROW : ROW;
  const from = isWhole ? 0 : Math.max(0, Math.min(top, props.items.length) - MARGIN);
  const until = isWhole ? props.items.length : Math.min(props.items.length, top + Math.ceil(height / row) + MARGIN);
  useEffect(() => {
    if (until >= props.items.length) props.onEnd?.();
  }, [until, props.items.length]);
  const columns = props.columns.filter((column) => !narrow || !column.wide);
  const grid = {
    gridTemplateColumns: columns.map((column) => (narrow && column.narrow?.width) || column.width).join(" "),
  };
  return (
    <div
      class={narrow ? "virtual narrow" : "virtual"}
      ref={box}
      onScroll={measure}
      onCopy={copyLines}
      role="table"
      aria-label={props.label}
      aria-rowcount={props.total ?? props.items.length}
      tabIndex={0}>
      <div class="virtual-head" role="rowgroup">
        <div role="row" class="virtual-row" style={grid}>
          {columns.map((column) => (
            <div key={column.title} role="columnheader">
              {column.hiddenTitle ? <span class="hidden">{column.title}</span> : column.title}
            </div>
          ))}
        </div>
      </div>
      <div role="rowgroup" class="virtual-body" style={{ height: `${props.items.length * row}px` }}>
        {props.items.slice(from, until).map((item, index) => (
          <div
            key={props.keyOf(item)}
            role="row"
            data-key={props.keyOf(item)}
            aria-rowindex={from + index + 1}
            class={`virtual-row ${props.rowClass?.(item) ?? ""}`}
            style={{ ...grid, transform: `translateY(${(from + index) * row}px)` }}>
            {columns.map((column) => (
              <div key={column.title} role="cell">
                {narrow && column.narrow ? column.narrow.cell(item) : column.cell(item)}
              </div>
            ))}
          </div>
        ))}
      </div>
    </div>
  );
}
