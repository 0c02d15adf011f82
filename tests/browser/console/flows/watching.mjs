// Flows of observation: devices, alarms, charts, events, channels.

import assert from "node:assert/strict";
import { eventually } from "../stage.mjs";

/** Opens a page as the administrator, connected. */
async function at(stage, page, { expectsErrors = false } = {}) {
  const visitor = await stage.at(page, undefined, undefined, { expectsCuts: expectsErrors });
  await visitor.isLive("Live");
  return visitor;
}

const figures = (page) => page.locator(".severities .figure").allTextContents();

export async function the_overview_counts_devices_and_alarms_as_they_change(stage) {
  const visitor = await at(stage, "overview");
  await visitor.page.locator(".tile .figure", { hasText: "40" }).waitFor();
  await visitor.page.locator(".severities .figure").first().waitFor();
  const [before] = await figures(visitor.page);
  await stage.fleet.alarm(stage.fleet.devices[30].id, "CRITICAL", "acme_Fire", "It burns");
  await visitor.sees("It burns");
  await eventually("one more critical alarm is counted", async () => Number((await figures(visitor.page))[0]) === Number(before) + 1);
  await visitor.page.getByRole("link", { name: "critical" }).click();
  await visitor.page.getByRole("heading", { level: 1, name: "Alarms" }).waitFor();
  assert.match(visitor.page.url(), /severity=CRITICAL/);
  await visitor.leave();
}

export async function the_overview_shows_writes_as_they_happen(stage) {
  const visitor = await at(stage, "overview");
  const timer = setInterval(() => stage.fleet.tick(5).catch(() => {}), 200);
  try {
    await eventually("measurements are counted", async () => parseFloat(await visitor.page.locator(".legend li", { hasText: "measurements" }).locator("b").textContent()) > 5);
  } finally {
    clearInterval(timer);
  }
  await visitor.leave();
}

export async function devices_are_found_by_name_query_availability_and_group(stage) {
  const { fleet } = stage;
  const visitor = await at(stage, "devices");
  const names = () => visitor.page.locator(".virtual [data-device] + b").allTextContents();
  await visitor.sees("40 devices");
  const search = visitor.page.getByRole("combobox", { name: "Name or query" });
  await search.fill("pump 00");
  await visitor.sees("5 devices");
  assert.ok((await names()).every((name) => name.startsWith("pump 00")));
  await search.fill("plat_Hardware.model eq 'RX 4*' $orderby=name desc");
  await visitor.sees("14 devices");
  assert.equal((await names())[0], "pump 037");
  await search.fill("");
  await visitor.sees("40 devices");
  await visitor.page.getByRole("link", { name: "Meters" }).click();
  await visitor.sees("20 devices");
  await visitor.button("Maintenance").click();
  await visitor.sees("No device matches.");
  await visitor.button("Show all devices").click();
  await visitor.sees("40 devices");
  assert.equal(fleet.devices.length, 40);
  await visitor.leave();
}

export async function a_mistake_in_a_query_is_explained_by_the_server(stage) {
  const visitor = await at(stage, "devices?q=name%20eq%20", { expectsErrors: true });
  const alert = visitor.page.getByRole("alert");
  await alert.waitFor();
  assert.match(await alert.textContent(), /query/i);
  await visitor.leave();
}

export async function thousands_of_devices_scroll_with_few_rows(stage) {
  const { fleet } = stage;
  const header = "ID;TYPE;NAME;CREDENTIALS";
  const rows = Array.from({ length: 1500 }, (_, index) => `bulk-${index};acme_Sensor;sensor ${String(index).padStart(4, "0")};0123456789abcdef`);
  const form = new FormData();
  form.append("file", new Blob([[header, ...rows].join("\n")]), "devices.csv");
  const response = await stage.fetch(`/devicecontrol/bulkNewDeviceRequests`, { method: "POST", headers: { Authorization: fleet.authorization }, body: form });
  assert.equal((await response.json()).numberOfCreated, 1500);
  const visitor = await at(stage, "devices?q=sensor");
  await visitor.sees("500 of 1,500 devices");
  const table = visitor.page.locator(".virtual");
  assert.ok((await table.getByRole("row").count()) < 60, "only rows in sight exist");
  await eventually("scrolling to the end loads the rest", async () => {
    await table.evaluate((box) => (box.scrollTop = box.scrollHeight));
    return visitor.page.getByText("sensor 1499").isVisible();
  });
  await visitor.sees("1,500 devices");
  await visitor.leave();
}

