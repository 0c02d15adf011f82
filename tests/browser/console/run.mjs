// The console in a real browser against a real server; see ../README.md. `--only` runs those flows whose names contain one of the parts between `|`, `--part` those
// of one of two parts, `--files` takes the console from a directory instead of the server.
//
//   node run.mjs --server <program> [--browser <program>] [--only <part of a name>] [--part <1 or 2>] [--files <directory>]
//     [--only pictures --devices 200 --pictures ../../docs/images]

import path from "node:path";
import { parseArgs } from "node:util";
import { Platform } from "../../clients/platform.mjs";
import * as administration from "./flows/administration.mjs";
import * as certificates from "./flows/certificates.mjs";
import * as connection from "./flows/connection.mjs";
import * as consumers from "./flows/consumers.mjs";
import { Demo } from "./demo.mjs";
import * as demo from "./flows/demo.mjs";
import * as destruction from "./flows/destruction.mjs";
import * as figures from "./flows/figures.mjs";
import * as finding from "./flows/finding.mjs";
import * as logIn from "./flows/log_in.mjs";
import * as lists from "./flows/lists.mjs";
import * as management from "./flows/management.mjs";
import * as people from "./flows/people.mjs";
import * as quiet from "./flows/quiet.mjs";
import * as secondFactor from "./flows/second_factor.mjs";
import * as singleSignOn from "./flows/single_sign_on.mjs";
import * as snapshots from "./flows/snapshots.mjs";
import * as tools from "./flows/tools.mjs";
import * as waiting from "./flows/waiting.mjs";
import * as watching from "./flows/watching.mjs";
import { Stage } from "./stage.mjs";

const USAGE = "usage: node run.mjs --server <program> [--browser <program>] [--only <part of a flow's name>] [--part <1 or 2>] [--files <directory>]";
// The parts run at the same time in the tests, and take about as long as each other.
const PARTS = {
  1: { ...people, ...watching, ...finding, ...lists, ...figures, ...snapshots, ...logIn, ...secondFactor, ...singleSignOn },
  2: { ...management, ...administration, ...certificates, ...consumers, ...quiet, ...destruction, ...tools, ...demo, ...waiting, ...connection },
};
const FLOWS = { ...PARTS[1], ...PARTS[2] };

/** Returns `an_alarm_appears` as a sentence. */
const sentence = (name) => name.replaceAll("_", " ");

async function play({ only, part, ...values }, program) {
  const flows = PARTS[part] ?? FLOWS;
  const stage = await Stage.open({ ...values, server: path.resolve(values.server) }, program);
  const failed = [];
  try {
    const response = await stage.fetch("/", { headers: { Accept: "text/html" } });
    if (!(await response.text()).includes('id="app"')) throw new Error("this server was built without its console");
    const chosen = Object.entries(flows).filter(([name]) => !only || only.split("|").some((part) => sentence(name).includes(part)));
    const run = async ([name, flow]) => {
      const begun = Date.now();
      const report = (end, more = "") => console.log(`${end.padEnd(7)} ${String(Date.now() - begun).padStart(6)} ms  ${sentence(name)}${more}`);
      try {
        await flow(stage);
        report("ok");
      } catch (error) {
        failed.push(name);
        report("FAILED", `\n${error.stack}`);
        if (!(name in waiting)) await stage.abandon();
      }
    };
    const beside = chosen.filter(([name]) => name in waiting).map(run);
    const inTurn = chosen.filter(([name]) => !(name in waiting));
    for (const one of inTurn.filter(([name]) => !(name in connection))) await run(one);
    // The next ones restart the server.
    await Promise.all(beside);
    for (const one of inTurn.filter(([name]) => name in connection)) await run(one);
  } finally {
    await stage.close();
  }
  if (failed.length > 0) throw new Error(`${failed.length} of ${Object.keys(flows).length} flows failed: ${failed.map(sentence).join("; ")}`);
}

/** No process stays behind, for any reason of the exit. */
process.on("exit", () => [...Demo.all, ...Platform.all].forEach((one) => one.kill()));
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1));

try {
  const options = { server: { type: "string" }, browser: { type: "string", default: "chromium" }, only: { type: "string" }, part: { type: "string" }, files: { type: "string" }, pictures: { type: "string" }, devices: { type: "string", default: "60" } };
  const { values } = parseArgs({ options });
  if (!values.server) throw new Error(USAGE);
  const begun = Date.now();
  await play(values, await located(values.browser));
  console.log(`the console works, tried for ${Math.round((Date.now() - begun) / 1000)} s`);
  // Node 20 may loop forever in its own cleanup if it is left to end by itself.
  process.exit(0);
} catch (error) {
  console.error(error.stack);
  process.exit(1);
}

/** Returns the path of a program, because Playwright does not accept a name. */
async function located(program) {
  if (program.includes("/")) return program;
  const { access, constants } = await import("node:fs/promises");
  for (const directory of process.env.PATH.split(":")) {
    const candidate = path.join(directory, program);
    if (await access(candidate, constants.X_OK).then(() => true, () => false)) return candidate;
  }
  throw new Error(`${program} is not on the PATH`);
}
