// The suite runs unmodified Bayeux clients against a server that it starts. See README.md.
//
//   node run.mjs --server <program> [--python <program>] [--only <regex>] [--repeat <times>]

import path from "node:path";
import { parseArgs } from "node:util";
import { isPlayable, usePython } from "./clients/aiocometd.mjs";
import { Platform } from "./platform.mjs";
import { ALL_WAYS, createUsers, Run } from "./stage.mjs";
import { isInstalled, Proxy } from "./proxies.mjs";
import { line, summary, table } from "./report.mjs";
import { stages as cuts } from "./scenarios/cuts.mjs";
import { stages as children } from "./scenarios/children.mjs";
import { stages as consumer } from "./scenarios/consumer.mjs";
import { stages as filter } from "./scenarios/filter.mjs";
import { stages as idle } from "./scenarios/idle.mjs";
import { stages as proxies } from "./scenarios/proxies.mjs";
import { stages as rehandshake } from "./scenarios/rehandshake.mjs";
import { stages as restart } from "./scenarios/restart.mjs";
import { stages as slowReader } from "./scenarios/slow_reader.mjs";
import { stages as twoSessions } from "./scenarios/two_sessions.mjs";

const STAGES = [...idle, ...cuts, ...children, ...restart, ...rehandshake, ...twoSessions, ...slowReader, ...consumer, ...filter, ...proxies];

/** The settings of the servers that stages request; the other stages share a server with the defaults. */
const SETTINGS = { "short hold": { PLATFORM_CONNECT_TIMEOUT_MS: "10000" }, restarted: {} };

const USAGE = "usage: node run.mjs --server <program> [--python <program>] [--only <regex>] [--repeat <times>]";

async function playStage(stage, runs, platform, number) {
  let proxy;
  try {
    if (stage.behind) {
      proxy = await Proxy.start(stage.behind, platform);
      for (const run of runs) run.proxy = proxy;
    }
    await createUsers(platform, runs, number);
    await stage.play(platform, runs, stage);
  } catch (error) {
    for (const run of runs) run.problems.push(error.message);
  }
  await Promise.all(runs.map((run) => run.close()));
  proxy?.stop();
  console.log(line(stage, runs));
}

/** Runs every stage at the same time. Returns the runs. */
async function playAll(program, only) {
  const stages = STAGES.filter(({ behind }) => !behind || isInstalled(behind));
  const jobs = stages.map((stage) => {
    const runs = (stage.ways ?? ALL_WAYS).filter(isPlayable).map((way) => new Run(stage, way));
    return { stage, runs: runs.filter((run) => only.test(run.name)) };
  }).filter(({ runs }) => runs.length > 0);
  console.log(`${jobs.flatMap(({ runs }) => runs).length} runs in ${jobs.length} stages`);
  const platforms = new Map();
  try {
    // The servers start one after the other and before the first client, because the creation of a database uses the
    // whole machine.
    for (const server of new Set(jobs.map(({ stage }) => stage.server))) {
      platforms.set(server, await Platform.start(program, SETTINGS[server]));
    }
    await Promise.all(jobs.map(({ stage, runs }, number) => playStage(stage, runs, platforms.get(stage.server), number)));
  } finally {
    await Promise.all([...platforms.values()].map((platform) => platform.remove()));
  }
  return jobs.flatMap(({ runs }) => runs);
}

async function main() {
  const options = { server: { type: "string" }, python: { type: "string" }, only: { type: "string" }, repeat: { type: "string", default: "1" } };
  const { values } = parseArgs({ options });
  if (!values.server) throw new Error(USAGE);
  usePython(values.python);
  const all = [];
  for (let round = 0; round < Number(values.repeat); round += 1) {
    const runs = await playAll(path.resolve(values.server), new RegExp(values.only ?? ""));
    console.log(`\n${table(runs)}\n`);
    all.push(...runs);
  }
  console.log(summary(all));
  return all.length > 0 && all.every((run) => run.problems.length === 0);
}

/** No server stays behind, for any reason of the exit. */
function killServers() {
  for (const platform of Platform.all) platform.kill();
  for (const proxy of Proxy.all) proxy.stop();
}

process.on("exit", killServers);
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1));

try {
  process.exit((await main()) ? 0 : 1);
} catch (error) {
  console.error(error.message);
  process.exit(2);
}
