// Named consumers of notifications: made, watched, moved and deleted in the console, and read by another client.

import assert from "node:assert/strict";
import { basic, PASSWORD } from "../../../clients/platform.mjs";
import { eventually } from "../stage.mjs";

/** The flows have a tenant of their own, whose journal has no changes of other flows. */
const TENANT = "readers";
const AT = "/notification/consumers";
const SECRETS = { alice: "alice-secret", watcher: "watcher-secret" };
let made;
const tenant = (stage) => (made ??= makeTenant(stage));

async function makeTenant(stage) {
  const management = { Authorization: basic("management/admin") };
  await stage.fleet.call("POST", "/tenant/tenants", { id: TENANT, domain: "readers.example.com", company: "Acme", adminName: "admin", adminPass: PASSWORD, adminEmail: "a@example.com" }, management);
  const call = (method, path, body, user = "admin") => stage.fleet.call(method, path, body, { Authorization: basic(`${TENANT}/${user}`, SECRETS[user]) });
  for (const [userName, role] of [["alice", "ROLE_ALARM_READ"], ["watcher", "ROLE_USER_MANAGEMENT_READ"]]) {
    await call("POST", `/user/${TENANT}/users`, { userName, password: SECRETS[userName] });
    await call("POST", `/user/${TENANT}/users/${userName}/roles`, { role: { name: role } });
  }
  const { id } = await call("POST", "/inventory/managedObjects", { name: "pump", plat_IsDevice: {} });
  const now = () => new Date().toISOString();
  const raise = (type) => call("POST", "/alarm/alarms", { type, text: `of ${type}`, severity: "MINOR", time: now(), source: { id } });
  const report = (size) => call("POST", "/event/events", { type: "acme_Report", text: "a report", time: now(), source: { id }, acme_Content: "x".repeat(size) });
  const find = (name) => call("GET", `${AT}/${name}`);
  /** Returns the text with which the server refuses a request. */
  const refusal = async (method, path, body, user = "admin") => {
    const headers = { Authorization: basic(`${TENANT}/${user}`, SECRETS[user]), "Content-Type": "application/json", Accept: "application/json" };
    const response = await stage.fetch(path, { method, headers, body: body && JSON.stringify(body) });
    assert.ok(!response.ok, `${method} ${path} is not refused`);
    return (await response.json()).message;
  };
  return { call, raise, report, find, refusal };
}

/** The browser reports every request that the server refuses. */
const at = (stage, user = "admin") => stage.at("consumers", `${TENANT}/${user}`, SECRETS[user], { expectsCuts: true });

const row = (visitor, name) => visitor.page.getByRole("region", { name: "Consumers" }).getByRole("row").filter({ has: visitor.page.getByText(name, { exact: true }) });
const [STATE, BACKLOG, READER, RATE] = [2, 3, 4, 5];
const cell = (visitor, name, column) => row(visitor, name).getByRole("cell").nth(column);
const shows = (visitor, name, column, text) => cell(visitor, name, column).filter({ hasText: text }).waitFor();

/** Waits until the backlog of a consumer is shown as the server has it. */
const showsBacklog = (visitor, { find }, name, isMeant) =>
  eventually(`the backlog of ${name} is shown`, async () => {
    const text = await cell(visitor, name, BACKLOG).textContent();
    const { backlog, position, newest } = await find(name);
    return isMeant(backlog.notifications) && text.startsWith(`${backlog.notifications} behind ${position} of ${newest}`);
  });

/** Fills the window for a new consumer, and sends it. */
async function create(visitor, name, { channel, size }) {
  await visitor.button("New consumer").click();
  const dialog = visitor.page.getByRole("dialog", { name: "New consumer" });
  await dialog.getByLabel("Name").fill(name);
  await dialog.getByLabel("Channel").fill(channel);
  if (size) {
    await dialog.getByLabel("Size of the backlog").fill(size);
    await dialog.locator("[name=maxBytesUnit]").selectOption("kB");
  }
  await dialog.getByRole("button", { name: "Create" }).click();
  return dialog;
}

