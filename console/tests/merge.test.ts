import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import type { Message } from "cometd";
import { apply, bySeverity, byTime, join, mayChangeCounts } from "../src/values/merge";

interface Row {
  id: string;
  text?: string;
}
const notify = (realtimeAction: string, data: unknown) => ({ data: { realtimeAction, data } }) as Message;
const rows = (...ids: string[]): Row[] => ids.map((id) => ({ id }));
const idsOf = (list: Row[]) => list.map(({ id }) => id).join(" ");
const all = () => true;

test("new objects are first, the last one before the others", () => {
  const messages = [notify("CREATE", { id: "3" }), notify("CREATE", { id: "4" })];
  equal(idsOf(apply(rows("1", "2"), messages, all)), "4 3 1 2");
});

test("a changed object stays at its place, with its last content", () => {
  const messages = [notify("UPDATE", { id: "2", text: "a" }), notify("UPDATE", { id: "2", text: "b" })];
  deepEqual(apply(rows("1", "2", "3"), messages, all), [{ id: "1" }, { id: "2", text: "b" }, { id: "3" }]);
});

test("a deleted object leaves, whether its id or all of it was notified", () => {
  equal(idsOf(apply(rows("1", "2", "3"), [notify("DELETE", "2"), notify("DELETE", { id: "3" })], all)), "1");
  equal(idsOf(apply(rows("1"), [notify("CREATE", { id: "2" }), notify("DELETE", "2")], all)), "1");
});

test("an object that no longer matches leaves, and another one does not come", () => {
  const isOpen = (row: Row) => row.text === "open";
  const messages = [notify("UPDATE", { id: "1", text: "done" }), notify("CREATE", { id: "9", text: "done" })];
  equal(idsOf(apply(rows("1", "2"), messages, isOpen)), "2");
});

test("an object that was not stored is in no list", () => {
  for (const data of [{ text: "a" }, undefined]) equal(idsOf(apply(rows("1"), [notify("CREATE", data)], all)), "1");
});

test("a page adds what notifications have not added before", () => {
  equal(idsOf(join(rows("9", "1", "2"), rows("2", "3"), ({ id }) => id)), "9 1 2 3");
  const loaded = [{ id: "2", text: "live" }];
  deepEqual(
    join(loaded, [{ id: "2", text: "old" }], ({ id }) => id),
    loaded,
  );
});

test("the newest is first, whatever the zones of the times", () => {
  const list = [
    { id: "1", time: "2024-03-10T02:30:00+01:00" },
    { id: "2", time: "2024-03-10T02:00:00Z" },
    { id: "9", time: "2024-03-10T02:00:00Z" },
    { id: "10", time: "2024-03-10T03:00:00+01:00" },
  ];
  equal(idsOf(list.sort(byTime)), "10 9 2 1");
});

test("the most urgent is first, and of those the newest", () => {
  const time = "2024-03-10T02:00:00Z";
  const list = [
    { id: "1", severity: "MAJOR" as const, time },
    { id: "2", severity: "CRITICAL" as const, time },
    { id: "3", severity: "MAJOR" as const, time: "2024-03-11T02:00:00Z" },
  ];
  equal(idsOf(list.sort(bySeverity)), "2 3 1");
});

test("counts may change when an object is new, gone, or available in another way", () => {
  const known = new Map<string, string>();
  const update = (status?: string) => [notify("UPDATE", { id: "1", plat_Availability: status && { status } })];
  equal(mayChangeCounts(known, update("AVAILABLE")), true);
  equal(mayChangeCounts(known, update("AVAILABLE")), false);
  equal(mayChangeCounts(known, update("UNAVAILABLE")), true);
  equal(mayChangeCounts(known, update()), true);
  equal(mayChangeCounts(known, [notify("DELETE", "1")]), true);
  equal(mayChangeCounts(known, [notify("CREATE", { id: "2" })]), true);
  equal(mayChangeCounts(known, []), false);
});
