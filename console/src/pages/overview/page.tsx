// The overview: the numbers of objects, the current problems, and the current activity.

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Message } from "cometd";
import { count, get, withQuery } from "../../api";
import { useList } from "../../list";
import { connection, received, subscribe } from "../../live";
import { useCalm, useLoad } from "../../load";
import { availabilityOf } from "../../parts/device";
import { BulkOperations } from "../../parts/rollouts";
import type { LiveStatistics } from "../../reference";
import { link } from "../../router";
import { seen, useScope } from "../../scope";
import { can, canSee, session } from "../../session";
import { Time } from "../../time";
import type { Alarm, ManagedObject } from "../../types";
import { Chart, type ChartHandle } from "../../ui/chart";
import { Card, Page, SeverityMark, States } from "../../ui/kit";
import { ArrivalStanding, Standing } from "../../ui/standing";
import type { Notification } from "../../values/merge";
import { apply } from "../../values/merge";
import type { Data } from "../../values/series";
import { SEVERITIES } from "../../values/words";

/** Devices are counted again at most this often while they change, and alarms this often. */
const CALM_SECONDS = 5;
const ALARM_SECONDS = 2;

export function Overview() {
  const { roles, permitted } = session.value!;
  if (![...roles].some((role) => !/OWN/.test(role)) && permitted.length === 0 && seen.value?.ids.length === 0) {
    return (
      <Page title="Overview">
        <div class="state">
          <p>You have no rights for data of this tenant. Ask an administrator for a group.</p>
        </div>
      </Page>
    );
  }
  return (
    <Page title="Overview">
      <div class="tiles">
        <DeviceTiles />
        {canSee("ROLE_ALARM_READ") && <AlarmTiles />}
      </div>
      <div class="two">
        {canSee("ROLE_ALARM_READ") && <WrongNow />}
        <Silent />
      </div>
      <Pulse />
      {can("ROLE_BULK_OPERATION_READ") && <BulkOperations onlyUnderWay />}
    </Page>
  );
}

const STATES = ["AVAILABLE", "UNAVAILABLE", "MAINTENANCE"] as const;

interface Devices {
  all: number;
  available: number;
  unavailable: number;
  maintenance: number;
  /** Whether there are more devices than were counted. */
  isPartial: boolean;
}

/** Counts the devices at the server, or those that a user without the role sees. */
async function countDevices(): Promise<Devices> {
  const query = (condition: string) => count("/inventory/managedObjects", { query: `has(plat_IsDevice)${condition}` });
  const counts = await Promise.all([
    query(""),
    ...STATES.map((word) => query(` and plat_Availability.status eq '${word}'`)),
  ]);
  const [all, available, unavailable, maintenance] = counts.every((one) => one !== null) ? counts : countSeen();
  return {
    all: all!,
    available: available!,
    unavailable: unavailable!,
    maintenance: maintenance!,
    isPartial: counts.includes(null) && !seen.value?.isAll,
  };
}

function countSeen(): number[] {
  const devices = seen.value?.devices ?? [];
  return [devices.length, ...STATES.map((word) => devices.filter((one) => availabilityOf(one).status === word).length)];
}

/** Returns whether a notification may change a count: an object that is new, gone, or available in another way. */
function useChanges(): (messages: Message[]) => boolean {
  const known = useRef(new Map<string, string>());
  return (messages) => {
    let isChange = false;
    for (const { data } of messages) {
      const { realtimeAction, data: object } = data as Notification<ManagedObject>;
      if (realtimeAction !== "UPDATE" || typeof object === "string") {
        isChange = true;
        continue;
      }
      const { status = "" } = availabilityOf(object);
      if (known.current.get(object.id) !== status) isChange = true;
      known.current.set(object.id, status);
    }
    return isChange;
  };
}

