import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { addPaths, placeOf, suggest } from "../src/values/query";

const device = { id: "1", name: "it's", childDevices: {}, plat_Hardware: { model: "RX", revision: 7 }, tags: ["a"] };
const paths = addPaths(new Map(), [device], new Set(["childDevices"]));
const texts = (before: string) => suggest(before, paths).list.map(({ text }) => text);

test("paths are the members of objects and of their fragments, with values", () => {
  deepEqual(
    [...paths.keys()],
    ["id", "name", "plat_Hardware", "plat_Hardware.model", "plat_Hardware.revision", "tags"],
  );
  deepEqual([...paths.get("name")!], ["'it''s'"]);
  deepEqual([...paths.get("plat_Hardware.revision")!], ["7"]);
});

test("a query begins with a function or a path", () => {
  deepEqual(texts("h"), ["has("]);
  deepEqual(texts("plat_Hardware.m"), ["plat_Hardware.model"]);
  deepEqual(texts("name eq 'a' and na"), ["name"]);
});

test("an operator follows a path, and a value of these devices an operator", () => {
  deepEqual(texts("plat_Hardware.model "), ["eq ", "ne ", "gt ", "ge ", "lt ", "le "]);
  deepEqual(texts("plat_Hardware.model eq "), ["'RX' "]);
  deepEqual(texts("plat_Hardware.model eq 'R"), ["'RX' "]);
});

test("a condition is joined, or ends with an order", () => {
  deepEqual(texts("name eq 'a' "), ["and ", "or ", "$orderby="]);
  deepEqual(texts("has(a) o"), ["or "]);
});

test("functions take a path, and groups are not suggested", () => {
  deepEqual(texts("has(plat_"), ["plat_Hardware", "plat_Hardware.model", "plat_Hardware.revision"]);
  deepEqual(texts("bygroupid("), []);
});

test("a word that is complete has no suggestion, and replaces only itself", () => {
  deepEqual(texts("has(name"), []);
  equal(suggest("name eq 'a' an", paths).word, "an");
});

test("the place of an error is that in the typed text", () => {
  const typed = "name eq 'a' nad b";
  const query = `$filter=has(plat_IsDevice) and (${typed}) $orderby=name`;
  const at = (text: string) => `Invalid at character ${query.indexOf(text) + 1}.`;
  equal(placeOf(at("nad"), query, typed), typed.indexOf("nad"));
  equal(placeOf(at("nad"), query, `$filter= ${typed}`), `$filter= ${typed}`.indexOf("nad"));
  equal(placeOf(`Invalid at character ${query.length}.`, query, typed), typed.length);
  equal(placeOf("Something else.", query, typed), null);
});
