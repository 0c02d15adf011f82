// The field for a name or a query. It completes fragments, operators and values, and marks the position of an error.

import { useSignal } from "@preact/signals";
import { useId, useRef } from "preact/hooks";
import { Icon } from "./kit";

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
/** The types of the attributes allow this role only for fields with a list of the browser. */
const COMBOBOX: object = { role: "combobox" };
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
  const word = before.match(/'[^']*$|[\w.$]*$/)?.[0] ?? "";
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

export function QueryField(props: {
  value: string;
  onInput: (text: string) => void;
  paths: () => Map<string, Set<string>>;
  placeholder: string;
  isMistaken: boolean;
}) {
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  const shown = useSignal<{ word: string; list: Suggestion[] } | null>(null);
  const chosen = useSignal(-1);
  const update = () => {
    const { value, selectionStart } = input.current!;
    const found = suggest(value.slice(0, selectionStart ?? value.length), props.paths());
    // A name is not a query, so the list stays closed until the first letter of a known word.
    const isBegun = found.word !== "" || /\s$/.test(value);
    shown.value = isBegun && found.list.length > 0 && value !== "" ? found : null;
    chosen.value = -1;
  };
  const take = (suggestion: Suggestion) => {
    const { value, selectionStart } = input.current!;
    const end = selectionStart ?? value.length;
    const start = end - shown.value!.word.length;
    const text = value.slice(0, start) + suggestion.text + value.slice(end);
    props.onInput(text);
    input.current!.value = text;
    input.current!.setSelectionRange(start + suggestion.text.length, start + suggestion.text.length);
    input.current!.focus();
    update();
  };
  const onKey = (event: KeyboardEvent) => {
    const list = shown.value?.list;
    if (!list) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) chosen.value = (chosen.value + step + list.length + (chosen.value < 0 && step < 0 ? 1 : 0)) % list.length;
    else if (event.key === "Escape") shown.value = null;
    else if ((event.key === "Enter" || event.key === "Tab") && chosen.value >= 0) take(list[chosen.value]);
    else return;
    event.preventDefault();
  };
  return (
    <div class="search">
      <Icon name="search" />
      <input
        ref={input}
        type="search"
        {...COMBOBOX}
        aria-label="Name or query"
        aria-autocomplete="list"
        aria-expanded={!!shown.value}
        aria-controls={`${id}-list`}
        aria-activedescendant={chosen.value >= 0 ? `${id}-${chosen.value}` : undefined}
        aria-invalid={props.isMistaken}
        placeholder={props.placeholder}
        spellcheck={false}
        autocapitalize="none"
        autocomplete="off"
        value={props.value}
        onInput={(event) => {
          props.onInput(event.currentTarget.value);
          update();
        }}
        onKeyDown={onKey}
        onBlur={() => (shown.value = null)}
      />
      <ul id={`${id}-list`} class="suggestions" role="listbox" aria-label="Completions" hidden={!shown.value}>
        {shown.value?.list.map((one, index) => (
          // The default action is prevented so that the field keeps the focus.
          <li
            key={one.text}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === chosen.value}
            onMouseDown={(event) => (event.preventDefault(), take(one))}>
            <code>{one.text.trim()}</code> <span class="faint">{one.about}</span>
          </li>
        ))}
      </ul>
    </div>
  );
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
