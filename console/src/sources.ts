// Where data comes from: a list that begins a subscription, or a request after the subscriptions to its channels.

import type { Message } from "cometd";
import { ApiError } from "./api";
import { connection } from "./live";
import { type ListRequest, subscribe } from "./subscriptions";
import { type Snapshot, split } from "./values/snapshot";

/** A list with which a subscription begins. */
export interface ListSource<T> extends ListRequest {
  /** Returns the data that is shown of it. */
  read: (snapshot: Snapshot<never>) => Promise<T>;
}

/** What is done with the data of a source. */
export interface Sink<T> {
  /** Shows what is loaded, unless something is loaded later, and then the changes that have arrived meanwhile. */
  settle: (loading: Promise<T>) => void;
  fail: (error: ApiError) => void;
  take: (changes: Message[]) => void;
  /** Notes the number of channels whose subscription the server accepted. */
  accept: (channels: number) => void;
}

/** What waits for the server's notifications is loaded without them after this time. */
const PATIENCE_MS = 1000;

/** Lists with changes that the user may not receive, and those that are too large for the queue of a session. */
const READ_INSTEAD = /^(403|413)/;

/** Returns the error for a denied subscription, whose reason is such as `503::there were too many changes`. */
function denialOf(reason: string): ApiError {
  const [, status, text] = reason.match(/^(\d+)::(.*)$/s) ?? [];
  return new ApiError(Number(status ?? 0), text ?? reason);
}

/**
 * Shows the list with which the subscription to a channel begins, again with each new session. If it
 * cannot come in notifications, `load` reads it and it is not live.
 */
export function followList<T>(channel: string, list: ListSource<T>, load: () => Promise<T>, sink: Sink<T>): () => void {
  const take = (messages: Message[]) => {
    const { snapshot, changes } = split<never>(messages);
    if (snapshot) {
      clearTimeout(timer);
      sink.accept(1);
      sink.settle(list.read(snapshot));
    }
    if (changes.length > 0) sink.take(changes);
  };
  const read = () => {
    sink.accept(0);
    sink.settle(load());
  };
  const replied = (denied?: string) => {
    if (denied === undefined) return;
    if (READ_INSTEAD.test(denied)) read();
    else sink.fail(denialOf(denied));
  };
  const timer = setTimeout(() => connection.peek().state === "live" || read(), PATIENCE_MS);
  const end = subscribe(channel, { take, replied, list });
  return () => {
    clearTimeout(timer);
    end();
  };
}

/**
 * Loads data after the subscriptions to its channels, so that no change is lost between the data and the first
 * notification.
 */
export function followChannels<T>(channels: string[], load: () => Promise<T>, sink: Sink<T>): () => void {
  const accepted = new Set<string>();
  const ends: (() => void)[] = [];
  let state: "waiting" | "planned" | "loading" | "ended" = "waiting";
  const begin = () => {
    if (state === "ended") return;
    state = "loading";
    sink.settle(load());
  };
  const again = () => {
    if (state !== "loading") return;
    state = "planned";
    queueMicrotask(begin);
  };
  const listen = (channel: string) =>
    new Promise<void>((resolve) => {
      const replied = (denied?: string) => {
        if (denied) accepted.delete(channel);
        else accepted.add(channel);
        sink.accept(accepted.size);
        // What was loaded before the subscription, or before the list of another component, may lack changes.
        again();
        resolve();
      };
      ends.push(subscribe(channel, { take: sink.take, replied }));
      setTimeout(resolve, PATIENCE_MS);
    });
  Promise.all(channels.map(listen)).then(begin);
  return () => {
    state = "ended";
    for (const end of ends) end();
  };
}
