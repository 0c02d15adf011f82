// Files with all rows of a list, not only those in sight.

import { csvOf } from "../values/csv";
import { Action, tell } from "./kit";

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
