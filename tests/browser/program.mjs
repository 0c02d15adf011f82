// The frame of the programs of this directory: options, the end of all processes, the exit status.

import path from "node:path";
import { parseArgs } from "node:util";
import { Platform } from "../clients/platform.mjs";
import { Proxy } from "../clients/proxies.mjs";
import { Chromium } from "./chromium.mjs";

/** Runs `play` with the paths of the server and the browser that the command line names; prints `success` afterwards. */
export async function runProgram(usage, play, success) {
  // No process stays behind, for any reason of the exit.
  process.on("exit", () => {
    for (const started of [...Chromium.all, ...Platform.all]) started.kill();
    for (const proxy of Proxy.all) proxy.stop();
  });
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1));
  try {
    const options = { server: { type: "string" }, browser: { type: "string", default: "chromium" } };
    const { values } = parseArgs({ options });
    if (!values.server) throw new Error(usage);
    await play(path.resolve(values.server), values.browser);
    console.log(success);
    // Node 20 may loop forever in its own cleanup if it is left to end by itself.
    process.exit(0);
  } catch (error) {
    console.error(error.stack);
    process.exit(1);
  }
}
