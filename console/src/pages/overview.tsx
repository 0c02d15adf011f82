// The overview: the numbers of objects, the current problems, and the current activity.

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { count, get, withQuery } from "../api";
import { connection, received, subscribe } from "../live";
import { apply, useLoad } from "../load";
import { link } from "../router";
import { can, canSee, session } from "../session";
import { Time } from "../time";
import type { Alarm, ManagedObject, SeverityName } from "../types";
import { Chart, type ChartHandle, type Data } from "../ui/chart";
import { Card, Page, SeverityMark, States } from "../ui/kit";
import { BulkOperations } from "./rollouts";
import type { Activity } from "./usage";

export const SEVERITIES: SeverityName[] = ["CRITICAL", "MAJOR", "MINOR", "WARNING"];

export function Overview() {
  return (
    <Page title="Overview">
      <div class="tiles">
        <DeviceTiles />
        {canSee("ROLE_ALARM_READ") && <AlarmTiles />}
      </div>
      <Pulse />
      {can("ROLE_BULK_OPERATION_READ") && <BulkOperations onlyUnderWay />}
      <div class="two">
        {canSee("ROLE_ALARM_READ") && <WrongNow />}
        <Silent />
      </div>
    </Page>
  );
}

/** Runs a function at most once a second, and once more after the last request. */
function useCalm(run: () => void): () => void {
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  return () => {
    if (timer.current) return;
    timer.current = window.setTimeout(() => {
      timer.current = 0;
      run();
    }, 1000);
  };
}

function DeviceTiles() {
  const of = useLoad(
    async () => {
      const status = (word: string) => count("/inventory/managedObjects", { query: `has(plat_IsDevice) and plat_Availability.status eq '${word}'` });
      const [all, available, unavailable, maintenance] = await Promise.all([
        count("/inventory/managedObjects", { fragmentType: "plat_IsDevice" }),
        status("AVAILABLE"),
        status("UNAVAILABLE"),
        status("MAINTENANCE"),
      ]);
      return { all, available, unavailable, maintenance, unwatched: Math.max(0, all - available - unavailable - maintenance) };
    },
    [],
    can("ROLE_INVENTORY_READ") ? { channels: ["/managedobjects/*"], take: () => soon() } : undefined,
  );
  const soon = useCalm(of.reload);
  return (
    <Card class="tile wide-tile" title="Devices">
      <States of={of}>
        {(sum) => (
          <>
            <a class="figure" href={link(["devices"])}>{sum.all.toLocaleString()}</a>
            <div class="stack" aria-hidden="true">
              {(["available", "unavailable", "maintenance", "unwatched"] as const).map((word) => (
                <span key={word} class={`part ${word}`} style={{ flexGrow: sum[word] }} />
              ))}
            </div>
            <ul class="legend">
              <li><a href={link(["devices"], { availability: "AVAILABLE" })}><span class="dot available" />{sum.available.toLocaleString()} available</a></li>
              <li><a href={link(["devices"], { availability: "UNAVAILABLE" })}><span class="dot unavailable" />{sum.unavailable.toLocaleString()} unavailable</a></li>
              <li><a href={link(["devices"], { availability: "MAINTENANCE" })}><span class="dot maintenance" />{sum.maintenance.toLocaleString()} in maintenance</a></li>
              <li><span class="dot unwatched" />{sum.unwatched.toLocaleString()} not watched</li>
            </ul>
          </>
        )}
      </States>
    </Card>
  );
}

