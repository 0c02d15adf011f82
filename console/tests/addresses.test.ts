import { deepEqual, equal, throws } from "node:assert/strict";
import { test } from "node:test";
import { link, path, pathOf, routeOf, withQuery } from "../src/values/addresses";

test("a value stays one segment of a path", () => {
  equal(path`/user/${"main"}/users/${"a/b?c#d e"}`, "/user/main/users/a%2Fb%3Fc%23d%20e");
  equal(path`/alarm/alarms/${4711}`, "/alarm/alarms/4711");
});

test("a value that would lead elsewhere is no segment", () => {
  for (const value of ["", ".", "..", undefined]) throws(() => path`/alarm/alarms/${value}`, /cannot be part/);
  equal(path`/a/${"..."}`, "/a/...");
});

test("parameters without a value are left out", () => {
  equal(withQuery("/a", {}), "/a");
  equal(withQuery("/a", { type: "", source: undefined }), "/a");
  equal(
    withQuery("/a", { pageSize: 5, revert: false, type: "a&b=c+d" }),
    "/a?pageSize=5&revert=false&type=a%26b%3Dc%2Bd",
  );
});

test("a link of the server is followed at the host of the page", () => {
  equal(pathOf("https://other.example/alarm/alarms?after=7&pageSize=5"), "/alarm/alarms?after=7&pageSize=5");
  equal(pathOf("/alarm/alarms?after=7"), "/alarm/alarms?after=7");
});

test("the address of a page has its words and filters", () => {
  const address = link(["devices", "a/b"], { q: "name eq 'ä&b'", group: "", type: undefined });
  equal(address, "#/devices/a%2Fb?q=name+eq+%27%C3%A4%26b%27");
  const { words, params } = routeOf(address);
  deepEqual(words, ["devices", "a/b"]);
  deepEqual([...params], [["q", "name eq 'ä&b'"]]);
});

test("an address that nobody made is a page nevertheless", () => {
  for (const hash of ["", "#", "#/", "#//"]) deepEqual(routeOf(hash).words, []);
  deepEqual(routeOf("#devices/%E0%A4%A").words, ["devices", "%E0%A4%A"]);
});
