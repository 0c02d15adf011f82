// One device: what it is, how it is, what it measured, what went wrong, and what it is asked to do.

import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { call, download, get, withQuery } from "../api";
import { apply, asError, useLoad } from "../load";
import { link } from "../router";
import { can } from "../session";
import { Time } from "../time";
import type { Alarm, ManagedObject, Measurement, Operation, PlatformEvent, Series } from "../types";
import { Chart, type ChartHandle, COLORS, type Data, format } from "../ui/chart";
import { Action, Card, Choice, Dialog, Field, Form, Icon, Page, SeverityMark, States, StatusMark, tell } from "../ui/kit";
import { AlarmActions, byTime } from "./alarms";
import { availabilityOf } from "./devices";
import { NewOperation, titleOf, Why } from "./operations";

const of = (kind: string, id: string) => ({ channels: [`/${kind}/${id}`] });

export function DevicePage({ id }: { id: string }) {
  const creating = useSignal(false);
  const editing = useSignal(false);
  const device = useLoad(() => get<ManagedObject>(`/inventory/managedObjects/${id}?withParents=true`), [id], {
    ...of("managedobjects", id),
    take: (messages) => {
      const newest = messages.at(-1)!.data;
      if (newest.realtimeAction === "DELETE") device.reload();
      else device.data.value = { ...device.data.value, ...newest.data };
    },
  });
  const found = device.data.value;
  const isAgentOrBelow = found && (found.com_platform_model_Agent || found.deviceParents?.references.length);
  return (
    <Page
      title={found?.name ?? `Device ${id}`}
      sub={<Summary of={found} id={id} />}
      actions={
        found && (
          <>
            {can("ROLE_DEVICE_CONTROL_ADMIN") && isAgentOrBelow && <button type="button" class="primary" onClick={() => (creating.value = true)}>New operation</button>}
            {can("ROLE_INVENTORY_ADMIN") && <button type="button" onClick={() => (editing.value = true)}>Edit</button>}
          </>
        )
      }
    >
      <p class="back"><a href={link(["devices"])}>← All devices</a></p>
      <States of={device}>
        {(one) => (
          <div class="device">
            <div class="column">
              <Charts id={id} />
              <AlarmsOf id={id} />
              <OperationsOf device={one} />
              <EventsOf id={id} />
            </div>
            <div class="column aside">
              <Facts of={one} />
              <Links of={one} />
              <ExternalIds id={id} />
            </div>
          </div>
        )}
      </States>
      {creating.value && found && <NewOperation device={found} onClose={() => (creating.value = false)} />}
      {editing.value && found && <Edit device={found} onClose={() => (editing.value = false)} />}
    </Page>
  );
}

function Summary({ of: device, id }: { of?: ManagedObject; id: string }) {
  if (!device) return <>Id {id}</>;
  const { status, lastMessage } = availabilityOf(device);
  const connection = (device.plat_Connection as { status?: string } | undefined)?.status;
  return (
    <>
      <span class={`dot ${(status ?? "unwatched").toLowerCase()}`} /> {status?.toLowerCase() ?? "not watched"}
      {connection && <>, {connection.toLowerCase()}</>}
      {lastMessage && <>, last message <Time at={lastMessage} as="ago" /></>}
      {device.type && <> · {device.type}</>} · id <code>{id}</code>
    </>
  );
}

/** The fragments of the object that are facts about the device, not the server's bookkeeping. */
const HIDDEN = new Set(["id", "self", "name", "type", "owner", "creationTime", "lastUpdated", "childDevices", "childAssets", "childAdditions", "deviceParents", "assetParents", "additionParents", "plat_Availability", "plat_Connection", "plat_ActiveAlarmsStatus", "plat_IsDevice"]);

function Facts({ of: device }: { of: ManagedObject }) {
  const facts = Object.entries(device).filter(([name]) => !HIDDEN.has(name));
  const required = (device.plat_RequiredAvailability as { responseInterval?: number } | undefined)?.responseInterval;
  return (
    <Card title="What it is">
      <dl class="facts">
        <dt>Owner</dt><dd>{device.owner}</dd>
        <dt>Created</dt><dd><Time at={device.creationTime} /></dd>
        <dt>Changed</dt><dd><Time at={device.lastUpdated} /></dd>
        <dt>Availability</dt>
        <dd>{required === undefined ? "not watched: it has no response interval" : required > 0 ? `a message every ${required} min is expected` : "in maintenance"}</dd>
        {facts.filter(([name]) => name !== "plat_RequiredAvailability").map(([name, value]) => (
          <>
            <dt key={name}>{name.replace(/^(plat_|com_platform_model_)/, "")}</dt>
            <dd><Value of={value} /></dd>
          </>
        ))}
      </dl>
    </Card>
  );
}

function Value({ of: value }: { of: unknown }) {
  if (value === null || typeof value !== "object") return <>{String(value)}</>;
  if (Array.isArray(value)) return <>{value.every((one) => typeof one !== "object") ? value.join(", ") : <code class="wrap">{JSON.stringify(value)}</code>}</>;
  const members = Object.entries(value);
  if (members.length === 0) return <>yes</>;
  return <>{members.map(([name, member]) => <div key={name}><span class="faint">{name}</span> {typeof member === "object" ? <code class="wrap">{JSON.stringify(member)}</code> : String(member)}</div>)}</>;
}

