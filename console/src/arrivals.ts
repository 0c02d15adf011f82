// Notifications as they arrive, for pages that load no list of them.

import { type Signal, useSignal } from "@preact/signals";
import type { Message } from "cometd";
import { useEffect, useRef } from "preact/hooks";
import { subscribe } from "./subscriptions";

/**
 * Calls `take` with the notifications of each channel, and `replied` with the reason if the server denies a channel, or
 * with nothing if it accepts it.
 */
export function useNotifications(
  channels: string[],
  take: (messages: Message[], channel: string) => void,
  replied?: (channel: string, reason?: string) => void,
): void {
  const current = useRef({ take, replied });
  current.current = { take, replied };
  useEffect(() => {
    const subscriptions = channels.map((channel) =>
      subscribe(channel, {
        take: (messages) => current.current.take(messages, channel),
        replied: (reason) => current.current.replied?.(channel, reason),
      }),
    );
    return () => subscriptions.forEach((end) => end());
  }, [channels.join(" ")]);
}

export interface Arrival {
  number: number;
  at: Date;
  message: Message;
}

export interface Arrivals {
  /** The newest notifications, the last one first. */
  rows: Signal<Arrival[]>;
  /** The number of notifications since the page was opened, whether they are kept or not. */
  total: Signal<number>;
  /** The reasons of the server by the channels that it denied. */
  denied: Signal<Record<string, string>>;
  /** Whether nothing is added to the rows. */
  isPaused: Signal<boolean>;
  /** The most rows that are kept. */
  kept: number;
}

/** Keeps the last notifications of some channels. */
export function useArrivals(channels: string[], kept: number): Arrivals {
  const rows = useSignal<Arrival[]>([]);
  const total = useSignal(0);
  const denied = useSignal<Record<string, string>>({});
  const isPaused = useSignal(false);
  const take = (messages: Message[]) => {
    total.value += messages.length;
    if (isPaused.peek()) return;
    const newest = messages.slice(-kept).reverse();
    const arrived = newest.map((message, index): Arrival => ({
      number: total.peek() - index,
      at: new Date(),
      message,
    }));
    rows.value = [...arrived, ...rows.peek()].slice(0, kept);
  };
  useNotifications(channels, take, (channel, reason) => (denied.value = { ...denied.peek(), [channel]: reason ?? "" }));
  return { rows, total, denied, isPaused, kept };
}
