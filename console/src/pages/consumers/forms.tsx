// The windows that make a consumer, and change the bounds of its backlog.

import { useSignal } from "@preact/signals";
import { call, path } from "../../api";
import type { NotificationConsumer } from "../../reference";
import { can } from "../../session";
import { ChannelChips, ChannelInput } from "../../ui/channels";
import { Field, FormDialog, tell, type WindowProps } from "../../ui/kit";
import { ofAllFor, withChannel } from "../../values/channels";
import { amountIn, valueOf } from "../../values/consumers";
import { bytes, periodInWords } from "../../values/numbers";
import { type Kind, PlaceFields, placeOf } from "./place";

const STARTS: [Kind, string][] = [
  ["now", "now: with the next change"],
  ["earliest", "earliest: with all that the journal still has"],
  ["time", "at a time"],
];

export function NewConsumer(props: WindowProps) {
  const channels = useSignal<string[]>([]);
  const start = useSignal<Kind>("now");
  const send = async (form: FormData) => {
    const name = String(form.get("name")).trim();
    const body = {
      name,
      channels: withChannel(channels.value, String(form.get("channel"))),
      start: valueOf(placeOf(start.value, form)),
      ...boundsOf(form),
    };
    const { position } = await call<NotificationConsumer>("POST", "/notification/consumers", { body });
    tell(`The consumer ${name} begins behind position ${position.toLocaleString()}.`);
  };
  const add = (channel: string) => (channels.value = withChannel(channels.value, channel));
  return (
    <FormDialog title="New consumer" action="Create" send={send} {...props}>
      <Field label="Name" hint="Letters, digits, _ . and -. It never changes.">
        <input name="name" required autocomplete="off" autocapitalize="none" spellcheck={false} />
      </Field>
      <div>
        <div class="inline">
          <ChannelInput hint="/alarms/* or /alarms/4711, or /alarmsWithChildren/4711" onAdd={add} />
        </div>
        <ChannelChips
          chosen={channels.value}
          offered={ofAllFor(can)}
          verb="Remove"
          onChange={(list) => (channels.value = list)}
        />
      </div>
      <PlaceFields label="Begins" options={STARTS} kind={start} />
      <BoundFields age="24 h if it is empty" size="67.1 MB if it is empty" />
    </FormDialog>
  );
}

export function Bounds({ of: consumer, ...props }: WindowProps & { of: NotificationConsumer }) {
  const { name, maxAge, maxBytes } = consumer;
  const send = async (form: FormData) => {
    await call("PUT", path`/notification/consumers/${name}`, { body: boundsOf(form) });
    tell(`The bounds of ${name} are in force.`);
  };
  const stays = "Empty means that it stays.";
  return (
    <FormDialog title={`Bounds of ${name}`} action="Save" send={send} {...props}>
      <p>A backlog beyond one of its bounds is dropped, and the consumer lapses.</p>
      <BoundFields age={`Now ${periodInWords(maxAge)}. ${stays}`} size={`Now ${bytes(maxBytes)}. ${stays}`} />
    </FormDialog>
  );
}

const AGES: [factor: number, unit: string][] = [
  [3600, "hours"],
  [60, "minutes"],
  [1, "seconds"],
];
const SIZES: [factor: number, unit: string][] = [
  [1e6, "MB"],
  [1e3, "kB"],
  [1e9, "GB"],
];

/** The fields for the bounds of a backlog, with hints. */
function BoundFields({ age, size }: { age: string; size: string }) {
  return (
    <>
      <Amount label="Oldest in the backlog" name="maxAge" units={AGES} hint={age} />
      <Amount label="Size of the backlog" name="maxBytes" units={SIZES} hint={size} />
    </>
  );
}

function Amount(props: { label: string; name: string; units: [factor: number, unit: string][]; hint: string }) {
  return (
    <div class="inline">
      <Field label={props.label} hint={props.hint}>
        <input name={props.name} type="number" min="0" step="any" />
      </Field>
      <Field label="Unit">
        <select name={`${props.name}Unit`}>
          {props.units.map(([factor, unit]) => (
            <option key={unit} value={factor}>
              {unit}
            </option>
          ))}
        </select>
      </Field>
    </div>
  );
}

/** Returns the bounds that were typed. */
const boundsOf = (form: FormData) => ({
  maxAge: amountIn(form.get("maxAge"), form.get("maxAgeUnit")),
  maxBytes: amountIn(form.get("maxBytes"), form.get("maxBytesUnit")),
});
