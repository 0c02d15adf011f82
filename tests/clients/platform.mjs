// The server under test: started as an operator starts it, with a private PostgreSQL in a temporary directory, and
// filled over REST.

import { spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import readline from "node:readline";
import { until } from "./wait.mjs";

/** How long a start with a new database may take on a slow and busy machine. */
const START = 120_000;
/** After this long without an end the server is killed, so that the suite ends. */
const STOP = 60_000;
export const PASSWORD = "client-suite-secret";
const ROLES = ["ROLE_INVENTORY_READ", "ROLE_EVENT_READ", "ROLE_ALARM_READ"];

export class Platform {
  /** Every server that was started, so that none stays behind. */
  static all = [];
  port;
  #program;
  #settings;
  #directory;
  #child;
  #log = [];

  /** Starts `program` with these settings (`PLATFORM_…` variables) on any free port. */
  static async start(program, settings = {}) {
    const platform = new Platform();
    Platform.all.push(platform);
    platform.#program = program;
    platform.#settings = settings;
    platform.#directory = await mkdtemp(path.join(os.tmpdir(), "platform-clients-"));
    // As root the server runs PostgreSQL as another account, which must be able to enter this directory.
    await chmod(platform.#directory, 0o711);
    try {
      await platform.launch();
    } catch (error) {
      await platform.remove();
      throw error;
    }
    return platform;
  }

  /** Starts the server on its data; also after `terminate`. */
  async launch() {
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("PLATFORM_"));
    const env = {
      ...Object.fromEntries(inherited),
      PLATFORM_LISTEN: "127.0.0.1:0",
      PLATFORM_DATA_DIR: path.join(this.#directory, "data"),
      PLATFORM_ADMIN_PASSWORD: PASSWORD,
      ...this.#settings,
    };
    const child = spawn(this.#program, [], { env, stdio: ["ignore", "pipe", "pipe"], cwd: this.#directory });
    this.#child = child;
    let ready;
    child.on("error", (error) => this.#note(String(error)));
    readline.createInterface(child.stderr).on("line", (line) => this.#note(line));
    readline.createInterface(child.stdout).on("line", (line) => (ready ??= line.match(/^ready http:\/\/.*:(\d+)$/)));
    const ended = () => child.exitCode !== null || child.signalCode !== null;
    await until(() => ready || ended(), START);
    if (!ready) throw new Error(`the server did not start:\n${this.#log.join("\n")}`);
    this.port = Number(ready[1]);
  }

  /** Stops the server by SIGTERM, as an operator does; gives the milliseconds until it was gone. */
  async terminate() {
    const child = this.#child;
    const [begin, closed] = [Date.now(), new Promise((resolve) => child.once("close", resolve))];
    child.kill("SIGTERM");
    const kill = setTimeout(() => child.kill("SIGKILL"), STOP);
    await closed;
    clearTimeout(kill);
    return Date.now() - begin;
  }

  /** Stops the server and removes its data. */
  async remove() {
    const { pid, exitCode, signalCode } = this.#child;
    if (pid && exitCode === null && signalCode === null) await this.terminate();
    await rm(this.#directory, { recursive: true, force: true });
  }

  /** At the end of the suite's own process, however that comes. PostgreSQL goes with the server. */
  kill() {
    this.#child?.kill("SIGKILL");
    try {
      rmSync(this.#directory, { recursive: true, force: true, maxRetries: 5 });
    } catch {
      // PostgreSQL is still writing there. A temporary directory is left behind then.
    }
  }

  /** A user of tenant `main` who reads everything that is notified. */
  async createUser(name) {
    await this.#post("/user/main/users", { userName: name, password: PASSWORD });
    for (const role of ROLES) await this.#post(`/user/main/users/${name}/roles`, { role: { name: role } });
    return { name, password: PASSWORD };
  }

  /** A device; gives its id. */
  async createDevice(name) {
    return (await this.#post("/inventory/managedObjects", { name, plat_IsDevice: {} })).id;
  }

  async addChild(parent, child) {
    await this.#post(`/inventory/managedObjects/${parent}/childDevices`, { managedObject: { id: child } });
  }

  /** An event with further fragments. */
  async postEvent(device, fragments) {
    const event = { type: "acme_Numbered", text: "numbered", time: new Date().toISOString(), source: { id: device } };
    await this.#post("/event/events", { ...event, ...fragments });
  }

  /** An alarm with further fragments, of a type of its own: an open alarm of the same type would be counted up. */
  async postAlarm(device, fragments) {
    const type = `acme_Numbered_${fragments.sequence}`;
    const alarm = { type, text: "numbered", severity: "MINOR", time: new Date().toISOString(), source: { id: device } };
    await this.#post("/alarm/alarms", { ...alarm, ...fragments });
  }

  async #post(where, body) {
    const response = await fetch(`http://127.0.0.1:${this.port}${where}`, {
      method: "POST",
      headers: { Accept: "application/json", "Content-Type": "application/json", Authorization: basic("main/admin") },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`POST ${where} was answered ${response.status}: ${text}${this.#cause(response)}`);
    return text ? JSON.parse(text) : undefined;
  }

  /** Returns the latest warnings and errors in the server's log for a response with a 5xx status. */
  #cause({ status }) {
    const isBad = (line) => / (WARN|ERROR) /.test(line);
    return status < 500 ? "" : `\n${this.#log.filter(isBad).slice(-5).join("\n")}`;
  }

  #note(line) {
    this.#log.push(line);
    if (this.#log.length > 200) this.#log.shift();
  }
}

/** The value of `Authorization`. */
export const basic = (user, password = PASSWORD) => `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
