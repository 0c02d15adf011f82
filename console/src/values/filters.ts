// The filters of lists: what an object must be, and queries for devices.

const quoted = (text: string) => text.replaceAll("'", "''");

/** Queries distinguish case, so the usual spellings of a text are tried. */
const spellings = (text: string) => [
  ...new Set([text, text.toLowerCase(), text[0].toUpperCase() + text.slice(1), text.toUpperCase()]),
];

/**
 * Returns the condition of a query for a text: a part of the name in any of its usual spellings, a part of the type or
 * of the serial number of the hardware, or the id.
 */
export function conditionOf(text: string): string {
  const part = (one: string) => `'*${quoted(one)}*'`;
  const names = spellings(text)
    .map((one) => `name eq ${part(one)}`)
    .join(" or ");
  const id = /^\d+$/.test(text) ? ` or id eq '${text}'` : "";
  return `(${names} or type eq ${part(text)} or plat_Hardware.serialNumber eq ${part(text)}${id})`;
}

/** A text that contains an operator or a function is a query; any other text is a part of a name. */
export const LOOKS_LIKE_QUERY = /\s(eq|ne|gt|ge|lt|le)\s|has\s*\(|bygroupid\s*\(|\$filter|\$orderby/;

export interface Filters {
  text: string;
  availability: string;
  group: string;
}

/** Returns the query for the filters. Quotes in a text are doubled. */
export function queryOf({ text, availability, group }: Filters): string {
  const parts = ["has(plat_IsDevice)"];
  if (availability) parts.push(`plat_Availability.status eq '${availability}'`);
  if (group) parts.push(`bygroupid(${group})`);
  let order = "";
  if (LOOKS_LIKE_QUERY.test(text)) {
    const [, filter, ordered] = text.match(/^(?:\s*\$filter=)?([\s\S]*?)(\$orderby=[\s\S]*)?$/) ?? [];
    if (filter?.trim()) parts.push(`(${filter.trim()})`);
    order = ordered ?? "";
  } else if (text.trim()) parts.push(conditionOf(text.trim()));
  return `$filter=${parts.join(" and ")} ${order || "$orderby=name"}`;
}

/** Returns whether a value is one of those that a filter names, with commas between them. An empty filter names all. */
export const isChosen = (filter: string, value: string | undefined) =>
  filter === "" || filter.split(",").includes(value ?? "");
