// Loads a list or an object, with its error, and loads it again after a gap.

import { type Signal, useSignal } from "@preact/signals";
import { useCallback, useEffect, useRef } from "preact/hooks";
import type { Message } from "cometd";
import { ApiError } from "./api";
import { connection, generation, subscribe } from "./live";
import { isLive as isLiveNow } from "./values/standing";

export interface Loaded<T> {
  data: Signal<T | undefined>;
  error: Signal<ApiError | null>;
  loading: Signal<boolean>;
  /** The time of the last load. */
  at: Signal<Date | undefined>;
  /** Whether the shown data belongs to other filters than the present ones. */
  isOld: Signal<boolean>;
  /** The number of channels whose subscription the server accepted. */
  accepted: Signal<number>;
  /** Whether changes of everything that is shown arrive by themselves now. */
  isLive: () => boolean;
  reload: () => void;
}

export const asError = (error: unknown) =>
  error instanceof ApiError ? error : new ApiError(0, error instanceof Error ? error.message : String(error));

export interface Live {
  channels: string[];
  /** Whether the channels announce everything that is shown; true if it is absent. */
  isWhole?: boolean;
  /** Receives the notifications of a frame, after `load` has returned. */
  take: (messages: Message[]) => void;
}

/** After these errors the user may no longer see the data that was loaded before. */
const ENDS_SIGHT = [401, 403, 404];

/**
 * Loads now, whenever `keys` change, and whenever notifications may have been missed. With `live` it first subscribes,
 * so that no change is lost between the list and the first notification; notifications that arrive while it loads are
 * passed on afterwards.
 */
export function useLoad<T>(load: (abort: AbortSignal) => Promise<T>, keys: unknown[], live?: Live): Loaded<T> {
  const data = useSignal<T | undefined>(undefined);
  const error = useSignal<ApiError | null>(null);
  const loading = useSignal(true);
  const at = useSignal<Date | undefined>(undefined);
  const isOld = useSignal(false);
  const accepted = useSignal(0);
  const again = useSignal(0);
  const current = useRef({ load, live });
  current.current = { load, live };
  const channels = live?.channels ?? [];
  const loadedKeys = useRef("");
  useEffect(() => {
    const abort = new AbortController();
    let early: Message[] | null = [];
    const take = (messages: Message[]) => {
      if (early) early.push(...messages);
      else current.current.live?.take(messages);
    };
    const subscribed = new Set<string>();
    const note = (channel: string, denied?: string) => {
      if (abort.signal.aborted) return;
      if (denied) subscribed.delete(channel);
      else subscribed.add(channel);
      accepted.value = subscribed.size;
    };
    accepted.value = 0;
    const subscriptions = channels.map((channel) => subscribe(channel, take, (denied) => note(channel, denied)));
    loading.value = true;
    const asked = JSON.stringify(keys);
    isOld.value = data.peek() !== undefined && loadedKeys.current !== asked;
    Promise.all(subscriptions.map((one) => one.settled))
      .then(() => current.current.load(abort.signal))
      .then((loaded) => {
        if (abort.signal.aborted) return;
        loadedKeys.current = asked;
        [data.value, error.value, loading.value, at.value, isOld.value] = [loaded, null, false, new Date(), false];
        const waiting = early ?? [];
        early = null;
        if (waiting.length > 0) current.current.live?.take(waiting);
      })
      .catch((failed) => {
        if (abort.signal.aborted) return;
        [error.value, loading.value] = [asError(failed), false];
        if (isOld.value || ENDS_SIGHT.includes(error.value.status)) data.value = undefined;
      });
    return () => {
      abort.abort();
      for (const one of subscriptions) one.end();
    };
  }, [...keys, channels.join(" "), again.value, generation.value]);
  const reload = useCallback(() => {
    again.value += 1;
  }, []);
  const isLive = () =>
    isLiveNow({
      isConnected: connection.value.state === "live",
      channels: channels.length,
      accepted: accepted.value,
      isWhole: live?.isWhole,
      hasFailed: error.value !== null,
    });
  return { data, error, loading, at, isOld, accepted, isLive, reload };
}

/** Runs a function regularly while the page is visible. */
export function useEvery(seconds: number, run: () => void): void {
  const current = useRef(run);
  current.current = run;
  useEffect(() => {
    const timer = setInterval(() => document.hidden || current.current(), seconds * 1000);
    return () => clearInterval(timer);
  }, [seconds]);
}

/** Runs a function soon after a request, and not again before `seconds` have passed. */
export function useCalm(seconds: number, run: () => void): () => void {
  const timer = useRef(0);
  const last = useRef(-Infinity);
  const current = useRef(run);
  current.current = run;
  useEffect(() => () => clearTimeout(timer.current), []);
  return () => {
    if (timer.current) return;
    const wait = Math.max(SOON_MS, last.current + seconds * 1000 - performance.now());
    timer.current = window.setTimeout(() => {
      timer.current = 0;
      last.current = performance.now();
      current.current();
    }, wait);
  };
}
/** The time in which further changes are taken together. */
const SOON_MS = 500;
