// The writes of the tenant, second by second, and the notifications about them.

import { useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { get } from "../../api";
import { useNotifications } from "../../arrivals";
import { connection } from "../../live";
import { useEvery, useLoad } from "../../load";
import type { LiveStatistics } from "../../reference";
import { can, session } from "../../session";
import { received } from "../../subscriptions";
import { Chart, type ChartHandle } from "../../ui/chart";
import { Card } from "../../ui/kit";
import { ArrivalStanding } from "../../ui/standing";
import type { Data } from "../../values/series";

const KINDS = [
  { channel: "/measurements/*", label: "measurements", role: "ROLE_MEASUREMENT_READ", color: "--line-1" },
  { channel: "/events/*", label: "events", role: "ROLE_EVENT_READ", color: "--line-2" },
  { channel: "/alarms/*", label: "alarms", role: "ROLE_ALARM_READ", color: "--line-3" },
  { channel: "/operations/*", label: "operations", role: "ROLE_DEVICE_CONTROL_READ", color: "--line-4" },
  { channel: "/managedobjects/*", label: "changes of devices", role: "ROLE_INVENTORY_READ", color: "--line-5" },
];

const SPAN = 120;
const ASK_SECONDS = 3;

/** Returns the data of a chart in which nothing is known yet. */
function emptySpan(columns: number): Data {
  const start = Math.floor(Date.now() / 1000);
  const xs = Array.from({ length: SPAN }, (_, index) => start - SPAN + index);
  return [xs, ...Array.from({ length: columns }, () => xs.map(() => null))];
}

/** The writes of the tenant, second by second, as this page receives them in notifications. */
export function Pulse() {
  const kinds = KINDS.filter((kind) => can(kind.role));
  const chart = useRef<ChartHandle | null>(null);
  const rates = useSignal<number[]>(kinds.map(() => 0));
  const deliveries = useSignal(0);
  const counted = useRef<Record<string, number>>({});
  useNotifications(
    kinds.map(({ channel }) => channel),
    (messages, channel) => (counted.current[channel] = (counted.current[channel] ?? 0) + messages.length),
  );
  const data = useRef<Data>(emptySpan(kinds.length));
  const last = useRef({ at: performance.now(), received: received.count });
  useEvery(1, () => {
    const now = { at: performance.now(), received: received.count };
    const seconds = (now.at - last.current.at) / 1000;
    rates.value = kinds.map(({ channel }) => (counted.current[channel] ?? 0) / seconds);
    deliveries.value = (now.received - last.current.received) / seconds;
    [counted.current, last.current] = [{}, now];
    // Without a connection nothing is known, which is not the same as no writes.
    const known = rates.value.map((rate) => (connection.peek().state === "live" ? rate : null));
    [Date.now() / 1000, ...known].forEach((value, column) => {
      (data.current[column] as (number | null)[]).push(value);
      data.current[column].shift();
    });
    chart.current?.set(data.current);
  });
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
  const isOffered = can("ROLE_TENANT_STATISTICS_READ");
  const live = useLoad(() => (isOffered ? get<LiveStatistics>("/tenant/statistics/live") : Promise.resolve(null)), []);
  useEvery(ASK_SECONDS, () => isOffered && live.reload());
  if (!live.data.value || live.error.value) return null;
  return live.data.value.tenants.find((one) => one.tenantId === session.value?.tenant)?.deliveriesPerSecond ?? 0;
}
