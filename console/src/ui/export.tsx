// Files with all rows of a list, not only those in sight.

import { Action, tell } from "./kit";

/** Quotes a cell. A text that a spreadsheet would run as a formula begins with an apostrophe. */
function cell(value: unknown): string {
  const text =
    value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
  const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r;]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Returns rows as CSV. The first line names the columns. */
export function csvOf<T>(items: T[], columns: Record<string, (item: T) => unknown>): string {
  const lines = items.map((item) =>
    Object.values(columns)
      .map((value) => cell(value(item)))
      .join(","),
  );
  return [Object.keys(columns).join(","), ...lines, ""].join("\r\n");
}

function save(name: string, type: string, content: string): void {
  const address = URL.createObjectURL(new Blob([content], { type }));
  Object.assign(document.createElement("a"), { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** Buttons that save a whole list as CSV or JSON. */
export function Exports<T>(props: {
  name: string;
  all: () => Promise<T[]>;
  columns: Record<string, (item: T) => unknown>;
}) {
  const as = (type: "csv" | "json") => async () => {
    const items = await props.all();
    if (type === "csv") save(`${props.name}.csv`, "text/csv", csvOf(items, props.columns));
    else save(`${props.name}.json`, "application/json", JSON.stringify(items, null, 2));
    tell(`${items.length.toLocaleString()} rows are in the file.`);
  };
  return (
    <>
      <Action label={`Save all ${props.name} as CSV`} run={as("csv")}>
        CSV
      </Action>
      <Action label={`Save all ${props.name} as JSON`} run={as("json")}>
        JSON
      </Action>
    </>
  );
}
