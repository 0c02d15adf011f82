// The tree of device groups. It is built from the parents of each group, because all members together may be many.

import { withQuery } from "./api";
import { readPages } from "./collection";
import { type Loaded, useLoad } from "./load";
import type { ManagedObject } from "./types";
import { type Groups, treeOf } from "./values/groups";

const PAGE_SIZE = 1000;
/** The most groups that are read. */
const MOST = 5000;

async function read(): Promise<Groups> {
  const params = { fragmentType: "plat_IsDeviceGroup", pageSize: PAGE_SIZE, withChildren: false };
  const address = withQuery("/inventory/managedObjects", params);
  const { items, next } = await readPages<ManagedObject>(address, "managedObjects", { most: MOST });
  return { ...treeOf(items), isAll: !next };
}

export const useGroups = (): Loaded<Groups> => useLoad(read, []);
