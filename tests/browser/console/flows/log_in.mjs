// The log-in of the console against a hosted application under the domain of its tenant, which has the origin of the
// console and tries to get at it.

import assert from "node:assert/strict";
import { basic, PASSWORD } from "../../../clients/platform.mjs";
import { Tenant } from "../../tenant.mjs";
import { zip } from "../../zip.mjs";

/** Chromium resolves such a name to this machine and trusts it as it does HTTPS. */
const DOMAIN = "plant7.localhost";

/** What the application tries. It runs in the browser. */
async function attack() {
  const found = {};
  const MARK = "platform-token";
  const page = (options) => fetch("/", { credentials: "include", headers: { Accept: "text/html" }, ...options }).then((response) => response.text()).then((text) => text.includes(MARK), String);
  found.storage = Object.keys(localStorage).length + Object.keys(sessionStorage).length + document.cookie.length;
  found.page = await page();
  found.cached = await page({ cache: "force-cache" });
  found.referring = await page({ referrer: "/" });
  history.pushState(null, "", "/");
  found.pretending = await page();
  found.cookieAtRoot = document.cookie;
  found.api = (await fetch("/tenant/currentTenant", { credentials: "include" })).status;
  found.renewing = (await fetch("/user/currentUser/tokens/current", { method: "PUT", credentials: "include" })).status;
  found.keeping = (await fetch("/console/login", { method: "PUT", credentials: "include" })).status;
  found.socket = await new Promise((resolve) => {
    const socket = new WebSocket(new URL("/notification/realtime", location.href));
    socket.onopen = () => socket.send(JSON.stringify([{ channel: "/meta/handshake", version: "1.0", supportedConnectionTypes: ["websocket"] }]));
    socket.onmessage = ({ data }) => resolve(JSON.parse(data)[0].successful);
    socket.onclose = () => resolve("closed");
  });
  const embedded = (tag, attribute) =>
    new Promise((resolve) => {
      const element = Object.assign(document.createElement(tag), { [attribute]: "/" });
      const look = () => {
        try {
          resolve(!!element.contentDocument?.documentElement?.outerHTML.match(/platform-token|id="app"/));
        } catch {
          resolve(false);
        }
      };
      element.onload = element.onerror = look;
      setTimeout(look, 5000);
      document.body.append(element);
    });
  found.frame = await embedded("iframe", "src");
  found.object = await embedded("object", "data");
  found.worker = await navigator.serviceWorker.register("/apps/thief/worker.js", { scope: "/" }).then(() => "registered", (error) => error.name);
  const opened = window.open("/");
  found.window = await new Promise((resolve) => {
    const deadline = Date.now() + 10_000;
    const look = () => {
      if (!opened || opened.closed) return resolve("separated");
      try {
        // The console shows its navigation to whoever is logged in.
        if (opened.document.querySelector("nav#navigation")) return resolve("reached");
      } catch {
        // While the window changes its document, it belongs to nobody.
      }
      if (Date.now() > deadline) return resolve("neither");
      setTimeout(look, 20);
    };
    look();
  });
  return found;
}

/** Makes a tenant with a domain and an application. */
async function plant(stage) {
  const body = { id: "plant7", domain: DOMAIN, company: "Acme", adminName: "admin", adminPass: PASSWORD, adminEmail: "admin@example.com" };
  await stage.fleet.call("POST", "/tenant/tenants", body, { Authorization: basic("management/admin") });
  const tenant = new Tenant(stage.platform, "plant7/admin");
  await tenant.install("thief", zip([["index.html", Buffer.from("<!doctype html><title>thief</title><body>")], ["worker.js", Buffer.from("")]]));
  return tenant;
}

export async function a_hosted_application_with_the_origin_of_the_console_cannot_get_at_its_log_in(stage) {
  await plant(stage);
  const base = `http://${DOMAIN}:${stage.relay.port}`;
  const visitor = await stage.visitor();
  await visitor.page.goto(base);
  await visitor.page.getByLabel("User", { exact: false }).first().fill("plant7/admin");
  await visitor.page.getByLabel("Password").fill(PASSWORD);
  await visitor.button("Log in").click();
  await visitor.page.locator(".connection.live").waitFor();
  // The log-in is kept at this address, so that there is something to steal.
  await visitor.page.reload();
  await visitor.page.getByRole("heading", { name: "Overview" }).waitFor();
  const thief = await visitor.context.newPage();
  await thief.goto(`${base}/apps/thief/`);
  const found = await thief.evaluate(attack);
  assert.deepEqual(found, {
    storage: 0,
    page: false,
    cached: false,
    referring: false,
    pretending: false,
    cookieAtRoot: "",
    api: 401,
    renewing: 401,
    keeping: 401,
    socket: false,
    frame: false,
    object: false,
    worker: "SecurityError",
    window: "separated",
  });
  // The same in the tab of the console, after the console.
  await visitor.page.goto(`${base}/apps/thief/`);
  assert.equal(await visitor.page.evaluate(() => sessionStorage.length + localStorage.length + document.cookie.length + name.length), 0);
  await visitor.context.close();
}

export async function a_log_in_is_renewed_before_it_expires(stage) {
  const visitor = await stage.visitor();
  // The clock of the page runs ahead, so that half of the hour is over at once.
  await visitor.page.clock.install();
  await visitor.logIn();
  await visitor.page.getByRole("heading", { name: "Overview" }).waitFor();
  const renewed = visitor.page.waitForRequest((request) => request.method() === "PUT" && request.url().endsWith("/user/currentUser/tokens/current"));
  await visitor.page.clock.fastForward("31:00");
  assert.equal((await (await renewed).response()).status(), 200);
  await visitor.context.close();
}