function AlarmTiles() {
  const of = useLoad(
    () => Promise.all(SEVERITIES.map((severity) => get<string | number>(withQuery("/alarm/alarms/count", { severity, resolved: false })).then(Number))),
    [],
    can("ROLE_ALARM_READ") ? { channels: ["/alarms/*"], take: () => soon() } : undefined,
  );
  const soon = useCalm(of.reload);
  return (
    <Card class="tile wide-tile" title="Open alarms">
      <States of={of}>
        {(counts) => (
          <ul class="severities">
            {SEVERITIES.map((severity, index) => (
              <li key={severity}>
                <a href={link(["alarms"], { severity })} class={counts[index] ? "" : "none"}>
                  <span class="figure" key={counts[index]}>{counts[index].toLocaleString()}</span>
                  <SeverityMark of={severity} />
                </a>
              </li>
            ))}
          </ul>
        )}
      </States>
    </Card>
  );
}

const KINDS = [
  { channel: "/measurements/*", label: "measurements", role: "ROLE_MEASUREMENT_READ", color: "--line-1" },
  { channel: "/events/*", label: "events", role: "ROLE_EVENT_READ", color: "--line-2" },
  { channel: "/alarms/*", label: "alarms", role: "ROLE_ALARM_READ", color: "--line-3" },
  { channel: "/operations/*", label: "operations", role: "ROLE_DEVICE_CONTROL_READ", color: "--line-4" },
  { channel: "/managedobjects/*", label: "changes of devices", role: "ROLE_INVENTORY_READ", color: "--line-5" },
];
const SPAN = 120;

/** The writes of the tenant, second by second, as this page receives them in notifications. */
function Pulse() {
  const kinds = KINDS.filter((kind) => can(kind.role));
  const chart = useRef<ChartHandle | null>(null);
  const rates = useSignal<number[]>(kinds.map(() => 0));
  const deliveries = useSignal(0);
  useEffect(() => {
    const counted = kinds.map(() => 0);
    const start = Math.floor(Date.now() / 1000);
    const xs = Array.from({ length: SPAN }, (_, index) => start - SPAN + index);
    const columns = kinds.map(() => xs.map((): number | null => null));
    const data: Data = [xs, ...columns];
    const subscriptions = kinds.map((kind, index) => subscribe(kind.channel, (messages) => (counted[index] += messages.length)));
    let before = received.count;
    let last = performance.now();
    const tick = setInterval(() => {
      if (document.hidden) return;
      const seconds = (performance.now() - last) / 1000;
      last = performance.now();
      data[0].push(Date.now() / 1000);
      data[0].shift();
      rates.value = counted.map((number, index) => {
        const rate = number / seconds;
        // Without a connection nothing is known, which is not the same as no writes.
        columns[index].push(connection.peek().state === "live" ? rate : null);
        columns[index].shift();
        counted[index] = 0;
        return rate;
      });
      deliveries.value = (received.count - before) / seconds;
      before = received.count;
      chart.current?.set(data);
    }, 1000);
    return () => {
      clearInterval(tick);
      for (const one of subscriptions) one.end();
    };
  }, []);
  const delivered = useDelivered();
  const empty = useRef<Data>([[Date.now() / 1000], ...kinds.map(() => [null])]);
  if (kinds.length === 0) return null;
  const total = rates.value.reduce((sum, rate) => sum + rate, 0);
  const rounded = (rate: number) => (rate > 0 && rate < 10 ? rate.toFixed(1) : Math.round(rate).toLocaleString());
  return (
    <Card title="Live writes" aside={<span class="rate"><b>{rounded(total)}</b> a second, <b>{rounded(deliveries.value)}</b> notifications to this page{delivered !== null && <>, <b>{rounded(delivered)}</b> to all clients</>}</span>}>
      <Chart lines={kinds} data={empty.current} height={170} span={SPAN} fill label={`Writes a second during the last two minutes. Now ${rounded(total)}.`} handle={(made) => (chart.current = made)} />
      <ul class="legend">
        {kinds.map((kind, index) => (
          <li key={kind.label}><span class={`dot line${kind.color.slice(6)}`} />{kind.label} <b>{rounded(rates.value[index])}</b></li>
        ))}
      </ul>
    </Card>
  );
}

/**
 * Returns the notifications per second to all clients of the tenant, as counted by the server; `null` without the right
 * to read them.
 */
