// The one Bayeux connection of the page: WebSocket first, and long polling where that fails. With each new session the
// channels are subscribed again, which brings the lists of the page anew.

import { signal } from "@preact/signals";
import { AckExtension, CometD, LongPollingTransport } from "cometd";
import type { Message, PollingPacket } from "cometd";
import { refreshRights } from "./api";
import { isCut } from "./cut";
import { bearer, session } from "./session";
import { begin, end, onReply, plan } from "./subscriptions";

export type ConnectionState = "connecting" | "live" | "interrupted" | "resting" | "refused" | "off";

/** The state of the connection, which every page shows. */
export const connection = signal<{ state: ConnectionState; transport: string }>({ state: "off", transport: "" });
/** The number of sessions that may have missed notifications. With each one, what is no list is loaded again. */
export const generation = signal(0);
/** The last gap and its reason, for people. */
export const gap = signal<{ at: Date; text: string } | null>(null);
/** Whether the user wants long polling although WebSocket works. */
export const onlyLongPolling = signal(false);

/** The path of the endpoint, which is the whole public real-time API. */
const ENDPOINT = "/notification/realtime";
/** A tab that is hidden for this long ends its session. */
const REST_AFTER = 30_000;

/** The server responds to a connect at least this often, also while nothing happens. */
const HEARTBEAT_MS = 8_000;
/** A connection that is silent for longer does not exist any more, although neither side was told. */
const SILENCE_MS = 13_000;
/** The pause before another session. */
const RENEW_MS = 500;

/**
 * Long polling without the browser's stored credentials, because a 401 must not open the browser's password window.
 */
class Polling extends LongPollingTransport {
  override xhrSend(packet: PollingPacket) {
    const abort = new AbortController();
    const request = { status: 0, abort: () => abort.abort() };
    const headers = { ...packet.headers, "Content-Type": "application/json", Accept: "application/json" };
    fetch(packet.url, { method: "POST", headers, body: packet.body, credentials: "omit", signal: abort.signal })
      .then(async (response) => {
        request.status = response.status;
        const text = await response.text();
        if (response.ok) packet.onSuccess(text);
        else packet.onError(response.statusText);
      })
      .catch((error) => packet.onError(String(error)));
    return request;
  }
}

let client: CometD | null = null;
/** The time of the last message of the server. */
let lastMessage = 0;
let handshakes = 0;

function missed(why: string): void {
  gap.value = { at: new Date(), text: `${why}. The lists were loaded again.` };
  generation.value += 1;
}

function onHandshake(reply: Message): void {
  if (!reply.successful) {
    const denied = reply.error?.startsWith("403") || reply.error?.startsWith("401");
    connection.value = { state: denied ? "refused" : "interrupted", transport: "" };
    // A changed password, a disabled user and a suspended tenant end the log-in, not only the connection.
    if (denied) refreshRights();
    return;
  }
  const again = handshakes > 0;
  handshakes += 1;
  // What the earlier session brought is not live any more when the connection is live again.
  if (again) missed(restingReason ?? "The connection was interrupted");
  restingReason = null;
  connection.value = { state: "live", transport: client?.getTransport()?.type ?? "" };
  if (client) begin({ client, isOpen: () => connection.peek().state === "live", renew });
}

/** Begins another session soon, so that a request that the server cannot answer is not repeated without a pause. */
function renew(why: string): void {
  close();
  restingReason = why;
  connection.value = { state: "interrupted", transport: "" };
  setTimeout(() => connection.peek().state === "interrupted" && !client && connect(), RENEW_MS);
}

function onConnect(reply: Message): void {
  if (client?.isDisconnected()) return;
  const state = reply.successful ? "live" : "interrupted";
  const transport = client?.getTransport()?.type ?? "";
  const shown = connection.peek();
  if (shown.state !== state || shown.transport !== transport) connection.value = { state, transport };
  // Subscriptions that were added during an interruption that needed no new session.
  if (reply.successful) plan();
}

