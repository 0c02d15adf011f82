// The alarms, operations and events of a device.

import { download, get, path, withQuery } from "../../api";
import { apply, useLoad } from "../../load";
import { Time } from "../../time";
import type { Alarm, ManagedObject, Operation, PlatformEvent } from "../../types";
import { Action, Card, Icon, SeverityMark, States, StatusMark } from "../../ui/kit";
import { AlarmActions, byTime } from "../alarms";
import { titleOf, Why } from "../operations";
import { of } from "./channels";

export function AlarmsOf({ id }: { id: string }) {
  const alarms = useLoad(() => get<{ alarms: Alarm[] }>(withQuery("/alarm/alarms", { source: id, pageSize: 50 })).then((page) => page.alarms), [id], {
    ...of("alarms", id),
    take: (messages) => (alarms.data.value = apply(alarms.data.value ?? [], messages, () => true).sort(byTime)),
  });
  const open = (list: Alarm[]) => [...list.filter((alarm) => alarm.status !== "CLEARED"), ...list.filter((alarm) => alarm.status === "CLEARED").slice(0, 5)];
  return (
    <Card title="Alarms">
      <States of={alarms} isEmpty={(list) => list.length === 0} empty={<p>It never raised an alarm.</p>}>
        {(list) => (
          <ul class="rows">
            {open(list).map((alarm) => (
              <li key={alarm.id} class={`arrives ${alarm.status === "CLEARED" ? "past" : ""}`}>
                <SeverityMark of={alarm.severity} />
                <span class="grow clip" title={alarm.type}>{alarm.text}{alarm.count > 1 && <span class="times"> ×{alarm.count}</span>}</span>
                <StatusMark of={alarm.status} />
                <span class="faint nowrap"><Time at={alarm.time} /></span>
                <AlarmActions of={alarm} />
              </li>
            ))}
          </ul>
        )}
      </States>
    </Card>
  );
}

export function OperationsOf({ device }: { device: ManagedObject }) {
  const operations = useLoad(
    () => get<{ operations: Operation[] }>(withQuery("/devicecontrol/operations", { deviceId: device.id, pageSize: 2000 })).then((page) => page.operations.reverse().slice(0, 100)),
    [device.id],
    { ...of("operations", device.id), take: (messages) => (operations.data.value = apply(operations.data.value ?? [], messages, () => true)) },
  );
  return (
    <Card title="Operations">
      <States of={operations} isEmpty={(list) => list.length === 0} empty={<p>It was asked to do nothing yet.</p>}>
        {(list) => (
          <ul class="rows">
            {list.slice(0, 12).map((one) => (
              <li key={one.id} class="arrives operation">
                <span class="line">
                  <StatusMark of={one.status} />
                  <span class="grow clip"><b>{titleOf(one)}</b> <span class="faint">{one.failureReason}</span></span>
                  <span class="faint nowrap"><Time at={one.creationTime} /></span>
                </span>
                <Why of={one} />
              </li>
            ))}
          </ul>
        )}
      </States>
    </Card>
  );
}

export function EventsOf({ id }: { id: string }) {
  const events = useLoad(() => get<{ events: PlatformEvent[] }>(withQuery("/event/events", { source: id, pageSize: 30 })).then((page) => page.events), [id], {
    ...of("events", id),
    take: (messages) => (events.data.value = apply(events.data.value ?? [], messages, () => true).slice(0, 100)),
  });
  return (
    <Card title="Events">
      <States of={events} isEmpty={(list) => list.length === 0} empty={<p>It reported no event yet.</p>}>
        {(list) => (
          <ul class="rows">
            {list.slice(0, 20).map((one) => (
              <li key={one.id} class="arrives">
                <span class="grow clip">{one.text} <span class="faint">{one.type}</span></span>
                {one.plat_IsBinary && (
                  <Action class="small" label={`Download ${one.plat_IsBinary.name ?? "the file"}`} run={() => download(path`/event/events/${one.id}/binaries`, one.plat_IsBinary?.name ?? `event-${one.id}`)}>
                    <Icon name="file" />File
                  </Action>
                )}
                <span class="faint nowrap"><Time at={one.time} /></span>
              </li>
            ))}
          </ul>
        )}
      </States>
    </Card>
  );
}
