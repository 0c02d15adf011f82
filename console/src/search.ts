// The search for devices by a part of the name or the type, by id, or by an external id such as a serial number.

import { get, path, withQuery } from "./api";
import type { ManagedObject } from "./types";
import { conditionOf } from "./values/filters";

/** The types of external ids that a search tries. Others are typed as `type:value`. */
const SERIALS = ["plat_Serial", "serial", "imei", "mac"];

/** Returns the objects with an external id of this value. A type before a colon is the only one that is tried. */
export async function byExternalId(text: string): Promise<ManagedObject[]> {
  if (!text || text === "." || text === ".." || /\s/.test(text)) return [];
  const [, type, value] = text.match(/^(\w+):(.+)$/) ?? [];
  const pairs = [...SERIALS.map((one) => [one, text]), ...(type ? [[type, value]] : [])];
  const found = await Promise.all(
    pairs.map(([type, value]) =>
      get<{ managedObject: { id: string } }>(path`/identity/externalIds/${type}/${value}`).then(
        (one) => one.managedObject.id,
        () => null,
      ),
    ),
  );
  const ids = [...new Set(found.filter((id): id is string => id !== null))];
  if (ids.length === 0) return [];
  return (
    await get<{ managedObjects: ManagedObject[] }>(
      withQuery("/inventory/managedObjects", { ids: ids.join(","), withChildren: false }),
    )
  ).managedObjects;
}

/** Returns at most `most` devices, those with this external id first. */
export async function findDevices(text: string, most: number): Promise<{ devices: ManagedObject[]; isAll: boolean }> {
  const trimmed = text.trim();
  const condition = trimmed ? ` and ${conditionOf(trimmed)}` : "";
  const query = `$filter=has(plat_IsDevice)${condition} $orderby=name`;
  const [exact, page] = await Promise.all([
    byExternalId(trimmed),
    get<{ managedObjects: ManagedObject[]; next?: string }>(
      withQuery("/inventory/managedObjects", { query, pageSize: most, withChildren: false }),
    ),
  ]);
  const ids = new Set(exact.map(({ id }) => id));
  const devices = [...exact, ...page.managedObjects.filter(({ id }) => !ids.has(id))];
  return { devices: devices.slice(0, most), isAll: !page.next && devices.length <= most };
}
