// The choice of a place in the journal.

import type { Signal } from "@preact/signals";
import { Field } from "../../ui/kit";
import type { Place } from "../../values/consumers";

export type Kind = Place["kind"];

export function PlaceFields(props: { label: string; options: [kind: Kind, text: string][]; kind: Signal<Kind> }) {
  const { kind } = props;
  return (
    <>
      <Field label={props.label}>
        <select value={kind.value} onChange={(event) => (kind.value = event.currentTarget.value as Kind)}>
          {props.options.map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      </Field>
      {kind.value === "time" && (
        <Field label="Time" hint="In your time zone">
          <input name="time" type="datetime-local" step="1" required />
        </Field>
      )}
      {kind.value === "position" && (
        <Field label="Position" hint="The next notification is the one behind it.">
          <input name="position" type="number" min="0" step="1" required />
        </Field>
      )}
    </>
  );
}

/** Returns the place that was chosen and typed. */
export function placeOf(kind: Kind, form: FormData): Place {
  if (kind === "time") return { kind, at: new Date(String(form.get("time"))) };
  return kind === "position" ? { kind, position: Number(form.get("position")) } : { kind };
}
