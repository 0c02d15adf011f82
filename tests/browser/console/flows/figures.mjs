// What pages show is true: numbers, orders, charts and effects are compared with the API.

import assert from "node:assert/strict";
import { basic } from "../../../clients/platform.mjs";
import { eventually } from "../stage.mjs";

const HOUR = 3600;

async function at(stage, page) {
  const visitor = await stage.at(page);
  await visitor.isLive();
  return visitor;
}

const total = async (stage, path) => (await stage.fleet.call("GET", `${path}${path.includes("?") ? "&" : "?"}pageSize=1&withTotalPages=true`)).statistics.totalPages;

export async function the_counts_of_the_overview_are_those_of_the_server(stage) {
  // A different number for each severity and each availability, so that two that are swapped differ.
  const device = async (name, more) => stage.fleet.call("POST", "/inventory/managedObjects", { name, plat_IsDevice: {}, ...more });
  for (const name of ["watched 1", "watched 2", "watched 3"]) {
    const { id } = await device(name, { plat_RequiredAvailability: { responseInterval: 60 } });
    await stage.fleet.event(id, "A sign of life");
  }
  for (const [severity, number] of [["CRITICAL", 2], ["MAJOR", 3], ["MINOR", 5], ["WARNING", 7]]) {
    for (let one = 0; one < number; one += 1) await stage.fleet.alarm(stage.fleet.devices[22].id, severity, `acme_Count${severity}${one}`, `Counted ${one}`);
  }
  const closed = await stage.fleet.alarm(stage.fleet.devices[22].id, "MINOR", "acme_CountedNot", "Cleared, so not counted");
  await stage.fleet.call("PUT", `/alarm/alarms/${closed.id}`, { status: "CLEARED" });
  const visitor = await at(stage, "overview");
  const severities = await Promise.all(["CRITICAL", "MAJOR", "MINOR", "WARNING"].map((one) => total(stage, `/alarm/alarms?resolved=false&severity=${one}`)));
  await eventually(`the open alarms are ${severities}`, async () => String(await visitor.page.locator(".severities .figure").allTextContents()) === String(severities));
  const states = ["AVAILABLE", "UNAVAILABLE", "MAINTENANCE"];
  const expected = await Promise.all(states.map((one) => total(stage, `/inventory/managedObjects?${new URLSearchParams({ query: `has(plat_IsDevice) and plat_Availability.status eq '${one}'` })}`)));
  assert.notEqual(expected[0], expected[1], "the test must tell the two apart");
  const words = ["available", "unavailable", "in maintenance"].map((word, index) => `${expected[index]} ${word}`);
  for (const text of words) await visitor.page.locator(".legend a", { hasText: new RegExp(`^${text}$`) }).waitFor();
  const shown = await visitor.page.locator(".card", { hasText: "What is wrong now" }).locator("li .mark").allTextContents();
  assert.deepEqual(shown, [...shown].sort((a, b) => Number(a === "major") - Number(b === "major")), "the worst is first");
  assert.ok(shown.includes("critical"));
  await visitor.page.locator(".legend a", { hasText: "unavailable" }).click();
  await visitor.page.getByRole("heading", { level: 1, name: "Devices" }).waitFor();
  assert.match(visitor.page.url(), /availability=UNAVAILABLE/);
  await visitor.leave();
}

export async function a_time_ago_is_the_time_ago(stage) {
  const text = "Five minutes before";
  const time = new Date(Date.now() - 300_000).toISOString();
  await stage.fleet.call("POST", "/alarm/alarms", { type: "acme_Ago", text, severity: "CRITICAL", time, source: { id: stage.fleet.devices[23].id } });
  const visitor = await at(stage, "overview");
  const shown = visitor.page.locator("li", { hasText: text }).locator("time");
  assert.match(await shown.textContent(), /^5 (min|minutes)\.? ago$/);
  assert.equal(await shown.getAttribute("datetime"), time);
  await visitor.leave();
}

