// The one Bayeux connection of the page: WebSocket first, and long polling where that fails. Messages are passed on
// once per frame of the screen, and the lists on the page are notified when they have to load again.

import { signal } from "@preact/signals";
import { AckExtension, CometD, LongPollingTransport } from "cometd";
import type { Message, PollingPacket, SubscriptionHandle } from "cometd";
import { refreshRights } from "./api";
import { isCut } from "./cut";
import { bearer, session } from "./session";

export type ConnectionState = "connecting" | "live" | "interrupted" | "resting" | "refused" | "off";

/** The state of the connection, which every page shows. */
export const connection = signal<{ state: ConnectionState; transport: string }>({ state: "off", transport: "" });
/** Increases whenever notifications may have been missed, so that lists that depend on them load again. */
export const generation = signal(0);
/** The last gap and its reason, for people. */
export const gap = signal<{ at: Date; text: string } | null>(null);
/** The number of notifications since the page was loaded. */
export const received = { count: 0 };
/** Whether the user wants long polling although WebSocket works. */
export const onlyLongPolling = signal(false);

/** The path of the endpoint, which is the whole public real-time API. */
const ENDPOINT = "/notification/realtime";
/** A tab that is hidden for this long ends its session. */
const REST_AFTER = 30_000;
/** The largest number of notifications that are passed on in one frame. With more, lists load again instead. */
const MOST_QUEUED = 20_000;

/** The server responds to a connect at least this often, also while nothing happens. */
const HEARTBEAT_MS = 8_000;
/** A connection that is silent for longer does not exist any more, although neither side was told. */
const SILENCE_MS = 13_000;

export interface Subscription {
  /** Resolves when the server has accepted or denied the subscription, or when there is no connection. */
  settled: Promise<void>;
  end(): void;
}

interface Listener {
  channel: string;
  take: (messages: Message[]) => void;
  replied?: (denied?: string) => void;
  settle: () => void;
  handle?: SubscriptionHandle;
}

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
const listeners = new Set<Listener>();
let handshakes = 0;
let queue: [Listener, Message][] = [];
let framed = 0;
let overflowed = false;

function flush(): void {
  framed = 0;
  const messages = queue;
  queue = [];
  if (overflowed) {
    overflowed = false;
    missed("There were more changes than can be shown one by one");
  }
  const batches = new Map<Listener, Message[]>();
  for (const [listener, message] of messages) {
    const batch = batches.get(listener);
    if (batch) batch.push(message);
    else batches.set(listener, [message]);
  }
  for (const [listener, batch] of batches) if (listeners.has(listener)) listener.take(batch);
}

function enqueue(listener: Listener, message: Message): void {
  received.count += 1;
  if (queue.length >= MOST_QUEUED) [queue, overflowed] = [[], true];
  queue.push([listener, message]);
  // A hidden tab draws no frames, so notifications wait there.
  framed ||= requestAnimationFrame(flush);
}

function missed(why: string): void {
  gap.value = { at: new Date(), text: `${why}. The lists were loaded again.` };
  generation.value += 1;
}

function attach(listener: Listener): void {
  if (!client || client.isDisconnected() || connection.peek().state !== "live") return;
  listener.handle = client.subscribe(
    listener.channel,
    (message) => enqueue(listener, message),
    {},
    (reply) => {
      const denied = reply.successful ? undefined : (reply.error ?? "the server gave no reason");
      // A right that was withdrawn while the page is open changes more than this list.
      if (denied) refreshRights();
      listener.replied?.(denied);
      listener.settle();
    },
  );
}

/**
 * Subscribes to a channel until `end` is called. `take` receives the notifications of a frame together, `replied` the
 * reason if the server denied the subscription, and nothing if it accepted it.
 */
export function subscribe(
  channel: string,
  take: (messages: Message[]) => void,
  replied?: (denied?: string) => void,
): Subscription {
  let settle = () => {};
  // A list must show the data of REST even if the server cannot be reached for notifications.
  const settled = new Promise<void>((resolve) => {
    settle = resolve;
    setTimeout(resolve, 1000);
  });
  const listener: Listener = { channel, take, replied, settle };
  listeners.add(listener);
  attach(listener);
  return {
    settled,
    end() {
      listeners.delete(listener);
      if (listener.handle && client && !client.isDisconnected()) client.unsubscribe(listener.handle);
    },
  };
}

function attachAll(these: Listener[]): void {
  if (these.length > 0) client?.batch(() => these.forEach(attach));
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
  connection.value = { state: "live", transport: client?.getTransport()?.type ?? "" };
  attachAll([...listeners]);
  if (again) missed(restingReason ?? "The connection was interrupted");
  restingReason = null;
}

function onConnect(reply: Message): void {
  if (client?.isDisconnected()) return;
  const state = reply.successful ? "live" : "interrupted";
  const transport = client?.getTransport()?.type ?? "";
  const shown = connection.peek();
  if (shown.state !== state || shown.transport !== transport) connection.value = { state, transport };
  // Subscriptions that were added during an interruption that needed no new session.
  if (reply.successful) attachAll([...listeners].filter((listener) => !listener.handle));
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
  for (const listener of listeners) listener.handle = undefined;
  if (client && !client.isDisconnected()) client.disconnect();
  client = null;
  queue = [];
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
  for (const listener of listeners) listener.handle = undefined;
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