function DeviceTiles() {
  const scope = useScope("managedobjects", "ROLE_INVENTORY_READ");
  const mayChange = useChanges();
  const of = useLoad(countDevices, [can("ROLE_INVENTORY_READ") || seen.value], {
    ...scope,
    take: (messages) => mayChange(messages) && soon(),
  });
  const soon = useCalm(CALM_SECONDS, of.reload);
  return (
    <Card class="tile wide-tile" title="Devices" aside={<Standing of={of} />}>
      <States of={of} isEmpty={(sum) => sum.all === 0 && sum.isPartial} empty={<p>Your rights show no device here.</p>}>
        {(sum) => <DeviceCounts of={sum} />}
      </States>
    </Card>
  );
}

function DeviceCounts({ of: sum }: { of: Devices }) {
  const unwatched = Math.max(0, sum.all - sum.available - sum.unavailable - sum.maintenance);
  const parts = { available: sum.available, unavailable: sum.unavailable, maintenance: sum.maintenance, unwatched };
  return (
    <>
      <a class="figure" href={link(["devices"])}>
        {sum.all.toLocaleString()}
        {sum.isPartial && <span class="partial"> or more</span>}
      </a>
      <div class="stack" aria-hidden="true">
        {Object.entries(parts).map(([word, number]) => (
          <span key={word} class={`part ${word}`} style={{ flexGrow: number }} />
        ))}
      </div>
      <ul class="legend">
        <li>
          <a href={link(["devices"], { availability: "AVAILABLE" })}>
            <span class="dot available" />
            {sum.available.toLocaleString()} available
          </a>
        </li>
        <li>
          <a href={link(["devices"], { availability: "UNAVAILABLE" })}>
            <span class="dot unavailable" />
            {sum.unavailable.toLocaleString()} unavailable
          </a>
        </li>
        <li>
          <a href={link(["devices"], { availability: "MAINTENANCE" })}>
            <span class="dot maintenance" />
            {sum.maintenance.toLocaleString()} in maintenance
          </a>
        </li>
        <li>
          <span class="dot unwatched" />
          {unwatched.toLocaleString()} not watched
        </li>
      </ul>
    </>
  );
}

