// Why a notification did not arrive: the page with the findings and the traces, for an administrator and for others.

import assert from "node:assert/strict";
import { basic, PASSWORD } from "../../../clients/platform.mjs";
import { eventually } from "../stage.mjs";

const FILTER = "severity eq 'CRITICAL'";
const TRACES = "/notification/traces";

/** The browser reports every request that the server refuses, such as that for the records of a trace that has ended. */
const at = (stage, page = "why", user = "main/admin", password = PASSWORD) => stage.at(page, user, password, { expectsCuts: true });

const card = (visitor, title) => visitor.page.getByRole("region", { name: title, exact: true });
const findings = (visitor) => visitor.page.getByRole("list", { name: "Findings" });
const finding = (visitor, cause) => findings(visitor).getByRole("listitem").filter({ has: visitor.page.getByText(cause, { exact: true }) });
const records = (visitor) => visitor.page.getByRole("list", { name: /^Records/ });
const rowOf = (visitor, subject) => visitor.page.getByRole("region", { name: "Traces", exact: true }).getByRole("row", { name: subject });
const running = async (stage) => (await stage.fleet.call("GET", TRACES)).traces;

/** Ends the traces of a flow, so that the next one begins without any. */
async function endAll(stage) {
  for (const { id } of await running(stage)) await stage.fleet.call("DELETE", `${TRACES}/${id}`);
}

/** Creates a device and a user who may receive its alarms, neither of which another flow has. */
async function makePair(stage, name) {
  await endAll(stage);
  const { id } = await stage.fleet.call("POST", "/inventory/managedObjects", { name, plat_IsDevice: {} });
  await stage.fleet.user(name, PASSWORD, ["ROLE_ALARM_READ"]);
  return { id, user: name };
}

/** Opens a session that is subscribed with a filter and holds a connect until it is ended. */
async function subscribe(stage, user, subscription, filter) {
  const headers = { Authorization: basic(`main/${user}`, PASSWORD), "Content-Type": "application/json" };
  const send = async (message, signal) => (await (await stage.fetch("/notification/realtime", { method: "POST", headers, body: JSON.stringify([message]), signal })).json())[0];
  const { clientId } = await send({ channel: "/meta/handshake", version: "1.0", supportedConnectionTypes: ["long-polling"] });
  const reply = await send({ channel: "/meta/subscribe", clientId, subscription, ext: { "com.platform.filter": filter } });
  assert.ok(reply.successful, reply.error);
  const connect = { channel: "/meta/connect", clientId, connectionType: "long-polling" };
  await send({ ...connect, advice: { timeout: 0 } });
  const abort = new AbortController();
  const held = send(connect, abort.signal).catch(() => undefined);
  return { end: () => (abort.abort(), held) };
}

/** Begins a trace on the page. `subject` is the text of its choice. */
async function begin(visitor, subject) {
  await visitor.page.getByLabel(/^Trace of/).selectOption({ label: subject });
  await visitor.button("Begin a trace").last().click();
}

