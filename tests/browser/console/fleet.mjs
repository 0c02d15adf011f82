// The data of the console's tests: groups of devices with a past, and functions that let devices act.

import assert from "node:assert/strict";
import { basic } from "../../clients/platform.mjs";

const GROUPS = ["Pumps", "Meters"];
const MINUTE = 60_000;

export class Fleet {
  devices = [];
  groups = {};
  #base;
  #tick = 0;

  /** `base` returns the address of the server, whose port changes with a restart. */
  constructor(base, password) {
    this.#base = base;
    this.authorization = basic("main/admin", password);
  }

  async call(method, path, body, headers = {}) {
    const isText = typeof body === "string";
    const response = await fetch(`${this.#base()}${path}`, {
      method,
      headers: { Authorization: this.authorization, Accept: "application/json", "Content-Type": isText ? "text/plain" : "application/json", ...headers },
      body: body === undefined ? undefined : isText ? body : JSON.stringify(body),
    });
    const text = await response.text();
    assert.ok(response.ok, `${method} ${path} was answered ${response.status}: ${text}`);
    const isJson = response.headers.get("content-type")?.includes("json");
    return text && isJson ? JSON.parse(text) : text;
  }

  /** Creates groups of devices, each an agent, with measurements of the last hour and a few alarms. */
  async create(number) {
    for (const name of GROUPS) {
      const group = { name, type: "plat_DeviceGroup", plat_IsDeviceGroup: {} };
      this.groups[name] = (await this.call("POST", "/inventory/managedObjects", group)).id;
    }
    this.devices = await Promise.all(Array.from({ length: number }, (_, index) => this.#device(index)));
    await this.call("POST", `/identity/globalIds/${this.devices[0].id}/externalIds`, { type: "plat_Serial", externalId: "sn-1" });
    await this.past(this.devices[0].id);
    const severities = ["CRITICAL", "MAJOR", "MINOR", "WARNING"];
    for (let index = 0; index < Math.min(number, 12); index += 1) {
      await this.alarm(this.devices[index].id, severities[index % 4], `acme_Fault${index % 3}`, ["Pressure is too high", "It drips", "The battery is low"][index % 3]);
    }
    await this.event(this.devices[0].id, "The door was opened");
  }

  async #device(index) {
    const group = GROUPS[index % GROUPS.length];
    const name = `${group.slice(0, -1).toLowerCase()} ${String(index + 1).padStart(3, "0")}`;
    const { id } = await this.call("POST", "/inventory/managedObjects", {
      name,
      type: `acme_${group.slice(0, -1)}`,
      plat_IsDevice: {},
      com_platform_model_Agent: {},
      plat_Hardware: { model: index % 3 ? "RX 200" : "RX 400", revision: "B", serialNumber: `sn-${index + 1}` },
      plat_Firmware: { name: "acme-os", version: "2.1.4" },
      plat_SupportedOperations: ["plat_Restart", "plat_Firmware"],
      ...(index % 4 === 0 ? { plat_RequiredAvailability: { responseInterval: index % 8 === 0 ? 30 : -1 } } : {}),
    });
    await this.call("POST", `/inventory/managedObjects/${this.groups[group]}/childAssets`, { managedObject: { id } });
    return { id, name };
  }

  /** Creates the temperatures and pressures of one hour. */
  async past(source) {
    const now = Date.now();
    const measurements = Array.from({ length: 240 }, (_, index) => this.measurement(source, now - (240 - index) * (MINUTE / 4)));
    await this.call("POST", "/measurement/measurements", { measurements });
  }

  measurement(source, at = Date.now(), temperature) {
    const phase = at / (9 * MINUTE);
    const value = temperature ?? Number((42 + 9 * Math.sin(phase) + 1.5 * Math.sin(phase * 7)).toFixed(2));
    return {
      type: "acme_Climate",
      time: new Date(at).toISOString(),
      source: { id: source },
      plat_TemperatureMeasurement: { T: { value, unit: "C" } },
      acme_Pump: { pressure: { value: Number((3.2 + 0.4 * Math.cos(phase * 2)).toFixed(3)), unit: "bar" }, flow: { value: Number((1.8 + 0.5 * Math.sin(phase * 3)).toFixed(3)), unit: "l/s" } },
    };
  }

  measure(source, temperature) {
    return this.call("POST", "/measurement/measurements", this.measurement(source, Date.now(), temperature));
  }

  /** Creates one measurement for each of some devices. */
  tick(number = 6) {
    this.#tick += 1;
    const measurements = Array.from({ length: number }, (_, index) => this.measurement(this.devices[(this.#tick * number + index) % this.devices.length].id));
    return this.call("POST", "/measurement/measurements", { measurements });
  }

  alarm(source, severity, type, text) {
    return this.call("POST", "/alarm/alarms", { type, text, severity, time: new Date().toISOString(), source: { id: source } });
  }

  event(source, text) {
    return this.call("POST", "/event/events", { type: "acme_Event", text, time: new Date().toISOString(), source: { id: source } });
  }

  operation(deviceId, fragments = { description: "Restart", plat_Restart: {} }) {
    return this.call("POST", "/devicecontrol/operations", { deviceId, ...fragments });
  }

  setOperation(id, status, failureReason) {
    return this.call("PUT", `/devicecontrol/operations/${id}`, { status, failureReason });
  }

  /** Creates a user with these roles. */
  async user(userName, password, roles) {
    await this.call("POST", "/user/main/users", { userName, password });
    for (const name of roles) await this.call("POST", `/user/main/users/${userName}/roles`, { role: { name } });
  }
}