/** Opens the connection for the user who is logged in. */
export function connect(): void {
  const user = session.peek();
  if (!user) return;
  close();
  const bayeux = (client = new CometD("console"));
  bayeux.unregisterTransport("callback-polling");
  bayeux.unregisterTransport("long-polling");
  if (onlyLongPolling.peek()) bayeux.unregisterTransport("websocket");
  bayeux.registerTransport("long-polling", new Polling());
  bayeux.registerExtension("ack", new AckExtension());
  bayeux.registerExtension("heartbeat", {
    outgoing: (message) =>
      message.channel === "/meta/connect"
        ? { ...message, advice: message.advice ?? { timeout: HEARTBEAT_MS } }
        : message,
    incoming: (message) => {
      if (client === bayeux) lastMessage = performance.now();
      return message;
    },
  });
  bayeux.configure({
    url: new URL(ENDPOINT, location.href).href,
    logLevel: "warn",
    // The worker of the scheduler would be created from a text, which the policy of the page forbids.
    useWorkerScheduler: false,
    appendMessageTypeToURL: false,
    requestHeaders: { Authorization: bearer(user.token) },
    connectTimeout: 5000,
    backoffIncrement: 500,
    maxBackoff: 5000,
  });
  // An earlier client may still get replies after its end.
  bayeux.addListener("/meta/handshake", (reply) => client === bayeux && onHandshake(reply));
  bayeux.addListener("/meta/connect", (reply) => client === bayeux && onConnect(reply));
  bayeux.addListener("/meta/subscribe", (reply) => client === bayeux && onReply(reply));
  connection.value = { state: "connecting", transport: "" };
  bayeux.handshake({ ext: { "com.platform.authn": { token: bearer(user.token) } } });
}

/**
 * Gives up a connection on which nothing arrives: packets may vanish without any sign. The client then opens another
 * one, and its session goes on if the server still has it.
 */
function giveUp(): void {
  if (connection.peek().state !== "live") return;
  connection.value = { state: "interrupted", transport: "" };
  client?.getTransport()?.abort();
}
setInterval(() => !document.hidden && performance.now() - lastMessage > SILENCE_MS && giveUp(), 1000);
addEventListener("offline", giveUp);

/** Ends the session at the server at once. */
export function close(): void {
  end();
  if (client && !client.isDisconnected()) client.disconnect();
  client = null;
  connection.value = { state: "off", transport: "" };
}

/** Forgets the earlier session, so that the next one does not count as a gap. */
export function forget(): void {
  handshakes = 0;
  gap.value = null;
}

/**
 * Cuts the network of this page: nothing is sent and nothing received any more, as when a cable is pulled. The server
 * is not told. After `seconds` the page connects again.
 */
export function cutNetwork(seconds: number): void {
  if (isCut.peek() || !client) return;
  isCut.value = true;
  // The client would try to connect again; whatever it sends and receives from now on vanishes.
  client.registerExtension("cut", { outgoing: () => null, incoming: () => null });
  client.getTransport()?.abort();
  client = null;
  end();
  connection.value = { state: "interrupted", transport: "" };
  setTimeout(() => {
    isCut.value = false;
    connect();
  }, seconds * 1000);
}

export function setOnlyLongPolling(wanted: boolean): void {
  onlyLongPolling.value = wanted;
  restingReason = "The transport was changed";
  connect();
}

let restingReason: string | null = null;
let rest = 0;
document.addEventListener("visibilitychange", () => {
  clearTimeout(rest);
  if (!session.peek()) return;
  if (document.hidden) {
    rest = window.setTimeout(() => {
      close();
      connection.value = { state: "resting", transport: "" };
    }, REST_AFTER);
  } else if (connection.peek().state === "resting") {
    restingReason = "This tab rested while it was hidden";
    connect();
  }
});
