// The window that moves a consumer to another place of the journal, and says what that means before it happens.

import { useSignal } from "@preact/signals";
import { call, path } from "../../api";
import type { NotificationConsumer } from "../../reference";
import { Dialog, Form, tell, type WindowProps } from "../../ui/kit";
import { ask } from "../../ui/question";
import { moveInWords, placeInWords, valueOf } from "../../values/consumers";
import { type Kind, PlaceFields, placeOf } from "./place";

const PLACES: [Kind, string][] = [
  ["now", "now: behind the newest change"],
  ["earliest", "earliest: before all that the journal still has"],
  ["time", "a time: before the first change from then on"],
  ["position", "a position"],
];

export function Move({ of: consumer, onClose, onChanged }: WindowProps & { of: NotificationConsumer }) {
  const { name, position, newest } = consumer;
  const kind = useSignal<Kind>("now");
  const send = async (form: FormData) => {
    const place = placeOf(kind.value, form);
    const isMeant = await ask({
      title: `Move ${name} to ${placeInWords(place)}?`,
      text: moveInWords(consumer, place),
      button: `Move ${name}`,
    });
    if (!isMeant) return;
    const body = { position: valueOf(place) };
    const moved = await call<NotificationConsumer>("PUT", path`/notification/consumers/${name}`, { body });
    tell(`${name} goes on behind position ${moved.position.toLocaleString()}.`);
    onChanged();
    onClose();
  };
  return (
    <Dialog title={`Move ${name}`} onClose={onClose}>
      <Form send={send} action="Move">
        <p>
          Its position is {position.toLocaleString()}, and the newest is {newest.toLocaleString()}.
        </p>
        <PlaceFields label="To" options={PLACES} kind={kind} />
      </Form>
    </Dialog>
  );
}
