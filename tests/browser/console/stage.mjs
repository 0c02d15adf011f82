// The common parts of the flows: a server with data, a relay in front of it, a browser, and pages that are watched for
// errors, for requests to other hosts and for barriers to accessibility.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { chromium } from "playwright-core";
import { PASSWORD, Platform } from "../../clients/platform.mjs";
import { Relay } from "../../clients/relay.mjs";
import { Demo } from "./demo.mjs";
import { Fleet } from "./fleet.mjs";

const AXE = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
/** The timeout of anything that should happen at once, on a busy machine. */
const SOON = 15_000;
/** The messages of a browser about a connection that a test cut or a request that the server rejected on purpose. */
const EXPECTED_WHEN_CUT = /net::ERR_|WebSocket connection|WebSocket is already in CLOSING|Failed to load resource/;
/** A page that a test substitutes has no address, so the browser would not let it reach this machine. */
const SUBSTITUTED = "--disable-features=LocalNetworkAccessChecks,LocalNetworkAccessChecksWebSockets";

/** The users whose windows are kept. */
const KEPT = /\/admin$/;

export class Stage {
  #demo;
  #visitors = new Set();
  /** The windows that are kept, by user. */
  #kept = new Map();

  /**
   * `files` is a directory with another build of the console, to try it without building the server; `pictures` is the
   * directory for those of README.md.
   */
  static async open({ server, files, pictures, devices }, program) {
    const stage = new Stage();
    Object.assign(stage, { server, files, pictures, devices });
    try {
      const isRoot = process.getuid?.() === 0;
      // Chromium's own sandbox does not run as root, which runs the tests in containers. Only pages of the test are
      // opened here.
      const args = ["--disable-gpu", "--disable-dev-shm-usage", ...(isRoot ? ["--no-sandbox"] : []), ...(files ? [SUBSTITUTED] : [])];
      const launched = chromium.launch({ executablePath: program, args }).then((browser) => (stage.browser = browser));
      const started = Platform.start(server).then((platform) => (stage.platform = platform));
      const failed = (await Promise.allSettled([launched, started])).find(({ reason }) => reason);
      if (failed) throw failed.reason;
      stage.relay = await Relay.open(() => stage.platform.port);
      stage.base = `http://127.0.0.1:${stage.relay.port}`;
      stage.fleet = new Fleet(() => `http://127.0.0.1:${stage.platform.port}`, PASSWORD);
      await stage.fleet.create(40);
    } catch (error) {
      await stage.close();
      throw error;
    }
    return stage;
  }

  /**
   * Returns the simulated fleet of `platform demo` in a tenant of its own at the server under test. The first call
   * starts it.
   */
  demo() {
    this.#demo ??= Demo.start(this.server, `http://127.0.0.1:${this.platform.port}`, this.devices);
    return this.#demo;
  }

  async close() {
    await this.browser?.close();
    await (await this.#demo?.catch(() => undefined))?.stop();
    this.relay?.close();
    await this.platform?.remove();
  }

  async #serve(route) {
    if (route.request().method() !== "GET") return route.continue();
    const name = path.basename(new URL(route.request().url()).pathname) || "index.html";
    const headers = { "Content-Security-Policy": "default-src 'self'; img-src 'self' data:" };
    if (name !== "index.html") return route.fulfill({ path: path.join(this.files, name), headers });
    // The server writes the log-in that the browser keeps into its own page.
    const kept = /<meta name="platform-token"[^>]*>/.exec(await (await route.fetch()).text())?.[0] ?? "";
    const page = await readFile(path.join(this.files, name), "utf8");
    await route.fulfill({ body: page.replace("<head>", `<head>${kept}`), contentType: "text/html;charset=UTF-8", headers });
  }

  /** Sends a request directly to the server, because flows cut the relay. */
  fetch(path, options) {
    return fetch(`http://127.0.0.1:${this.platform.port}${path}`, options);
  }

  /**
   * Opens a page in a window in which this user has logged in. The windows of administrators are kept for the next flow,
   * which loads the console anew there: only the log-in is the earlier one.
   */
  async at(page, user = "main/admin", password = PASSWORD, { expectsCuts = false } = {}) {
    const kept = this.#kept.get(user)?.pop();
    const visitor = kept ?? (await this.visitor());
    Object.assign(visitor, { expectsCuts, complaints: [], foreign: [], user: KEPT.test(user) ? user : undefined });
    if (kept) await visitor.page.goto(`${visitor.base}/#/${page}`);
    else await visitor.logIn(user, password, { page });
    return visitor;
  }

  /** Keeps a window for the next flow. Returns false if the window cannot be used again. */
  async keep(visitor) {
    try {
      await visitor.page.unrouteAll({ behavior: "ignoreErrors" });
      // Text that a flow did not save is asked about.
      visitor.page.once("dialog", (dialog) => dialog.accept());
      await visitor.page.goto("about:blank", { timeout: SOON });
      visitor.page.removeAllListeners("dialog");
    } catch {
      return false;
    }
    this.#kept.set(visitor.user, [...(this.#kept.get(visitor.user) ?? []), visitor]);
    return true;
  }

