// The raw notifications about the device, as they arrive.

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Message } from "cometd";
import { subscribe } from "../../live";
import { canSee } from "../../session";
import { Card } from "../../ui/kit";
import { ArrivalStanding } from "../../ui/standing";
import { timeOfDay } from "../../values/times";

/** The kinds of notifications, each with the role that may receive them. */
const KINDS: [string, string][] = [
  ["measurements", "ROLE_MEASUREMENT_READ"],
  ["events", "ROLE_EVENT_READ"],
  ["alarms", "ROLE_ALARM_READ"],
  ["operations", "ROLE_DEVICE_CONTROL_READ"],
  ["managedobjects", "ROLE_INVENTORY_READ"],
];
const KEPT = 60;

interface Row {
  number: number;
  at: Date;
  kind: string;
  action: string;
  data: unknown;
}

export function Wire({ id }: { id: string }) {
  const rows = useSignal<Row[]>([]);
  const paused = useSignal(false);
  const counter = useRef(0);
  useEffect(() => {
    const take = (kind: string) => (messages: Message[]) => {
      if (paused.value) return;
      const newest = messages.slice(-KEPT).map((message): Row => ({
        number: ++counter.current,
        at: new Date(),
        kind,
        action: message.data?.realtimeAction ?? "",
        data: message.data?.data,
      }));
      rows.value = [...newest.reverse(), ...rows.value].slice(0, KEPT);
    };
    const seen = KINDS.filter(([, role]) => canSee(role));
    const subscriptions = seen.map(([kind]) => subscribe(`/${kind}/${id}`, take(kind)));
    return () => subscriptions.forEach((one) => one.end());
  }, [id]);
  return (
    <Card
      title="The wire"
      aside={
        <>
          <ArrivalStanding />
          {rows.value.length === KEPT && <span class="partial">the last {KEPT}</span>}
          <button
            type="button"
            class="small"
            aria-pressed={paused.value}
            onClick={() => (paused.value = !paused.value)}>
            {paused.value ? "Go on" : "Pause"}
          </button>
        </>
      }>
      {rows.value.length === 0 ? (
        <div class="state">
          <p>Nothing was notified since this page was opened. Notifications of this device appear here at once.</p>
        </div>
      ) : (
        <ol class="wire" tabIndex={0} aria-label="Notifications of this device">
          {rows.value.map((row) => (
            <li key={row.number}>
              <details>
                <summary>
                  <span class="faint">{timeOfDay(row.at)}</span> <b>{row.kind}</b>{" "}
                  <span class="mark">{row.action.toLowerCase()}</span>{" "}
                  <span class="clip faint">{JSON.stringify(row.data).slice(0, 300)}</span>
                </summary>
                <pre>{JSON.stringify(row.data, null, 2)}</pre>
              </details>
            </li>
          ))}
        </ol>
      )}
    </Card>
  );
}
