// The simulated fleet of `platform demo`, as a newcomer finds it without a hint.

import assert from "node:assert/strict";
import { DEMO_PASSWORD, DEMO_USER } from "../demo.mjs";
import { MOST, takePictures } from "../pictures.mjs";
import { eventually } from "../stage.mjs";

async function at(stage, page, window) {
  const demo = await stage.demo();
  const visitor = window ? await (await stage.visitor(window)).logIn(DEMO_USER, DEMO_PASSWORD, { page }) : await stage.at(page, DEMO_USER, DEMO_PASSWORD);
  await visitor.isLive("Live");
  return { demo, visitor };
}

export async function a_running_fleet_is_marked_as_a_demo(stage) {
  const { visitor } = await at(stage, "overview");
  await visitor.page.locator(".demo", { hasText: "demo data" }).waitFor();
  await visitor.page.locator(".tile .figure", { hasText: stage.devices }).waitFor();
  await eventually("measurements come by themselves", async () => parseFloat(await visitor.page.locator(".legend li", { hasText: "measurements" }).locator("b").textContent()) > 0);
  await visitor.page.getByRole("heading", { name: "Roll-outs" }).waitFor({ timeout: 60_000 });
  await visitor.isAccessible("the overview of a demo");
  await visitor.leave();
}

export async function a_newcomer_finds_an_alarm_its_device_and_its_chart_and_acknowledges_it(stage) {
  const { visitor, demo } = await at(stage, "overview");
  // The first pump starts with a fault.
  await eventually("an alarm is open", async () => (await demo.call("GET", "/alarm/alarms?resolved=false")).alarms.length > 0);
  await visitor.page.getByRole("link", { name: "Alarms", exact: true }).click();
  const row = visitor.page.locator(".virtual-body .virtual-row").first();
  await row.getByRole("link").first().click();
  await visitor.page.locator(".panel canvas").first().waitFor();
  await visitor.button("1 day").click();
  await visitor.page.locator(".panel canvas").first().waitFor();
  await visitor.leave();
}

export async function an_operation_is_executed_while_a_user_watches(stage) {
  const { visitor, demo } = await at(stage, "overview");
  const [store] = await demo.devices("demo_ColdStore");
  await visitor.go(`devices/${store.id}`, store.name);
  await visitor.button("New operation").click();
  await visitor.button("Configuration").click();
  await visitor.page.getByRole("dialog").getByRole("button", { name: "Create" }).click();
  const operations = visitor.page.locator(".card", { has: visitor.page.getByRole("heading", { name: "Operations" }) });
  await operations.locator(".status-successful, .status-failed").first().waitFor({ timeout: 60_000 });
  await visitor.sees("room 1");
  await visitor.leave();
}

export async function a_truck_shows_its_position_and_the_wire_its_messages(stage) {
  const { visitor, demo } = await at(stage, "overview");
  const [truck] = await demo.devices("demo_Truck");
  await visitor.go(`devices/${truck.id}`, truck.name);
  await visitor.page.locator("svg.track circle").waitFor();
  const wire = visitor.page.locator(".card", { has: visitor.page.getByRole("heading", { name: "The wire" }) });
  await wire.locator("li", { hasText: "measurements" }).first().waitFor({ timeout: 60_000 });
  await wire.locator("summary").first().click();
  await wire.locator("pre").first().waitFor();
  await visitor.sees("device_demo-truck-0001");
  await visitor.isAccessible("a truck with its wire");
  await visitor.fits("a truck with its wire");
  await visitor.leave();
}

export async function groups_are_a_tree_with_devices_at_its_ends(stage) {
  const { visitor } = await at(stage, "devices");
  const tree = visitor.page.getByRole("navigation", { name: "Groups" });
  await tree.getByRole("button", { name: "Groups in Waterworks" }).click();
  await tree.locator("ul ul").getByRole("link", { name: "Hall A" }).click();
  await visitor.page.getByText("meter north 01").waitFor({ state: "detached" });
  await visitor.sees("pump A01");
  await visitor.leave();
}

export async function a_module_of_the_demo_shows_its_rows_live(stage) {
  const { visitor } = await at(stage, "modules");
  await visitor.page.getByRole("link", { name: "demo_cold_chain" }).click();
  await visitor.page.locator(".rows li", { hasText: "warmest" }).first().waitFor({ timeout: 60_000 });
  await visitor.leave();
}

