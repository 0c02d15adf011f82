// Lists that come with subscriptions: that each is shown when it has arrived and not before, and why one does not come.
// The messages between the page and the server pass through the flow.

import assert from "node:assert/strict";
import { PASSWORD } from "../../../clients/platform.mjs";
import { eventually } from "../stage.mjs";

const alarm = (stage, number, text, severity = "MAJOR") => stage.fleet.alarm(stage.fleet.devices[21 + (number % 6)].id, severity, `acme_Listed${number}`, text);
const standing = (visitor) => visitor.page.locator(".sub .standing").first();
const isLive = (visitor) => visitor.page.locator(".sub .standing.live").first().waitFor();
const severity = (visitor, name) => visitor.page.getByRole("group", { name: "Severity" }).getByRole("button", { name });

/** The lists that a page requests in a message. */
const requested = (text) => JSON.parse(text).flatMap((message) => Object.entries(message.ext?.["com.platform.snapshot"] ?? {}).map(([list, query]) => ({ message, list, query })));

/** The channels whose subscriptions the server accepts in a message. */
const acceptedIn = (text) => JSON.parse(text).filter(({ channel, successful }) => channel === "/meta/subscribe" && successful).map(({ subscription }) => subscription);

/**
 * Opens a page whose messages pass through here. `lists` are the lists that it has requested, `accepted` the channels
 * that the server has accepted. While `isHeld`, what the server sends waits; while `holdsConnects`, what the page asks
 * for. `deny` returns members of the reply with which a list is denied instead of being requested.
 */
async function at(stage, page) {
  const visitor = await stage.visitor();
  const between = { visitor, lists: [], accepted: [], isHeld: false, holdsConnects: false, deny: () => ({}) };
  let waiting = [];
  const pass = (isLater, send) => (isLater ? waiting.push(send) : send());
  await visitor.page.routeWebSocket(/notification/, (socket) => {
    const server = socket.connectToServer();
    socket.onMessage((text) => {
      const wanted = requested(text);
      between.lists.push(...wanted);
      const replies = wanted.map(({ message, list, query }) => {
        const { id, subscription } = message;
        return { channel: "/meta/subscribe", id, subscription, successful: false, ...between.deny(list, query) };
      });
      const denied = replies.filter(({ error }) => error);
      if (denied.length > 0) socket.send(JSON.stringify(denied));
      for (const message of JSON.parse(text).filter(({ id }) => !denied.some((reply) => reply.id === id))) {
        pass(between.holdsConnects && message.channel === "/meta/connect", () => server.send(JSON.stringify([message])));
      }
    });
    between.cut = () => {
      [waiting, between.isHeld] = [[], false];
      server.close();
      socket.close();
    };
    server.onMessage((text) => {
      between.accepted.push(...acceptedIn(text));
      pass(between.isHeld, () => socket.send(text));
    });
  });
  between.release = () => {
    [between.isHeld, between.holdsConnects] = [false, false];
    for (const send of waiting.splice(0)) send();
  };
  await visitor.logIn("main/admin", PASSWORD, { page });
  await visitor.isLive();
  return between;
}

export async function lists_come_with_the_subscriptions_of_their_channels(stage) {
  await alarm(stage, 0, "Listed by a subscription");
  const { visitor, lists } = await at(stage, "alarms");
  const read = [];
  visitor.page.on("request", (request) => read.push(new URL(request.url()).pathname));
  await visitor.sees("Listed by a subscription");
  await isLive(visitor);
  await visitor.go("operations", "Operations");
  await isLive(visitor);
  await visitor.go("devices", "Devices");
  await isLive(visitor);
  await visitor.go(`devices/${stage.fleet.devices[0].id}`, stage.fleet.devices[0].name);
  await visitor.sees("The door was opened");
  const names = lists.map(({ list }) => list);
  assert.deepEqual(names.slice(0, 3), ["alarms", "operations", "managedObjects"]);
  assert.deepEqual(names.slice(3).sort(), ["alarms", "events", "operations"]);
  // The events with positions and the cleared alarms of the device are read beside its lists.
  assert.ok(!read.includes("/devicecontrol/operations"), "operations were read");
  await visitor.leave();
}

