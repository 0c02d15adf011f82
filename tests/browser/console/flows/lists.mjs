// Every list says what it is: live or not, whole or a part. It ends where the server's list ends.

import assert from "node:assert/strict";
import { basic, PASSWORD } from "../../../clients/platform.mjs";
import { eventually } from "../stage.mjs";

const TENANT = "crowd";
/** More alarms than two pages of a list, and than the server examines for one page of a narrow user (P-07). */
const ALARMS = 1100;
const AT_ONCE = 20;
const at = (stage, page, user, password) => stage.at(page, user, password);
const standing = (visitor, text) => visitor.page.locator(".sub .standing", { hasText: text }).first().waitFor();

/** Does something for each number below `size`, a few at a time. */
async function each(size, act) {
  let next = 0;
  const work = async () => {
    while (next < size) await act(next++);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

/** A tenant with many alarms of one device, and a user who sees only another device, whose alarms are older. */
let made;
const crowd = (stage) => (made ??= makeCrowd(stage));

async function makeCrowd(stage) {
  const { fleet } = stage;
  const management = { Authorization: basic("management/admin") };
  await fleet.call("POST", "/tenant/tenants", { id: TENANT, domain: "crowd.example.com", company: "Acme", adminName: "admin", adminPass: PASSWORD, adminEmail: "a@example.com" }, management);
  const call = (method, path, body) => fleet.call(method, path, body, { Authorization: basic(`${TENANT}/admin`) });
  const device = (name) => call("POST", "/inventory/managedObjects", { name, plat_IsDevice: {} });
  const raise = (source, type, severity = "MINOR") => call("POST", "/alarm/alarms", { type, text: `of ${type}`, severity, time: new Date().toISOString(), source: { id: source } });
  const [own, others] = [await device("own pump"), await device("pump of others")];
  for (const type of ["acme_Leak", "acme_Fire", "acme_Dust"]) await raise(own.id, type, "CRITICAL");
  await each(ALARMS, (index) => raise(others.id, `acme_Noise${index}`));
  const permissions = ["ALARM:*:READ", "MANAGED_OBJECT:*:READ", "OPERATION:*:READ"];
  await call("POST", `/user/${TENANT}/users`, { userName: "narrow", password: "narrow-secret", devicePermissions: { [own.id]: permissions } });
  return { call, raise, own: own.id, others: others.id };
}

/** Makes the pages of a list so small that the server examines fewer alarms than there are. */
const withSmallPages = (visitor) => visitor.page.route(/\/alarm\/alarms\?.*pageSize=500/, (route) => route.continue({ url: route.request().url().replace("pageSize=500", "pageSize=20") }));

export async function a_user_with_rights_for_one_device_has_whole_and_live_lists(stage) {
  const { raise, own } = await crowd(stage);
  const visitor = await stage.visitor();
  await withSmallPages(visitor);
  await visitor.logIn(`${TENANT}/narrow`, "narrow-secret", { page: "alarms" });
  await visitor.isLive();
  for (const text of ["of acme_Leak", "of acme_Fire", "of acme_Dust", "3 alarms"]) await visitor.sees(text);
  await standing(visitor, "live");
  await raise(own, "acme_Flood", "CRITICAL");
  await visitor.sees("of acme_Flood");
  await visitor.sees("4 alarms");
  await visitor.go("devices", "Devices");
  await visitor.sees("1 device");
  await standing(visitor, "live");
  await visitor.go("overview", "Overview");
  await visitor.page.locator(".tile .figure", { hasText: /^1$/ }).waitFor();
  await visitor.page.locator(".severities .figure", { hasText: /^4$/ }).waitFor();
  await visitor.sees("No device is watched");
  await visitor.isAccessible("the overview of a user with rights for one device");
  await visitor.leave();
}

export async function a_list_is_not_live_for_a_user_with_rights_for_a_group(stage) {
  const { call, own } = await crowd(stage);
  const group = await call("POST", "/inventory/managedObjects", { name: "own group", type: "plat_DeviceGroup", plat_IsDeviceGroup: {} });
  await call("POST", `/inventory/managedObjects/${group.id}/childAssets`, { managedObject: { id: own } });
  await call("POST", `/user/${TENANT}/users`, { userName: "grouped", password: "grouped-secret", devicePermissions: { [group.id]: ["ALARM:*:READ"] } });
  const visitor = await at(stage, "alarms", `${TENANT}/grouped`, "grouped-secret");
  await visitor.sees("of acme_Leak");
  await standing(visitor, /loaded \d\d:\d\d:\d\d/);
  assert.equal(await visitor.page.locator(".sub .standing.live").count(), 0);
  await visitor.leave();
}

export async function rights_for_a_device_may_come_from_a_group_of_users(stage) {
  const { call, raise, own } = await crowd(stage);
  const { id, self } = await call("POST", `/user/${TENANT}/groups`, { name: "leak watchers", devicePermissions: { [own]: ["ALARM:*:READ"] } });
  assert.ok(self);
  const member = await call("POST", `/user/${TENANT}/users`, { userName: "member", password: "member-secret" });
  await call("POST", `/user/${TENANT}/groups/${id}/users`, { user: { self: member.self } });
  const visitor = await at(stage, "overview", `${TENANT}/member`, "member-secret");
  await visitor.page.getByRole("link", { name: "Alarms", exact: true }).click();
  await visitor.sees("of acme_Leak");
  await standing(visitor, "live for 1 device only");
  await raise(own, "acme_Late", "CRITICAL");
  await visitor.sees("of acme_Late");
  await visitor.leave();
}

export async function a_user_without_rights_gets_an_explanation(stage) {
  await crowd(stage).then(({ call }) => call("POST", `/user/${TENANT}/users`, { userName: "nobody", password: "nobody-secret" }));
  const visitor = await at(stage, "overview", `${TENANT}/nobody`, "nobody-secret");
  await visitor.sees("You have no rights for data of this tenant.");
  assert.equal(await visitor.page.getByRole("link", { name: "Server", exact: true }).count(), 0);
  await visitor.leave();
}

export async function a_list_reaches_its_end_while_its_begin_is_cleared(stage) {
  const { call, own } = await crowd(stage);
  const visitor = await at(stage, "alarms", `${TENANT}/admin`);
  await visitor.isLive();
  const total = async () => (await call("GET", "/alarm/alarms?resolved=false&pageSize=1&withTotalPages=true")).statistics.totalPages;
  const before = await total();
  await visitor.sees(`500 of ${before.toLocaleString("en")} alarms`);
  const clear = async (number) => {
    const { alarms } = await call("GET", `/alarm/alarms?resolved=false&pageSize=${number}`);
    await each(number, (index) => call("PUT", `/alarm/alarms/${alarms[index].id}`, { status: "CLEARED" }));
  };
  const table = visitor.page.getByRole("table", { name: "Alarms" });
  const scroll = () => table.evaluate((box) => (box.scrollTop = box.scrollHeight));
  // What was sent with the subscription gets shorter, and then the pages that were loaded behind it.
  await clear(50);
  const reach = (box) => document.querySelector(".sub [aria-live]").textContent.startsWith("1,000 of") || void (box.scrollTop = box.scrollHeight);
  await eventually("the next page", () => table.evaluate(reach));
  await clear(100);
  await eventually("the end of the list", async () => {
    await scroll();
    return visitor.page.getByText("of acme_Leak").first().isVisible();
  });
  assert.equal(await total(), before - 150);
  await visitor.sees(`${(before - 150).toLocaleString("en")} alarms`);
  assert.equal(await visitor.page.locator(".partial").count(), 0);
  assert.ok(own);
  await visitor.leave();
}

export async function a_page_that_cannot_be_loaded_is_named_and_tried_again(stage) {
  await crowd(stage);
  const visitor = await at(stage, "alarms?status=ALL", `${TENANT}/admin`);
  visitor.expectsCuts = true;
  await visitor.sees(/500 of 1,1\d\d alarms/);
  await visitor.page.route(/currentPage=2/, (route) => route.abort(), { times: 1 });
  const table = visitor.page.getByRole("table", { name: "Alarms" });
  await table.evaluate((box) => (box.scrollTop = box.scrollHeight));
  await visitor.page.getByRole("alert").filter({ hasText: "The next rows could not be loaded" }).waitFor();
  await visitor.sees(/500 of 1,1\d\d alarms/);
  await visitor.button("Try again").click();
  await visitor.sees(/1,000 of 1,1\d\d alarms/);
  await visitor.leave();
}

export async function the_card_of_a_device_shows_an_old_alarm_that_is_still_open(stage) {
  const { id } = await stage.fleet.call("POST", "/inventory/managedObjects", { name: "with a leak", plat_IsDevice: {}, com_platform_model_Agent: {} });
  await stage.fleet.alarm(id, "CRITICAL", "acme_Gas", "Gas leak, still open");
  await each(60, async (index) => {
    const { id: door } = await stage.fleet.alarm(id, "MINOR", `acme_Door${index}`, "A door was open");
    await stage.fleet.call("PUT", `/alarm/alarms/${door}`, { status: "CLEARED" });
  });
  await each(110, () => stage.fleet.operation(id));
  await stage.fleet.operation(id, { description: "The newest", plat_Restart: {} });
  const visitor = await at(stage, `devices/${id}`);
  const card = (title) => visitor.page.locator(".card", { has: visitor.page.getByRole("heading", { level: 2, name: title, exact: true }) });
  await card("Alarms").getByText("Gas leak, still open").waitFor();
  await card("Alarms").getByText("1 open alarm", { exact: true }).waitFor();
  await card("Operations").getByText("The newest").waitFor();
  await card("Operations").getByRole("link", { name: "All 111 operations" }).click();
  await visitor.sees("111 operations");
  await visitor.go(`devices/${id}`, "with a leak");
  await card("Alarms").getByRole("link", { name: "All alarms" }).click();
  await visitor.sees("61 alarms");
  await visitor.leave();
  await stage.fleet.call("DELETE", `/inventory/managedObjects/${id}`);
}

export async function the_events_of_a_device_are_counted_and_shown_to_the_last(stage) {
  const { id } = await stage.fleet.call("POST", "/inventory/managedObjects", { name: "a chatterer", plat_IsDevice: {} });
  // More than the card shows at first, than a click adds, and than a page of the list has.
  await each(130, (index) => stage.fleet.event(id, `Report ${index}`));
  const visitor = await at(stage, `devices/${id}`);
  const card = visitor.page.locator(".card", { has: visitor.page.getByRole("heading", { level: 2, name: "Events", exact: true }) });
  const rows = card.locator("ul.rows > li");
  for (const [shown, text] of [[12, "12 of 130 events"], [62, "62 of 130 events"], [112, "112 of 130 events"]]) {
    await card.getByText(text, { exact: true }).first().waitFor();
    assert.equal(await rows.count(), shown);
    await card.getByRole("button", { name: "Show more events" }).click();
  }
  await card.getByText("130 events", { exact: true }).waitFor();
  assert.equal(await rows.count(), 130);
  await stage.fleet.event(id, "The newest report");
  await card.getByText("131 events", { exact: true }).waitFor();
  await card.getByText("The newest report").waitFor();
  await visitor.leave();
  await stage.fleet.call("DELETE", `/inventory/managedObjects/${id}`);
}

export async function a_filtered_list_of_devices_changes_with_its_devices(stage) {
  const visitor = await at(stage, "devices?availability=MAINTENANCE");
  await visitor.sees("pump 005");
  const { id } = await stage.fleet.call("POST", "/inventory/managedObjects", { name: "aa repaired", plat_IsDevice: {}, plat_RequiredAvailability: { responseInterval: -1 } });
  await visitor.sees("aa repaired");
  await standing(visitor, "live");
  await stage.fleet.call("PUT", `/inventory/managedObjects/${id}`, { plat_RequiredAvailability: { responseInterval: 30 } });
  await visitor.page.getByText("aa repaired").waitFor({ state: "detached" });
  await visitor.leave();
}

export async function a_whole_list_is_saved_as_a_file(stage) {
  await crowd(stage);
  const visitor = await at(stage, "alarms?status=ALL&severity=MINOR", `${TENANT}/admin`);
  await visitor.sees("500 of 1,100 alarms");
  const [file] = await Promise.all([visitor.page.waitForEvent("download"), visitor.button("Save all alarms as CSV").click()]);
  const chunks = [];
  for await (const chunk of await file.createReadStream()) chunks.push(chunk);
  const lines = Buffer.concat(chunks).toString().trim().split("\r\n");
  assert.equal(lines.length, 1 + ALARMS);
  assert.match(lines[0], /^id,time,severity,status,type,text,/);
  assert.match(lines[1], /,MINOR,\w+,acme_Noise\d+,of acme_Noise\d+,/);
  await visitor.leave();
}

export async function an_empty_list_stays_while_it_is_read_again(stage) {
  await crowd(stage);
  const visitor = await at(stage, "registration", `${TENANT}/admin`);
  await visitor.sees("No device is waiting.");
  await visitor.sees("0 requests");
  await visitor.page.evaluate(() => {
    window.gone = 0;
    new MutationObserver(() => (window.gone += document.body.textContent.includes("No device is waiting.") ? 0 : 1)).observe(document.body, { subtree: true, childList: true, characterData: true });
  });
  for (let time = 0; time < 2; time += 1) await visitor.page.waitForResponse(/newDeviceRequests/);
  await standingOfCard(visitor, "Waiting", "read every 2 s");
  assert.equal(await visitor.page.evaluate("window.gone"), 0);
  await visitor.leave();
}

const standingOfCard = (visitor, title, text) => visitor.page.locator(".card", { has: visitor.page.getByRole("heading", { name: title, exact: true }) }).locator(".standing", { hasText: text }).waitFor();

export async function a_value_that_arrives_late_takes_its_place(stage) {
  const { id } = await stage.fleet.call("POST", "/inventory/managedObjects", { name: "measures late", plat_IsDevice: {} });
  const send = (seconds, value) => stage.fleet.call("POST", "/measurement/measurements", { type: "acme_T", time: new Date(Date.now() - seconds * 1000).toISOString(), source: { id }, plat_Climate: { T: { value, unit: "C" } } });
  for (const seconds of [300, 240, 180, 120]) await send(seconds, 20);
  const visitor = await at(stage, `devices/${id}`);
  await visitor.isLive();
  const value = (text) => visitor.page.locator(".panel .value", { hasText: text }).waitFor();
  await value("20 C");
  await standingOfCard(visitor, "Measurements", "live");
  let loads = 0;
  visitor.page.on("request", (request) => (loads += request.url().includes("/series") ? 1 : 0));
  await send(0, 50.5);
  await value("50.5 C");
  await send(60, 11.1);
  await visitor.page.locator(".wire", { hasText: "11.1" }).waitFor();
  await value("50.5 C");
  assert.equal(loads, 0, "nothing was loaded again");
  const [aggregates] = await Promise.all([visitor.page.waitForResponse(/aggregationType=MINUTELY/), visitor.button("1 day").click()]);
  await aggregates.finished();
  // The values of the earlier span are not live until those of this one are there.
  await visitor.page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 300)));
  await standingOfCard(visitor, "Measurements", "not live");
  await visitor.leave();
}

