// The server under test: started as an operator starts it, with a private PostgreSQL in a temporary directory, and
// filled over REST.

import { execFile, spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import readline from "node:readline";
import { promisify } from "node:util";
import { until } from "./wait.mjs";

/** The longest time of a start with a new database, on a slow and busy machine. */
const START = 120_000;
/** The time after which a server that does not stop is killed, so that the suite ends. */
const STOP = 60_000;
export const PASSWORD = "client-suite-secret";
const ROLES = ["ROLE_INVENTORY_READ", "ROLE_EVENT_READ", "ROLE_ALARM_READ"];

/** Returns the variables of this process, except settings of the server. */
function foreignEnvironment() {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("PLATFORM_")));
}

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
    const env = {
      ...foreignEnvironment(),
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

  /** Runs `platform admin` on the database of the running server. */
  async admin(...parameters) {
    const env = { ...foreignEnvironment(), PLATFORM_DATA_DIR: path.join(this.#directory, "data") };
    await promisify(execFile)(this.#program, ["admin", ...parameters], { env, cwd: this.#directory });
  }

  /** Stops the server by SIGTERM, as an operator does. Returns the milliseconds until it ended. */
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

  /** Kills the server when the process of the suite exits, for any reason. PostgreSQL ends with the server. */
  kill() {
    this.#child?.kill("SIGKILL");
    try {
      rmSync(this.#directory, { recursive: true, force: true, maxRetries: 5 });
    } catch {
      // PostgreSQL may still be writing; the temporary directory is left behind then.
    }
  }

  /** Creates a user of tenant `main` who may read all notifications. */
  async createUser(name) {
    await this.#post("/user/main/users", { userName: name, password: PASSWORD });
    for (const role of ROLES) await this.#post(`/user/main/users/${name}/roles`, { role: { name: role } });
    return { name, password: PASSWORD };
  }

  /** Creates a device. Returns its id. */
  async createDevice(name) {
    return (await this.#post("/inventory/managedObjects", { name, plat_IsDevice: {} })).id;
  }

  async addChild(parent, child) {
    await this.#post(`/inventory/managedObjects/${parent}/childDevices`, { managedObject: { id: child } });
  }

  /** Creates a group of the devices that match a query. */
  async createGroup(query) {
    const group = { type: "plat_DynamicGroup", plat_IsDynamicGroup: {}, plat_DeviceQueryString: query };
    return (await this.#post("/inventory/managedObjects", group)).id;
  }

  /** Posts an event with further fragments. */
  async postEvent(device, fragments) {
    const event = { type: "acme_Numbered", text: "numbered", time: new Date().toISOString(), source: { id: device } };
    await this.#post("/event/events", { ...event, ...fragments });
  }

  /**
   * Posts an alarm with further fragments and a type of its own, because an open alarm of the same type would be
   * counted up.
   */
  async postAlarm(device, fragments) {
    const type = `acme_Numbered_${fragments.sequence}`;
    const alarm = { type, text: "numbered", severity: "MINOR", time: new Date().toISOString(), source: { id: device } };
    await this.#post("/alarm/alarms", { ...alarm, ...fragments });
  }

  /** Creates a named consumer of a user. */
  async createConsumer(user, name, channels) {
    await this.#post("/notification/consumers", { name, channels }, basic(`main/${user.name}`, user.password));
  }

  async #post(where, body, authorization = basic("main/admin")) {
    const response = await fetch(`http://127.0.0.1:${this.port}${where}`, {
      method: "POST",
      headers: { Accept: "application/json", "Content-Type": "application/json", Authorization: authorization },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`POST ${where} was answered ${response.status}: ${text}${this.#cause(response)}`);
    return text ? JSON.parse(text) : undefined;
  }

  /** Returns the lines of the server's log about a response that reports a fault of the server. */
  #cause({ status }) {
    const isBad = (line) => / (WARN|ERROR) /.test(line);
    return status < 500 ? "" : `\n${this.#log.filter(isBad).slice(-5).join("\n")}`;
  }

  #note(line) {
    this.#log.push(line);
    if (this.#log.length > 200) this.#log.shift();
  }
}

/** Returns the value of `Authorization`. */
export const basic = (user, password = PASSWORD) => `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
