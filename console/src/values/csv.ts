// CSV: lists as files, and the first rows of a file for a preview.

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

/** Returns the first rows of a file for a preview; the server parses the file itself. */
export function firstRows(text: string): string[][] {
  const named = text.match(/^\uFEFF?sep=(.)\r?\n/i);
  const body = text.slice(named?.[0].length ?? (text.startsWith("\uFEFF") ? 1 : 0));
  const [head] = body.split(/\r?\n/, 1);
  const separator =
    named?.[1] ??
    ["\t", ";", ","].reduce((best, one) => (head.split(one).length > head.split(best).length ? one : best));
  return rowsOf(body, separator)
    .filter((row) => row.some((cell) => cell !== ""))
    .slice(0, 6);
}

/** Splits CSV text. A quoted cell may contain separators, line ends and doubled quotes. */
function rowsOf(text: string, separator: string): string[][] {
  const rows: string[][] = [[]];
  const cells = new RegExp(`\\s*"((?:[^"]|"")*)"[^${separator}\\r\\n]*|([^${separator}\\r\\n]*)`, "y");
  for (let at = 0; at <= text.length;) {
    cells.lastIndex = at;
    const [whole, quoted, plain] = cells.exec(text)!;
    rows.at(-1)!.push(quoted !== undefined ? quoted.replaceAll('""', '"') : plain.trim());
    at += whole.length;
    if (at >= text.length) break;
    if (text[at] === separator) at += 1;
    else {
      at += text[at] === "\r" && text[at + 1] === "\n" ? 2 : 1;
      rows.push([]);
    }
  }
  return rows;
}

/** Whether a cell may be a password. A row that is longer than the head has cells that nobody named. */
export const isSecret = (head: string[], index: number) =>
  index >= head.length || /CREDENTIALS|PASSWORD/i.test(head[index]);
