// The server itself: its health, and its metrics as an operator's tools read them. Both are public on the port of the
// server; a proxy may hide them.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import { get } from "../../api";
import { useLoad } from "../../load";
import type { BackgroundJob, Readiness } from "../../reference";
import { can } from "../../session";
import { Time } from "../../time";
import { Chart } from "../../ui/chart";
import { Card, Page, States, StatusMark } from "../../ui/kit";
import { Standing } from "../../ui/standing";
import { meanBetween, parseMetrics, ratesOf, type Sample } from "../../values/metrics";
import { bytes, format, periodInWords } from "../../values/numbers";
import { Busy } from "./busy";
import { Sessions } from "./sessions";

const ASK_EVERY = 2000;
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
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.hidden) return;
      metrics.reload();
      health.reload();
    }, ASK_EVERY);
    return () => clearInterval(timer);
  }, []);
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
        <Card title="Health" class="tile" aside={<Standing of={health} every={ASK_EVERY / 1000} />}>
          <States of={health}>
            {(state) => (
              <>
                <p class="figure">
                  <StatusMark of={state.status} />
                </p>
                {state.writes === "REFUSED" && <p class="notice warn">Writes are refused. {state.reason}</p>}
              </>
            )}
          </States>
        </Card>
        <Figure label="mean commit, lately" text={mean === null ? "–" : `${Number((mean * 1000).toPrecision(3))} ms`} />
        <Figure label="memory of the server" text={bytes(newest?.get("process_resident_memory_bytes"))} />
        <Figure label="free disk" text={bytes(newest?.get("platform_disk_free_bytes"))} />
        {FIGURES.filter(([name]) => newest?.has(name)).map(([name, label]) => (
          <Figure key={name} label={label} text={newest!.get(name)!.toLocaleString()} />
        ))}
      </div>
      <Card title="A second" aside={<Standing of={metrics} every={ASK_EVERY / 1000} />}>
        <States of={metrics}>
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
        </States>
      </Card>
      {can("ROLE_TENANT_MANAGEMENT_READ", "ROLE_TENANT_STATISTICS_READ") && <Busy />}
      {can("ROLE_USER_MANAGEMENT_READ") && <Sessions />}
      {health.data.value?.jobs && (
        <Jobs jobs={health.data.value.jobs} aside={<Standing of={health} every={ASK_EVERY / 1000} />} />
      )}
      <Card title="All metrics" aside={<Standing of={metrics} every={ASK_EVERY / 1000} />}>
        <div class="scroll metrics" tabIndex={0} role="region" aria-label="Names and sums">
          <table>
            <thead>
              <tr>
                <th scope="col">Metric</th>
                <th scope="col">Sum</th>
              </tr>
            </thead>
            <tbody>
              {[...(newest ?? [])]
                .sort(([a], [b]) => a.localeCompare(b))
                .map(([name, value]) => (
                  <tr key={name}>
                    <td>
                      <code>{name}</code>
                    </td>
                    <td class="number">{format(value)}</td>
                  </tr>
                ))}
            </tbody>
          </table>
        </div>
      </Card>
    </Page>
  );
}

/** The background jobs, those that fail first. */
function Jobs({ jobs, aside }: { jobs: BackgroundJob[]; aside: ComponentChildren }) {
  const sorted = [...jobs].sort((one, other) => other.failures - one.failures || one.name.localeCompare(other.name));
  return (
    <Card title="Background jobs" aside={aside}>
      <div class="scroll" tabIndex={0} role="region" aria-label="Background jobs and their last runs">
        <table>
          <thead>
            <tr>
              {["Job", "Every", "Lease", "Last run", "Result", "Failures", "Panics"].map((title) => (
                <th key={title} scope="col">
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {sorted.map((job) => (
              <tr key={job.name}>
                <td>
                  <code>{job.name}</code>
                </td>
                <td>{job.periodSeconds === undefined ? "event" : periodInWords(job.periodSeconds)}</td>
                <td>{job.lease ? "yes" : ""}</td>
                <td>
                  <Time at={job.lastRun} as="ago" />
                </td>
                <td>{job.lastResult ? <StatusMark of={job.lastResult} /> : <span class="faint">–</span>}</td>
                <td class="number">{job.failures}</td>
                <td class="number">{job.panics}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  );
}

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
