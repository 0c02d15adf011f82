// A list that follows the pages of the server to the end as one scrolls, and knows how far it came.

import { type Signal, useComputed, useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { Message } from "cometd";
import { count, withQuery } from "./api";
import { idOf, readPage, readPages } from "./collection";
import { asError, type Loaded, useLoad } from "./load";
import type { Scope } from "./scope";
import type { Params } from "./values/addresses";
import { join } from "./values/merge";
import type { Snapshot } from "./values/snapshot";

/** The part of a list that was not loaded. */
export interface Rest {
  /** The path of the next page; absent at the end of the list. */
  next?: string;
  isBusy: boolean;
  /** The reason why the next page could not be loaded. */
  problem: string;
  /** The number of all members; `null` where the server does not count them. */
  total: number | null;
}

export interface List<T> extends Loaded<T[]> {
  rest: Signal<Rest>;
  /** Loads the next page, unless one is being loaded or the last one failed. */
  more: () => void;
  /** Loads the next page after a failure. */
  retry: () => void;
  /** Reads all members, for a file. */
  all: () => Promise<T[]>;
}

export interface Source<T> {
  path: string;
  /** The name of the array in the response. */
  member: string;
  params?: Params;
  pageSize?: number;
  /** The key of a member; its id if this is absent. */
  keyOf?: (item: T) => string | number;
  /** Reads members that come first, whatever their place in the order. */
  before?: () => Promise<T[]>;
  live?: Scope & { take: (list: T[], messages: Message[]) => T[] | undefined };
}

const PAGE_SIZE = 500;
const PAGE_OF_A_FILE = 1000;
/** A list loads at least this many rows at once, more than a screen shows. */
const SCREENFUL = 60;
/** A list that is loaded again loads as many rows as it had, up to this number. */
const MOST_AGAIN = 2000;
/** A user with rights for single devices may get empty pages (P-07). After this many the user decides. */
const MOST_PAGES = 12;

export function useList<T>(source: Source<T>): List<T> {
  const { path, member, live } = source;
  const keyOf = source.keyOf ?? idOf;
  const params = { pageSize: source.pageSize ?? PAGE_SIZE, ...source.params };
  const first = withQuery(path, params);
  const rest = useSignal<Rest>({ isBusy: false, problem: "", total: null });
  const run = useRef(0);
  const shown = useRef({ first: "", length: 0 });
  /** The changes since the next page was requested. */
  const meanwhile = useRef<Message[]>([]);
  const findTotal = async (number: number) => {
    const total = await count(path, { ...source.params }).catch(() => null);
    if (run.current === number) rest.value = { ...rest.peek(), total };
  };
  /** Notes how much of the list has arrived, and returns it. */
  const arrive = (number: number, items: T[], next?: string) => {
    if (run.current !== number) return items;
    rest.value = { next, isBusy: false, problem: "", total: next ? rest.peek().total : items.length };
    shown.current = { first, length: items.length };
    if (next) findTotal(number);
    return items;
  };
  const lengthBefore = () => (shown.current.first === first ? Math.min(MOST_AGAIN, shown.current.length) : 0);
  const load = async (signal: AbortSignal) => {
    const number = ++run.current;
    const wanted = Math.max(SCREENFUL, lengthBefore());
    const bounds = { most: wanted, mostPages: MOST_PAGES, before: source.before?.(), keyOf, signal };
    const { items, next } = await readPages<T>(first, member, bounds);
    return arrive(number, items, next);
  };
  const take = (messages: Message[]) => {
    if (rest.peek().isBusy) meanwhile.current.push(...messages);
    const before = loaded.data.peek() ?? [];
    const after = live?.take(before, messages);
    if (!after) return;
    loaded.data.value = after;
    const { total } = rest.peek();
    if (total !== null && after.length !== before.length)
      rest.value = { ...rest.peek(), total: Math.max(after.length, total + after.length - before.length) };
  };
  /** The address of a page with as many rows as the list had. */
  const again = () => withQuery(path, { ...params, pageSize: Math.max(params.pageSize, lengthBefore()) });
  const list = {
    name: member,
    query: () => again().slice(path.length + 1),
    read: async ({ members, isComplete }: Snapshot<T>) => {
      const number = ++run.current;
      // Further members are on the pages of a GET. The first page has mostly those that are here.
      const next = isComplete ? undefined : again();
      return arrive(number, join((await source.before?.()) ?? [], members, keyOf), next);
    },
  };
  const loaded = useLoad<T[]>(load, [first], live && { ...live, take, list: live.hasList ? list : undefined });
  /** Reads the next pages until one has members that are not in the list. */
  const extend = async (number: number) => {
    for (let pages = 0; pages < MOST_PAGES && rest.peek().next; pages += 1) {
      const following = await readPage<T>(rest.peek().next!, member);
      if (run.current !== number) return;
      const items = loaded.data.peek() ?? [];
      const longer = join(items, following.items, keyOf);
      rest.value = { ...rest.peek(), next: following.next };
      if (longer.length === items.length) continue;
      loaded.data.value = longer;
      shown.current.length = longer.length;
      if (meanwhile.current.length > 0) take(meanwhile.current.splice(0));
      return;
    }
  };
  const retry = async () => {
    const { next, isBusy } = rest.peek();
    if (!next || isBusy || loaded.data.peek() === undefined) return;
    const number = run.current;
    rest.value = { ...rest.peek(), isBusy: true, problem: "" };
    const problem = await extend(number).then(
      () => "",
      (failed) => asError(failed).message,
    );
    meanwhile.current = [];
    if (run.current === number) rest.value = { ...rest.peek(), isBusy: false, problem };
  };
  const more = () => {
    if (!rest.peek().problem) retry();
  };
  const all = async () => {
    const address = withQuery(path, { ...params, pageSize: PAGE_OF_A_FILE });
    return (await readPages<T>(address, member, { keyOf })).items;
  };
  return { ...loaded, rest, more, retry, all };
}

/** Returns the first rows of a list. Its next rows, whether or not they were loaded before, are shown on request. */
export function useFirst<T>(list: List<T>, first: number, step: number): List<T> {
  const shown = useSignal(first);
  const loaded = () => list.data.value?.length ?? 0;
  const data = useComputed(() => list.data.value?.slice(0, shown.value));
  const rest = useComputed(() => {
    const { next, ...others } = list.rest.value;
    return { ...others, next: next ?? (loaded() > shown.value ? HERE : undefined) };
  });
  const retry = () => {
    shown.value += step;
    if (shown.value > loaded()) list.retry();
  };
  return { ...list, data, rest, more: retry, retry };
}
/** The next rows of a list that are loaded and not shown. */
const HERE = "#";
