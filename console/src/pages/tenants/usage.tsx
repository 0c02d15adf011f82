// The usage of a tenant: its limits, its current activity, its storage, and its last days.

import { useSignal } from "@preact/signals";
import { call, get, getIfKnown, path, withQuery } from "../../api";
import { useEvery, useLoad } from "../../load";
import type { TenantLimits, TenantStorage, TenantUsageStatisticsCollection, UsageStatistics } from "../../reference";
import { can } from "../../session";
import { Time } from "../../time";
import { Action, Dialog, Field, Form, tell } from "../../ui/kit";
import { LoadedCard, States } from "../../ui/loaded";
import { type SmallColumn, SmallTable } from "../../ui/small_table";
import { Standing } from "../../ui/standing";
import { bytes } from "../../values/numbers";

type LimitName = keyof TenantLimits["limits"];
const LABELS: Record<string, string> = {
  requestsPerSecond: "requests a second",
  requestBurst: "requests at once",
  heldPolls: "held polls",
  webSockets: "WebSockets",
  sessions: "real-time sessions",
  devices: "devices",
  storedBytes: "stored",
  modules: "modules",
  unreadBytes: "unread responses",
  moduleMillisPerSecond: "module time, ms a second",
  transientBytesPerSecond: "unstored writes, bytes a second",
  subTenants: "tenants below it",
  consumers: "named consumers",
  journalBytes: "backlog of a consumer",
};
const LIMIT_SECONDS = 5;
const isBytes = (name: string) => name.endsWith("Bytes");

const shown = (name: string, value: number | null) =>
  value === null ? "–" : isBytes(name) ? bytes(value) : value.toLocaleString();

export function Usage() {
  return (
    <>
      {can("ROLE_TENANT_MANAGEMENT_READ", "ROLE_TENANT_STATISTICS_READ") && <OwnLimits />}
      {can("ROLE_TENANT_STATISTICS_READ") && (
        <div class="two">
          <Stored />
          <Days />
        </div>
      )}
    </>
  );
}

function OwnLimits() {
  const limits = useLoad(() => getIfKnown<TenantLimits>("/tenant/limits"), []);
  useEvery(LIMIT_SECONDS, limits.reload);
  if (limits.data.value === null) return null;
  return (
    <LoadedCard title="Limits and what is used of them" of={limits} every={LIMIT_SECONDS}>
      {(found) => found && <Bars of={found} />}
    </LoadedCard>
  );
}

/** The limits with their usage. */
function Bars({ of: { limits } }: { of: TenantLimits }) {
  return (
    <ul class="limits">
      {Object.entries(limits).map(([name, { value, usage, from }]) => {
        const part = value && usage !== null ? Math.min(1, usage / value) : 0;
        return (
          <li key={name}>
            <span class="line">
              <span class="grow">{LABELS[name] ?? name}</span> <b>{shown(name, usage)}</b>{" "}
              <span class="faint">
                {value === null ? "no limit" : `of ${shown(name, value)}`}
                {from === "parent" && ", from above"}
              </span>
            </span>
            <div
              class={`bar ${part > 0.9 ? "full" : ""}`}
              role="img"
              aria-label={value === null ? "no limit" : `${Math.round(part * 100)} percent`}>
              <span style={{ width: `${part * 100}%` }} />
            </div>
          </li>
        );
      })}
    </ul>
  );
}

function Stored() {
  const stored = useLoad(() => getIfKnown<TenantStorage>("/tenant/statistics/storage"), []);
  if (stored.data.value === null) return null;
  const measured = stored.data.value?.measurementTime;
  const about = measured && (
    <>
      measured <Time at={measured} as="ago" />
    </>
  );
  return (
    <LoadedCard title="What it stores" about={about} of={stored}>
      {(found) =>
        found && (
          <>
            <p>
              <b class="figure">{bytes(found.storageSize)}</b>{" "}
              {found.storageGrowthPerDay !== undefined && (
                <span class="faint">{bytes(found.storageGrowthPerDay)} more each day</span>
              )}
            </p>
            <SmallTable label="What is stored of each kind" columns={NOUN_COLUMNS} rows={Object.entries(found.nouns)} />
          </>
        )
      }
    </LoadedCard>
  );
}