export async function a_new_device_and_a_new_name_appear_by_themselves(stage) {
  const visitor = await at(stage, "devices");
  await visitor.sees("meter 002");
  const { id } = await stage.fleet.call("POST", "/inventory/managedObjects", { name: "aaa newcomer", plat_IsDevice: {} });
  await visitor.sees("aaa newcomer");
  await stage.fleet.call("PUT", `/inventory/managedObjects/${id}`, { name: "aaa renamed" });
  await visitor.sees("aaa renamed");
  await stage.fleet.call("DELETE", `/inventory/managedObjects/${id}`);
  await visitor.page.getByText("aaa renamed").waitFor({ state: "detached" });
  await visitor.leave();
}

export async function a_device_shows_its_facts_and_its_live_measurements(stage) {
  const [device] = stage.fleet.devices;
  const visitor = await at(stage, `devices/${device.id}`);
  for (const text of ["RX 400", "acme-os", "sn-1", "Pumps", "TemperatureMeasurement", "The door was opened"]) await visitor.sees(text);
  await visitor.page.locator(".panel canvas").first().waitFor();
  await stage.fleet.measure(device.id, 77.7);
  await visitor.page.locator(".panel .value", { hasText: "77.7 C" }).waitFor();
  await visitor.button("1 day").click();
  await eventually("aggregates are drawn", () => visitor.page.locator(".panel canvas").first().isVisible());
  // A zoom by dragging over the chart must not end when a value arrives.
  await visitor.button("15 min").click();
  const over = visitor.page.locator(".panel .u-over").first();
  const box = await eventually("the chart is drawn again", () => over.boundingBox().catch(() => null));
  await visitor.page.mouse.move(box.x + 20, box.y + 30);
  await visitor.page.mouse.down();
  await visitor.page.mouse.move(box.x + 160, box.y + 30, { steps: 4 });
  await visitor.page.mouse.up();
  await stage.fleet.measure(device.id, 55.5);
  await visitor.page.locator(".panel .value", { hasText: "55.5 C" }).waitFor();
  await visitor.leave();
}

export async function an_event_with_a_file_offers_it(stage) {
  const device = stage.fleet.devices[3];
  const event = await stage.fleet.event(device.id, "Log of the day");
  await stage.fleet.call("POST", `/event/events/${event.id}/binaries`, "it dripped");
  const visitor = await at(stage, `devices/${device.id}`);
  await visitor.sees("Log of the day");
  const [file] = await Promise.all([visitor.page.waitForEvent("download"), visitor.button("Download").click()]);
  const chunks = [];
  for await (const chunk of await file.createReadStream()) chunks.push(chunk);
  assert.equal(Buffer.concat(chunks).toString(), "it dripped");
  await visitor.leave();
}

export async function an_acknowledgement_by_one_user_appears_for_another(stage) {
  const device = stage.fleet.devices[25];
  await stage.fleet.alarm(device.id, "MAJOR", "acme_Shared", "Both look at this");
  const [one, other] = [await at(stage, "alarms"), await at(stage, "alarms")];
  const row = (visitor) => visitor.page.getByRole("row", { name: /Both look at this/ });
  await row(other).getByText("active").waitFor();
  await row(one).getByRole("button", { name: "Acknowledge" }).click();
  await row(other).getByText("acknowledged").waitFor();
  await row(other).getByRole("button", { name: "Clear" }).click();
  await row(one).waitFor({ state: "detached" });
  await one.leave();
  await other.leave();
}

