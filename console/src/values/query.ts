// The completion of queries for devices, and the positions of their errors.

export interface Suggestion {
  text: string;
  /** The description, for people. */
  about: string;
}

const OPERATORS: Suggestion[] = [
  { text: "eq ", about: "is equal; * stands for anything" },
  { text: "ne ", about: "is not equal" },
  { text: "gt ", about: "is greater" },
  { text: "ge ", about: "is greater or equal" },
  { text: "lt ", about: "is less" },
  { text: "le ", about: "is less or equal" },
];

const JOINTS: Suggestion[] = [
  { text: "and ", about: "both" },
  { text: "or ", about: "one of them" },
  { text: "$orderby=", about: "the order, with asc or desc" },
];

const BEGINNINGS: Suggestion[] = [
  { text: "has(", about: "has this fragment" },
  { text: "not ", about: "the opposite" },
  { text: "bygroupid(", about: "is in this group" },
];

const MOST = 8;

const PATH = /^[A-Za-z_][\w.]*$/;

/** Adds the paths of the members of objects with their values, for texts and numbers. */
export function addPaths(
  paths: Map<string, Set<string>>,
  objects: Record<string, unknown>[],
  hidden: Set<string>,
): Map<string, Set<string>> {
  const note = (path: string, value: unknown) => {
    const values = paths.get(path) ?? new Set();
    paths.set(path, values);
    if (typeof value === "string" && value.length < 60 && values.size < 50)
      values.add(`'${value.replaceAll("'", "''")}'`);
    if (typeof value === "number" || typeof value === "boolean") values.add(String(value));
  };
  for (const object of objects.slice(0, 200)) {
    for (const [name, value] of Object.entries(object)) {
      if (hidden.has(name)) continue;
      note(name, value);
      if (typeof value !== "object" || value === null || Array.isArray(value)) continue;
      for (const [member, inner] of Object.entries(value)) note(`${name}.${member}`, inner);
    }
  }
  return paths;
}

/**
 * Returns the possible continuations of a query for the text before the caret, and the start of the word that they
 * replace.
 */
export function suggest(before: string, paths: Map<string, Set<string>>): { word: string; list: Suggestion[] } {
  const isInText = before.split("'").length % 2 === 0;
  const word = before.match(isInText ? /'[^']*$/ : /[\w.$]*$/)?.[0] ?? "";
  const rest = before.slice(0, before.length - word.length).trimEnd();
  const fields = [...paths.keys()].sort().map((text) => ({ text, about: "of these devices" }));
  const last = rest.match(/(\S+)$/)?.[1] ?? "";
  const path = rest.match(/([\w.]+)\s+(eq|ne|gt|ge|lt|le)$/)?.[1];
  let list: Suggestion[];
  if (path)
    list = [...(paths.get(path) ?? [])].map((text) => ({ text: `${text} `, about: "a value of these devices" }));
  else if (/^\$orderby=/.test(word) || /\b(has|bygroupid)\($/.test(rest))
    list = rest.endsWith("bygroupid(") ? [] : fields;
  else if (PATH.test(last) && !/^(and|or|not)$/.test(last)) list = OPERATORS;
  else if (/['\d)]$|\b(true|false|null)$/.test(rest)) list = JOINTS;
  else list = [...BEGINNINGS, ...fields];
  const begun = word.toLowerCase();
  return {
    word,
    list: list.filter(({ text }) => text.toLowerCase().startsWith(begun) && text.trim() !== word).slice(0, MOST),
  };
}

/** Returns the position of an error in the typed text, for its position in the sent query. */
export function placeOf(message: string, query: string, typed: string): number | null {
  const [, character] = message.match(/at character (\d+)/) ?? [];
  if (!character) return null;
  const begin = typed.replace(/^\s*(\$filter=)?\s*/, "");
  const [filter] = begin.split("$orderby=");
  const offset = query.lastIndexOf(`(${filter.trim()})`) + 1;
  if (offset === 0) return null;
  const at = Number(character) - 1 - offset;
  // A position behind the filter is an error at its end, or in the order.
  return Math.max(0, Math.min(typed.length, at + typed.length - begin.length));
}
