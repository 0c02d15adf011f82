// The channels of a list: one for all devices with the role, otherwise one for each device that the user may see.

import { signal, useSignalEffect } from "@preact/signals";
import { withQuery } from "./api";
import { readPages } from "./collection";
import { can, session } from "./session";
import type { ManagedObject } from "./types";

export interface Scope {
  channels: string[];
  /** Whether these channels announce everything that the list can contain. */
  isWhole: boolean;
  /** Whether a list can begin with the subscription to the only channel. */
  hasList?: boolean;
}

interface Seen {
  devices: ManagedObject[];
  /** The ids of all visible objects and of those for which the user has rights. */
  ids: string[];
  /** Whether `ids` are all, and none of them is a group, whose members may change. */
  isWhole: boolean;
  /** Whether every visible object was read. */
  isAll: boolean;
}

/** The most channels that the page subscribes to for one list. */
const MOST = 100;
const MOST_PAGES = 10;

/** The objects that a user without the role for all of them sees; `null` until they were read. */
export const seen = signal<Seen | null>(null);
let askedFor = "";

/** Reads the objects that the user sees. The server examines a limited number of objects for one page (P-07). */
async function look(permitted: string[]): Promise<Seen> {
  const address = withQuery("/inventory/managedObjects", { pageSize: MOST, withChildren: false });
  const bounds = { most: MOST + 1, mostPages: MOST_PAGES };
  const { items: found, next } = await readPages<ManagedObject>(address, "managedObjects", bounds);
  const known = new Map(found.map((one) => [one.id, one]));
  const ids = [...new Set([...permitted, ...known.keys()])];
  const isGroup = ({ plat_IsDeviceGroup: group }: ManagedObject) => group !== undefined;
  const isWhole = !next && ids.length <= MOST && permitted.every((id) => known.has(id)) && !found.some(isGroup);
  return {
    devices: found.filter((one) => one.plat_IsDevice !== undefined),
    ids: ids.slice(0, MOST),
    isWhole,
    isAll: !next,
  };
}

/** Reads the objects that a user without the role sees, once for each user and again when its rights have changed. */
export function lookAround(): void {
  const { user = "", permitted = [], roles = [] } = session.value ?? {};
  const who = [user, ...permitted, ...roles].join();
  if (askedFor === who) return;
  [askedFor, seen.value] = [who, null];
  look(permitted)
    .catch((): Seen => ({ devices: [], ids: permitted.slice(0, MOST), isWhole: false, isAll: false }))
    .then((found) => askedFor === who && (seen.value = found));
}

/** Returns the channels of the notifications of one kind, such as `alarms`, that the user may receive. */
export function useScope(kind: string, role: string): Scope {
  useSignalEffect(() => {
    if (session.value && !can(role)) lookAround();
  });
  if (can(role)) return { channels: [`/${kind}/*`], isWhole: true, hasList: true };
  return { channels: (seen.value?.ids ?? []).map((id) => `/${kind}/${id}`), isWhole: seen.value?.isWhole ?? false };
}
