import { deepEqual, equal, throws } from "node:assert/strict";
import { test } from "node:test";
import { heldBy, permissionInWords, permissionsOf, roleInWords } from "../src/values/permissions";

test("a role is said without its prefix", () => equal(roleInWords("ROLE_DEVICE_CONTROL_READ"), "device control read"));

test("a permission says what may be done with what", () => {
  equal(permissionInWords("ALARM:*:READ"), "alarm read");
  equal(permissionInWords("EVENT:plat_Position:*"), "event with plat_Position, read and write");
  equal(permissionInWords("*:*:ADMIN"), "everything write");
  equal(permissionInWords("MANAGED_OBJECT:*:OTHER"), "managed object OTHER");
});

test("permissions are read line by line", () => {
  deepEqual(permissionsOf(" 4711 : ALARM:*:READ , EVENT:*:READ,\n\n12:*:*:*\n"), {
    4711: ["ALARM:*:READ", "EVENT:*:READ"],
    12: ["*:*:*"],
  });
  deepEqual(permissionsOf("  \n"), {});
});

test("a line without the id of a device is named", () => {
  for (const line of ["ALARM:*:READ", "47a: ALARM:*:READ", "4711"]) {
    throws(
      () => permissionsOf(`1: ALARM:*:READ\n${line}`),
      new RegExp(`"${line.replaceAll("*", "\\*")}" does not begin`),
    );
  }
});

test("the permissions of groups are held, with their origin", () => {
  const held = heldBy({ 1: ["*:*:*"] }, [
    { name: "crew", devicePermissions: { 1: ["ALARM:*:READ"], 2: [] } },
    { name: "all" },
  ]);
  deepEqual(held, [
    { id: "1", permissions: ["*:*:*"], from: "your own" },
    { id: "1", permissions: ["ALARM:*:READ"], from: "group crew" },
    { id: "2", permissions: [], from: "group crew" },
  ]);
});
