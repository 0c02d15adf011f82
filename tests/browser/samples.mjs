// The page of samples/dashboard in a real browser: packed and installed as its README describes, it shows alarms as
// they change, also after the server was away. See README.md.
//
//   node samples.mjs --server <program> [--browser <program>]

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import net from "node:net";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { PASSWORD, Platform } from "../clients/platform.mjs";
import { isInstalled, Proxy } from "../clients/proxies.mjs";
import { sleep } from "../clients/wait.mjs";
import { Chromium } from "./chromium.mjs";
import { runProgram } from "./program.mjs";
import { Tenant } from "./tenant.mjs";

const SHARED = "shared.example.com";
const FOLDER = fileURLToPath(new URL("../../samples/dashboard", import.meta.url));
/** The timeout of anything the page does, including a reconnect to a restarted server. */
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

  /** Returns the text about the connection, and the severity, text, count and status of each row. */
  seen() {
    return this.page.value(`({
      state: document.getElementById("state")?.textContent,
      rows: [...document.querySelectorAll("#alarms tr")].map((row) => [0, 2, 3, 5].map((cell) => row.cells[cell].textContent)),
    })`);
  }

  /** Waits until the page shows this text and these rows. */
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

  /** Returns the hosts from which the page loaded anything. */
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
    // A request to another host would appear here, because the browser resolves no other host.
    assert.deepEqual(page.page.complaints.filter((text) => !text.includes(`${SHARED}:${platform.port}`)), []);
    if (isInstalled("nginx")) await playBehindNginx(platform, tenant, browser);
  } finally {
    await browser?.close();
    await platform.remove();
  }
}

/**
 * The page behind nginx with its defaults, which passes no WebSocket: it falls back to long polling, also after its
 * session was lost.
 */
async function playBehindNginx(platform, tenant, browser) {
  const proxy = await Proxy.start("nginx", platform);
  try {
    const page = new Dashboard(await browser.open(`http://${SHARED}:${proxy.port}/apps/dashboard/`));
    const rows = (await tenant.alarms()).map(({ severity, text, count, status }) => [severity, text, String(count), status]);
    await page.logIn("main/admin", PASSWORD);
    await page.until("the alarms through a proxy without WebSocket", "Live", rows);
    const ended = await tenant.endSessions();
    assert.ok(ended > 0, "the page has a session");
    await tenant.alarm("flood", "CRITICAL", "It floods");
    await page.until("a new session through the proxy", "Live", [["CRITICAL", "It floods", "1", "ACTIVE"], ...rows]);
  } finally {
    proxy.stop();
  }
}

await runProgram(USAGE, play, "the sample page shows alarms as they change");
