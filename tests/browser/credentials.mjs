// Credentials of pages and credentials that the browser stored, in a real browser (C-16b): a page of another site and a
// page without an origin may use credentials of their own, and never those of the browser's user. See README.md.
//
//   node credentials.mjs --server <program> [--browser <program>]

import assert from "node:assert/strict";
import http from "node:http";
import { PASSWORD, Platform, basic } from "../clients/platform.mjs";
import { sleep } from "../clients/wait.mjs";
import { Chromium } from "./chromium.mjs";
import { runProgram } from "./program.mjs";
import { Tenant } from "./tenant.mjs";
import { zip } from "./zip.mjs";

const SHARED = "shared.example.com";
/** A page of the same registered domain, which shares the stored credentials of the browser; others would not get them. */
const FOREIGN = "evil.example.com";
/** The timeout of anything that a page should do at once. */
const SOON = 60_000;
const USAGE = "usage: node credentials.mjs --server <program> [--browser <program>]";
const OBJECTS = "/inventory/managedObjects";
const PAGE = "<!doctype html><title>A page</title>";

/** Starts a site that has nothing to do with the platform, and returns its address. */
async function startForeignSite() {
  const site = http.createServer((_, response) => response.setHeader("Content-Type", "text/html").end(PAGE));
  await new Promise((resolve) => site.listen(0, "127.0.0.1", resolve));
  site.unref();
  return `http://${FOREIGN}:${site.address().port}`;
}

/** Sends a request from a page. Returns its status and text as the page reads them, or `blocked`. */
function send(page, address, { headers = {}, ...options }) {
  const script = async (address, options) => {
    try {
      const response = await fetch(address, options);
      return { status: response.status, text: await response.text() };
    } catch (error) {
      return { blocked: error.name };
    }
  };
  const all = { credentials: "include", headers, ...options };
  return page.value(`(${script})(${JSON.stringify(address)}, ${JSON.stringify(all)})`);
}

/** Waits until a page shows a text. */
async function shows(page, text) {
  const deadline = Date.now() + SOON;
  for (;;) {
    const shown = await page.value("document.body?.textContent");
    if (text.test(shown)) return;
    assert.ok(Date.now() < deadline, `the page shows ${shown}`);
    await sleep(50);
  }
}

/** Requests that a page could make with the credentials of the browser. `name` is that of the object they create. */
const attacks = (name) => [
  ["GET", "/user/currentUser", {}],
  ["GET", "/user/currentUser", { UseXBasic: "true" }],
  ["GET", "/user/currentUser", { "X-Requested-With": "XMLHttpRequest" }],
  ["POST", OBJECTS, { "Content-Type": "application/json" }, JSON.stringify({ name })],
  ["POST", OBJECTS, { "Content-Type": "text/plain" }, JSON.stringify({ name })],
  ["POST", OBJECTS, { "Content-Type": "text/plain", "X-Platform-Processing-Mode": "PERSISTENT" }, JSON.stringify({ name })],
  ["PUT", "/user/currentUser", { "Content-Type": "application/json" }, JSON.stringify({ lastName: name })],
  ["DELETE", `${OBJECTS}/4711`, {}],
];

/** Tries everything with the stored credentials of the browser. The page must learn nothing and change nothing. */
async function attack(page, base, tenant, what) {
  for (const [method, where, headers, body] of attacks("stolen")) {
    const outcome = await send(page, `${base}${where}`, { method, headers, body });
    assert.deepEqual(outcome, { blocked: "TypeError" }, `${what}: ${method} ${where} ${JSON.stringify(headers)}`);
  }
  const { managedObjects } = await tenant.get(`${OBJECTS}?pageSize=2000`);
  assert.deepEqual(managedObjects.filter(({ name }) => name === "stolen"), [], what);
  const { lastName } = await tenant.get("/user/currentUser");
  assert.notEqual(lastName, "stolen", what);
}