function Links({ of: device }: { of: ManagedObject }) {
  const blocks: [string, ManagedObject["childDevices"]][] = [["Parents", device.deviceParents], ["Groups", device.assetParents], ["Children", device.childDevices], ["Members", device.childAssets]];
  const shown = blocks.filter(([, block]) => block?.references.length);
  if (shown.length === 0) return null;
  return (
    <Card title="What it belongs to">
      <dl class="facts">
        {shown.map(([title, block]) => (
          <>
            <dt key={title}>{title}</dt>
            <dd><ul class="links">{block!.references.map(({ managedObject }) => <li key={managedObject.id}><a href={link(["devices", managedObject.id])}>{managedObject.name ?? managedObject.id}</a></li>)}</ul></dd>
          </>
        ))}
      </dl>
    </Card>
  );
}

interface ExternalId {
  type: string;
  externalId: string;
}

function ExternalIds({ id }: { id: string }) {
  const ids = useLoad(() => get<{ externalIds: ExternalId[] }>(`/identity/globalIds/${id}/externalIds`).then((page) => page.externalIds), [id]);
  const adding = useSignal(false);
  const remove = (one: ExternalId) => call("DELETE", `/identity/externalIds/${encodeURIComponent(one.type)}/${encodeURIComponent(one.externalId)}`).then(ids.reload);
  const add = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.target as HTMLFormElement);
    try {
      await call("POST", `/identity/globalIds/${id}/externalIds`, { body: Object.fromEntries(form) });
      adding.value = false;
      ids.reload();
    } catch (error) {
      tell(asError(error).message, true);
    }
  };
  if (!can("ROLE_IDENTITY_READ")) return null;
  return (
    <Card title="External ids" aside={can("ROLE_IDENTITY_ADMIN") && <button type="button" class="plain" onClick={() => (adding.value = !adding.value)}>Add</button>}>
      {adding.value && (
        <form class="stacked" onSubmit={add}>
          <Field label="Type"><input name="type" value="plat_Serial" required /></Field>
          <Field label="Value"><input name="externalId" required /></Field>
          <button type="submit">Add</button>
        </form>
      )}
      <States of={ids} isEmpty={(list) => list.length === 0} empty={<p>It has no external id, such as a serial number.</p>}>
        {(list) => (
          <ul class="rows">
            {list.map((one) => (
              <li key={one.type + one.externalId}>
                <span class="grow clip"><span class="faint">{one.type}</span> <code>{one.externalId}</code></span>
                {can("ROLE_IDENTITY_ADMIN") && <Action class="small" label={`Remove ${one.externalId}`} confirm="Remove?" run={() => remove(one)}>Remove</Action>}
              </li>
            ))}
          </ul>
        )}
      </States>
    </Card>
  );
}

const SPANS: Record<string, { seconds: number; text: string; aggregation?: string }> = {
  "15m": { seconds: 900, text: "15 min" },
  "1h": { seconds: 3600, text: "1 h" },
  "1d": { seconds: 86_400, text: "1 day", aggregation: "MINUTELY" },
  "7d": { seconds: 7 * 86_400, text: "7 days", aggregation: "HOURLY" },
  "90d": { seconds: 90 * 86_400, text: "90 days", aggregation: "DAILY" },
};
const MOST_CHARTS = 12;

interface Panel {
  fragment: string;
  names: string[];
  units: string[];
  data: Data;
}

/** One panel for each fragment; aggregates are drawn as the middle of minimum and maximum. */
function panelsOf({ series, values }: Series): Panel[] {
  const times = Object.keys(values).map((time): [number, string] => [Date.parse(time) / 1000, time]).sort((a, b) => a[0] - b[0]);
  const fragments = [...new Set(series.map((one) => one.type))].slice(0, MOST_CHARTS);
  return fragments.map((fragment) => {
    const columns = series.flatMap((one, index) => (one.type === fragment ? [index] : []));
    const rows = times.filter(([, time]) => columns.some((column) => values[time][column]));
    const column = (index: number) => rows.map(([, time]) => (values[time][index] ? (values[time][index]!.min + values[time][index]!.max) / 2 : null));
    return {
      fragment,
      names: columns.map((index) => series[index].name),
      units: columns.map((index) => series[index].unit ?? ""),
      data: [rows.map(([seconds]) => seconds), ...columns.map(column)],
    };
  });
}

