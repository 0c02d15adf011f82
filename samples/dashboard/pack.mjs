// Packs the page and the library that it uses into dashboard.zip, for an upload as a web application.

import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

process.chdir(fileURLToPath(new URL(".", import.meta.url)));
rmSync("packed", { recursive: true, force: true });
rmSync("dashboard.zip", { force: true });
mkdirSync("packed");
for (const file of ["index.html", "dashboard.css", "dashboard.js"]) cpSync(file, `packed/${file}`);
// The library consists of JavaScript modules, which browsers load directly, so there is no build step.
cpSync("node_modules/cometd", "packed/cometd", { recursive: true, filter: (name) => !/\.(md|ts|json)$/.test(name) });
execFileSync("python3", ["-m", "zipfile", "-c", "../dashboard.zip", "index.html", "dashboard.css", "dashboard.js", "cometd"], { cwd: "packed", stdio: "inherit" });