export async function a_demo_fits_a_window_of_360_pixels(stage) {
  const { visitor, demo } = await at(stage, "overview", { width: 360, height: 740 });
  const [pump] = await demo.devices("demo_Pump");
  for (const [page, heading] of [["overview", "Overview"], ["devices", "Devices"], [`devices/${pump.id}`, pump.name], ["alarms", "Alarms"], ["operations", "Operations"], ["tenants", "Tenants"]]) {
    await visitor.go(page, heading);
    await visitor.page.locator("[aria-busy=true]").first().waitFor({ state: "detached" });
    await visitor.fits(`${heading} of a demo`);
  }
  await visitor.leave();
}

export async function pictures_of_the_demo_are_small(stage) {
  const sizes = await takePictures(stage, (page, window) => at(stage, page, window), stage.pictures);
  const sum = Object.values(sizes).reduce((all, size) => all + size, 0);
  assert.ok(sum > 20_000 && sum < MOST, JSON.stringify(sizes));
}

/** Returns a number of a ledger. */
const entry = async (visitor, name) => Number((await visitor.page.locator(`[data-ledger=${name}]`).textContent()).replace(/\D/g, ""));

export async function a_broken_demo_loses_nothing(stage) {
  const { visitor, demo } = await at(stage, "overview");
  visitor.expectsCuts = true;
  await visitor.page.getByRole("link", { name: "Break it" }).click();
  await visitor.page.getByRole("heading", { level: 1, name: "Break it" }).waitFor();
  await visitor.isAccessible("the page that breaks the demo");
  await visitor.button("Stop 20 devices").click();
  await eventually("twenty devices were told", async () => (await visitor.page.locator("[data-ledger=told]").count()) === 1 && (await entry(visitor, "told")) === 20);
  await visitor.button("Raise 500 alarms a second").click();
  await visitor.sees("The storm goes on.");
  await eventually("alarms are confirmed", async () => (await entry(visitor, "confirmed")) > 100);
  await visitor.button("Cut this page's network").click();
  await visitor.page.locator(".connection.interrupted").waitFor();
  // Requests that were under way are still counted.
  await visitor.page.waitForTimeout(2500);
  const [before, during] = [await entry(visitor, "seen"), await entry(visitor, "confirmed")];
  await visitor.page.waitForTimeout(1000);
  assert.equal(await entry(visitor, "confirmed"), during, "nothing is sent without a network");
  await visitor.page.getByText("Nothing was lost: all confirmed alarms are stored").waitFor({ timeout: 90_000 });
  const [confirmed, uncertain, stored, seen] = await Promise.all(["confirmed", "uncertain", "stored", "seen"].map((name) => entry(visitor, name)));
  const { alarms } = await demo.call("GET", "/alarm/alarms?type=demo_Storm&resolved=false&pageSize=100");
  assert.equal(stored, alarms.reduce((sum, { count }) => sum + count, 0), "the ledger has what the server has");
  assert.equal(seen, stored);
  assert.ok(confirmed <= stored && stored <= confirmed + uncertain);
  assert.ok(before < seen, "alarms arrived after the cut");
  await visitor.sees("The lists were loaded again.");
  await eventually("the reports of the devices arrive, also those of the time of the cut", async () => {
    const { operations } = await demo.call("GET", "/devicecontrol/operations?revert=true&pageSize=200");
    const ended = operations.filter(({ description, status }) => description === "Stopped from the console" && ["SUCCESSFUL", "FAILED"].includes(status)).length;
    return ended >= 10 && (await entry(visitor, "ended")) === ended && (await entry(visitor, "arrived")) === ended;
  });
  await visitor.button("Clear these alarms").click();
  await eventually("the alarms of the storm are cleared", async () => (await demo.call("GET", "/alarm/alarms?type=demo_Storm&resolved=false")).alarms.length === 0);
  await visitor.leave();
}

export async function only_administrators_of_a_demo_are_offered_to_break_things(stage) {
  const demo = await stage.demo();
  const { self } = await demo.call("POST", "/user/demo/users", { userName: "reader", password: "reader-secret" });
  const { groups } = await demo.call("GET", "/user/demo/groups?pageSize=100");
  await demo.call("POST", `/user/demo/groups/${groups.find(({ name }) => name === "readers").id}/users`, { user: { self } });
  const visitor = await stage.visitor();
  await visitor.logIn("demo/reader", "reader-secret", { page: "break" });
  await visitor.isLive("Live");
  await visitor.page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  assert.equal(await visitor.page.getByRole("link", { name: "Break it" }).count(), 0);
  await visitor.leave();
  // A tenant that no demo runs in has no such page, although its administrator may do all of it.
  const other = await stage.at("break");
  await other.page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  await other.isLive("Live");
  assert.equal(await other.page.getByRole("link", { name: "Break it" }).count(), 0);
  await other.leave();
}