function Charts({ id }: { id: string }) {
  const span = useSignal("1h");
  const { seconds, aggregation } = SPANS[span.value];
  const handles = useRef(new Map<string, ChartHandle>());
  const latest = useSignal(0);
  const truncated = useSignal(false);
  const panels = useLoad(
    async () => {
      const now = Date.now();
      const result = await get<Series>(
        withQuery("/measurement/measurements/series", {
          source: id,
          dateFrom: new Date(now - seconds * 1000).toISOString(),
          dateTo: new Date(now + 60_000).toISOString(),
          aggregationType: aggregation,
          revert: aggregation ? undefined : true,
        }),
      );
      truncated.value = result.truncated;
      return panelsOf(result);
    },
    [id, span.value],
    {
      ...of("measurements", id),
      take: (messages) => {
        if (aggregation || !panels.data.value) return;
        const measured = messages.filter((one) => one.data.realtimeAction === "CREATE").map((one) => one.data.data as Measurement);
        if (!append(panels.data.value, measured)) return panels.reload();
        for (const panel of panels.data.value) handles.current.get(panel.fragment)?.set(panel.data);
        latest.value += 1;
      },
    },
  );
  latest.value;
  return (
    <Card title="Measurements" aside={<Choice label="Span" value={span.value} options={Object.entries(SPANS).map(([key, { text }]) => [key, text])} onChange={(value) => (span.value = value)} />}>
      {truncated.value && <p class="hint">There are more than 5000 values; the newest are shown.</p>}
      <States of={panels} isEmpty={(list) => list.length === 0} empty={<p>It measured nothing in this span. New measurements appear here by themselves.</p>}>
        {(list) => (
          <div class="panels">
            {list.map((panel) => (
              <div key={panel.fragment} class="panel">
                <h3>{panel.fragment.replace(/^plat_/, "")}</h3>
                <ul class="legend">
                  {panel.names.map((name, index) => (
                    <li key={name}><span class={`dot line-${(index % COLORS.length) + 1}`} />{name} <b class="value" key={latest.value}>{last(panel.data[index + 1])} {panel.units[index]}</b></li>
                  ))}
                </ul>
                <Chart
                  lines={panel.names.map((name, index) => ({ label: name, unit: panel.units[index], color: COLORS[index % COLORS.length] }))}
                  data={panel.data}
                  height={150}
                  span={aggregation ? undefined : seconds}
                  label={`${panel.fragment}: ${panel.names.map((name, index) => `${name} ${last(panel.data[index + 1])} ${panel.units[index]}`).join(", ")}`}
                  handle={(chart) => handles.current.set(panel.fragment, chart)}
                />
              </div>
            ))}
          </div>
        )}
      </States>
    </Card>
  );
}

const last = (values: (number | null)[] | number[]) => {
  const value = values.findLast((one) => one !== null);
  return value == null ? "–" : format(value);
};

/** Appends what was measured; false when a series is new, or when a value is older than the last one. */
function append(panels: Panel[], measured: Measurement[]): boolean {
  for (const one of measured) {
    const at = Date.parse(one.time) / 1000;
    for (const [fragment, value] of Object.entries(one)) {
      if (typeof value !== "object" || value === null || fragment === "source") continue;
      const series = Object.entries(value as Record<string, { value?: number }>).filter(([, entry]) => typeof entry?.value === "number");
      if (series.length === 0) continue;
      const panel = panels.find((candidate) => candidate.fragment === fragment);
      if (!panel || series.some(([name]) => !panel.names.includes(name))) return panels.length >= MOST_CHARTS;
      const [xs, ...columns] = panel.data;
      if (xs.length > 0 && at < xs[xs.length - 1]) return false;
      xs.push(at);
      panel.names.forEach((name, index) => columns[index].push(series.find(([other]) => other === name)?.[1].value ?? null));
    }
  }
  return true;
}

function AlarmsOf({ id }: { id: string }) {
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

function OperationsOf({ device }: { device: ManagedObject }) {
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

function EventsOf({ id }: { id: string }) {
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
                  <Action class="small" label={`Download ${one.plat_IsBinary.name ?? "the file"}`} run={() => download(`/event/events/${one.id}/binaries`, one.plat_IsBinary?.name ?? `event-${one.id}`)}>
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

function Edit({ device, onClose }: { device: ManagedObject; onClose: () => void }) {
  const interval = (device.plat_RequiredAvailability as { responseInterval?: number } | undefined)?.responseInterval;
  const send = async (form: FormData) => {
    const minutes = String(form.get("interval"));
    const body: Record<string, unknown> = { name: form.get("name") };
    if (minutes !== "" || interval !== undefined) body.plat_RequiredAvailability = minutes === "" ? null : { responseInterval: Number(minutes) };
    await call("PUT", `/inventory/managedObjects/${device.id}`, { body });
    onClose();
  };
  const remove = () =>
    call("DELETE", `/inventory/managedObjects/${device.id}`).then(() => {
      location.hash = link(["devices"]);
    });
  return (
    <Dialog title={`Edit ${device.name ?? device.id}`} onClose={onClose}>
      <Form send={send} action="Save" beside={<Action run={remove} confirm="Delete it and all its data?" done="The device was deleted.">Delete</Action>}>
        <Field label="Name"><input name="name" value={device.name} required /></Field>
        <Field label="Response interval in minutes" hint="If it sends nothing for longer, the server raises an alarm. 0 means maintenance; empty means it is not watched.">
          <input name="interval" type="number" step="1" value={interval} />
        </Field>
      </Form>
    </Dialog>
  );
}