/** Returns the number of coloured pixels in a part of a chart, from 0 at the left edge to 1 at the right. */
const pixelsBetween = (page, from, to) =>
  page.locator(".panel .u-wrap").first().evaluate(
    (wrap, [from, to]) => {
      const [canvas, over] = [wrap.querySelector("canvas"), wrap.querySelector(".u-over")];
      const scale = canvas.width / canvas.clientWidth;
      const [left, width] = [over.offsetLeft * scale, over.offsetWidth * scale];
      const { data } = canvas.getContext("2d").getImageData(left + from * width, over.offsetTop * scale, Math.max(1, (to - from) * width), over.offsetHeight * scale);
      // The grid is grey; lines are coloured.
      let pixels = 0;
      for (let at = 0; at < data.length; at += 4) if (data[at + 3] > 100 && Math.max(data[at], data[at + 1], data[at + 2]) - Math.min(data[at], data[at + 1], data[at + 2]) > 60) pixels += 1;
      return pixels;
    },
    [from, to],
  );

async function deviceWithAnOutage(stage) {
  const { id } = await stage.fleet.call("POST", "/inventory/managedObjects", { name: "with an outage", plat_IsDevice: {} });
  const now = Math.floor(Date.now() / 60_000) * 60;
  const value = (seconds, value) => ({ type: "acme_T", time: new Date(seconds * 1000).toISOString(), source: { id }, plat_Climate: { T: { value, unit: "C" } } });
  // Twenty hours of data with a value each ten minutes, of which four hours in the middle are missing.
  const steps = Array.from({ length: 120 }, (_, index) => now - (120 - index) * 600).filter((at) => at < now - 12 * HOUR || at > now - 8 * HOUR);
  const spike = steps[15];
  const measurements = [...steps.map((at) => value(at, 20)), value(spike + 20, 120)];
  await stage.fleet.call("POST", "/measurement/measurements", { measurements });
  return { id, now, spike };
}

export async function a_chart_shows_peaks_and_outages(stage) {
  const { id, now, spike } = await deviceWithAnOutage(stage);
  const visitor = await at(stage, `devices/${id}`);
  await visitor.button("1 day").click();
  const chart = visitor.page.locator(".panel .chart").first();
  const span = async () => chart.evaluate(({ dataset }) => [Number(dataset.from), Number(dataset.to)]);
  await eventually("the axis is the chosen day", async () => {
    const [from, to] = await span();
    return Math.abs(to - from - 24 * HOUR) < 60 && Math.abs(to - Date.now() / 1000) < 120;
  });
  const [from, to] = await span();
  const part = (seconds) => (seconds - from) / (to - from);
  assert.notEqual(await pixelsBetween(visitor.page, part(now - 7 * HOUR), part(now - HOUR)), 0, "values are drawn");
  assert.equal(await pixelsBetween(visitor.page, part(now - 11.5 * HOUR), part(now - 8.5 * HOUR)), 0, "nothing is drawn where data is missing");
  const over = chart.locator(".u-over");
  const box = await over.boundingBox();
  await over.hover({ position: { x: part(spike) * box.width, y: box.height / 2 } });
  await eventually("the peak is not averaged away", async () => /20 to 120 C/.test(await chart.locator(".readout").textContent()));
  await visitor.leave();
}

export async function a_single_value_is_a_point(stage) {
  const { id } = await stage.fleet.call("POST", "/inventory/managedObjects", { name: "measured once", plat_IsDevice: {} });
  await stage.fleet.call("POST", "/measurement/measurements", { type: "acme_T", time: new Date(Date.now() - 20 * 60_000).toISOString(), source: { id }, plat_Climate: { T: { value: 7, unit: "C" } } });
  const visitor = await at(stage, `devices/${id}`);
  await visitor.page.locator(".panel .value", { hasText: "7 C" }).waitFor();
  await eventually("a point is drawn, larger than the end of a line", async () => (await pixelsBetween(visitor.page, 0, 1)) > 10);
  await visitor.leave();
}

