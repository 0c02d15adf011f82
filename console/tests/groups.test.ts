import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import type { ManagedObject } from "../src/types";
import { treeOf } from "../src/values/groups";

const group = (id: string, name: string | undefined, ...parents: string[]) => {
  const references = parents.map((id) => ({ managedObject: { id } }));
  return { id, name, assetParents: { references } } as unknown as ManagedObject;
};
const pathsOf = (...objects: ManagedObject[]) => treeOf(objects).all.map(({ path }) => path);

test("groups are below their parents, by their names", () => {
  const paths = pathsOf(
    group("3", "Hall 10", "1"),
    group("1", "Plant"),
    group("2", "Hall 9", "1"),
    group("4", "Annex"),
  );
  deepEqual(paths, ["Annex", "Plant", "Plant / Hall 9", "Plant / Hall 10"]);
});

test("a group whose parent nobody may see is at the top, and one without a name has its id", () => {
  deepEqual(pathsOf(group("5", undefined, "99")), ["5"]);
});

test("a group below two others is a child of both, with one path", () => {
  const { all, roots } = treeOf([group("1", "A"), group("2", "B"), group("3", "C", "1", "2")]);
  deepEqual(
    all.map(({ path }) => path),
    ["A", "A / C", "B"],
  );
  deepEqual(
    roots.map(({ children }) => children.length),
    [1, 1],
  );
});

test("a circle of groups ends", () => {
  equal(treeOf([group("1", "A", "2"), group("2", "B", "1")]).all.length, 0);
  deepEqual(pathsOf(group("0", "Top"), group("1", "A", "2", "0"), group("2", "B", "1")), [
    "Top",
    "Top / A",
    "Top / A / B",
  ]);
});
