import { equal, ok } from "node:assert/strict";
import { test } from "node:test";
import type { RetentionRule } from "../src/reference";
import type { AuditRecord, BulkOperation } from "../src/types";
import { changesOf, countsInWords, isUnderWay, ruleInWords, stateOfRollOut, titleOf } from "../src/values/words";

test("the title of an operation is its description, or what it asks for", () => {
  equal(titleOf({ description: "Restart it", plat_Restart: {} }), "Restart it");
  equal(titleOf({ id: "1", status: "PENDING", deviceId: "7", plat_Restart: {}, acme_Beep: 2 }), "Restart, acme_Beep");
  equal(titleOf({ id: "1", status: "PENDING" }), "Operation");
});

const change = (attribute: string, previousValue: unknown, newValue: unknown) => ({
  attribute,
  previousValue,
  newValue,
});

test("a change says both values, and an absent one is null", () => {
  const changes = [change("status", "ACTIVE", "CLEARED"), change("roles", undefined, ["a"])];
  equal(changesOf({ changes } as AuditRecord), 'status: ACTIVE → CLEARED, roles: null → ["a"]');
  equal(changesOf({ changes: [] as unknown } as AuditRecord), "");
});

const rollOut = (status: string, successful: number, failed: number) =>
  ({ status, progress: { successful, failed, executing: 0, pending: 0, all: 10 } }) as BulkOperation;

test("a roll-out goes on until every device is done", () => {
  equal(stateOfRollOut(rollOut("COMPLETED", 8, 1)), "EXECUTING");
  equal(stateOfRollOut(rollOut("COMPLETED", 8, 2)), "COMPLETED");
  equal(stateOfRollOut(rollOut("DELETED", 0, 0)), "DELETED");
  ok(isUnderWay(rollOut("ACTIVE", 10, 0)));
  ok(isUnderWay(rollOut("COMPLETED", 0, 0)));
  ok(!isUnderWay(rollOut("COMPLETED", 10, 0)));
  ok(!isUnderWay(rollOut("DELETED", 0, 0)));
});

test("counts name the kinds of which there are some", () => {
  equal(countsInWords({ ALARM: 1, EVENT: 1200, AUDIT: 0 }), "1 alarm, 1,200 events");
  equal(countsInWords({ ALARM: 0 }), "nothing");
});

const rule = { dataType: "EVENT", type: "*", fragmentType: "*", source: "*" } as RetentionRule;

test("a rule says which data it deletes", () => {
  equal(ruleInWords(rule), "events");
  equal(ruleInWords({ ...rule, dataType: "*", type: "a", source: "7" }), "all data with type a, source 7");
  equal(ruleInWords({ ...rule, fragmentType: "plat_B" }), "events with fragment plat_B");
});