export async function a_drag_zooms_and_a_double_click_shows_everything_again(stage) {
  const visitor = await at(stage, `devices/${stage.fleet.devices[0].id}`);
  const chart = visitor.page.locator(".panel .chart").first();
  const width = async () => chart.evaluate(({ dataset }) => Number(dataset.to) - Number(dataset.from));
  await eventually("an hour is shown", async () => Math.abs((await width()) - HOUR) < 10);
  const over = chart.locator(".u-over");
  await over.scrollIntoViewIfNeeded();
  const box = await over.boundingBox();
  await visitor.page.mouse.move(box.x + box.width * 0.5, box.y + 40);
  await visitor.page.mouse.down();
  await visitor.page.mouse.move(box.x + box.width * 0.75, box.y + 40, { steps: 4 });
  await visitor.page.mouse.up();
  await eventually("a quarter of it is shown", async () => Math.abs((await width()) - HOUR / 4) < 60);
  await over.dblclick({ position: { x: 20, y: 20 } });
  await eventually("an hour is shown again", async () => Math.abs((await width()) - HOUR) < 10);
  await visitor.leave();
}

export async function a_log_out_ends_the_session_at_the_server(stage) {
  await stage.fleet.user("guest", "guest-secret", ["ROLE_ALARM_READ", "ROLE_INVENTORY_READ"]);
  const own = async () => (await stage.fleet.call("GET", "/tenant/sessions?pageSize=2000")).sessions.filter(({ user }) => user === "guest").length;
  const visitor = await stage.visitor();
  let authorization;
  visitor.page.on("request", (request) => (authorization = request.headers().authorization ?? authorization));
  await visitor.logIn("main/guest", "guest-secret");
  await visitor.isLive();
  assert.equal(await own(), 1);
  const status = async () => (await stage.fetch("/alarm/alarms", { headers: { Authorization: authorization } })).status;
  assert.deepEqual([authorization.split(" ")[0], await status()], ["Bearer", 200]);
  // The server may close the WebSocket before the page's last message.
  visitor.expectsCuts = true;
  await visitor.button("Log out").click();
  await visitor.page.getByLabel("Password").waitFor();
  await eventually("the server has no session of this user", async () => (await own()) === 0);
  assert.equal(await status(), 401, "the token is revoked");
  await visitor.leave();
}

export async function a_user_gets_a_new_password_and_another_one_is_deleted(stage) {
  await stage.fleet.user("keeper", "keeper-secret", ["ROLE_ALARM_READ"]);
  await stage.fleet.user("keeper2", "keeper-secret", []);
  const status = (password) => stage.fetch("/alarm/alarms", { headers: { Authorization: basic("main/keeper", password) } }).then(({ status }) => status);
  const visitor = await at(stage, "users");
  await visitor.page.getByRole("button", { name: "Edit keeper", exact: true }).click();
  await visitor.page.getByLabel("New password").fill("another-secret");
  await visitor.button("Save").click();
  await visitor.sees("keeper was changed.");
  assert.deepEqual([await status("keeper-secret"), await status("another-secret")], [401, 200]);
  await visitor.button("Delete keeper2").click();
  await visitor.confirms("Delete user");
  await visitor.page.getByRole("button", { name: "Delete keeper2" }).waitFor({ state: "detached" });
  const { users } = await stage.fleet.call("GET", "/user/main/users?pageSize=2000");
  const names = users.map(({ userName }) => userName);
  assert.ok(names.includes("keeper") && !names.includes("keeper2"), `${names}`);
  await visitor.leave();
}

export async function the_audit_log_keeps_to_its_filters(stage) {
  await stage.fleet.user("clerk", "clerk-secret", ["ROLE_ALARM_ADMIN", "ROLE_ALARM_READ"]);
  const alarm = await stage.fleet.alarm(stage.fleet.devices[24].id, "MINOR", "acme_Clerk", "Acknowledged by the clerk");
  await stage.fleet.call("PUT", `/alarm/alarms/${alarm.id}`, { status: "ACKNOWLEDGED" }, { Authorization: basic("main/clerk", "clerk-secret") });
  const visitor = await at(stage, "audit?user=clerk");
  const table = visitor.page.getByRole("table", { name: "Audit records" });
  await table.getByText(alarm.id).first().waitFor();
  const users = await table.locator("b").allTextContents();
  assert.deepEqual([...new Set(users)], ["clerk"]);
  await visitor.go("audit?type=User", "Audit");
  await eventually("only records of users are left", async () => !(await table.textContent()).includes(alarm.id) || (await table.count()) === 0);
  await visitor.leave();
}