/** Sends the same requests with credentials of the page's own; the browser lets it read what they return. */
async function useOwn(page, base, what) {
  const Authorization = basic("main/guest");
  for (const [method, where, headers, body] of attacks("own")) {
    const outcome = await send(page, `${base}${where}`, { method, headers: { ...headers, Authorization }, body });
    const needsNoMore = method === "GET" && headers.UseXBasic === undefined;
    const isForm = headers["Content-Type"] === "text/plain" && Object.keys(headers).length === 1;
    if (needsNoMore || isForm) {
      // The server cannot tell these from requests with stored credentials, so they stay unreadable.
      assert.deepEqual(outcome, { blocked: "TypeError" }, `${what}: ${method} ${where}`);
    } else {
      const isText = headers["Content-Type"] === "text/plain";
      const expected = isText ? 415 : { GET: 200, POST: 201, PUT: 200, DELETE: 404 }[method];
      assert.equal(outcome.status, expected, `${what}: ${method} ${where}: ${JSON.stringify(outcome)}`);
    }
  }
  const headers = { Authorization, UseXBasic: "true" };
  const user = await send(page, `${base}/user/currentUser`, { headers });
  assert.equal(JSON.parse(user.text).userName, "guest", `${what}: the browser sent other credentials`);
  const wrong = { Authorization: basic("main/guest", "wrong-password"), UseXBasic: "true" };
  const refused = await send(page, `${base}/user/currentUser`, { headers: wrong });
  assert.equal(refused.status, 401, `${what}: ${JSON.stringify(refused)}`);
  // Without `credentials: "include"` a page reads every response to credentials of its own.
  const plain = await send(page, `${base}/user/currentUser`, { headers: { Authorization }, credentials: "same-origin" });
  assert.equal(JSON.parse(plain.text).userName, "guest", what);
}

async function play(server, program) {
  const platform = await Platform.start(server);
  let browser;
  try {
    const main = new Tenant(platform, "main/admin");
    await main.post("/user/main/users", { userName: "guest", password: PASSWORD });
    await main.post("/user/main/users/guest/roles", { role: { id: "ROLE_INVENTORY_ADMIN" } });
    await main.install("confined", zip([["index.html", Buffer.from(PAGE)]]));
    browser = await Chromium.start(program, [SHARED, FOREIGN]);
    const [foreign, host] = [await startForeignSite(), `${SHARED}:${platform.port}`];
    const base = `http://${host}`;

    // The browser stores the credentials of its user, as after its log-in window.
    const [user, password] = ["main%2Fadmin", encodeURIComponent(PASSWORD)];
    await browser.open(`http://${user}:${password}@${host}/user/currentUser`);
    const logged = await browser.open(`${base}/user/currentUser`);
    await shows(logged, /"userName":"admin"/);

    const pages = {
      "page of another site": await browser.open(`${foreign}/`),
      "page without an origin": await browser.open(`${base}/apps/confined/`),
    };
    assert.equal(await pages["page without an origin"].value("self.origin"), "null");
    for (const page of Object.values(pages)) await page.refuseLogIns();

    // An origin that the tenant names may use what the browser stored, so the browser sends it from these pages.
    const option = "/tenant/options/access.control/allow.origin";
    await main.put(option, { value: foreign });
    const named = await send(pages["page of another site"], `${base}/user/currentUser`, {});
    assert.equal(JSON.parse(named.text ?? "{}").userName, "admin", `no stored credentials: ${JSON.stringify(named)}`);
    await main.put(option, { value: "*" });

    for (const [what, page] of Object.entries(pages)) {
      await attack(page, base, main, what);
      await useOwn(page, base, what);
      // What the browser remembers of the preflights helps nobody.
      await attack(page, base, main, `${what}, after requests with credentials of its own`);
    }
  } finally {
    await browser?.close();
    await platform.remove();
  }
}

await runProgram(USAGE, play, "pages use credentials of their own, and never those that the browser stored");
