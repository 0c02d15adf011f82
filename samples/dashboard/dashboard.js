// The open alarms of a tenant: read once, then updated by notifications.

import { AckExtension, CometD, LongPollingTransport } from "./cometd/cometd.js";

const SEVERITIES = ["CRITICAL", "MAJOR", "MINOR", "WARNING"];
const COLUMNS = {
  severity: (alarm) => alarm.severity,
  device: (alarm) => alarm.source.name ?? alarm.source.id,
  text: (alarm) => alarm.text,
  count: (alarm) => alarm.count,
  since: (alarm) => new Date(alarm.firstOccurrenceTime).toLocaleString(),
  status: (alarm) => alarm.status,
};
const element = (id) => document.getElementById(id);

/** The open alarms by their ids. */
const alarms = new Map();
/**
 * The alarms of notifications that arrived while the list was being read, which may be newer than the list; otherwise
 * `undefined`.
 */
let told;

/**
 * Long polling with the credentials of this page and without those that the browser may have stored: a page on an
 * address that tenants share could not read such a response, and a 401 would open the browser's own window.
 */
class Polling extends LongPollingTransport {
  xhrSend({ url, headers, body, onSuccess, onError }) {
    const abort = new AbortController();
    const request = { status: 0, abort: () => abort.abort() };
    headers = { ...headers, "Content-Type": "application/json" };
    fetch(url, { method: "POST", headers, body, credentials: "omit", signal: abort.signal })
      .then(async (response) => {
        request.status = response.status;
        if (response.ok) onSuccess(await response.text());
        else onError(response.statusText);
      })
      .catch((error) => onError(String(error)));
    return request;
  }
}

element("login").addEventListener("submit", (event) => {
  event.preventDefault();
  const { user, password } = event.target.elements;
  // The password is only in the memory of this page, because on an address that tenants share, a page cannot store
  // data.
  open(encode(`${user.value}:${password.value}`));
});

document.querySelector("#login button").disabled = false;

/** Returns Base64 of UTF-8, which `btoa` does not support. */
function encode(text) {
  return btoa(String.fromCodePoint(...new TextEncoder().encode(text)));
}

async function open(token) {
  const headers = { Accept: "application/json", Authorization: `Basic ${token}` };
  // A wrong password is reported here; a Bayeux client would retry forever.
  const response = await fetch("/user/currentUser", { headers, credentials: "omit" }).catch((error) => error);
  if (response.status !== 200) {
    state(response.status === 401 ? "The user or the password is wrong." : `The server cannot be asked: ${response.status ?? response}`);
    return;
  }
  element("login").hidden = true;
  document.querySelector("table").hidden = false;
  follow(token, headers);
}

function follow(token, headers) {
  const cometd = new CometD();
  cometd.unregisterTransport("callback-polling");
  cometd.unregisterTransport("long-polling");
  cometd.registerTransport("long-polling", new Polling());
  cometd.configure({
    url: `${location.protocol}//${location.host}/notification/realtime`,
    requestHeaders: headers,
    // Pauses between attempts grow by a random step, so that many pages do not return at the same time.
    backoffIncrement: 500 + Math.random() * 1500,
    maxBackoff: 30_000,
    // Sandboxed pages may not start the worker.
    useWorkerScheduler: false,
    logLevel: "warn",
  });
  // With acknowledgements no notification is lost when a connection breaks.
  cometd.registerExtension("ack", new AckExtension());
  // A proxy that passes no WebSocket leaves long polling. The library would try a socket again after each handshake and
  // stay with it, although it cannot open.
  let hadSocket = false;
  const isSocket = () => cometd.getTransport()?.type === "websocket";
  cometd.addListener("/meta/connect", ({ successful }) => (hadSocket ||= successful && isSocket()));
  cometd.addListener("/meta/unsuccessful", ({ failure }) => {
    if (failure?.connectionType === "websocket" && !hadSocket) cometd.websocketEnabled = false;
  });
  // Each handshake opens a new session: the first one, or one that replaces a lost session.
  cometd.addListener("/meta/handshake", (reply) => {
    if (!reply.successful) return;
    const waiting = (told = []);
    cometd.subscribe("/alarms/*", ({ data }) => (told ? told.push(data) : show(data)), (subscribed) => {
      if (subscribed.successful) read(headers, waiting);
      else state(`The server refuses: ${subscribed.error}`);
    });
  });
  cometd.addListener("/meta/connect", ({ successful }) => {
    if (!successful) state("The server cannot be reached. What is shown may be old.");
    else if (!told) state("Live");
  });
  // A browser cannot set headers of a WebSocket, so the credentials are also in the message.
  cometd.handshake({ ext: { "com.platform.authn": { token } } });
}

/**
 * Reads all open alarms. The page is already subscribed, so changes in the meantime arrive as notifications and are in
 * `waiting`.
 */
async function read(headers, waiting) {
  const list = [];
  let path = "/alarm/alarms?resolved=false&pageSize=500";
  try {
    while (path) {
      const page = await (await fetch(path, { headers, credentials: "omit" })).json();
      list.push(...page.alarms);
      const next = page.alarms.length > 0 && page.next && new URL(page.next);
      path = next && next.pathname + next.search;
    }
  } catch {
    // The connection broke. The client reconnects, and this reads the list again a little later.
    setTimeout(() => read(headers, waiting), 2_000 + Math.random() * 3_000);
    return;
  }
  // A newer session reads the list itself.
  if (told !== waiting) return;
  alarms.clear();
  for (const alarm of list) alarms.set(alarm.id, alarm);
  told = undefined;
  waiting.forEach(note);
  draw();
  state("Live");
}

function note({ realtimeAction, data }) {
  if (realtimeAction === "DELETE") alarms.delete(data);
  else if (data.status === "CLEARED") alarms.delete(data.id);
  else alarms.set(data.id, data);
}

function show(change) {
  note(change);
  draw();
}

function draw() {
  const rank = ({ severity }) => SEVERITIES.indexOf(severity);
  const sorted = [...alarms.values()].sort((a, b) => rank(a) - rank(b) || b.time.localeCompare(a.time));
  element("alarms").replaceChildren(...sorted.map(row));
}

function row(alarm) {
  const row = document.createElement("tr");
  row.dataset.severity = alarm.severity;
  for (const column of Object.values(COLUMNS)) {
    // The text is never inserted as HTML, because devices can write anything into it.
    row.insertCell().textContent = column(alarm);
  }
  return row;
}

function state(text) {
  element("state").textContent = text;
}