  /** Closes the windows that a failed flow left open, because they would disturb the next one. */
  async abandon() {
    for (const visitor of this.#visitors) if (!visitor.isBeside) await visitor.context.close();
    this.#kept.clear();
    this.relay.refusing = false;
  }

  /**
   * Opens a separate window, like that of another person at another machine. `relay` is its way to the server;
   * `isBeside` belongs to a flow that runs at the same time as others.
   */
  async visitor({ width = 1280, height = 800, scale = 1, scheme = "light", zone, relay = this.relay, isBeside = false } = {}) {
    const context = await this.browser.newContext({ viewport: { width, height }, deviceScaleFactor: scale, colorScheme: scheme, timezoneId: zone, locale: "en-GB", acceptDownloads: true, reducedMotion: "reduce" });
    context.setDefaultTimeout(SOON);
    if (this.files) await context.route(({ pathname }) => pathname === "/" || pathname.startsWith("/console/"), (route) => this.#serve(route));
    const visitor = new Visitor(this, context, await context.newPage(), `http://127.0.0.1:${relay.port}`);
    visitor.isBeside = isBeside;
    this.#visitors.add(visitor);
    context.on("close", () => this.#visitors.delete(visitor));
    return visitor;
  }
}

/** A person who uses the console. */
export class Visitor {
  complaints = [];
  foreign = [];
  expectsCuts = false;

  constructor(stage, context, page, base) {
    Object.assign(this, { stage, context, page, base });
    // A search tries external ids of several types, of which most do not exist.
    page.on("console", (message) => message.type() === "error" && !message.location().url.includes("/identity/externalIds/") && this.#complain(message.text()));
    page.on("pageerror", (error) => this.#complain(error.stack));
    page.on("request", (request) => {
      if (!request.url().startsWith(base) && !/^(blob|data):/.test(request.url())) this.foreign.push(request.url());
    });
    page.on("websocket", (socket) => {
      if (!socket.url().startsWith(base.replace("http", "ws"))) this.foreign.push(socket.url());
    });
  }

  #complain(text) {
    if (!(this.expectsCuts && EXPECTED_WHEN_CUT.test(text))) this.complaints.push(text);
  }

  async logIn(user = "main/admin", password = PASSWORD, { page = "overview" } = {}) {
    await this.page.goto(`${this.base}/#/${page}`);
    await this.page.getByLabel("User", { exact: false }).first().fill(user);
    await this.page.getByLabel("Password").fill(password);
    await this.page.getByRole("button", { name: "Log in" }).click();
    return this;
  }

  async isLive(way = "WebSocket") {
    await this.page.locator(".connection.live", { hasText: way }).waitFor();
  }

  /** Opens a page by its address and waits for its heading. */
  async go(address, heading) {
    await this.page.evaluate((hash) => (location.hash = hash), `#/${address}`);
    await this.page.getByRole("heading", { level: 1, name: heading }).waitFor();
  }

  sees(text) {
    return this.page.getByText(text).first().waitFor();
  }

  /** Repeats `send` until the page shows a text, because a page does not show when the server accepted its subscription. */
  async seesWhatIsSent(text, send) {
    await eventually(`the page shows ${text}`, async () => {
      await send();
      return (await this.page.getByText(text).count()) > 0;
    });
  }

  button(name) {
    return this.page.getByRole("button", { name, exact: false });
  }

  /** Confirms the open question with the button of this name, after typing `word` if the question asks for one. */
  async confirms(button, word) {
    const confirmation = this.page.getByRole("button", { name: button, exact: false });
    // The window from which the question was asked may still be the only one.
    const question = this.page.getByRole("dialog").filter({ has: confirmation }).last();
    if (word !== undefined) await question.getByRole("textbox").fill(word);
    await question.getByRole("button", { name: button, exact: false }).click();
  }

  /** Lets the page show everything again that depends on the time, as it does every few seconds. */
  tick() {
    return this.page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
  }

  /** Asserts that axe finds no violation on the present page; with `rules`, none of these. */
  async isAccessible(where, rules) {
    let result;
    // A list that begins to load during the check has faded rows, which have less contrast for a moment.
    for (let tries = 0; tries < 5 && result?.isDisturbed !== false; tries += 1) result = await this.#violations(rules);
    assert.deepEqual(result.violations, [], `${where} has barriers`);
  }

  async #violations(rules) {
    // Fading colours have less contrast for a moment, and so do the rows of a list while those of another filter are loaded.
    await this.page.waitForFunction(() => !document.querySelector(".old"));
    await this.page.evaluate(() => Promise.all(document.getAnimations().filter((one) => one.effect.getTiming().iterations !== Infinity).map((one) => one.finished.catch(() => {}))));
    if (!(await this.page.evaluate("!!window.axe"))) await this.page.evaluate(AXE);
    return this.page.evaluate(async (rules) => {
      let isDisturbed = document.querySelector(".old") !== null;
      const observer = new MutationObserver((changes) => (isDisturbed ||= changes.some(({ target }) => target.classList.contains("old"))));
      observer.observe(document.body, { subtree: true, attributeFilter: ["class"] });
      const { violations } = await window.axe.run(document, { resultTypes: ["violations"], ...(rules && { runOnly: rules }) });
      observer.disconnect();
      return { isDisturbed, violations: violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => `${node.html.slice(0, 160)} (${node.any[0]?.message ?? node.failureSummary})`).join(" | ")}`) };
    }, rules);
  }

  /** Asserts that no element exceeds the right edge of the window. */
  async fits(where) {
    const excess = await this.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(excess <= 0, `${where} is ${excess} pixels wider than the window`);
  }

  /** Ends the visit, and asserts that no error occurred in the window. */
  async leave() {
    if (!this.user || !(await this.stage.keep(this))) await this.context.close();
    assert.deepEqual(this.foreign, [], "requests left the server");
    assert.deepEqual(this.complaints, [], "the browser complained");
  }
}

/** Waits until an asynchronous function returns a true value. */
export async function eventually(what, ask) {
  const deadline = Date.now() + SOON;
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    if (Date.now() > deadline) throw new Error(`it did not come true: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
