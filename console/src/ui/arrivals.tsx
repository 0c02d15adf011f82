// Notifications as they arrive: the standing of their list, the button that pauses it, and the rows.

import type { Arrival, Arrivals } from "../arrivals";
import { timeOfDay } from "../values/times";
import { Button } from "./kit";
import { ArrivalStanding } from "./standing";

/** The characters of a notification that its row shows. */
const SHOWN = 300;

export function PauseButton({ of, class: name }: { of: Arrivals; class?: string }) {
  const { isPaused } = of;
  return (
    <Button class={name} aria-pressed={isPaused.value} onClick={() => (isPaused.value = !isPaused.value)}>
      {isPaused.value ? "Go on" : "Pause"}
    </Button>
  );
}

/** Whether rows arrive, and that there were more than those that are kept. */
export function ArrivalsStanding({ of: { rows, kept } }: { of: Arrivals }) {
  return (
    <>
      <ArrivalStanding />
      {rows.value.length === kept && <span class="partial">the last {kept}</span>}
    </>
  );
}

/** A notification in a line, which opens to show all of it. */
export function ArrivalRow({ of: { at, message }, name }: { of: Arrival; name: string }) {
  const data = message.data?.data ?? message.data;
  return (
    <details>
      <summary>
        <span class="faint">{timeOfDay(at)}</span> <b>{name}</b>{" "}
        <span class="mark">{message.data?.realtimeAction?.toLowerCase() ?? "row"}</span>{" "}
        <span class="clip faint">{JSON.stringify(data).slice(0, SHOWN)}</span>
      </summary>
      <pre>{JSON.stringify(data, null, 2)}</pre>
    </details>
  );
}
