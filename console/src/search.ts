// The search for devices by a part of the name or the type, by id, or by an external id such as a serial number.

import { get, path } from "./api";
import { readObjects } from "./collection";
import type { ExternalId } from "./reference";
import type { ManagedObject } from "./types";
import { conditionOf } from "./values/filters";
import { join } from "./values/merge";

/** The types of external ids that a search tries. Others are typed as `type:value`. */
const SERIALS = ["plat_Serial", "serial", "imei", "mac"];

/** Returns the objects with an external id of this value. A type before a colon is the only one that is tried. */
export async function byExternalId(text: string): Promise<ManagedObject[]> {
  if (!text || text === "." || text === ".." || /\s/.test(text)) return [];
  const [, type, value] = text.match(/^(\w+):(.+)$/) ?? [];
  const pairs = [...SERIALS.map((one) => [one, text]), ...(type ? [[type, value]] : [])];
  const found = await Promise.all(
    pairs.map(([type, value]) =>
      get<ExternalId>(path`/identity/externalIds/${type}/${value}`).then(
        (one) => one.managedObject?.id,
        () => undefined,
      ),
    ),
  );
  const ids = [...new Set(found.filter((id) => id !== undefined))];
  if (ids.length === 0) return [];
  return (await readObjects({ ids: ids.join(",") })).items;
}

/** Returns at most `most` devices, those with this external id first. */
export async function findDevices(text: string, most: number): Promise<{ devices: ManagedObject[]; isAll: boolean }> {
  const trimmed = text.trim();
  const condition = trimmed ? ` and ${conditionOf(trimmed)}` : "";
  const query = `$filter=has(plat_IsDevice)${condition} $orderby=name`;
  const [exact, page] = await Promise.all([byExternalId(trimmed), readObjects({ query, pageSize: most })]);
  const devices = join(exact, page.items, ({ id }) => id);
  return { devices: devices.slice(0, most), isAll: !page.next && devices.length <= most };
}
