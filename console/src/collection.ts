// Collections of the server, which are read page by page.

import { get } from "./api";
import type { ManagedObject } from "./types";
import { type Params, pathOf, withQuery } from "./values/addresses";
import { join } from "./values/merge";

/** Some members of a collection. */
export interface Part<T> {
  items: T[];
  /** The path of the next page; absent at the end of the collection. */
  next?: string;
  /** The response with the last of these members. */
  response: object;
}

/** Reads one page. `member` is the name of the array in the response. */
export async function readPage<T>(address: string, member: string, signal?: AbortSignal): Promise<Part<T>> {
  const response = await get<Record<string, unknown> & { next?: string }>(address, { signal });
  return { items: response[member] as T[], next: response.next && pathOf(response.next), response };
}

/** Reads one page of managed objects, without their children. */
export const readObjects = (params: Params) =>
  readPage<ManagedObject>(withQuery(OBJECTS, { ...params, withChildren: false }), "managedObjects");
const OBJECTS = "/inventory/managedObjects";

interface Bounds<T> {
  /** Enough members, after which no page is read. */
  most?: number;
  mostPages?: number;
  /** Members that come first, whatever their place in the order. */
  before?: Promise<T[]>;
  /** The key of a member; its id if this is absent. */
  keyOf?: (item: T) => string | number;
  signal?: AbortSignal;
}

export const idOf = (item: unknown) => (item as { id: string | number }).id;

/** Reads pages until the end of a collection, or until there is enough. */
export async function readPages<T>(address: string, member: string, bounds: Bounds<T> = {}): Promise<Part<T>> {
  const { most = Infinity, mostPages = Infinity, before, keyOf = idOf, signal } = bounds;
  const [exact, first] = await Promise.all([before ?? [], readPage<T>(address, member, signal)]);
  let part = { ...first, items: join(exact, first.items, keyOf) };
  for (let pages = 1; part.next && part.items.length < most && pages < mostPages; pages += 1) {
    const following = await readPage<T>(part.next, member, signal);
    part = { ...following, items: join(part.items, following.items, keyOf) };
  }
  return part;
}