export async function a_repeated_alarm_is_counted_in_place(stage) {
  const device = stage.fleet.devices[26];
  const raise = () => stage.fleet.alarm(device.id, "MINOR", "acme_Again", "Again and again");
  await raise();
  const visitor = await at(stage, "alarms");
  const row = visitor.page.getByRole("row", { name: /Again and again/ });
  await row.waitFor();
  await raise();
  await row.getByText("×2").waitFor();
  assert.equal(await row.count(), 1);
  await visitor.leave();
}

export async function filters_of_alarms_are_in_the_address(stage) {
  const visitor = await at(stage, "alarms?severity=WARNING");
  await visitor.page.getByRole("row", { name: /warning/ }).first().waitFor();
  assert.equal(await visitor.page.locator(".virtual-body .severity-critical").count(), 0);
  await visitor.page.getByRole("group", { name: "Severity" }).getByRole("button", { name: "Critical" }).click();
  await visitor.page.getByRole("row", { name: /critical/ }).first().waitFor();
  assert.match(visitor.page.url(), /severity=CRITICAL/);
  // An alarm that the filter excludes does not appear.
  await stage.fleet.alarm(stage.fleet.devices[27].id, "WARNING", "acme_Excluded", "Not for this view");
  await stage.fleet.alarm(stage.fleet.devices[27].id, "CRITICAL", "acme_Included", "For this view");
  await visitor.sees("For this view");
  assert.equal(await visitor.page.getByText("Not for this view").count(), 0);
  await visitor.page.getByRole("group", { name: "Status" }).getByRole("button", { name: "Cleared" }).click();
  await visitor.page.getByText("For this view").waitFor({ state: "detached" });
  await visitor.leave();
}

export async function any_channel_can_be_watched_over_both_transports(stage) {
  const visitor = await at(stage, "live");
  const device = stage.fleet.devices[29];
  await visitor.sees("Choose a channel.");
  await visitor.page.getByLabel("Channel").fill(`/events/${device.id}`);
  await visitor.button("Subscribe").click();
  await visitor.sees("Nothing has happened yet.");
  await visitor.seesWhatIsSent("Over a socket", () => stage.fleet.event(device.id, "Over a socket"));
  await visitor.button("Long polling").click();
  await visitor.isLive("long polling");
  await visitor.seesWhatIsSent("Over a poll", () => stage.fleet.event(device.id, "Over a poll"));
  await visitor.isAccessible("the live page with notifications");
  await visitor.leave();
}

export async function a_burst_of_five_thousand_notifications_stays_smooth(stage) {
  const visitor = await at(stage, "live?channels=/measurements/*");
  await visitor.seesWhatIsSent(/^[1-9]\d* notifications/, () => stage.fleet.measure(stage.fleet.devices[0].id, 1));
  await visitor.page.evaluate(() => {
    window.longest = 0;
    let last = performance.now();
    const frame = (now) => {
      window.longest = Math.max(window.longest, now - last);
      last = now;
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  });
  const measurements = Array.from({ length: 1000 }, (_, index) => stage.fleet.measurement(stage.fleet.devices[index % 40].id));
  await Promise.all(Array.from({ length: 5 }, () => stage.fleet.call("POST", "/measurement/measurements", { measurements })));
  await visitor.page.getByText(/^5,\d\d\d notifications/).waitFor();
  const { rows, longest } = await visitor.page.evaluate(() => ({ rows: document.querySelectorAll(".log li").length, longest: window.longest }));
  assert.ok(rows <= 30, `${rows} rows are drawn while they arrive`);
  await visitor.button("Pause").click();
  await eventually("all rows that are kept are drawn", async () => (await visitor.page.locator(".log li").count()) === 200);
  assert.ok(longest < 1500, `a frame took ${Math.round(longest)} ms`);
  await visitor.leave();
}
