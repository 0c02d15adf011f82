// The server itself: its health, and its metrics as an operator's tools read them. Both are public on the port of the
// server; a proxy may hide them.

import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { get } from "../../api";
import { type Loaded, useEvery, useLoad } from "../../load";
import type { BackgroundJob, Readiness } from "../../reference";
import { can } from "../../session";
import { Time } from "../../time";
import { Chart } from "../../ui/chart";
import { Page, StatusMark } from "../../ui/kit";
import { LoadedCard } from "../../ui/loaded";
import { type SmallColumn, SmallTable } from "../../ui/small_table";
import { meanBetween, parseMetrics, ratesOf, type Sample } from "../../values/metrics";
import { bytes, format, periodInWords } from "../../values/numbers";
import { Busy } from "./busy";
import { Sessions } from "./sessions";

const ASK_SECONDS = 2;
/** The number of samples that the charts keep, which is five minutes. */
const KEPT = 150;

const RATES = [
  { name: "platform_http_request_seconds_count", label: "requests", color: "--line-1" },
  { name: "platform_writer_batch_rows_sum", label: "rows written", color: "--line-2" },
  { name: "platform_notifications_delivered_total", label: "notifications delivered", color: "--line-4" },
];
const RATE_NAMES = RATES.map(({ name }) => name);
const FIGURES: [string, string][] = [
  ["platform_sessions_open", "real-time sessions"],
  ["platform_long_polls_parked", "held polls"],
  ["platform_device_actors", "devices in memory"],
  ["platform_modules_deployed", "modules"],
  ["platform_session_overflows_total", "overflown sessions"],
  ["platform_authentication_throttled_total", "throttled log-ins"],
];

export function ServerPage() {
  const samples = useSignal<Sample[]>([]);
  const health = useLoad(() => get<Readiness>("/health/ready?withDetails=true"), []);
  const metrics = useLoad(() => get<string>("/metrics", { accept: "*/*" }), []);
  useEvery(ASK_SECONDS, () => (metrics.reload(), health.reload()));
  useEffect(() => {
    const text = metrics.data.value;
    if (!text) return;
    samples.value = [...samples.value, { at: Date.now() / 1000, sums: parseMetrics(text) }].slice(-KEPT);
  }, [metrics.data.value]);
  const rates = useMemo(() => ratesOf(samples.value, RATE_NAMES), [samples.value]);
  const newest = samples.value.at(-1)?.sums;
  const mean = meanBetween(samples.value, "platform_writer_commit_seconds");
  return (
    <Page title="Server">
      <div class="tiles">
        <LoadedCard title="Health" class="tile" of={health} every={ASK_SECONDS}>
          {(state) => (
            <>
              <p class="figure">
                <StatusMark of={state.status} />
              </p>
              {state.writes === "REFUSED" && <p class="notice warn">Writes are refused. {state.reason}</p>}
            </>
          )}
        </LoadedCard>
        <Figure label="mean commit, lately" text={mean === null ? "–" : milliseconds(mean)} />
        <Figure label="memory of the server" text={bytes(newest?.get("process_resident_memory_bytes"))} />
        <Figure label="free disk" text={bytes(newest?.get("platform_disk_free_bytes"))} />
        {FIGURES.filter(([name]) => newest?.has(name)).map(([name, label]) => (
          <Figure key={name} label={label} text={newest!.get(name)!.toLocaleString()} />
        ))}
      </div>
      <LoadedCard title="A second" of={metrics} every={ASK_SECONDS}>
        {() => (
          <>
            <Chart
              lines={RATES}
              data={rates}
              height={200}
              unit="/s"
              span={300}
              fill
              label="Requests, rows and notifications a second during the last five minutes"
            />
            <ul class="legend">
              {RATES.map((rate, index) => (
                <li key={rate.name}>
                  <span class={`dot line${rate.color.slice(6)}`} />
                  {rate.label} <b>{lastOf(rates[index + 1])}</b>
                </li>
              ))}
            </ul>
          </>
        )}
      </LoadedCard>
      {can("ROLE_TENANT_MANAGEMENT_READ", "ROLE_TENANT_STATISTICS_READ") && <Busy />}
      {can("ROLE_USER_MANAGEMENT_READ") && <Sessions />}
      {health.data.value?.jobs && <Jobs of={health} />}
      <LoadedCard title="All metrics" of={metrics} every={ASK_SECONDS}>
        {() => <SmallTable class="metrics" label="Names and sums" columns={METRIC_COLUMNS} rows={sorted(newest)} />}
      </LoadedCard>
    </Page>
  );
}

const sorted = (sums?: Map<string, number>) => [...(sums ?? [])].sort(([a], [b]) => a.localeCompare(b));
const METRIC_COLUMNS: SmallColumn<[string, number]>[] = [
  ["Metric", ([name]) => <code>{name}</code>],
  ["Sum", ([, value]) => format(value), "number"],
];

/** The background jobs, those that fail first. */
function Jobs({ of: health }: { of: Loaded<Readiness> }) {
  const byFailures = (one: BackgroundJob, other: BackgroundJob) =>
    other.failures - one.failures || one.name.localeCompare(other.name);
  return (
    <LoadedCard title="Background jobs" of={health} every={ASK_SECONDS}>
      {({ jobs = [] }) => (
        <SmallTable
          label="Background jobs and their last runs"
          columns={JOB_COLUMNS}
          rows={[...jobs].sort(byFailures)}
        />
      )}
    </LoadedCard>
  );
}

const JOB_COLUMNS: SmallColumn<BackgroundJob>[] = [
  ["Job", (job) => <code>{job.name}</code>],
  ["Every", (job) => (job.periodSeconds === undefined ? "event" : periodInWords(job.periodSeconds))],
  ["Lease", (job) => (job.lease ? "yes" : "")],
  ["Last run", (job) => <Time at={job.lastRun} as="ago" />],
  ["Result", (job) => (job.lastResult ? <StatusMark of={job.lastResult} /> : <span class="faint">–</span>)],
  ["Failures", (job) => job.failures, "number"],
  ["Panics", (job) => job.panics, "number"],
];

const milliseconds = (seconds: number) => `${Number((seconds * 1000).toPrecision(3))} ms`;

function Figure({ label, text }: { label: string; text: string }) {
  return (
    <section class="card tile">
      <p class="figure">{text}</p>
      <p class="faint">{label}</p>
    </section>
  );
}

const lastOf = (values: (number | null | undefined)[]) => {
  const value = values.at(-1);
  return value == null ? "–" : format(Math.round(value * 10) / 10);
};
