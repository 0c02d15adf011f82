// Runs `platform demo` at the server under test.

import { spawn } from "node:child_process";
import readline from "node:readline";
import { basic, PASSWORD } from "../../clients/platform.mjs";
import { until } from "../../clients/wait.mjs";

/** The longest time until the fleet runs, on a slow and busy machine. */
const START = 60_000;
export const DEMO_USER = "demo/admin";
export const DEMO_PASSWORD = "demo-suite-secret";

export class Demo {
  /** Every fleet that was started, so that none stays behind. */
  static all = [];
  #child;
  #base;
  #log = [];

  static async start(program, base, devices = 60) {
    const demo = new Demo();
    Demo.all.push(demo);
    demo.#base = base;
    const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("PLATFORM_")));
    const child = spawn(program, ["demo", "--url", base, "--devices", String(devices), "--password", DEMO_PASSWORD], {
      env: { ...environment, PLATFORM_PASSWORD: PASSWORD },
      stdio: ["ignore", "pipe", "pipe"],
    });
    demo.#child = child;
    let ready = false;
    child.on("error", (error) => demo.#log.push(String(error)));
    readline.createInterface(child.stderr).on("line", (line) => demo.#log.push(line));
    readline.createInterface(child.stdout).on("line", (line) => (ready ||= line.startsWith("ready ")));
    const ended = () => child.exitCode !== null || child.signalCode !== null;
    await until(() => ready || ended(), START);
    if (!ready) throw new Error(`the demo did not start:\n${demo.#log.join("\n")}`);
    return demo;
  }

  /** Sends a request as the administrator of the fleet's tenant. */
  async call(method, path, body) {
    const response = await fetch(`${this.#base}${path}`, {
      method,
      headers: { Authorization: basic(DEMO_USER, DEMO_PASSWORD), Accept: "application/json", "Content-Type": "application/json" },
      body: body && JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} was answered ${response.status}: ${text}`);
    return text ? JSON.parse(text) : undefined;
  }

  /** Returns the devices of a kind, such as `demo_Pump`, in the order of their names. */
  async devices(type) {
    const query = `$filter=type eq '${type}' $orderby=name`;
    return (await this.call("GET", `/inventory/managedObjects?${new URLSearchParams({ query, pageSize: 200 })}`)).managedObjects;
  }

  /** Ends the program as Ctrl-C does. */
  async stop() {
    if (this.#child.exitCode !== null) return;
    const closed = new Promise((resolve) => this.#child.once("close", resolve));
    this.#child.kill("SIGINT");
    await closed;
  }

  kill() {
    this.#child?.kill("SIGKILL");
  }
}