export async function an_operation_goes_to_the_chosen_device(stage) {
  const device = stage.fleet.devices[31];
  const visitor = await at(stage, "operations");
  await visitor.button("New operation").click();
  const dialog = visitor.page.getByRole("dialog");
  await dialog.locator("select").selectOption(device.id);
  await dialog.getByLabel("What the device is to do").fill('{"description":"For this one","plat_Restart":{}}');
  await dialog.getByRole("button", { name: "Create" }).click();
  const row = visitor.page.getByRole("row", { name: /For this one/ });
  await row.getByText(device.name).waitFor();
  const { operations } = await stage.fleet.call("GET", `/devicecontrol/operations?deviceId=${device.id}&pageSize=100`);
  assert.deepEqual(operations.filter(({ description }) => description === "For this one").map(({ deviceId }) => deviceId), [device.id]);
  await visitor.leave();
}

export async function all_active_alarms_of_a_view_are_acknowledged(stage) {
  const alarm = await stage.fleet.alarm(stage.fleet.devices[32].id, "WARNING", "acme_AckAll", "To be acknowledged");
  const visitor = await at(stage, "alarms?severity=WARNING&status=ACTIVE");
  await visitor.sees("To be acknowledged");
  await visitor.button("Acknowledge all").click();
  await visitor.confirms(/^Acknowledge \d/, "all");
  await visitor.sees("No alarm matches these filters.");
  assert.equal((await stage.fleet.call("GET", `/alarm/alarms/${alarm.id}`)).status, "ACKNOWLEDGED");
  await visitor.leave();
}

export async function the_bar_of_a_limit_is_as_long_as_its_use(stage) {
  await stage.fleet.call("PUT", "/tenant/tenants/main/limits", { devices: 10_000 }, { Authorization: basic("management/admin") });
  const { limits: { devices: { usage } } } = await stage.fleet.call("GET", "/tenant/limits");
  const visitor = await at(stage, "tenants");
  const bar = visitor.page.locator(".limits li", { hasText: /of 10,000/ }).locator(".bar");
  await bar.waitFor();
  const part = await bar.evaluate((one) => one.firstChild.getBoundingClientRect().width / one.getBoundingClientRect().width);
  assert.ok(Math.abs(part - usage / 10_000) < 0.05, `the bar is ${part} long, ${usage} of 10000 are used`);
  await stage.fleet.call("PUT", "/tenant/tenants/main/limits", { devices: null }, { Authorization: basic("management/admin") });
  await visitor.leave();
}

export async function a_track_has_north_at_the_top_and_east_at_the_right(stage) {
  const { id } = await stage.fleet.call("POST", "/inventory/managedObjects", { name: "a ship", plat_IsDevice: {} });
  const places = [[50, 8], [50.1, 8], [50.1, 8.3]];
  for (const [index, [lat, lng]] of places.entries()) {
    const time = new Date(Date.now() - (10 - index) * 60_000).toISOString();
    await stage.fleet.call("POST", "/event/events", { type: "acme_Place", text: "here", time, source: { id }, plat_Position: { lat, lng } });
  }
  const visitor = await at(stage, `devices/${id}`);
  const line = visitor.page.locator("svg.track polyline");
  await line.waitFor();
  const [first, second, third] = (await line.getAttribute("points")).split(" ").map((point) => point.split(",").map(Number));
  assert.ok(second[1] < first[1] && Math.abs(second[0] - first[0]) < 1, "north is up");
  assert.ok(third[0] > second[0] && Math.abs(third[1] - second[1]) < 1, "east is right");
  const circle = visitor.page.locator("svg.track circle");
  assert.deepEqual([Number(await circle.getAttribute("cx")).toFixed(1), Number(await circle.getAttribute("cy")).toFixed(1)], [third[0].toFixed(1), third[1].toFixed(1)]);
  await visitor.leave();
}

