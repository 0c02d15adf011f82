// A table of a few rows, which may be wider than the window.

import type { ComponentChildren } from "preact";

/** A column. Only screen readers get the title of one with actions. */
export type SmallColumn<T> = [title: string, cell: (row: T) => ComponentChildren, kind?: "number" | "actions"];

const classOf = (kind?: string) => (kind === "number" ? kind : undefined);

export function SmallTable<T>(props: {
  label: string;
  columns: SmallColumn<T>[];
  rows: T[];
  rowClass?: (row: T) => string | undefined;
  class?: string;
}) {
  return (
    <div class={`scroll ${props.class ?? ""}`} tabIndex={0} role="region" aria-label={props.label}>
      <table>
        <thead>
          <tr>
            {props.columns.map(([title, , kind]) => (
              <th key={title} scope="col" class={classOf(kind)}>
                {kind === "actions" ? <span class="hidden">{title}</span> : title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {props.rows.map((row, index) => (
            <tr key={index} class={props.rowClass?.(row)}>
              {props.columns.map(([title, cell, kind]) => (
                <td key={title} class={classOf(kind)}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