export async function changes_of_quiet_devices_are_not_counted_again_and_again(stage) {
  const { id } = await stage.fleet.call("POST", "/inventory/managedObjects", { name: "talkative", plat_IsDevice: {} });
  const visitor = await at(stage, "overview");
  await visitor.isLive();
  await visitor.page.locator(".legend a", { hasText: "unavailable" }).waitFor();
  let counts = 0;
  visitor.page.on("request", (request) => (counts += request.url().includes("/inventory/managedObjects?") ? 1 : 0));
  const end = Date.now() + 4000;
  for (let note = 0; Date.now() < end; note += 1) await stage.fleet.call("PUT", `/inventory/managedObjects/${id}`, { acme_Note: note });
  // Each of the two cards counts once, because it has not seen this device before.
  assert.ok(counts <= 6, `${counts} requests`);
  await visitor.leave();
  await stage.fleet.call("DELETE", `/inventory/managedObjects/${id}`);
}

/** Cards whose data is that of the whole page, which says its standing in its head. */
const OF_THE_PAGE = ["What it is", "What it belongs to"];

export async function every_card_says_whether_it_is_live(stage) {
  const visitor = await at(stage, "overview");
  const silent = () =>
    visitor.page.locator(".card").evaluateAll((cards, excused) => {
      const titles = cards.filter((card) => card.querySelector("table, ul.rows > li, dl.facts, canvas, .limits, .figure, .wire") && !card.querySelector(".standing")).map((card) => card.querySelector("h2")?.textContent);
      return titles.filter((title) => title && !excused.includes(title));
    }, OF_THE_PAGE);
  const pages = [["overview", "Overview"], [`devices/${stage.fleet.devices[0].id}`, stage.fleet.devices[0].name], ["operations", "Operations"], ["registration", "Registration"], ["users", "Users"], ["profile", "Profile"], ["tenants", "Tenants"], ["consumers", "Consumers"], ["server", "Server"]];
  for (const [address, heading] of pages) {
    await visitor.go(address, heading);
    await visitor.page.locator("[aria-busy=true]").first().waitFor({ state: "detached" });
    await visitor.page.locator(".standing").first().waitFor();
    await eventually(`each card of ${heading} says its standing`, async () => String(await silent()) === "").catch(async () => assert.deepEqual(await silent(), [], heading));
  }
  await standingOfCard(visitor, "All metrics", "read every 2 s");
  await visitor.go("tenants", "Tenants");
  await standingOfCard(visitor, "What it stores", /loaded \d\d:\d\d:\d\d, not live/);
  await visitor.go("overview", "Overview");
  await standingOfCard(visitor, "Live writes", "live");
  await visitor.leave();
}

