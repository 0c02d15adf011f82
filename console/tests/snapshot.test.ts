import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import type { Message } from "cometd";
import { endsList, isOfList, split } from "../src/values/snapshot";

const message = (realtimeAction: string, data: unknown): Message => ({
  channel: "/alarms/7",
  data: { realtimeAction, data },
});
const piece = (...ids: string[]) => message("SNAPSHOT", ids);
const end = (count: number, complete = true) => message("SNAPSHOT_END", { count, complete });
const change = (id: string) => message("UPDATE", { id });

test("changes without a list are changes", () => {
  const changes = [change("1"), change("2")];
  deepEqual(split(changes), { changes });
  deepEqual(split([]), { changes: [] });
});

test("a list has the members of all its pieces in their order", () => {
  const { snapshot, changes } = split([piece("1", "2"), piece("3"), end(3)]);
  deepEqual(snapshot, { members: ["1", "2", "3"], isComplete: true });
  deepEqual(changes, []);
  deepEqual(split([end(0, false)]).snapshot, { members: [], isComplete: false });
});

test("changes before a list are in it, and those after it are not", () => {
  const { snapshot, changes } = split([change("1"), piece("1"), end(1), change("2")]);
  deepEqual(snapshot?.members, ["1"]);
  deepEqual(changes, [change("2")]);
});

test("only the last of several lists counts", () => {
  const { snapshot, changes } = split([piece("1"), end(1), change("9"), piece("2", "3"), end(2), change("4")]);
  deepEqual(snapshot?.members, ["2", "3"]);
  deepEqual(changes, [change("4")]);
});

test("pieces and the end of a list are no changes", () => {
  equal([piece("1"), end(1), change("1")].filter(isOfList).length, 2);
  ok(endsList(end(1)) && !endsList(piece("1")) && !endsList(change("1")));
  ok(!isOfList({ channel: "/module/statement", data: 5 }) && !isOfList({ channel: "/meta/connect" }));
});
