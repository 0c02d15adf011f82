// The open alarms of a tenant: read once, then kept up to date by notifications.

import { AckExtension, CometD } from "./cometd/cometd.js";

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
/** What was told while the list was being read, which may be newer than the list; `undefined` at other times. */
let told;

element("login").addEventListener("submit", (event) => {
  event.preventDefault();
  const { user, password } = event.target.elements;
  // The password is only in the memory of this page: on an address that tenants share, a page can store nothing.
  open(encode(`${user.value}:${password.value}`));
});

document.querySelector("#login button").disabled = false;

/** Base64 of UTF-8, which `btoa` alone does not make. */
function encode(text) {
  return btoa(String.fromCodePoint(...new TextEncoder().encode(text)));
}

async function open(token) {
  const headers = { Accept: "application/json", Authorization: `Basic ${token}` };
  // A wrong password is told now; a Bayeux client would go on trying.
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
  cometd.configure({
    url: `${location.protocol}//${location.host}/notification/realtime`,
    requestHeaders: headers,
    // Pauses between attempts grow by a step that chance chooses, so that many pages do not return all at once.
    backoffIncrement: 500 + Math.random() * 1500,
    maxBackoff: 30_000,
    // The pages of a sandbox may not start the worker.
    useWorkerScheduler: false,
    logLevel: "warn",
  });
  // With acknowledgements a connection that breaks loses nothing.
  cometd.registerExtension("ack", new AckExtension());
  // A handshake makes a new session, the first one or one that takes the place of a session that was lost.
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

/** Reads all open alarms. The subscription came first, so whatever changes meanwhile is told, and `waiting`. */
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
    // The connection broke. The client finds the same, and so do we a little later.
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
    // As text, never as HTML: devices write what they want.
    row.insertCell().textContent = column(alarm);
  }
  return row;
}

function state(text) {
  element("state").textContent = text;
}