export async function a_list_that_is_denied_says_why_and_is_requested_again(stage) {
  await alarm(stage, 1, "Denied at first");
  const between = await at(stage, "profile");
  const { visitor } = between;
  between.deny = (list) => list === "alarms" && { error: "422::Invalid value of 'severity'" };
  await visitor.go("alarms", "Alarms");
  await visitor.page.getByRole("alert").getByText("Invalid value of 'severity'", { exact: true }).waitFor();
  assert.equal(await visitor.page.locator(".sub .standing.live").count(), 0);
  between.deny = () => ({});
  await visitor.button("Try again").click();
  await visitor.sees("Denied at first");
  await visitor.page.getByRole("alert").waitFor({ state: "detached" });
  await isLive(visitor);
  // A list that was there before is not live while the next one is denied.
  between.deny = () => ({ error: "503::more than 10000 changes came while the list was read" });
  await severity(visitor, "Critical").click();
  await visitor.sees("more than 10000 changes came while the list was read");
  assert.equal(await visitor.page.getByText("Denied at first").count(), 0, "rows of another filter");
  // A list that does not fit into the queue of the session is read.
  between.deny = () => ({ error: "413::the list of 9000000 bytes does not fit" });
  await visitor.go("alarms?type=acme_Listed1", "Alarms");
  await visitor.sees("Denied at first");
  await visitor.page.locator(".sub .standing", { hasText: /loaded \d\d:\d\d:\d\d, not live/ }).waitFor();
  between.deny = () => ({});
  await visitor.button("Load again").click();
  await isLive(visitor);
  await visitor.leave();
}

export async function a_list_that_has_not_arrived_shows_no_rows_and_is_not_live(stage) {
  await alarm(stage, 2, "Minor of the list", "MINOR");
  await alarm(stage, 3, "Warning of the list", "WARNING");
  const between = await at(stage, "alarms?type=acme_Listed9");
  const { visitor, lists } = between;
  await visitor.sees("0 alarms");
  await isLive(visitor);
  between.isHeld = true;
  await visitor.go("alarms?severity=MINOR", "Alarms");
  await eventually("the list is requested", () => lists.at(-1).query.includes("severity=MINOR"));
  await visitor.page.locator("[aria-busy=true]").waitFor();
  assert.equal(await visitor.page.locator(".sub .standing.live").count(), 0);
  // The list of the earlier filter arrives after the filter has changed.
  await visitor.page.evaluate(() => {
    window.wrong = 0;
    new MutationObserver(() => (window.wrong += document.body.textContent.includes("Minor of the list") ? 1 : 0)).observe(document.body, { subtree: true, childList: true, characterData: true });
  });
  await visitor.go("alarms?severity=WARNING", "Alarms");
  between.release();
  await visitor.sees("Warning of the list");
  await isLive(visitor);
  assert.equal(await visitor.page.evaluate("window.wrong"), 0, "rows of the earlier filter");
  assert.ok(lists.at(-1).query.includes("severity=WARNING"));
  assert.ok(await standing(visitor).isVisible());
  await visitor.leave();
}

export async function changes_behind_a_list_are_shown_with_it(stage) {
  const { id } = await alarm(stage, 4, "Changed behind the list");
  const between = await at(stage, "alarms");
  const { visitor, lists } = between;
  await visitor.sees("Changed behind the list");
  // The next notification is the last one until the page asks for more.
  between.holdsConnects = true;
  await alarm(stage, 5, "The last one for now");
  await visitor.sees("The last one for now");
  await visitor.go("alarms?type=acme_Listed4&status=ALL", "Alarms");
  await eventually("the list is sent", () => between.accepted.length >= 2);
  assert.match(lists.at(-1).query, /acme_Listed4/);
  // The page receives the list and these changes at once.
  await alarm(stage, 4, "Changed behind the list");
  await stage.fleet.call("PUT", `/alarm/alarms/${id}`, { status: "CLEARED" });
  between.release();
  const row = visitor.page.getByRole("row", { name: /Changed behind the list/ });
  await row.getByText("cleared").waitFor();
  await visitor.sees("1 alarm");
  assert.equal(await row.count(), 1);
  await isLive(visitor);
  await visitor.leave();
}

export async function a_list_is_requested_again_while_its_session_moves(stage) {
  await alarm(stage, 6, "Sent by the next server");
  const between = await at(stage, "profile");
  const { visitor, lists } = between;
  between.deny = () => lists.length < 3 && { error: "503::The session cannot be used at the moment", advice: { reconnect: "retry" } };
  await visitor.go("alarms", "Alarms");
  await visitor.sees("Sent by the next server");
  await isLive(visitor);
  assert.deepEqual(lists.map(({ list }) => list), ["alarms", "alarms", "alarms"]);
  await visitor.leave();
}

export async function a_request_whose_response_is_lost_begins_another_session(stage) {
  const between = await at(stage, "profile");
  const { visitor, lists } = between;
  visitor.expectsCuts = true;
  between.isHeld = true;
  await visitor.go("alarms", "Alarms");
  await eventually("the list is requested", () => lists.length === 1);
  between.cut();
  await visitor.sees("The connection was interrupted. The lists were loaded again.");
  await isLive(visitor);
  assert.equal(lists.length, 2);
  await visitor.leave();
}