export async function windows_say_whether_they_are_live(stage) {
  const visitor = await at(stage, "tenants", "management/admin");
  await visitor.button("Limits of main").click();
  const dialog = visitor.page.getByRole("dialog");
  await dialog.locator(".standing", { hasText: "read every 5 s" }).waitFor();
  await stage.fleet.call("PUT", "/tenant/tenants/main/limits", { modules: 77 }, { Authorization: basic("management/admin") });
  await dialog.locator(".limits li", { hasText: /^modules/ }).getByText("of 77").waitFor();
  await stage.fleet.call("PUT", "/tenant/tenants/main/limits", { modules: null }, { Authorization: basic("management/admin") });
  await visitor.leave();
}

export async function a_profile_shows_permissions_with_their_origin(stage) {
  const { call, own, others } = await crowd(stage);
  const { id } = await call("POST", `/user/${TENANT}/groups`, { name: "pump readers", devicePermissions: { [others]: ["EVENT:plat_Position:*"] } });
  const both = await call("POST", `/user/${TENANT}/users`, { userName: "both", password: "both-secret", devicePermissions: { [own]: ["ALARM:*:READ", "MANAGED_OBJECT:*:READ"] } });
  await call("POST", `/user/${TENANT}/groups/${id}/users`, { user: { self: both.self } });
  const visitor = await at(stage, "profile", `${TENANT}/both`, "both-secret");
  const rows = visitor.page.getByRole("list", { name: /Permissions for single devices/ }).getByRole("listitem");
  await rows.first().waitFor();
  const texts = await rows.evaluateAll((list) => list.map((row) => [...row.children].map((cell) => cell.textContent)));
  assert.deepEqual(texts, [["own pump", "alarm read; managed object read", "your own"], [others, "event with plat_Position, read and write", "group pump readers"]]);
  await standingOfCard(visitor, "Rights", /loaded \d\d:\d\d:\d\d/);
  await visitor.isAccessible("the profile of a user with permissions");
  await visitor.leave();
}
