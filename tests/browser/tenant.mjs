import { basic } from "../clients/platform.mjs";

/** A tenant, accessed as its administrator. */
export class Tenant {
  constructor(platform, user) {
    Object.assign(this, { base: `http://127.0.0.1:${platform.port}`, user, authorization: basic(user) });
  }

  get(where) {
    return this.#send("GET", where);
  }

  post(where, body) {
    return this.#send("POST", where, body);
  }

  put(where, body) {
    return this.#send("PUT", where, body);
  }

  async #send(method, where, body) {
    const isJson = body?.constructor === Object;
    const headers = { Authorization: this.authorization, Accept: "application/json" };
    if (isJson) headers["Content-Type"] = "application/json";
    const response = await fetch(`${this.base}${where}`, { method, headers, body: isJson ? JSON.stringify(body) : body });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${where} was answered ${response.status}: ${text}`);
    return text ? JSON.parse(text) : undefined;
  }

  /** Creates an application from an archive, and a device. */
  async install(name, archive) {
    const application = { name, key: `${name}-key`, type: "HOSTED", contextPath: name, resourcesUrl: "/" };
    const { id } = await this.post("/application/applications", application);
    const form = new FormData();
    form.append("file", new Blob([archive]), "application.zip");
    await this.post(`/application/applications/${id}/binaries`, form);
    this.device = (await this.post("/inventory/managedObjects", { name: "pump", plat_IsDevice: {} })).id;
  }

  /** Returns the open alarms in the order of the sample page: by severity. */
  async alarms() {
    const { alarms } = await this.#send("GET", "/alarm/alarms?resolved=false&pageSize=100");
    const rank = ({ severity }) => ["CRITICAL", "MAJOR", "MINOR", "WARNING"].indexOf(severity);
    return alarms.sort((a, b) => rank(a) - rank(b));
  }

  /** Ends all sessions of the tenant, whose clients have to handshake again. Returns their number. */
  async endSessions() {
    const { sessions } = await this.#send("GET", "/tenant/sessions?pageSize=100");
    for (const { id } of sessions) await this.#send("DELETE", `/tenant/sessions/${id}`);
    return sessions.length;
  }

  tell(text) {
    const event = { type: "acme_Told", text, time: new Date().toISOString(), source: { id: this.device } };
    return this.post("/event/events", event);
  }

  alarm(type, severity, text) {
    return this.post("/alarm/alarms", { type, severity, text, time: new Date().toISOString(), source: { id: this.device } });
  }
}
