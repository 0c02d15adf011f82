// The tree of device groups. It is built from the parents of each group, because all members together may be many.

import { get, withQuery } from "./api";
import { type Loaded, useLoad } from "./load";
import { pathOf } from "./scope";
import type { ManagedObject } from "./types";

export interface Group {
  object: ManagedObject;
  /** The names from the top to this group. */
  path: string;
  children: Group[];
}

interface Groups {
  roots: Group[];
  /** All groups, by their paths. */
  all: Group[];
  isAll: boolean;
}

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

const nameOf = ({ name, id }: ManagedObject) => name ?? id;
const byName = (one: Group, other: Group) =>
  nameOf(one.object).localeCompare(nameOf(other.object), undefined, { numeric: true });

function treeOf(objects: ManagedObject[]): Omit<Groups, "isAll"> {
  const groups = new Map(objects.map((object): [string, Group] => [object.id, { object, path: "", children: [] }]));
  const roots: Group[] = [];
  for (const group of groups.values()) {
    const parents = (group.object.assetParents?.references ?? []).flatMap(
      ({ managedObject }) => groups.get(managedObject.id) ?? [],
    );
    if (parents.length === 0) roots.push(group);
    for (const parent of parents) parent.children.push(group);
  }
  const all: Group[] = [];
  const walk = (list: Group[], above: string) => {
    for (const group of list.sort(byName)) {
      // A group below two others is there twice, and a circle of groups ends.
      if (group.path) continue;
      group.path = above + nameOf(group.object);
      all.push(group);
      walk(group.children, `${group.path} / `);
    }
  };
  walk(roots, "");
  return { roots, all };
}

export const useGroups = (): Loaded<Groups> => useLoad(read, []);
