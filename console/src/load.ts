// Loads a list or an object, with its error, and loads it again after a gap.

import { type Signal, useSignal } from "@preact/signals";
import { useCallback, useEffect, useRef } from "preact/hooks";
import type { Message } from "cometd";
import { ApiError } from "./api";
import { generation, subscribe } from "./live";
import type { Notification } from "./types";

export interface Loaded<T> {
  data: Signal<T | undefined>;
  error: Signal<ApiError | null>;
  loading: Signal<boolean>;
  reload: () => void;
}

export const asError = (error: unknown) => (error instanceof ApiError ? error : new ApiError(0, String(error)));

export interface Live {
  channels: string[];
  /** Receives the notifications of a frame, after `load` has returned. */
  take: (messages: Message[]) => void;
}

/**
 * Loads now, whenever `keys` change, and whenever notifications may have been missed. With `live` it first subscribes,
 * so that no change is lost between the list and the first notification; notifications that arrive while it loads are
 * passed on afterwards.
 */
export function useLoad<T>(load: (abort: AbortSignal) => Promise<T>, keys: unknown[], live?: Live): Loaded<T> {
  const data = useSignal<T | undefined>(undefined);
  const error = useSignal<ApiError | null>(null);
  const loading = useSignal(true);
  const again = useSignal(0);
  const current = useRef({ load, live });
  current.current = { load, live };
  const channels = live?.channels ?? [];
  useEffect(() => {
    const abort = new AbortController();
    let early: Message[] | null = [];
    const take = (messages: Message[]) => {
      if (early) early.push(...messages);
      else current.current.live?.take(messages);
    };
    const subscriptions = channels.map((channel) => subscribe(channel, take));
    loading.value = true;
    Promise.all(subscriptions.map((one) => one.settled))
      .then(() => current.current.load(abort.signal))
      .then((loaded) => {
        if (abort.signal.aborted) return;
        [data.value, error.value, loading.value] = [loaded, null, false];
        const waiting = early ?? [];
        early = null;
        if (waiting.length > 0) current.current.live?.take(waiting);
      })
      .catch((failed) => {
        if (!abort.signal.aborted) [error.value, loading.value] = [asError(failed), false];
      });
    return () => {
      abort.abort();
      for (const one of subscriptions) one.end();
    };
  }, [...keys, channels.join(" "), again.value, generation.value]);
  const reload = useCallback(() => {
    again.value += 1;
  }, []);
  return { data, error, loading, reload };
}

/**
 * Applies notifications to a list. New objects are added at the start or the end; objects that no longer match leave
 * the list.
 */
export function apply<T extends { id: string }>(
  list: T[],
  messages: Message[],
  matches: (item: T) => boolean,
  newest: "first" | "last" = "first",
): T[] {
  const changed = new Map<string, T | null>();
  for (const { data } of messages) {
    const { realtimeAction, data: inner } = data as Notification<T>;
    if (realtimeAction === "DELETE" || typeof inner === "string") changed.set(idOf(inner), null);
    else changed.set(inner.id, matches(inner) ? inner : null);
  }
  const kept: T[] = [];
  for (const item of list) {
    const after = changed.get(item.id);
    if (after) kept.push(after);
    else if (after === undefined) kept.push(item);
    changed.delete(item.id);
  }
  const added = [...changed.values()].filter((item): item is T => !!item);
  return newest === "first" ? [...added.reverse(), ...kept] : [...kept, ...added];
}

const idOf = (inner: string | { id: string }) => (typeof inner === "string" ? inner : inner.id);