function useDelivered(): number | null {
  const rate = useSignal<number | null>(null);
  useEffect(() => {
    if (!can("ROLE_TENANT_STATISTICS_READ")) return;
    const ask = () =>
      document.hidden ||
      get<{ tenants: Activity[] }>("/tenant/statistics/live")
        .then(({ tenants }) => (rate.value = tenants.find((one) => one.tenantId === session.value?.tenant)?.deliveriesPerSecond ?? 0))
        .catch(() => (rate.value = null));
    ask();
    const timer = setInterval(ask, 3000);
    return () => clearInterval(timer);
  }, []);
  return rate.value;
}

const RANK = Object.fromEntries(SEVERITIES.map((severity, index) => [severity, index]));
const isOpen = (alarm: Alarm) => alarm.status !== "CLEARED";

/** The worst open alarms, updated live. */
function WrongNow() {
  const of = useLoad(
    async () => {
      const pages = await Promise.all(
        SEVERITIES.slice(0, 2).map((severity) => get<{ alarms: Alarm[] }>(withQuery("/alarm/alarms", { severity, resolved: false, pageSize: 50 }))),
      );
      return pages.flatMap((page) => page.alarms);
    },
    [],
    can("ROLE_ALARM_READ")
      ? { channels: ["/alarms/*"], take: (messages) => (of.data.value = apply(of.data.value ?? [], messages, (alarm) => isOpen(alarm) && RANK[alarm.severity] < 2).slice(0, 200)) }
      : undefined,
  );
  const worst = (alarms: Alarm[]) => [...alarms].sort((a, b) => RANK[a.severity] - RANK[b.severity] || b.time.localeCompare(a.time)).slice(0, 8);
  return (
    <Card title="What is wrong now" aside={<a href={link(["alarms"])}>All alarms</a>}>
      <States of={of} isEmpty={(alarms) => alarms.length === 0} empty={<p>No critical or major alarm is open.</p>}>
        {(alarms) => (
          <ul class="rows">
            {worst(alarms).map((alarm) => (
              <li key={alarm.id} class="arrives">
                <SeverityMark of={alarm.severity} />
                <a class="grow clip" href={link(["devices", alarm.source.id])}><b>{alarm.source.name ?? alarm.source.id}</b> {alarm.text}</a>
                <span class="faint nowrap"><Time at={alarm.time} as="ago" /></span>
              </li>
            ))}
          </ul>
        )}
      </States>
    </Card>
  );
}

/** The devices that have not sent a message in time. */
function Silent() {
  const of = useLoad(
    () =>
      get<{ managedObjects: ManagedObject[] }>(
        withQuery("/inventory/managedObjects", { query: "$filter=has(plat_IsDevice) and plat_Availability.status eq 'UNAVAILABLE' $orderby=plat_Availability.lastMessage", pageSize: 8, withChildren: false }),
      ).then((page) => page.managedObjects),
    [],
    can("ROLE_INVENTORY_READ") ? { channels: ["/managedobjects/*"], take: () => soon() } : undefined,
  );
  const soon = useCalm(of.reload);
  return (
    <Card title="Unavailable devices" aside={<a href={link(["devices"], { availability: "UNAVAILABLE" })}>All of them</a>}>
      <States of={of} isEmpty={(devices) => devices.length === 0} empty={<p>Every watched device sends in time. A device is watched when it has a response interval.</p>}>
        {(devices) => (
          <ul class="rows">
            {devices.map((device) => (
              <li key={device.id}>
                <span class="dot unavailable" />
                <a class="grow clip" href={link(["devices", device.id])}><b>{device.name ?? device.id}</b></a>
                <span class="faint nowrap">last message <Time at={(device.plat_Availability as { lastMessage?: string })?.lastMessage} as="ago" /></span>
              </li>
            ))}
          </ul>
        )}
      </States>
    </Card>
  );
}
