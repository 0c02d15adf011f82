// Which tenants are busy at all servers.

import { getIfKnown } from "../../api";
import { useEvery, useLoad } from "../../load";
import type { LiveStatistics, TenantActivity } from "../../reference";
import { LoadedCard } from "../../ui/loaded";
import { type SmallColumn, SmallTable } from "../../ui/small_table";
import { format } from "../../values/numbers";

const BUSY_SECONDS = 2;
const rate = (value: number) => format(Math.round(value * 10) / 10);

/** The current activity of tenants at all servers. */
export function Busy() {
  const live = useLoad(() => getIfKnown<LiveStatistics>("/tenant/statistics/live"), []);
  useEvery(BUSY_SECONDS, live.reload);
  if (live.data.value === null) return null;
  return (
    <LoadedCard
      title="Who is busy"
      of={live}
      every={BUSY_SECONDS}
      isEmpty={(found) => !found?.tenants.length}
      empty={<p>No tenant does anything.</p>}>
      {(found) => <SmallTable label="Tenants and what they do" columns={COLUMNS} rows={found?.tenants ?? []} />}
    </LoadedCard>
  );
}

const COLUMNS: SmallColumn<TenantActivity>[] = [
  ["Tenant", (one) => <b>{one.tenantId}</b>],
  ["Requests/s", (one) => rate(one.requestsPerSecond), "number"],
  ["Writes/s", (one) => rate(one.writesPerSecond), "number"],
  ["Deliveries/s", (one) => rate(one.deliveriesPerSecond), "number"],
  ["Sessions", (one) => one.sessionCount.toLocaleString(), "number"],
  ["Held polls", (one) => one.heldPollCount.toLocaleString(), "number"],
  ["WebSockets", (one) => one.socketCount.toLocaleString(), "number"],
  ["Waiting", (one) => one.queuedNotificationCount.toLocaleString(), "number"],
];
