// The field for a name or a query. It completes fragments, operators and values, and marks the position of an error.

import { useSignal } from "@preact/signals";
import { useId, useRef } from "preact/hooks";
import { suggest, type Suggestion } from "../values/query";
import { Icon } from "./kit";

/** The types of the attributes allow this role only for fields with a list of the browser. */
const COMBOBOX: object = { role: "combobox" };

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
