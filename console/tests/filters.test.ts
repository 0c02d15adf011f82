import { equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { conditionOf, isChosen, LOOKS_LIKE_QUERY, queryOf } from "../src/values/filters";

const plain = { text: "", availability: "", group: "" };

test("without filters a query finds every device by name", () => {
  equal(queryOf(plain), "$filter=has(plat_IsDevice) $orderby=name");
  equal(queryOf({ ...plain, text: "  " }), "$filter=has(plat_IsDevice) $orderby=name");
});

test("filters are joined", () => {
  const query = queryOf({ text: "type eq 'a'", availability: "AVAILABLE", group: "7" });
  equal(
    query,
    "$filter=has(plat_IsDevice) and plat_Availability.status eq 'AVAILABLE' and bygroupid(7) and (type eq 'a') $orderby=name",
  );
});

test("a query that is typed keeps its order", () => {
  const query = "$filter=has(plat_IsDevice) and (has(a)) $orderby=id desc";
  equal(queryOf({ ...plain, text: "has(a) $orderby=id desc" }), query);
  equal(queryOf({ ...plain, text: "$filter=has(a) $orderby=id desc" }), query);
  equal(queryOf({ ...plain, text: "$orderby=id desc" }), "$filter=has(plat_IsDevice) $orderby=id desc");
});

test("a text is a query if it has an operator or a function", () => {
  for (const text of ["name eq 'a'", "has (a)", "bygroupid(1)", "$orderby=id"]) ok(LOOKS_LIKE_QUERY.test(text), text);
  for (const text of ["pump 7", "bridge 7", "equipment", "hash", "a.b", "gte"]) ok(!LOOKS_LIKE_QUERY.test(text), text);
});

test("a name is searched in its usual spellings", () => {
  equal(
    conditionOf("pump"),
    "(name eq '*pump*' or name eq '*Pump*' or name eq '*PUMP*' or type eq '*pump*' or plat_Hardware.serialNumber eq '*pump*')",
  );
});

test("digits may be an id, and quotes are doubled", () => {
  ok(conditionOf("4711").endsWith(" or id eq '4711')"));
  ok(!conditionOf("47a").includes("id eq '47a'"));
  ok(conditionOf("o'neil").includes("name eq '*o''neil*'"));
});

test("an empty filter chooses all, any other what it names", () => {
  ok(isChosen("", undefined) && isChosen("", "ACTIVE"));
  ok(isChosen("ACTIVE,ACKNOWLEDGED", "ACKNOWLEDGED"));
  ok(!isChosen("ACTIVE,ACKNOWLEDGED", "CLEARED"));
  ok(!isChosen("ACTIVE", undefined));
});
