// Loads data, or receives a list with the subscription to its channel, and follows its changes.

import { type Signal, useSignal } from "@preact/signals";
import { useCallback, useEffect, useRef } from "preact/hooks";
import type { Message } from "cometd";
import { ApiError } from "./api";
import { connection, generation } from "./live";
import { followChannels, followList, type ListSource } from "./sources";
import { isLive as isLiveNow } from "./values/standing";

export interface Loaded<T> {
  data: Signal<T | undefined>;
  error: Signal<ApiError | null>;
  loading: Signal<boolean>;
  /** The time of the last load. */
  at: Signal<Date | undefined>;
  /** Whether the shown data belongs to other filters or channels than the present ones. */
  isOld: Signal<boolean>;
  /** Returns the number of channels whose changes arrive now. */
  accepted: () => number;
  /** Whether changes of everything that is shown arrive by themselves now. */
  isLive: () => boolean;
  reload: () => void;
}

export const asError = (error: unknown) =>
  error instanceof ApiError ? error : new ApiError(0, error instanceof Error ? error.message : String(error));

export interface Live<T> {
  channels: string[];
  /** Whether the channels announce everything that is shown; true if it is absent. */
  isWhole?: boolean;
  /** Receives the changes of a frame, after the data to which they belong. */
  take: (changes: Message[]) => void;
  /** The list with which the subscription to the only channel begins. */
  list?: ListSource<T>;
}

/** After these errors the user may no longer see the data that was loaded before. */
const ENDS_SIGHT = [401, 403, 404];

/**
 * Loads now, whenever `keys` change, and with each new session. With `live` it first subscribes, also in each new
 * session; notifications that arrive while it loads are passed on afterwards.
 */
export function useLoad<T>(load: (abort: AbortSignal) => Promise<T>, keys: unknown[], live?: Live<T>): Loaded<T> {
  const data = useSignal<T | undefined>(undefined);
  const error = useSignal<ApiError | null>(null);
  const loading = useSignal(true);
  const at = useSignal<Date | undefined>(undefined);
  const isOld = useSignal(false);
  /** The number of channels whose subscription the server accepted. */
  const subscribed = useSignal(0);
  const again = useSignal(0);
  /** The session in which the data was loaded. */
  const origin = useSignal(0);
  const current = useRef({ load, live });
  current.current = { load, live };
  const { channels = [], list } = live ?? {};
  const loadedKeys = useRef("");
  useEffect(() => {
    const abort = new AbortController();
    const asked = JSON.stringify([keys, channels]);
    let last = 0;
    let early: Message[] | null = [];
    const take = (changes: Message[]) => {
      if (early) early.push(...changes);
      else current.current.live?.take(changes);
    };
    const show = (loaded: T, session: number) => {
      [loadedKeys.current, origin.value] = [asked, session];
      [data.value, error.value, loading.value, at.value, isOld.value] = [loaded, null, false, new Date(), false];
      const waiting = early ?? [];
      early = null;
      if (waiting.length > 0) take(waiting);
    };
    const fail = (failed: unknown) => {
      [error.value, loading.value] = [asError(failed), false];
      if (isOld.value || ENDS_SIGHT.includes(error.value.status)) data.value = undefined;
    };
    const settle = (loading: Promise<T>) => {
      const [number, session] = [++last, generation.peek()];
      // What has arrived before is in the data that is loaded now.
      early = [];
      const isCurrent = () => number === last && !abort.signal.aborted;
      loading.then((loaded) => isCurrent() && show(loaded, session)).catch((failed) => isCurrent() && fail(failed));
    };
    const accept = (channels: number) => (subscribed.value = channels);
    const isOther = loadedKeys.current !== asked;
    if (isOther) accept(0);
    loading.value = true;
    isOld.value = data.peek() !== undefined && isOther;
    const request = () => current.current.load(abort.signal);
    const sink = { settle, fail, take, accept };
    const end = list ? followList(channels[0], list, request, sink) : followChannels(channels, request, sink);
    return () => {
      abort.abort();
      end();
    };
  }, [...keys, channels.join(" "), again.value, channels.length > 0 ? "" : generation.value]);
  const reload = useCallback(() => {
    again.value += 1;
  }, []);
  const isConnected = () => connection.value.state === "live" && origin.value === generation.value && !isOld.value;
  const accepted = () => (isConnected() ? subscribed.value : 0);
  const isLive = () =>
    isLiveNow({
      isConnected: isConnected(),
      channels: channels.length,
      accepted: subscribed.value,
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
