// The choice of one device among any number: a text finds it by name, type, id or serial number.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { useLoad } from "../load";
import { findDevices } from "../search";
import { Field } from "./kit";

const MOST = 50;
const TYPING_MS = 250;

export function DeviceField({ name }: { name: string }) {
  const typed = useSignal("");
  const text = useSignal("");
  const found = useLoad(() => findDevices(text.value, MOST), [text.value]);
  useEffect(() => {
    const timer = setTimeout(() => (text.value = typed.value), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed.value]);
  const { devices = [], isAll = true } = found.data.value ?? {};
  const hint =
    found.error.value?.message ??
    (isAll
      ? undefined
      : `The first ${MOST} of more. Type a part of the name, the id or the serial number to find others.`);
  return (
    <>
      <Field label="Find a device">
        <input
          type="search"
          autocomplete="off"
          spellcheck={false}
          value={typed.value}
          onInput={(event) => (typed.value = event.currentTarget.value)}
        />
      </Field>
      <Field label="Device" hint={hint}>
        <select name={name} required>
          {devices.map((one) => (
            <option key={one.id} value={one.id}>
              {one.name ?? one.id} ({one.id})
            </option>
          ))}
        </select>
      </Field>
    </>
  );
}