/** Opens the window that moves a consumer, and asks to move it. */
async function move(visitor, name, kind, position) {
  await visitor.button(`Move ${name}`).click();
  const dialog = visitor.page.getByRole("dialog", { name: `Move ${name}`, exact: true });
  await dialog.getByRole("combobox", { name: "To" }).selectOption(kind);
  if (position !== undefined) await dialog.getByRole("spinbutton", { name: "Position" }).fill(String(position));
  await dialog.getByRole("button", { name: "Move", exact: true }).click();
  return dialog;
}

/** Closes a window whose text was not sent. */
async function discard(visitor, dialog) {
  await dialog.getByRole("button", { name: "Close" }).click();
  await visitor.confirms("Discard");
  await dialog.waitFor({ state: "detached" });
}

export async function a_consumer_is_made_and_its_backlog_is_watched(stage) {
  const readers = await tenant(stage);
  const { call, raise, find } = readers;
  const visitor = await at(stage);
  await visitor.button("New consumer").click();
  const dialog = visitor.page.getByRole("dialog", { name: "New consumer" });
  await dialog.getByLabel("Name").fill("billing");
  const field = dialog.getByLabel("Channel");
  await field.fill("/al");
  assert.deepEqual(await dialog.locator("datalist option").evaluateAll((options) => options.map(({ value }) => value)), ["/alarms/*", "/alarms/", "/alarmsWithChildren/"]);
  await field.fill("/alarms/*");
  await field.press("Enter");
  await dialog.getByRole("button", { name: "+ /events/*" }).click();
  await dialog.getByRole("button", { name: "Remove /events/*" }).click();
  await visitor.isAccessible("the window for a new consumer");
  await dialog.getByRole("button", { name: "Create" }).click();
  await dialog.waitFor({ state: "detached" });
  await shows(visitor, "billing", STATE, "active");
  await shows(visitor, "billing", READER, "nobody");
  const { owner, channels, maxAge } = await find("billing");
  assert.deepEqual([owner, channels, maxAge], ["admin", ["/alarms/*"], 86_400]);
  await visitor.page.locator(".standing", { hasText: "read every 2 s" }).waitFor();

  for (const type of ["acme_Leak", "acme_Fire", "acme_Dust"]) await raise(type);
  await showsBacklog(visitor, readers, "billing", (number) => number >= 3);
  await shows(visitor, "billing", RATE, /^\+[\d.]+\/s$/);
  await visitor.isAccessible("the page of consumers");

  const read = (query) => call("GET", `${AT}/billing/notifications?${query}`);
  const { position, notifications } = await read("maxCount=1000");
  assert.deepEqual(notifications.map(({ data }) => data.data.type), ["acme_Leak", "acme_Fire", "acme_Dust"]);
  const held = read(`acknowledge=${position}&wait=40`);
  await shows(visitor, "billing", READER, /long polls.*127\.0\.0\.1/);
  await showsBacklog(visitor, readers, "billing", (number) => number === 0);
  await raise("acme_Flood");
  assert.equal((await held).notifications.length, 1);
  await visitor.leave();
  await call("DELETE", `${AT}/billing`);
}

export async function a_consumer_is_moved_and_deleted_after_a_question(stage) {
  const readers = await tenant(stage);
  const { call, raise, find, refusal } = readers;
  for (const name of ["office", "staying"]) await call("POST", AT, { name, channels: ["/alarms/*"] });
  await raise("acme_Moved");
  const visitor = await at(stage);
  const before = await find("office");

  const dialog = await move(visitor, "office", "now");
  await visitor.sees(/^\d+ notifications? that waited for it will not be delivered\.$/);
  await visitor.button("Cancel").click();
  await dialog.getByRole("button", { name: "Move", exact: true }).click();
  await visitor.button("Cancel").waitFor();
  assert.equal((await find("office")).position, before.position, "a question that is cancelled moves nothing");
  await visitor.confirms("Move office");
  await visitor.sees(`office goes on behind position ${before.newest}.`);
  await showsBacklog(visitor, readers, "office", (number) => number === 0);
  assert.equal((await find("staying")).position, before.position);

  await move(visitor, "office", "position", before.position);
  await visitor.sees(/^\d+ notifications? will be delivered again: \d/);
  await visitor.confirms("Move office");
  await visitor.sees(`office goes on behind position ${before.position}.`);
  await showsBacklog(visitor, readers, "office", (number) => number > 0);

  const beyond = await move(visitor, "office", "position", 999_999);
  await visitor.confirms("Move office");
  await beyond.getByRole("alert").getByText(await refusal("PUT", `${AT}/office`, { position: 999_999 }), { exact: true }).waitFor();
  assert.equal(await visitor.page.getByText("goes on behind position 999,999").count(), 0);
  await discard(visitor, beyond);

  await visitor.button("Bounds of office").click();
  const bounds = visitor.page.getByRole("dialog", { name: "Bounds of office" });
  await bounds.getByLabel("Oldest in the backlog").fill("2");
  await bounds.getByRole("button", { name: "Save" }).click();
  await bounds.waitFor({ state: "detached" });
  const { maxAge, maxBytes } = await find("office");
  assert.deepEqual([maxAge, maxBytes], [7200, before.maxBytes]);

  await visitor.button("Delete office").click();
  await visitor.sees(/^What waits for it will not be delivered: \d+ notifications?\.$/);
  await visitor.confirms("Delete consumer");
  await row(visitor, "office").waitFor({ state: "detached" });
  assert.match(await refusal("GET", `${AT}/office`), /office/);
  await row(visitor, "staying").waitFor();
  await call("DELETE", `${AT}/staying`);
  await visitor.leave();
}

