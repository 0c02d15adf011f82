// The tree of device groups.

import type { ManagedObject } from "../types";

export interface Group {
  object: ManagedObject;
  /** The names from the top to this group. */
  path: string;
  children: Group[];
}

export interface Groups {
  roots: Group[];
  /** All groups, by their paths. */
  all: Group[];
  isAll: boolean;
}

const nameOf = ({ name, id }: ManagedObject) => name ?? id;

const byName = (one: Group, other: Group) =>
  nameOf(one.object).localeCompare(nameOf(other.object), undefined, { numeric: true });

/** Returns the tree of groups, from the parents of each. */
export function treeOf(objects: ManagedObject[]): Omit<Groups, "isAll"> {
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
