// The usage of a tenant: its limits, its current activity, its storage, and its last days.

import { useSignal } from "@preact/signals";
import { call, get, getIfKnown, path, withQuery } from "../../api";
import { useEvery, useLoad } from "../../load";
import type { TenantLimits, TenantStorage, TenantUsageStatisticsCollection } from "../../reference";
import { can } from "../../session";
import { Time } from "../../time";
import { Action, Card, Dialog, Field, Form, States, tell } from "../../ui/kit";
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
    <Card title="Limits and what is used of them" aside={<Standing of={limits} every={LIMIT_SECONDS} />}>
      <States of={limits}>{(found) => found && <Bars of={found} />}</States>
    </Card>
  );
}

/** The limits with their usage. */
export function Bars({ of: { limits } }: { of: TenantLimits }) {
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
  return (
    <Card
      title="What it stores"
      aside={
        <span>
          {stored.data.value && (
            <span class="faint">
              measured <Time at={stored.data.value.measurementTime} as="ago" />
            </span>
          )}{" "}
          <Standing of={stored} />
        </span>
      }>
      <States of={stored}>
        {(found) =>
          found && (
            <>
              <p>
                <b class="figure">{bytes(found.storageSize)}</b>{" "}
                {found.storageGrowthPerDay !== undefined && (
                  <span class="faint">{bytes(found.storageGrowthPerDay)} more each day</span>
                )}
              </p>
              <table>
                <thead>
                  <tr>
                    <th scope="col">Data</th>
                    <th scope="col" class="number">
                      Rows
                    </th>
                    <th scope="col" class="number">
                      Size
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {Object.entries(found.nouns).map(([noun, { count, storageSize }]) => (
                    <tr key={noun}>
                      <td>{noun.replace(/([A-Z])/g, " $1").toLowerCase()}</td>
                      <td class="number">{count.toLocaleString()}</td>
                      <td class="number">{bytes(storageSize)}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </>
          )
        }
      </States>
    </Card>
  );
}

function Days() {
  const days = useLoad(
    () =>
      getIfKnown<TenantUsageStatisticsCollection>(withQuery("/tenant/statistics", { pageSize: 14 })).then(
        (page) => page?.usageStatistics ?? null,
      ),
    [],
  );
  if (days.data.value === null) return null;
  return (
    <Card
      title="The last days"
      aside={
        <span>
          <span class="faint">in UTC</span> <Standing of={days} />
        </span>
      }>
      <States of={days} isEmpty={(list) => !list?.length} empty={<p>Nothing was counted yet.</p>}>
        {(list) => (
          <div class="scroll" tabIndex={0} role="region" aria-label="What happened on each of the last days">
            <table>
              <thead>
                <tr>
                  <th scope="col">Day</th>
                  <th scope="col" class="number">
                    Requests
                  </th>
                  <th scope="col" class="number">
                    Writes
                  </th>
                  <th scope="col" class="number">
                    Notifications
                  </th>
                  <th scope="col" class="number">
                    Sessions at most
                  </th>
                </tr>
              </thead>
              <tbody>
                {list!.map((one) => (
                  <tr key={one.day}>
                    <td>{one.day.slice(0, 10)}</td>
                    <td class="number">{one.requestCount.toLocaleString()}</td>
                    <td class="number">{one.totalResourceCreateAndUpdateCount.toLocaleString()}</td>
                    <td class="number">{one.notificationsDeliveredCount.toLocaleString()}</td>
                    <td class="number">{one.sessionsPeakCount.toLocaleString()}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </States>
    </Card>
  );
}

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