const NOUN_COLUMNS: SmallColumn<[string, TenantStorage["nouns"][string]]>[] = [
  ["Data", ([noun]) => noun.replace(/([A-Z])/g, " $1").toLowerCase()],
  ["Rows", ([, { count }]) => count.toLocaleString(), "number"],
  ["Size", ([, { storageSize }]) => bytes(storageSize), "number"],
];

const DAYS = 14;

function Days() {
  const address = withQuery("/tenant/statistics", { pageSize: DAYS });
  const days = useLoad(() => getIfKnown<TenantUsageStatisticsCollection>(address), []);
  if (days.data.value === null) return null;
  return (
    <LoadedCard
      title="The last days"
      about="in UTC"
      of={days}
      isEmpty={(found) => !found?.usageStatistics.length}
      empty={<p>Nothing was counted yet.</p>}>
      {(found) => (
        <SmallTable
          label="What happened on each of the last days"
          columns={DAY_COLUMNS}
          rows={found?.usageStatistics ?? []}
        />
      )}
    </LoadedCard>
  );
}

const DAY_COLUMNS: SmallColumn<UsageStatistics>[] = [
  ["Day", (one) => one.day.slice(0, 10)],
  ["Requests", (one) => one.requestCount.toLocaleString(), "number"],
  ["Writes", (one) => one.totalResourceCreateAndUpdateCount.toLocaleString(), "number"],
  ["Notifications", (one) => one.notificationsDeliveredCount.toLocaleString(), "number"],
  ["Sessions at most", (one) => one.sessionsPeakCount.toLocaleString(), "number"],
];

/** The limits of a subtenant: the usage and a form for other values. */
export function LimitsOf({ tenant, onClose }: { tenant: string; onClose: () => void }) {
  const address = path`/tenant/tenants/${tenant}/limits`;
  const limits = useLoad(() => get<TenantLimits>(address), [address]);
  useEvery(LIMIT_SECONDS, limits.reload);
  const mayChange = can("ROLE_TENANT_MANAGEMENT_ADMIN", "ROLE_TENANT_MANAGEMENT_UPDATE");
  const chosen = useSignal<LimitName>("devices");
  const put = (value: number | null) => call("PUT", address, { body: { [chosen.value]: value } }).then(limits.reload);
  const send = async (form: FormData) => {
    await put(Number(form.get("value")));
    tell("The limit is in force.");
  };
  return (
    <Dialog title={`Limits of ${tenant}`} onClose={onClose}>
      <States of={limits}>
        {(found) => (
          <>
            <p>
              <Standing of={limits} every={LIMIT_SECONDS} />
            </p>
            <Bars of={found} />
            {mayChange && (
              <Form
                send={send}
                action="Set"
                beside={
                  <Action run={() => put(null)} done="The default of the server is in force.">
                    Default of the server
                  </Action>
                }>
                <Field label="Limit">
                  <select
                    value={chosen.value}
                    onChange={(event) => (chosen.value = event.currentTarget.value as LimitName)}>
                    {Object.keys(found.limits).map((name) => (
                      <option key={name} value={name}>
                        {LABELS[name] ?? name}
                        {isBytes(name) ? ", in bytes" : ""}
                      </option>
                    ))}
                  </select>
                </Field>
                <Field label="Most">
                  <input
                    name="value"
                    type="number"
                    min="0"
                    required
                    key={chosen.value}
                    defaultValue={found.limits[chosen.value].value ?? ""}
                  />
                </Field>
              </Form>
            )}
          </>
        )}
      </States>
    </Dialog>
  );
}
