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
const bundle = path.join(out, "all.test.mjs");
try {
  // One file of all tests, because the runner starts a process for each file.
  await build({
    stdin: { contents: names.map((name) => `import "./${name}";`).join("\n"), resolveDir: tests },
    bundle: true,
    format: "esm",
    platform: "node",
    outfile: bundle,
    sourcemap: "inline",
    logLevel: "error",
  });
  // Times and numbers are those of one place, wherever the tests run.
  const env = { ...process.env, TZ: "Europe/Berlin", LC_ALL: "en_GB.UTF-8", NODE_OPTIONS: "--enable-source-maps" };
  const parameters = ["--test", "--test-reporter=spec", ...process.argv.slice(2), bundle];
  const run = spawn(process.execPath, parameters, { cwd: path.dirname(tests), env, stdio: "inherit" });
  process.exitCode = await new Promise((resolve) => run.on("exit", (status) => resolve(status ?? 1)));
} finally {
  await rm(out, { recursive: true, force: true });
}