/** Ends all sessions of the tenant. The next message of a page is answered with 402. */
async function endSessions({ fleet }) {
  const { sessions } = await fleet.call("GET", "/tenant/sessions?pageSize=2000");
  for (const { id } of sessions) {
    // The session of a window that has closed may end by itself meanwhile.
    await fleet.call("DELETE", `/tenant/sessions/${id}`).catch((error) => assert.match(error.message, / 404: /));
  }
}

export async function a_list_comes_again_unless_the_next_session_is_denied_it(stage) {
  await alarm(stage, 8, "In each list");
  const between = await at(stage, "alarms");
  const { visitor, lists } = between;
  visitor.expectsCuts = true;
  await visitor.sees("In each list");
  await endSessions(stage);
  await eventually("the list is requested again", () => lists.length === 2);
  await isLive(visitor);
  between.deny = () => ({ error: "403::subscribe_denied" });
  const read = visitor.page.waitForResponse(/\/alarm\/alarms\?/);
  await endSessions(stage);
  await eventually("the list is requested once more", () => lists.length === 3);
  await (await read).finished();
  await visitor.page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 300)));
  await visitor.page.locator(".sub .standing", { hasText: /loaded \d\d:\d\d:\d\d, not live/ }).waitFor();
  await visitor.sees("In each list");
  await visitor.leave();
}

export async function figures_follow_the_list_that_shows_their_changes(stage) {
  const between = await at(stage, "profile");
  const { visitor } = between;
  const card = (title) => visitor.page.locator(".card", { has: visitor.page.getByRole("heading", { name: title, exact: true }) });
  let counts = 0;
  visitor.page.on("request", (request) => (counts += request.url().includes("/alarm/alarms/count") ? 1 : 0));
  between.deny = () => ({ error: "503::there were too many changes" });
  await visitor.go("overview", "Overview");
  await card("What is wrong now").getByText("there were too many changes").waitFor();
  // The channel of the list is subscribed without it.
  await card("Open alarms").locator(".standing.live").waitFor();
  const before = counts;
  between.deny = () => ({});
  await visitor.button("Try again").click();
  await card("What is wrong now").locator(".standing.live").waitFor();
  // The server sends no notification of a change that the list shows.
  await eventually("the figures are read again", () => counts >= before + 4);
  await card("Open alarms").locator(".standing.live").waitFor();
  await visitor.leave();
}

export async function a_list_without_notifications_is_read_and_not_live(stage) {
  await alarm(stage, 7, "Read without a session");
  const visitor = await stage.visitor();
  visitor.expectsCuts = true;
  await visitor.page.routeWebSocket(/notification/, (socket) => socket.close());
  await visitor.page.route(/\/notification\//, (route) => route.abort());
  await visitor.logIn("main/admin", PASSWORD, { page: "alarms" });
  await visitor.sees("Read without a session");
  await visitor.page.locator(".sub .standing", { hasText: /loaded \d\d:\d\d:\d\d, not live/ }).waitFor();
  await visitor.page.unrouteAll({ behavior: "ignoreErrors" });
  await visitor.leave();
}

export async function a_list_of_which_a_user_may_read_some_changes_only_is_read_and_not_live(stage) {
  const { id } = await stage.fleet.call("POST", "/inventory/managedObjects", { name: "a tracker", plat_IsDevice: {} });
  const report = (text, more) => stage.fleet.call("POST", "/event/events", { type: "acme_Report", text, time: new Date().toISOString(), source: { id }, ...more });
  await report("A place", { plat_Position: { lat: 50, lng: 7 } });
  await report("A secret");
  const devicePermissions = { [id]: ["EVENT:plat_Position:READ", "MANAGED_OBJECT:*:READ"] };
  await stage.fleet.call("POST", "/user/main/users", { userName: "tracker", password: "tracker-secret", devicePermissions });
  const visitor = await stage.visitor();
  // The other lists of the device are refused.
  visitor.expectsCuts = true;
  await visitor.logIn("main/tracker", "tracker-secret", { page: `devices/${id}` });
  const card = (title) => visitor.page.locator(".card", { has: visitor.page.getByRole("heading", { level: 2, name: title, exact: true }) });
  await card("Events").getByText("A place").waitFor();
  await card("Events").locator(".standing", { hasText: /loaded \d\d:\d\d:\d\d, not live/ }).waitFor();
  assert.equal(await visitor.page.getByText("A secret").count(), 0);
  await card("Operations").getByText("Access is denied").waitFor();
  await visitor.leave();
  await stage.fleet.call("DELETE", `/inventory/managedObjects/${id}`);
}
