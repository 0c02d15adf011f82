import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import { channelsLike, OF_ALL, ofAllFor, withChannel } from "../src/values/channels";

test("a begin of a channel is completed by the kinds", () => {
  deepEqual(channelsLike("/al"), ["/alarms/*", "/alarms/", "/alarmsWithChildren/"]);
  deepEqual(channelsLike("meas"), ["/measurements/*", "/measurements/"]);
  deepEqual(channelsLike("/EVENTSw"), ["/eventsWithChildren/"]);
  deepEqual(channelsLike("/alarms/"), ["/alarms/*"]);
});

test("a channel that is complete or of no kind is not completed", () => {
  deepEqual(["/alarms/*", "/alarms/4711", "/module/statement"].flatMap(channelsLike), []);
});

test("nothing typed offers every kind", () => {
  deepEqual(
    channelsLike(" ").filter((one) => one.endsWith("*")),
    OF_ALL,
  );
});

test("only kinds for which the user has the role are offered at once", () => {
  deepEqual(
    ofAllFor((role) => role === "ROLE_ALARM_READ"),
    ["/alarms/*"],
  );
  deepEqual(
    ofAllFor((role) => role === "ROLE_DEVICE_CONTROL_READ"),
    ["/operations/*"],
  );
  deepEqual(
    ofAllFor(() => false),
    [],
  );
});

test("a channel is added once, and nothing typed adds none", () => {
  deepEqual(withChannel(["/alarms/*"], " /events/7 "), ["/alarms/*", "/events/7"]);
  deepEqual(withChannel(["/alarms/*"], "/alarms/*"), ["/alarms/*"]);
  deepEqual(withChannel(["/alarms/*"], "  "), ["/alarms/*"]);
});
