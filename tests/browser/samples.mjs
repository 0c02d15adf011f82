// The page of samples/dashboard in a real browser: packed and installed as its README says, it shows alarms as they change, also after
// the server was away. README.md tells more.
//
//   node samples.mjs --server <program> [--browser <program>]

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import net from "node:net";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { PASSWORD, Platform } from "../clients/platform.mjs";
import { sleep } from "../clients/wait.mjs";
import { Chromium } from "./chromium.mjs";
import { Tenant } from "./tenant.mjs";

const SHARED = "shared.example.com";
const FOLDER = fileURLToPath(new URL("../../samples/dashboard", import.meta.url));
/** How long the page may take for anything, a connection to a server that is back included. */
const SOON = 60_000;
const USAGE = "usage: node samples.mjs --server <program> [--browser <program>]";

const freePort = () =>
  new Promise((resolve) => {
    const probe = net.createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });

/** The page, as its user sees it. */
class Dashboard {
  constructor(page) {
    this.page = page;
  }

  async logIn(user, password) {
    await this.eventually("the form", async () => (await this.page.value(`document.querySelector("#login button")?.disabled`)) === false);
    await this.page.value(`{
      const form = document.getElementById("login");
      form.elements.user.value = ${JSON.stringify(user)};
      form.elements.password.value = ${JSON.stringify(password)};
      form.requestSubmit();
    }`);
  }

  /** What it says of the connection, and the severity, text, count and status of each row. */
  seen() {
    return this.page.value(`({
      state: document.getElementById("state")?.textContent,
      rows: [...document.querySelectorAll("#alarms tr")].map((row) => [0, 2, 3, 5].map((cell) => row.cells[cell].textContent)),
    })`);
  }

  /** Waits until it says this, and shows these rows. */
  async until(what, state, rows = []) {
    await this.eventually(what, async () => JSON.stringify(await this.seen()) === JSON.stringify({ state, rows }));
  }

  async eventually(what, holds) {
    const deadline = Date.now() + SOON;
    while (!(await holds())) {
      if (Date.now() > deadline) assert.fail(`${what}: ${JSON.stringify(await this.seen())}\n${this.page.complaints.join("\n")}`);
      await sleep(50);
    }
  }

  /** The hosts of everything that it loaded. */
  hosts() {
    return this.page.value(`[...new Set(performance.getEntriesByType("resource").map(({ name }) => new URL(name).host))]`);
  }
}

async function play(server, program) {
  execFileSync("npm", ["ci", "--no-audit", "--no-fund"], { cwd: FOLDER, stdio: ["ignore", "ignore", "inherit"] });
  execFileSync("npm", ["run", "--silent", "pack"], { cwd: FOLDER, stdio: "inherit" });
  const platform = await Platform.start(server, { PLATFORM_LISTEN: `127.0.0.1:${await freePort()}` });
  let browser;
  try {
    const tenant = new Tenant(platform, "main/admin");
    await tenant.install("dashboard", await readFile(path.join(FOLDER, "dashboard.zip")));
    await tenant.alarm("leak", "MINOR", "It <b>drips</b>");
    browser = await Chromium.start(program, [SHARED]);
    const page = new Dashboard(await browser.open(`http://${SHARED}:${platform.port}/apps/dashboard/`));

    await page.logIn("main/admin", "wrong");
    await page.until("a wrong password", "The user or the password is wrong.");
    await page.logIn("main/admin", PASSWORD);
    const leak = ["MINOR", "It <b>drips</b>", "1", "ACTIVE"];
    await page.until("the alarm that was open", "Live", [leak]);

    const { id } = await tenant.alarm("fire", "CRITICAL", "It burns");
    await page.until("a new alarm", "Live", [["CRITICAL", "It burns", "1", "ACTIVE"], leak]);
    await tenant.alarm("fire", "CRITICAL", "It burns");
    await page.until("a repetition", "Live", [["CRITICAL", "It burns", "2", "ACTIVE"], leak]);
    await tenant.put(`/alarm/alarms/${id}`, { status: "CLEARED" });
    await page.until("the end of an alarm", "Live", [leak]);

    await platform.terminate();
    await page.until("no server", "The server cannot be reached. What is shown may be old.", [leak]);
    await platform.launch();
    await tenant.alarm("smoke", "MAJOR", "It smokes");
    await page.until("the server is back", "Live", [["MAJOR", "It smokes", "1", "ACTIVE"], leak]);

    assert.deepEqual(await page.hosts(), [`${SHARED}:${platform.port}`]);
    // A request to another host would fail and be listed here, because the browser resolves no other names.
    assert.deepEqual(page.page.complaints.filter((text) => !text.includes(`${SHARED}:${platform.port}`)), []);
  } finally {
    await browser?.close();
    await platform.remove();
  }
}

/** Whatever ends this process, nothing stays behind. */
function killAll() {
  for (const started of [...Chromium.all, ...Platform.all]) started.kill();
}

process.on("exit", killAll);
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1));

try {
  const options = { server: { type: "string" }, browser: { type: "string", default: "chromium" } };
  const { values } = parseArgs({ options });
  if (!values.server) throw new Error(USAGE);
  await play(path.resolve(values.server), values.browser);
  console.log("the sample page shows alarms as they change");
  // Node 20 may turn for ever in its own tidying up if it is left to end by itself.
  process.exit(0);
} catch (error) {
  console.error(error.stack);
  process.exit(1);
}
