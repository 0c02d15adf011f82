// The alarms, operations and events of a device.

import { useComputed, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { download, path } from "../../api";
import { type List, useFirst, useList } from "../../list";
import { AlarmActions, AlarmDetails } from "../../parts/alarm";
import { Why } from "../../parts/why";
import { link } from "../../router";
import { Time } from "../../time";
import type { Alarm, ManagedObject, Operation, PlatformEvent } from "../../types";
import { useKeptFocus } from "../../ui/focus";
import { Action, Button, Icon, SeverityMark, StatusMark } from "../../ui/kit";
import { ListCard, LoadedCard } from "../../ui/loaded";
import { apply, byTime } from "../../values/merge";
import { titleOf } from "../../values/words";
import { of } from "./channels";

/** The most rows of a card at first. */
const SHOWN = 12;
/** The number of events that a click adds. */
const MORE = 50;
const OPEN = "ACTIVE,ACKNOWLEDGED";
const ENDED = 5;

/** All open alarms, and the last ones that were cleared: how young those are says nothing about the open ones. */
export function AlarmsOf({ id }: { id: string }) {
  const scope = of("alarms", id);
  const page = { path: "/alarm/alarms", member: "alarms" };
  const open = useList<Alarm>({
    ...page,
    params: { source: id, status: OPEN },
    live: {
      ...scope,
      take: (list, messages) => apply(list, messages, (alarm) => alarm.status !== "CLEARED").sort(byTime),
    },
  });
  const cleared = useList<Alarm>({
    ...page,
    params: { source: id, status: "CLEARED" },
    pageSize: ENDED,
    live: {
      ...scope,
      // A channel has one list.
      hasList: false,
      take: (list, messages) => apply(list, messages, (alarm) => alarm.status === "CLEARED").sort(byTime),
    },
  });
  const both = {
    ...open,
    error: useComputed(() => open.error.value ?? cleared.error.value),
    data: useComputed(
      () => open.data.value && cleared.data.value && [...open.data.value, ...cleared.data.value.slice(0, ENDED)],
    ),
  };
  const rows = useRef<HTMLUListElement>(null);
  useKeptFocus(rows);
  const watched = useSignal<string | null>(null);
  const shown = both.data.value?.find((alarm) => alarm.id === watched.value);
  // Open alarms are read to their end.
  useEffect(() => open.more(), [open.rest.value]);
  return (
    <ListCard
      title="Alarms"
      of={open}
      shown={both}
      noun="open alarm"
      empty={<p>It has no alarm.</p>}
      actions={<a href={link(["alarms"], { source: id, status: "ALL" })}>All alarms</a>}
      below={shown && <AlarmDetails of={shown} onClose={() => (watched.value = null)} />}>
      {(list) => (
        <ul class="rows" ref={rows} tabIndex={-1}>
          {list.map((alarm) => (
            <li key={alarm.id} data-key={alarm.id} class={`arrives ${alarm.status === "CLEARED" ? "past" : ""}`}>
              <SeverityMark of={alarm.severity} />
              <Button
                class="plain as-link grow clip"
                title={`${alarm.text}\n${alarm.type}`}
                onClick={() => (watched.value = alarm.id)}>
                {alarm.text}
                {alarm.count > 1 && <span class="times"> ×{alarm.count}</span>}
              </Button>
              <StatusMark of={alarm.status} />
              <span class="faint nowrap">
                <Time at={alarm.time} />
              </span>
              <AlarmActions of={alarm} />
            </li>
          ))}
        </ul>
      )}
    </ListCard>
  );
}

export function OperationsOf({ device }: { device: ManagedObject }) {
  const operations = useList<Operation>({
    path: "/devicecontrol/operations",
    member: "operations",
    params: { deviceId: device.id, revert: true },
    pageSize: 100,
    live: {
      ...of("operations", device.id),
      take: (list, messages) =>
        apply(list, messages, (one) => one.deviceId === device.id).sort((a, b) => Number(b.id) - Number(a.id)),
    },
  });
  return (
    <LoadedCard
      title="Operations"
      of={operations}
      actions={<a href={link(["operations"], { device: device.id })}>{allOf(operations, "operation")}</a>}
      isEmpty={(list) => list.length === 0}
      empty={<p>It was asked to do nothing yet.</p>}>
      {(list) => (
        <ul class="rows">
          {list.slice(0, SHOWN).map((one) => (
            <li key={one.id} class="arrives operation">
              <span class="line">
                <StatusMark of={one.status} />
                <span class="grow clip">
                  <b>{titleOf(one)}</b> <span class="faint">{one.failureReason}</span>
                </span>
                <span class="faint nowrap">
                  <Time at={one.creationTime} />
                </span>
              </span>
              <Why of={one} />
            </li>
          ))}
        </ul>
      )}
    </LoadedCard>
  );
}

export function EventsOf({ id }: { id: string }) {
  const all = useList<PlatformEvent>({
    path: "/event/events",
    member: "events",
    params: { source: id },
    pageSize: 100,
    live: { ...of("events", id), take: (list, messages) => apply(list, messages, () => true).sort(byTime) },
  });
  const events = useFirst(all, SHOWN, MORE);
  return (
    <ListCard title="Events" of={events} noun="event" empty={<p>It reported no event yet.</p>}>
      {(list) => (
        <ul class="rows">
          {list.map((one) => (
            <li key={one.id} class="arrives">
              <span class="grow clip">
                {one.text} <span class="faint">{one.type}</span>
              </span>
              {one.plat_IsBinary && (
                <Action
                  class="small"
                  label={`Download ${one.plat_IsBinary.name ?? "the file"}`}
                  run={() =>
                    download(path`/event/events/${one.id}/binaries`, one.plat_IsBinary?.name ?? `event-${one.id}`)
                  }>
                  <Icon name="file" />
                  File
                </Action>
              )}
              <span class="faint nowrap">
                <Time at={one.time} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </ListCard>
  );
}

/** The text of the link to all rows, with their number where it is known. */
function allOf<T>({ data, rest }: List<T>, noun: string): string {
  const number = rest.value.next ? rest.value.total : data.value?.length;
  return number == null ? `All ${noun}s` : `All ${number.toLocaleString()} ${noun}s`;
}