/** How colours look to people with a colour vision deficiency, after Machado, Oliveira and Fernandes (2009). */
const VISIONS = [
  [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
  [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
];

/** Returns a colour of the sRGB space in Oklab, where distances are those that people see. */
function oklab(linear) {
  const [r, g, b] = linear.map((one) => Math.min(1, Math.max(0, one)));
  const [l, m, s] = [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566], [0.0883024619, 0.2817188376, 0.6299787005]].map(([x, y, z]) => Math.cbrt(x * r + y * g + z * b));
  return [[0.2104542553, 0.793617785, -0.0040720468], [1.9779984951, -2.428592205, 0.4505937099], [0.0259040371, 0.7827717662, -0.808675766]].map(([x, y, z]) => x * l + y * m + z * s);
}

function distance(one, other, vision) {
  const seen = (rgb) => {
    const linear = rgb.match(/\d+/g).map((byte) => (byte / 255 <= 0.04045 ? byte / 255 / 12.92 : ((byte / 255 + 0.055) / 1.055) ** 2.4));
    return oklab(vision.map((row) => row.reduce((sum, part, index) => sum + part * linear[index], 0)));
  };
  const [a, b] = [seen(one), seen(other)];
  return Math.hypot(...a.map((part, index) => part - b[index]));
}

export async function lines_of_a_chart_are_told_apart_by_everybody(stage) {
  const { id } = await stage.fleet.call("POST", "/inventory/managedObjects", { name: "with eight series", plat_IsDevice: {} });
  const series = Object.fromEntries(Array.from({ length: 8 }, (_, index) => [`s${index}`, { value: 3e12 + index * 1e11, unit: "rpm" }]));
  await stage.fleet.call("POST", "/measurement/measurements", { type: "acme_Many", time: new Date().toISOString(), source: { id }, acme_Many: series });
  for (const scheme of ["light", "dark"]) {
    const visitor = await stage.visitor({ scheme });
    await visitor.logIn(undefined, undefined, { page: `devices/${id}` });
    const marks = visitor.page.locator(".panel .stroke");
    await eventually("there are eight lines", async () => (await marks.count()) === 8);
    const looks = await marks.evaluateAll((list) => list.map((one) => [getComputedStyle(one).stroke, one.firstChild.getAttribute("stroke-dasharray") ?? ""]));
    assert.equal(new Set(looks.map(String)).size, 8, "no two lines have the same colour and the same dashes");
    const solid = looks.filter(([, dash]) => dash === "").map(([colour]) => colour);
    assert.equal(solid.length, 6);
    for (const [index, vision] of VISIONS.entries()) {
      for (const [one, colour] of solid.entries()) for (const other of solid.slice(one + 1)) assert.ok(distance(colour, other, vision) > 0.1, `${colour} and ${other} look alike in ${scheme} to vision ${index}`);
    }
    await visitor.page.locator(".panel .unit", { hasText: "rpm" }).waitFor();
    await visitor.leave();
  }
  await stage.fleet.call("DELETE", `/inventory/managedObjects/${id}`);
}

export async function a_device_with_many_series_shows_all_its_charts_on_request(stage) {
  const { id } = await stage.fleet.call("POST", "/inventory/managedObjects", { name: "with many series", plat_IsDevice: {} });
  const fragments = Object.fromEntries(Array.from({ length: 15 }, (_, index) => [`acme_F${String(index).padStart(2, "0")}`, { v: { value: index, unit: "C" } }]));
  await stage.fleet.call("POST", "/measurement/measurements", { type: "acme_Many", time: new Date().toISOString(), source: { id }, ...fragments });
  const visitor = await at(stage, `devices/${id}`);
  const titles = () => visitor.page.locator(".panel h3").allTextContents();
  await visitor.sees("12 of 15 charts");
  assert.equal((await titles()).length, 12);
  await visitor.button("Show more charts").click();
  await eventually("each series has its chart", async () => String((await titles()).sort()) === String(Object.keys(fragments)));
  assert.equal(await visitor.page.getByText(/of 15 charts/).count(), 0);
  // A value for a chart beyond the first ones arrives as well.
  await stage.fleet.call("POST", "/measurement/measurements", { type: "acme_Many", time: new Date().toISOString(), source: { id }, acme_F14: { v: { value: 99.5, unit: "C" } } });
  await visitor.page.locator(".panel", { hasText: "acme_F14" }).locator(".value", { hasText: "99.5 C" }).waitFor();
  await visitor.leave();
  await stage.fleet.call("DELETE", `/inventory/managedObjects/${id}`);
}