function AlarmTiles() {
  const of = useLoad(
    () =>
      Promise.all(
        SEVERITIES.map((severity) =>
          get<string | number>(withQuery("/alarm/alarms/count", { severity, resolved: false })).then(Number),
        ),
      ),
    [],
    { ...useScope("alarms", "ROLE_ALARM_READ"), take: () => soon() },
  );
  const soon = useCalm(ALARM_SECONDS, of.reload);
  return (
    <Card class="tile wide-tile" title="Open alarms" aside={<Standing of={of} />}>
      <States of={of}>
        {(counts) => (
          <ul class="severities">
            {SEVERITIES.map((severity, index) => (
              <li key={severity}>
                <a href={link(["alarms"], { severity })} class={counts[index] ? "" : "none"}>
                  <span class="figure" key={counts[index]}>
                    {counts[index].toLocaleString()}
                  </span>
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
    const subscriptions = kinds.map((kind, index) =>
      subscribe(kind.channel, (messages) => (counted[index] += messages.length)),
    );
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
    <Card
      title="Live writes"
      aside={
        <span class="rate">
          <b>{rounded(total)}</b> a second, <b>{rounded(deliveries.value)}</b> notifications to this page
          {delivered !== null && (
            <>
              , <b>{rounded(delivered)}</b> to all clients
            </>
          )}{" "}
          <ArrivalStanding />
        </span>
      }>
      <Chart
        lines={kinds}
        data={empty.current}
        height={170}
        unit="/s"
        span={SPAN}
        fill
        label={`Writes a second during the last two minutes. Now ${rounded(total)}.`}
        handle={(made) => (chart.current = made)}
      />
      <ul class="legend">
        {kinds.map((kind, index) => (
          <li key={kind.label}>
            <span class={`dot line${kind.color.slice(6)}`} />
            {kind.label} <b>{rounded(rates.value[index])}</b>
          </li>
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
      get<LiveStatistics>("/tenant/statistics/live")
        .then(
          ({ tenants }) =>
            (rate.value = tenants.find((one) => one.tenantId === session.value?.tenant)?.deliveriesPerSecond ?? 0),
        )
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
  const of = useList<Alarm>({
    path: "/alarm/alarms",
    member: "alarms",
    params: { severity: "CRITICAL,MAJOR", resolved: false },
    live: {
      ...useScope("alarms", "ROLE_ALARM_READ"),
      take: (list, messages) => apply(list, messages, (alarm) => isOpen(alarm) && RANK[alarm.severity] < 2),
    },
  });
  const worst = (alarms: Alarm[]) =>
    [...alarms].sort((a, b) => RANK[a.severity] - RANK[b.severity] || b.time.localeCompare(a.time)).slice(0, 8);
  return (
    <Card
      title="What is wrong now"
      aside={
        <>
          <Standing of={of} />
          <a href={link(["alarms"])}>All alarms</a>
        </>
      }>
      <States
        of={of}
        isEmpty={(alarms) => alarms.length === 0}
        empty={
          <p>
            {of.rest.value.next
              ? "None of the alarms that were examined is of a device that you may see. There are more."
              : "No critical or major alarm is open."}
          </p>
        }>
        {(alarms) => (
          <ul class="rows">
            {worst(alarms).map((alarm) => (
              <li key={alarm.id} class="arrives">
                <SeverityMark of={alarm.severity} />
                <a class="grow clip" href={link(["devices", alarm.source.id])}>
                  <b>{alarm.source.name ?? alarm.source.id}</b> {alarm.text}
                </a>
                <span class="faint nowrap">
                  <Time at={alarm.time} as="ago" />
                </span>
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
  const mayChange = useChanges();
  const of = useLoad(
    async () => {
      const [silent, watched] = await Promise.all([
        get<{ managedObjects: ManagedObject[] }>(
          withQuery("/inventory/managedObjects", {
            query:
              "$filter=has(plat_IsDevice) and plat_Availability.status eq 'UNAVAILABLE' $orderby=plat_Availability.lastMessage",
            pageSize: 8,
            withChildren: false,
          }),
        ),
        get<{ managedObjects: ManagedObject[]; next?: string }>(
          withQuery("/inventory/managedObjects", {
            query: "has(plat_IsDevice) and has(plat_Availability)",
            pageSize: 1,
            withChildren: false,
          }),
        ),
      ]);
      return { devices: silent.managedObjects, isWatched: watched.managedObjects.length > 0 };
    },
    [],
    { ...useScope("managedobjects", "ROLE_INVENTORY_READ"), take: (messages) => mayChange(messages) && soon() },
  );
  const soon = useCalm(CALM_SECONDS, of.reload);
  return (
    <Card
      title="Unavailable devices"
      aside={
        <>
          <Standing of={of} />
          <a href={link(["devices"], { availability: "UNAVAILABLE" })}>All of them</a>
        </>
      }>
      <States
        of={of}
        isEmpty={({ devices }) => devices.length === 0}
        empty={
          <p>
            {of.data.value?.isWatched
              ? "Every watched device sends in time."
              : "No device is watched, so a silent one is not noticed."}{" "}
            A device is watched when it has a response interval.
          </p>
        }>
        {({ devices }) => (
          <ul class="rows">
            {devices.map((device) => (
              <li key={device.id}>
                <span class="dot unavailable" />
                <a class="grow clip" href={link(["devices", device.id])}>
                  <b>{device.name ?? device.id}</b>
                </a>
                <span class="faint nowrap">
                  last message <Time at={availabilityOf(device).lastMessage} as="ago" />
                </span>
              </li>
            ))}
          </ul>
        )}
      </States>
    </Card>
  );
}