export async function a_consumer_that_lapsed_says_what_it_missed(stage) {
  const { call, report, find, refusal } = await tenant(stage);
  const visitor = await at(stage);
  const tooSmall = await create(visitor, "small", { channel: "/events/*", size: "1" });
  await tooSmall.getByRole("alert").getByText(await refusal("POST", AT, { name: "small", channels: ["/events/*"], maxBytes: 1000 }), { exact: true }).waitFor();
  assert.equal(await row(visitor, "small").count(), 0, "a consumer that was refused is not shown");
  await discard(visitor, tooSmall);
  await create(visitor, "small", { channel: "/events/*", size: "66" });
  await shows(visitor, "small", STATE, "active");
  assert.equal((await find("small")).maxBytes, 66_000);

  for (let sent = 0; sent < 4; sent += 1) await report(20_000);
  await shows(visitor, "small", STATE, "lapsed");
  const notice = visitor.page.locator(".notice", { hasText: "small lapsed" });
  await eventually("it says what was missed", async () => {
    const { position, newest } = await find("small");
    return (await notice.textContent()).includes(`It has missed ${newest - position} notifications so far: ${position + 1} to ${newest}.`);
  });
  await visitor.isAccessible("a consumer that lapsed");
  const { position } = await find("small");
  const { recovered, missed } = await call("GET", `${AT}/small/notifications`);
  assert.deepEqual([recovered, missed.from], [false, position + 1]);
  await shows(visitor, "small", STATE, "active");
  await notice.waitFor({ state: "detached" });
  await call("DELETE", `${AT}/small`);
  await visitor.leave();
}

export async function consumers_of_others_are_shown_with_the_role_only(stage) {
  const { call, refusal } = await tenant(stage);
  await call("POST", AT, { name: "of-admin", channels: ["/events/*"] });
  await call("POST", AT, { name: "of-alice", channels: ["/alarms/*"] }, "alice");
  const alice = await at(stage, "alice");
  await row(alice, "of-alice").waitFor();
  assert.equal(await row(alice, "of-admin").count(), 0);
  await alice.sees("Your own ones.");
  const refused = await create(alice, "more", { channel: "/events/*" });
  await refused.getByRole("alert").getByText(await refusal("POST", AT, { name: "more", channels: ["/events/*"] }, "alice"), { exact: true }).waitFor();
  assert.deepEqual(await refused.getByRole("button", { name: /^\+ / }).allTextContents(), ["+ /alarms/*"], "only what she may have is offered");
  await discard(alice, refused);
  await alice.button("Delete of-alice").waitFor();
  await alice.leave();

  const watcher = await at(stage, "watcher");
  await row(watcher, "of-admin").waitFor();
  await row(watcher, "of-alice").getByText("of alice", { exact: true }).waitFor();
  assert.equal(await watcher.page.getByRole("button", { name: /^(Move|Bounds of|Delete) / }).count(), 0, "a watcher changes nothing");
  await watcher.leave();
  for (const name of ["of-admin", "of-alice"]) await call("DELETE", `${AT}/${name}`);
}
