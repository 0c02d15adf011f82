// What the server calls otherwise, in words for people.

import type { RetentionRule, Severity } from "../reference";
import type { AuditRecord, BulkOperation } from "../types";

/** Returns what a record of the audit log says about changed members. */
export const changesOf = (one: AuditRecord) =>
  one.changes
    .map((change) => `${change.attribute}: ${show(change.previousValue)} → ${show(change.newValue)}`)
    .join(", ");

const show = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value ?? null));

/** Members of an operation that do not describe its task. */
export const OPERATION_MEMBERS = new Set([
  "id",
  "self",
  "creationTime",
  "deviceId",
  "deviceName",
  "status",
  "failureReason",
  "bulkOperationId",
  "description",
  "deviceExternalIDs",
  "delivery",
]);

/** Returns a short title of an operation. */
export const titleOf = (operation: Record<string, unknown>) =>
  (operation.description as string) ||
  Object.keys(operation)
    .filter((name) => !OPERATION_MEMBERS.has(name))
    .map((name) => name.replace(/^plat_/, ""))
    .join(", ") ||
  "Operation";

/** Returns whether a roll-out still creates operations, or waits for their ends. */
export const isUnderWay = (one: BulkOperation) => one.status === "ACTIVE" || stateOfRollOut(one) === "EXECUTING";

/**
 * Returns the shown state. The server's COMPLETED means that every operation was created; people want to know whether
 * they are done.
 */
export function stateOfRollOut({ status, progress }: BulkOperation): string {
  if (status !== "COMPLETED") return status;
  return progress.successful + progress.failed >= progress.all ? "COMPLETED" : "EXECUTING";
}

/** The kinds of data that a retention rule may delete. */
export const DATA_KINDS: [string, string][] = [
  ["*", "all data"],
  ["MEASUREMENT", "measurements"],
  ["EVENT", "events"],
  ["ALARM", "cleared alarms"],
  ["OPERATION", "ended operations"],
  ["AUDIT", "audit records"],
];

/** Returns the kinds of which there are some, with their numbers. */
export const countsInWords = (of: Record<string, number>) =>
  Object.entries(of)
    .filter(([, number]) => number > 0)
    .map(([kind, number]) => `${number.toLocaleString()} ${kind.toLowerCase()}${number === 1 ? "" : "s"}`)
    .join(", ") || "nothing";

/** Returns which data a retention rule deletes. */
export const ruleInWords = (rule: RetentionRule) => {
  const parts = Object.entries({ type: rule.type, fragment: rule.fragmentType, source: rule.source });
  const given = parts.filter(([, value]) => value !== "*").map((part) => part.join(" "));
  const kind = DATA_KINDS.find(([kind]) => kind === rule.dataType)?.[1] ?? rule.dataType;
  return given.length === 0 ? kind : `${kind} with ${given.join(", ")}`;
};

export const SEVERITIES: Severity[] = ["CRITICAL", "MAJOR", "MINOR", "WARNING"];

/** The availabilities of devices that are watched. */
export const AVAILABILITIES = ["AVAILABLE", "UNAVAILABLE", "MAINTENANCE"] as const;
