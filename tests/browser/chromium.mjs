// The installed Chromium without a window, driven through the pipe of its debugging protocol: JSON messages, each
// followed by a NUL.

import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";

/** The longest time that the browser may take for a command, including its start, on a busy machine. */
const PATIENCE = 120_000;

export class Chromium {
  /** Every browser that was started, so that none stays behind. */
  static all = [];
  #child;
  #profile;
  #last = 0;
  #waiting = new Map();
  #listeners = [];
  #received = "";
  #said = "";
  /** The reason why the browser ended. */
  #over;

  /** Starts `program`. Each of `hosts` resolves to this machine, and no other host can be reached. */
  static async start(program, hosts) {
    const browser = new Chromium();
    Chromium.all.push(browser);
    browser.#profile = await mkdtemp(path.join(os.tmpdir(), "platform-browser-"));
    const rules = [...hosts.map((host) => `MAP ${host} 127.0.0.1`), "MAP * ~NOTFOUND", "EXCLUDE 127.0.0.1"];
    const settings = [
      "--headless",
      "--remote-debugging-pipe",
      `--user-data-dir=${browser.#profile}`,
      `--host-resolver-rules=${rules.join(", ")}`,
      "--no-proxy-server",
      "--no-first-run",
      "--disable-gpu",
      "--disable-dev-shm-usage",
      "--disable-background-networking",
      "--disable-component-update",
      // The server of the test serves no HTTPS.
      "--disable-features=HttpsUpgrades,HttpsFirstBalancedModeAutoEnable",
      // Chromium's own sandbox does not run as root, which runs the tests in containers. Only pages of the test are
      // opened here.
      ...(process.getuid?.() === 0 ? ["--no-sandbox"] : []),
      "about:blank",
    ];
    // The browser gets a process group of its own, because it consists of many processes that are ended together.
    const stdio = ["ignore", "ignore", "pipe", "pipe", "pipe"];
    browser.#child = spawn(program, settings, { stdio, detached: true });
    const [, , errors, , answers] = browser.#child.stdio;
    errors.on("data", (text) => (browser.#said = (browser.#said + text).slice(-4000)));
    answers.on("data", (bytes) => browser.#receive(bytes));
    browser.#child.on("error", (error) => browser.#end(error.message));
    browser.#child.on("exit", (code) => browser.#end(`the browser ended (${code}): ${browser.#said}`));
    browser.#child.stdio[3].on("error", () => {});
    return browser;
  }

  /** Opens an address in a new tab. */
  async open(address) {
    const { targetId } = await this.#command("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await this.#command("Target.attachToTarget", { targetId, flatten: true });
    const page = new Page((method, parameters) => this.#command(method, parameters, sessionId));
    this.#listeners.push((message) => message.sessionId === sessionId && page.note(message));
    await page.go(address);
    return page;
  }

  /** Ends the browser and removes its profile. */
  async close() {
    const ended = this.#over ?? new Promise((resolve) => this.#child.once("exit", resolve));
    this.kill();
    await ended;
    // A process of the browser may still be writing; the temporary directory is left behind then.
    await rm(this.#profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }).catch(() => {});
  }

  /** Kills the browser when the process of the test exits, for any reason. */
  kill() {
    try {
      process.kill(-this.#child.pid, "SIGKILL");
    } catch {
      // The browser has ended, or never started.
    }
  }

  #command(method, params, sessionId) {
    if (this.#over) return Promise.reject(new Error(this.#over));
    const id = (this.#last += 1);
    const answer = new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`the browser did not answer ${method}: ${this.#said}`)), PATIENCE);
      this.#waiting.set(id, (error, result) => {
        clearTimeout(late);
        if (error) reject(new Error(`${method}: ${error}`));
        else resolve(result);
      });
    });
    this.#child.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    return answer;
  }

  #receive(bytes) {
    const messages = (this.#received + bytes).split("\0");
    this.#received = messages.pop();
    for (const message of messages.map((text) => JSON.parse(text))) {
      const answer = this.#waiting.get(message.id);
      this.#waiting.delete(message.id);
      if (answer) answer(message.error?.message, message.result);
      else for (const listener of this.#listeners) listener(message);
    }
  }

  #end(cause) {
    this.#over ??= cause;
    for (const answer of this.#waiting.values()) answer(cause);
    this.#waiting.clear();
  }
}

/** A tab. */
class Page {
  /** The complaints of the browser: errors of scripts, and requests that it blocked or that failed. */
  complaints = [];
  #command;

  constructor(command) {
    this.#command = command;
  }

  async go(url) {
    for (const domain of ["Page", "Runtime", "Log"]) await this.#command(`${domain}.enable`);
    const { errorText } = await this.#command("Page.navigate", { url });
    if (errorText) throw new Error(`${url}: ${errorText}`);
  }

  /** Returns the value of an expression on the page, or the value that its promise gets. */
  async value(expression) {
    const wanted = { expression, returnByValue: true, awaitPromise: true };
    const { result } = await this.#command("Runtime.evaluate", wanted);
    return result.value;
  }

  /** Closes each log-in window of the browser at once, so that the page gets its 401. Applies to requests from now on. */
  async refuseLogIns() {
    await this.#command("Fetch.enable", { handleAuthRequests: true });
  }

  note({ method, params }) {
    if (method === "Fetch.requestPaused") this.#command("Fetch.continueRequest", { requestId: params.requestId });
    if (method === "Fetch.authRequired") {
      const authChallengeResponse = { response: "CancelAuth" };
      this.#command("Fetch.continueWithAuth", { requestId: params.requestId, authChallengeResponse });
    }
    if (method === "Runtime.exceptionThrown") {
      const { text, exception } = params.exceptionDetails;
      this.complaints.push(`${text} ${exception?.description ?? ""}`);
    }
    if (method === "Log.entryAdded") this.complaints.push(`${params.entry.text} ${params.entry.url ?? ""}`);
  }
}