export async function a_filter_explains_why_an_alarm_did_not_arrive(stage) {
  const { id, user } = await makePair(stage, "deaf");
  const session = await subscribe(stage, user, `/alarms/${id}`, FILTER);
  const visitor = await at(stage, `devices/${id}`);
  await visitor.page.getByRole("main").getByRole("link", { name: "Why is it quiet?" }).click();
  await visitor.page.getByRole("heading", { level: 1, name: "Why is it quiet?" }).waitFor();
  const field = visitor.page.getByLabel("Id of what changed");
  assert.equal(await field.inputValue(), id, "the device is filled in");
  await begin(visitor, `the device of ${id}`);
  await rowOf(visitor, `the device ${id}`).getByText("admin").waitFor();

  const alarm = await stage.fleet.alarm(id, "MINOR", "acme_Quiet", "It drips");
  await field.fill(alarm.id);
  await visitor.page.getByLabel("Name of the user").fill(user);
  await visitor.button("Explain").click();
  await finding(visitor, "filter").getByText(FILTER).waitFor();
  assert.equal(await finding(visitor, "filter").locator(".mark.status-failed").count(), 1);
  assert.equal(await finding(visitor, "published").locator(".mark.status-done").count(), 1);
  await finding(visitor, "session").getByText("now", { exact: true }).waitFor();
  await visitor.isAccessible("findings and a running trace");

  await begin(visitor, `the device of ${alarm.id}`);
  await eventually("its device is traced once more", async () => (await rowOf(visitor, `the device ${id}`).count()) === 2);

  // The address has the question, so that it can be passed on.
  await visitor.page.reload();
  await finding(visitor, "filter").waitFor();

  await visitor.page.getByLabel(/^Receiver/).selectOption("consumer");
  await visitor.page.getByLabel("Name of the consumer").fill("nobody");
  await visitor.button("Explain").click();
  await card(visitor, "Findings").getByRole("alert").getByText(/No consumer for gid 'nobody'/).waitFor();
  await session.end();
  await endAll(stage);
  await visitor.leave();
}

export async function records_of_a_device_appear_while_a_trace_runs(stage) {
  const { id } = await makePair(stage, "watched");
  const visitor = await at(stage, `why?id=${id}`);
  await begin(visitor, `the device of ${id}`);
  const shown = card(visitor, `Records of the device ${id}`);
  await shown.getByText("read every 1 s").waitFor();
  const raise = (type) => stage.fleet.alarm(id, "MINOR", type, "It drips");
  const stored = (alarm) => records(visitor).getByText(`CREATE of ${alarm.id} on /alarms/${id} was stored`);
  const first = await raise("acme_First");
  await stored(first).waitFor();
  const second = await raise("acme_Second");
  await stored(second).waitFor();
  assert.equal(await stored(first).count(), 1, "a record is shown once");
  const texts = await records(visitor).getByRole("listitem").allTextContents();
  const placeOf = (alarm) => texts.findIndex((text) => text.includes(`CREATE of ${alarm.id}`));
  assert.ok(placeOf(second) < placeOf(first), "the newest is the first");
  await visitor.isAccessible("records of a trace");

  await asksOnlyWhileVisible(visitor);
  await visitor.button(`End the trace of the device ${id}`).click();
  await eventually("the server has no trace", async () => (await running(stage)).length === 0);
  await shown.getByText("This trace has ended.").waitFor();
  assert.equal(await shown.locator(".standing.read, .standing.live").count(), 0, "it does not look live");
  await shown.getByText("ended", { exact: true }).waitFor();
  assert.equal(await stored(first).count(), 1, "what was recorded is still there");
  await rowOf(visitor, `the device ${id}`).waitFor({ state: "detached" });
  await eventually("the focus stays in the card", () => visitor.page.evaluate(() => document.activeElement.textContent.startsWith("Running traces")));
  await visitor.leave();
}

/** Asserts that a hidden page asks for no records, and a visible one does. */
async function asksOnlyWhileVisible({ page }) {
  const isAsked = (request) => request.url().includes("/records");
  const hide = (hidden) => page.evaluate((value) => Object.defineProperty(document, "hidden", { configurable: true, get: () => value }), hidden);
  await page.waitForRequest(isAsked);
  await hide(true);
  // A request that was on its way may still end; after it there is none.
  await page.waitForRequest(isAsked, { timeout: 1_000 }).catch(() => undefined);
  const more = await page.waitForRequest(isAsked, { timeout: 2_500 }).catch(() => undefined);
  assert.equal(more, undefined, "a hidden page asks for nothing");
  await hide(false);
  await page.waitForRequest(isAsked);
}

