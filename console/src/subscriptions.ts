// The channels to which the session of the page subscribes, each once however many components listen. A subscription
// can begin with a list (B-36). Messages are passed on once per frame of the screen.

import type { CometD, Message, SubscriptionHandle } from "cometd";
import { refreshRights } from "./api";
import { endsList, isOfList } from "./values/snapshot";

/** The largest number of notifications that are passed on in one frame. With more, the session begins anew instead. */
const MOST_QUEUED = 20_000;

/** The pause before a request is repeated. */
const REPEAT_MS = 500;
/** A channel has one list, because changes that it shows are not notified. */
const TAKEN = "Another list of this page began on the same channel";

/** A list of the server: its name, which is that of the array in a GET of it, and its query when it is requested. */
export interface ListRequest {
  name: string;
  query: () => string;
}

export interface Listener {
  /** Receives the notifications of a frame, and those with the list. */
  take: (messages: Message[]) => void;
  /**
   * Receives the reason if the server denied the subscription or the list, and nothing if it accepted it. A listener
   * without a list is also called after the list of another one, which may show changes that are not notified then.
   */
  replied?: (denied?: string) => void;
  /** The list with which the subscription begins. If several listeners of a channel have one, the newest gets its list. */
  list?: ListRequest;
}

interface Channel {
  name: string;
  listeners: Set<Listener>;
  handle?: SubscriptionHandle;
  isSubscribed: boolean;
  /** The reason if the server denied the subscription without a list. */
  denied?: string;
  /** The listener whose list has to be requested. */
  waiting?: Listener;
  /** The request without an outcome, and what has arrived of its list. There is at most one, so a list has one owner. */
  request?: { owner?: Listener; pieces: Message[] };
}

interface Session {
  client: CometD;
  /** Whether requests reach the server at present. */
  isOpen: () => boolean;
  /** Begins another session, because it is unknown what this one has received. */
  renew: (why: string) => void;
}

/** The number of notifications since the page was loaded. */
export const received = { count: 0 };

const channels = new Map<string, Channel>();
let session: Session | null = null;
let isPlanned = false;

/** Subscribes to a channel until the returned function is called. */
export function subscribe(name: string, listener: Listener): () => void {
  const channel = channels.get(name) ?? { name, listeners: new Set(), isSubscribed: false };
  channels.set(name, channel);
  channel.listeners.add(listener);
  if (listener.list) channel.waiting = listener;
  else if (!channel.request && (channel.isSubscribed || channel.denied !== undefined)) {
    queueMicrotask(() => channel.listeners.has(listener) && listener.replied?.(channel.denied));
  }
  plan();
  return () => {
    channel.listeners.delete(listener);
    if (channel.waiting === listener) channel.waiting = undefined;
    plan();
  };
}

/** Subscribes soon to what is missing. Components that come and go together cause no more requests than one. */
export function plan(): void {
  if (isPlanned) return;
  isPlanned = true;
  queueMicrotask(() => {
    isPlanned = false;
    const { client } = session ?? {};
    client?.batch(() => channels.forEach((channel) => update(client, channel)));
  });
}

/** Brings the subscription to a channel up to what its listeners need. */
function update(client: CometD, channel: Channel): void {
  if (!session?.isOpen() || channel.request) return;
  const { name, listeners, handle, isSubscribed, denied } = channel;
  const isMissing = !isSubscribed && denied === undefined && [...listeners].some((one) => !one.list);
  if (channel.waiting || isMissing) request(client, channel);
  else if (listeners.size === 0) {
    channels.delete(name);
    if (handle) client.unsubscribe(handle);
  }
}

function request(client: CometD, channel: Channel): void {
  const { name, handle, waiting: owner } = channel;
  const props = owner?.list ? { ext: { "com.platform.snapshot": { [owner.list.name]: owner.list.query() } } } : {};
  [channel.request, channel.waiting] = [{ owner, pieces: [] }, undefined];
  for (const one of channel.listeners) if (owner && one.list && one !== owner) one.replied?.(TAKEN);
  // The client sends nothing if it has subscribed to the channel before, unless it subscribes again.
  channel.handle = handle
    ? client.resubscribe(handle, props)
    : client.subscribe(name, (message) => client === session?.client && deliver(channel, message), props);
}

function deliver(channel: Channel, message: Message): void {
  if (!isOfList(message)) return channel.listeners.forEach((listener) => enqueue(listener, message));
  // The list of `/alarms/*` comes on `/alarms/snapshot`; a list on another channel belongs to another subscription.
  const { owner, pieces } = channel.request ?? {};
  if (!owner || !pieces || message.channel !== channel.name.replace("*", "snapshot")) return;
  pieces.push(message);
  if (!endsList(message)) return;
  pieces.forEach((piece) => enqueue(owner, piece));
  settle(channel);
}

/** Takes the reply to a subscription. One that begins with a list is accepted when its list has arrived. */
export function onReply(reply: Message): void {
  const channel = channels.get(String(reply.subscription));
  if (!channel?.request) return;
  // The server may or may not have received the request, or has ended the session.
  if (reply.failure || reply.error?.startsWith("402")) session?.renew("The connection was interrupted");
  else if (reply.advice?.reconnect === "retry") repeat(channel);
  else if (!reply.successful) settle(channel, reply.error ?? "the server gave no reason");
  else if (!channel.request.owner) settle(channel);
}

/** Repeats a request soon, because the session moves between servers. */
function repeat(channel: Channel): void {
  const owner = channel.request?.owner;
  channel.request = undefined;
  if (owner && channel.listeners.has(owner)) channel.waiting ??= owner;
  setTimeout(plan, REPEAT_MS);
}

function settle(channel: Channel, denied?: string): void {
  const owner = channel.request?.owner;
  channel.request = undefined;
  // The client forgets a subscription that was denied, also if there was one before.
  channel.isSubscribed = denied === undefined;
  if (!owner) channel.denied = denied;
  // A right that was withdrawn while the page is open changes more than this list.
  if (denied?.startsWith("403")) refreshRights();
  const isConcerned = (one: Listener) => one === owner || (!one.list && !(owner && denied));
  [...channel.listeners].filter(isConcerned).forEach((one) => one.replied?.(denied));
  plan();
}

let queue: [Listener, Message][] = [];
let framed = 0;
let isExceeded = false;

function enqueue(listener: Listener, message: Message): void {
  received.count += 1;
  if (queue.length >= MOST_QUEUED) [queue, isExceeded] = [[], true];
  queue.push([listener, message]);
  // A hidden tab draws no frames, so notifications wait there.
  framed ||= requestAnimationFrame(flush);
}

function flush(): void {
  framed = 0;
  const messages = queue;
  queue = [];
  if (isExceeded) return session?.renew("There were more changes than can be shown one by one");
  const batches = new Map<Listener, Message[]>();
  for (const [listener, message] of messages) {
    const batch = batches.get(listener);
    if (batch) batch.push(message);
    else batches.set(listener, [message]);
  }
  const listening = new Set([...channels.values()].flatMap((channel) => [...channel.listeners]));
  for (const [listener, batch] of batches) if (listening.has(listener)) listener.take(batch);
}

/** Begins with a new session of the server, which has no subscription. Each list is requested anew. */
export function begin(begun: Session): void {
  end();
  session = begun;
  plan();
}

/** Forgets the session, which has ended. */
export function end(): void {
  [session, queue, isExceeded] = [null, [], false];
  for (const channel of channels.values()) {
    const waiting = [...channel.listeners].findLast(({ list }) => list);
    Object.assign(channel, { handle: undefined, isSubscribed: false, denied: undefined, request: undefined, waiting });
  }
}
