// A hosted web application in a real browser: under the domain of its tenant, and on an address that tenants share. See
// README.md.
//
//   node run.mjs --server <program> [--browser <program>]

import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { PASSWORD, Platform } from "../clients/platform.mjs";
import { sleep } from "../clients/wait.mjs";
import { Chromium } from "./chromium.mjs";
import { runProgram } from "./program.mjs";
import { Tenant } from "./tenant.mjs";
import { zip } from "./zip.mjs";

const DOMAIN = "plant7.example.com";
const SHARED = "shared.example.com";
/** The timeout of anything that a page should do at once. */
const SOON = 60_000;
const USAGE = "usage: node run.mjs --server <program> [--browser <program>]";

async function archiveOf(directory) {
  const names = await readdir(directory);
  return zip(await Promise.all(names.map(async (name) => [name, await readFile(path.join(directory, name))])));
}

/** Opens the application, waits until it is subscribed, and causes a notification. Returns the records of the page. */
async function visit(browser, tenant, address) {
  const token = tenant.authorization.replace("Basic ", "");
  const page = await browser.open(`${address}#${token},${tenant.device}`);
  const outcome = await eventually(page, ({ subscribed, closed }) => subscribed !== undefined || closed);
  if (!outcome.subscribed) throw new Error(`${address}: ${JSON.stringify(outcome)}\n${page.complaints.join("\n")}`);
  await tenant.tell(`hello ${address}`);
  const told = await eventually(page, (noted) => noted.told);
  return { ...told, complaints: page.complaints };
}

/** Returns the records of a page as soon as the condition holds, or the latest ones after the timeout. */
async function eventually(page, holds) {
  const deadline = Date.now() + SOON;
  for (;;) {
    const outcome = (await page.value("window.outcome")) ?? {};
    if (holds(outcome) || Date.now() > deadline) return outcome;
    await sleep(50);
  }
}

/** Returns the results that are the same wherever the application is opened. */
const works = (address, tenant) => ({
  classic: true,
  module: true,
  color: "rgb(1, 2, 3)",
  fonts: ["Wide loaded"],
  width: 300,
  unasked: 401,
  tenant,
  handshake: true,
  subscribed: true,
  told: `hello ${address}`,
});

async function play(server, program) {
  const platform = await Platform.start(server);
  let browser;
  try {
    await new Tenant(platform, "management/admin").post("/tenant/tenants", {
      id: "plant7",
      domain: DOMAIN,
      company: "Acme",
      adminName: "admin",
      adminPass: PASSWORD,
      adminEmail: "admin@example.com",
    });
    const [plant, main] = [new Tenant(platform, "plant7/admin"), new Tenant(platform, "main/admin")];
    const archive = await archiveOf(fileURLToPath(new URL("application", import.meta.url)));
    await plant.install("home", archive);
    await main.install("guest", archive);
    browser = await Chromium.start(program, [DOMAIN, SHARED]);
    const at = (host, name) => `http://${host}:${platform.port}/apps/${name}/`;
    const [own, common] = [at(DOMAIN, "home"), at(SHARED, "guest")];

    const home = await visit(browser, plant, own);
    const shared = await visit(browser, main, common);

    const refused = /401/;
    const complaints = (page) => page.complaints.filter((text) => !refused.test(text));
    assert.deepEqual({ ...home, complaints: complaints(home) }, {
      ...works(own, "plant7"),
      origin: `http://${DOMAIN}:${platform.port}`,
      storage: "number",
      cookies: "string",
      complaints: [],
    });
    // A page without an origin cannot share any data with a page of another tenant.
    assert.deepEqual({ ...shared, complaints: complaints(shared) }, {
      ...works(common, "main"),
      origin: "null",
      storage: "SecurityError",
      cookies: "SecurityError",
      complaints: [],
    });
  } finally {
    await browser?.close();
    await platform.remove();
  }
}

await runProgram(USAGE, play, "a hosted application works under its tenant's domain, and confined on a shared address");
