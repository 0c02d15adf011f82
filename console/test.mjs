// Runs the unit tests of what is not the browser's: tests/*.test.ts, with the test runner of Node.
//
//   node test.mjs [parameters of `node --test`]

import { spawn } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const tests = path.join(path.dirname(fileURLToPath(import.meta.url)), "tests");
const names = (await readdir(tests)).filter((name) => name.endsWith(".test.ts"));
const out = await mkdtemp(path.join(os.tmpdir(), "console-tests-"));
try {
  await build({
    entryPoints: names.map((name) => path.join(tests, name)),
    bundle: true,
    format: "esm",
    platform: "node",
    outdir: out,
    outExtension: { ".js": ".mjs" },
    logLevel: "error",
  });
  const files = names.map((name) => path.join(out, name.replace(/\.ts$/, ".mjs")));
  // Times and numbers are those of one place, wherever the tests run.
  const env = { ...process.env, TZ: "Europe/Berlin", LC_ALL: "en_GB.UTF-8" };
  const run = spawn(process.execPath, ["--test", "--test-reporter=spec", ...process.argv.slice(2), ...files], {
    env,
    stdio: "inherit",
  });
  process.exitCode = await new Promise((resolve) => run.on("exit", (status) => resolve(status ?? 1)));
} finally {
  await rm(out, { recursive: true, force: true });
}