export async function without_the_role_nobody_asks_why_it_is_quiet(stage) {
  const { id, user } = await makePair(stage, "curious");
  await stage.fleet.call("POST", `/user/main/users/${user}/roles`, { role: { name: "ROLE_INVENTORY_READ" } });
  const visitor = await at(stage, `devices/${id}`, `main/${user}`);
  await visitor.page.getByRole("heading", { level: 1, name: "curious" }).waitFor();
  const link = visitor.page.getByRole("link", { name: "Why is it quiet?" });
  await visitor.page.getByRole("link", { name: "Alarms", exact: true }).first().waitFor();
  assert.equal(await link.count(), 0, "neither the menu nor the device has it");
  await visitor.go(`why?id=${id}`, "Why is it quiet?");
  await visitor.page.getByRole("alert").getByText("Access is denied.").waitFor();
  assert.equal(await visitor.button("Explain").count() + await visitor.button("Begin a trace").count(), 0);
  await visitor.isAccessible("a page that is denied");
  await visitor.leave();

  const admin = await at(stage, "overview");
  await admin.page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Why is it quiet?" }).click();
  await admin.button("Explain").waitFor();
  await admin.leave();
}

export async function without_a_trace_the_page_offers_to_begin_one(stage) {
  const { id, user } = await makePair(stage, "untraced");
  const visitor = await at(stage, "why");
  await visitor.button("Find a device").click();
  const dialog = visitor.page.getByRole("dialog", { name: "Find a device" });
  await dialog.getByLabel("Find a device").fill("untraced");
  await dialog.getByRole("option", { name: `untraced (${id})` }).waitFor({ state: "attached" });
  await dialog.getByRole("combobox").selectOption(id);
  await dialog.getByRole("button", { name: "Choose" }).click();
  await visitor.page.getByLabel("Name of the user").fill(user);
  await visitor.button("Explain").click();
  await finding(visitor, "not traced").waitFor();
  assert.equal(await rowOf(visitor, `the user ${user}`).count(), 0);

  await visitor.button("Begin a trace and try again").click();
  await rowOf(visitor, `the user ${user}`).waitFor();
  await finding(visitor, "no change").waitFor();
  assert.equal(await finding(visitor, "not traced").count(), 0);
  assert.equal(await visitor.button("Begin a trace and try again").count(), 0);
  const [trace] = await running(stage);
  assert.deepEqual([trace.user, Date.parse(trace.endTime) - Date.parse(trace.creationTime)], [user, 600_000]);

  const alarm = await stage.fleet.alarm(id, "MINOR", "acme_Quiet", "It drips");
  await visitor.button("Explain").click();
  await finding(visitor, "published").getByText(alarm.id).waitFor();
  await finding(visitor, "no session").getByText("now", { exact: true }).waitFor();
  await endAll(stage);
  await visitor.leave();
}

export async function a_trace_with_many_records_shows_the_newest(stage) {
  const { id } = await makePair(stage, "talkative");
  const visitor = await at(stage, `why?id=${id}`);
  await begin(visitor, `the device of ${id}`);
  await card(visitor, `Records of the device ${id}`).getByText("read every 1 s").waitFor();
  const measurements = Array.from({ length: 300 }, (_, index) => stage.fleet.measurement(id, Date.now() - index));
  await stage.fleet.call("POST", "/measurement/measurements", { measurements });
  await visitor.sees("the last 500 of 600, older ones are dropped");
  assert.equal(await records(visitor).getByRole("listitem").count(), 500);
  await endAll(stage);
  await visitor.leave();
}

export async function servers_that_are_silent_are_named_beside_what_others_tell(stage) {
  const { id, user } = await makePair(stage, "far");
  const visitor = await at(stage, `why?id=${id}&user=${user}`);
  const silence = async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), missingServers: ["east"] } });
  };
  for (const address of ["**/notification/diagnosis?*", "**/notification/traces/*/records*"]) await visitor.page.route(address, silence);
  await visitor.button("Load again").first().click();
  await card(visitor, "Findings").getByText("These servers did not respond, and their records and sessions are missing: east.").waitFor();
  await begin(visitor, `the user ${user}`);
  await card(visitor, `Records of the user ${user}`).getByText("These servers did not respond, and their records are missing: east.").waitFor();
  await endAll(stage);
  await visitor.leave();
}
