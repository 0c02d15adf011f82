// The tree of device groups. It is built from the parents of each group, because all members together may be many.

import { get, withQuery } from "./api";
import { type Loaded, useLoad } from "./load";
import type { ManagedObject } from "./types";
import { pathOf } from "./values/addresses";
import { type Groups, treeOf } from "./values/groups";

const PAGE_SIZE = 1000;
/** The most groups that are read. */
const MOST = 5000;

async function read(): Promise<Groups> {
  const found: ManagedObject[] = [];
  let address: string | undefined = withQuery("/inventory/managedObjects", {
    fragmentType: "plat_IsDeviceGroup",
    pageSize: PAGE_SIZE,
    withChildren: false,
  });
  while (address && found.length < MOST) {
    const page: { managedObjects: ManagedObject[]; next?: string } = await get(address);
    found.push(...page.managedObjects);
    address = page.next && pathOf(page.next);
  }
  return { ...treeOf(found), isAll: !address };
}

export const useGroups = (): Loaded<Groups> => useLoad(read, []);
