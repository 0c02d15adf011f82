// What the page of a demo did, what the server confirmed, and what both have of it. Only numbers that must agree are
// compared, so that a loss shows.

import { signal } from "@preact/signals";
import { ApiError, call, get, path, withQuery } from "./api";
import { readObjects, readPage } from "./collection";
import { isCut } from "./cut";
import { asError } from "./load";
import type { Alarm, ManagedObject, Operation } from "./types";
import type { Sent } from "./values/ledger";

/** The alarms of a storm: at most this many a second, for this many seconds, repeated by this many devices. */
export const STORM = { perSecond: 500, seconds: 10, devices: 20, type: "demo_Storm" };
export const STOPPED = 20;
/** Requests at a time. A browser sends some of them and lets the others wait. */
const AT_ONCE = 24;
const PAUSE_MS = 20;
const SHOW_MS = 200;

export const storm = signal<Sent | null>(null);
/** The ids of the operations of the last stop. */
export const stops = signal<string[]>([]);

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function find(condition: string, most: number): Promise<ManagedObject[]> {
  return (await readObjects({ query: `$filter=${condition} $orderby=name`, pageSize: most })).items;
}

/** Clears the alarms of earlier storms, so that the counts begin at zero. */
export async function endStorm(): Promise<void> {
  await call("PUT", withQuery("/alarm/alarms", { type: STORM.type, resolved: false }), { body: { status: "CLEARED" } });
  storm.value = null;
}

/** Sends the alarms of a storm. A repeated alarm is one alarm whose `count` the server increases. */
export async function beginStorm(): Promise<void> {
  if (storm.peek()?.isRunning) return;
  const devices = await find("has(plat_IsDevice)", STORM.devices);
  await endStorm();
  const begun = performance.now();
  const sent: Sent = { isRunning: true, seconds: 0, confirmed: 0, uncertain: 0, refused: 0, problem: "", endedAt: 0 };
  let cut = 0;
  const elapsed = () => (performance.now() - begun - cut) / 1000;
  const show = () => {
    // While its network is cut, the page has nothing to send with, and the storm waits.
    if (isCut.peek()) cut += SHOW_MS;
    storm.value = { ...sent, seconds: Math.min(STORM.seconds, elapsed()) };
  };
  let next = 0;
  const work = async () => {
    while (elapsed() < STORM.seconds) {
      if (isCut.peek() || next > elapsed() * STORM.perSecond) {
        await sleep(PAUSE_MS);
        continue;
      }
      const source = devices[next++ % devices.length];
      await raise(source, sent);
    }
  };
  show();
  const timer = setInterval(show, SHOW_MS);
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  clearInterval(timer);
  [sent.isRunning, sent.endedAt] = [false, Date.now()];
  show();
}

async function raise({ id }: ManagedObject, sent: Sent): Promise<void> {
  const body = {
    type: STORM.type,
    text: "An alarm of the storm",
    severity: "WARNING",
    time: new Date().toISOString(),
    source: { id },
  };
  try {
    await call("POST", "/alarm/alarms", { body });
    sent.confirmed += 1;
  } catch (error) {
    const { status, message } = asError(error);
    if (error instanceof ApiError && status > 0 && status < 500) sent.refused += 1;
    else sent.uncertain += 1;
    sent.problem = message;
  }
}

/** Reads the alarms of the storm. */
export async function readStorm(): Promise<Alarm[]> {
  const address = withQuery("/alarm/alarms", { type: STORM.type, resolved: false, pageSize: 100 });
  return (await readPage<Alarm>(address, "alarms")).items;
}
export const countOf = (alarms: Alarm[] = []) => alarms.reduce((sum, { count }) => sum + count, 0);

/** Restarts agents: each hangs up, and reports after it is back. */
export async function stopDevices(): Promise<void> {
  const agents = await find("has(com_platform_model_Agent) and has(plat_IsDevice)", STOPPED);
  const made = await Promise.all(
    agents.map(({ id }) =>
      call<Operation>("POST", "/devicecontrol/operations", {
        body: { deviceId: id, description: "Stopped from the console", plat_Restart: {} },
      }),
    ),
  );
  stops.value = made.map(({ id }) => id);
}

/** Reads the operations of the last stop. */
export async function readStops(): Promise<Operation[]> {
  return Promise.all(stops.peek().map((id) => get<Operation>(path`/devicecontrol/operations/${id}`)));
}
export const hasEnded = ({ status }: Operation) => status === "SUCCESSFUL" || status === "FAILED";
