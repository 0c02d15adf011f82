// Flows of the user interface itself: logging in, rights, windows, keyboards.

import assert from "node:assert/strict";
import { PASSWORD } from "../../../clients/platform.mjs";
import { eventually } from "../stage.mjs";

const VIEWER = "viewer-secret";

export async function the_first_page_is_small(stage) {
  const visitor = await stage.visitor();
  let bytes = 0;
  visitor.page.on("response", async (response) => (bytes += Number(response.headers()["content-length"] ?? 0)));
  await visitor.page.goto(stage.base);
  await visitor.page.getByLabel("Password").waitFor();
  assert.ok(stage.files || (bytes > 10_000 && bytes < 150_000), `${bytes} bytes were transferred`);
  await visitor.isAccessible("the log-in page");
  await visitor.leave();
}

export async function the_policy_forbids_everything_foreign_and_inline(stage) {
  const page = await fetch(stage.base, { headers: { Accept: "text/html,*/*;q=0.8" } });
  const policy = page.headers.get("content-security-policy");
  assert.match(policy, /default-src 'self'/);
  assert.match(policy, /frame-ancestors 'none'/);
  assert.doesNotMatch(policy, /unsafe/);
  assert.equal(page.headers.get("x-content-type-options"), "nosniff");
  const [script] = (await page.text()).match(/\/console\/console-[0-9a-f]+\.js/);
  const file = await fetch(`${stage.base}${script}`);
  assert.match(file.headers.get("cache-control"), /immutable/);
  assert.equal(file.headers.get("content-encoding"), "gzip");
  // A client of the API still gets a 401 instead of the console.
  assert.equal((await fetch(stage.base, { headers: { Accept: "application/json" } })).status, 401);
  const known = { Accept: "application/json", Authorization: stage.fleet.authorization };
  assert.equal((await fetch(stage.base, { headers: known })).status, 404);
}

export async function a_wrong_password_shows_an_error_and_the_right_one_opens_the_overview(stage) {
  const visitor = await stage.visitor();
  visitor.expectsCuts = true;
  await visitor.logIn("main/admin", "wrong-password");
  await visitor.sees("User or password is wrong.");
  await visitor.page.getByLabel("Password").fill(PASSWORD);
  await visitor.button("Log in").click();
  await visitor.page.getByRole("heading", { name: "Overview" }).waitFor();
  await visitor.isLive();
  await visitor.leave();
}

/** Returns what a script of the page could read of a log-in. */
const readable = (page) => page.evaluate(() => sessionStorage.length + localStorage.length + document.cookie.length + document.querySelectorAll('meta[name="platform-token"]').length);

export async function the_log_in_survives_a_reload_and_ends_in_every_tab_at_log_out(stage) {
  const visitor = await stage.visitor();
  visitor.expectsCuts = true;
  await visitor.logIn();
  await visitor.isLive();
  await visitor.page.reload();
  await visitor.page.getByRole("heading", { name: "Overview" }).waitFor();
  await visitor.isLive();
  assert.equal(await readable(visitor.page), 0);
  // A tab that a person opens by its address is logged in, too.
  const other = await visitor.context.newPage();
  await other.goto(`${stage.base}/#/devices`);
  await other.getByRole("heading", { level: 1, name: "Devices" }).waitFor();
  await other.locator(".connection.live").waitFor();
  await visitor.button("Log out").click();
  await visitor.page.getByLabel("Password").waitFor();
  await other.getByLabel("Password").waitFor();
  await other.reload();
  await other.getByLabel("Password").waitFor();
  await visitor.leave();
}

export async function the_password_is_exchanged_for_a_token_and_forgotten(stage) {
  const visitor = await stage.visitor();
  const requests = [];
  visitor.page.on("request", (request) => requests.push(request));
  await visitor.logIn();
  await visitor.isLive();
  const schemes = [];
  for (const request of requests) {
    const authorization = await request.headerValue("authorization");
    if (authorization) schemes.push([request.method(), new URL(request.url()).pathname, authorization.split(" ")[0]]);
  }
  assert.deepEqual(schemes.filter(([, , scheme]) => scheme !== "Bearer"), [["POST", "/user/currentUser/tokens", "Basic"]]);
  await visitor.leave();
}

export async function a_log_in_that_another_one_ended_asks_for_the_password(stage) {
  await stage.fleet.user("double", VIEWER, ["ROLE_INVENTORY_READ"]);
  const [one, two] = [await stage.visitor(), await stage.visitor()];
  one.expectsCuts = two.expectsCuts = true;
  for (const visitor of [one, two]) {
    await visitor.logIn("main/double", VIEWER);
    await visitor.isLive();
  }
  await one.go("profile", "Profile");
  await one.page.getByText("this log-in").waitFor();
  await one.page.getByRole("button", { name: /^End the log-in/ }).click();
  await one.confirms("End log-in");
  await two.page.getByLabel("Password").waitFor();
  await one.isLive();
  await one.leave();
  await two.leave();
}

export async function a_page_that_the_browser_kept_is_logged_out_with_the_others(stage) {
  const visitor = await stage.visitor();
  await visitor.logIn();
  await visitor.isLive();
  // The log-in ended while the page was kept.
  await visitor.context.clearCookies();
  await visitor.page.evaluate(() => dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true })));
  await visitor.page.getByLabel("Password").waitFor();
  await visitor.leave();
}

export async function a_tab_that_the_console_opens_is_logged_in(stage) {
  const visitor = await stage.visitor();
  await visitor.logIn("main/admin", PASSWORD, { page: "devices" });
  await visitor.isLive();
  const opened = visitor.context.waitForEvent("page");
  await visitor.page.getByRole("link", { name: "meter 002" }).click({ modifiers: ["Control"] });
  const tab = await opened;
  await tab.getByRole("heading", { level: 1, name: "meter 002" }).waitFor();
  await visitor.page.getByRole("heading", { level: 1, name: "Devices" }).waitFor();
  assert.equal(await readable(tab), 0);
  await visitor.leave();
}

export async function a_limited_user_sees_only_permitted_actions(stage) {
  await stage.fleet.user("viewer", VIEWER, ["ROLE_INVENTORY_READ", "ROLE_ALARM_READ"]);
  const visitor = await stage.visitor();
  await visitor.logIn("main/viewer", VIEWER);
  await visitor.isLive();
  const offered = await visitor.page.getByRole("navigation", { name: "Pages" }).locator("ul").getByRole("link").allTextContents();
  assert.deepEqual(offered, ["Overview", "Devices", "Alarms", "Live", "Consumers"]);
  await visitor.go("alarms", "Alarms");
  await visitor.sees("Pressure is too high");
  assert.equal(await visitor.page.getByRole("button", { name: /Acknowledge|Clear/ }).filter({ hasNotText: "Cleared" }).filter({ hasNotText: /^Acknowledged$/ }).count(), 0);
  await visitor.go("live?channels=/measurements/*", "Live");
  await visitor.sees("403::subscribe_denied");
  await visitor.isAccessible("the live page of a limited user");
  await visitor.leave();
}

export async function a_withdrawn_password_leads_back_to_the_log_in_page(stage) {
  await stage.fleet.user("leaver", VIEWER, ["ROLE_INVENTORY_READ"]);
  const visitor = await stage.visitor();
  visitor.expectsCuts = true;
  await visitor.logIn("main/leaver", VIEWER);
  await visitor.isLive();
  await visitor.go("devices", "Devices");
  await visitor.sees("meter 002");
  await stage.fleet.call("PUT", "/user/main/users/leaver", { password: "another-secret" });
  // Nobody clicks: rows of somebody who may no longer see them do not stay.
  await visitor.sees("The server no longer accepts your log-in");
  await visitor.leave();
}

export async function a_withdrawn_right_takes_its_rows_and_its_page_away(stage) {
  await stage.fleet.user("mover", VIEWER, ["ROLE_INVENTORY_READ", "ROLE_ALARM_READ"]);
  const visitor = await stage.visitor();
  visitor.expectsCuts = true;
  await visitor.logIn("main/mover", VIEWER, { page: "alarms" });
  await visitor.isLive();
  await visitor.sees("Pressure is too high");
  // The page of a device stays, but not its alarms.
  const other = await stage.visitor();
  other.expectsCuts = true;
  await other.logIn("main/mover", VIEWER, { page: `devices/${stage.fleet.devices[0].id}` });
  await other.isLive();
  await other.sees("Pressure is too high");
  await stage.fleet.call("DELETE", "/user/main/users/mover/roles/ROLE_ALARM_READ");
  await other.page.getByText("Pressure is too high").first().waitFor({ state: "detached" });
  await other.sees("Access is denied");
  await other.page.getByRole("heading", { level: 1, name: stage.fleet.devices[0].name }).waitFor();
  await other.leave();
  await visitor.page.getByText("Pressure is too high").first().waitFor({ state: "detached" });
  await visitor.page.getByRole("link", { name: "Alarms", exact: true }).waitFor({ state: "detached" });
  assert.equal(await visitor.page.getByRole("link", { name: "Devices", exact: true }).count(), 1);
  await visitor.leave();
}

export async function a_disabled_user_is_logged_out_without_a_click(stage) {
  await stage.fleet.user("suspended", VIEWER, ["ROLE_ALARM_READ"]);
  const visitor = await stage.visitor();
  visitor.expectsCuts = true;
  await visitor.logIn("main/suspended", VIEWER, { page: "alarms" });
  await visitor.isLive();
  await visitor.sees("Pressure is too high");
  await stage.fleet.call("PUT", "/user/main/users/suspended", { enabled: false });
  await visitor.page.getByLabel("Password").waitFor();
  await visitor.leave();
}

/** Returns every page with its address and its heading. */
const pages = (stage) => [
  ["overview", "Overview"],
  ["devices", "Devices"],
  [`devices/${stage.fleet.devices[0].id}`, stage.fleet.devices[0].name],
  ["alarms", "Alarms"],
  ["operations", "Operations"],
  ["registration", "Registration"],
  ["live?channels=/alarms/*", "Live"],
  ["modules/new", "Modules"],
  ["users", "Users"],
  ["certificates", "Certificates"],
  ["applications", "Applications"],
  ["tenants", "Tenants"],
  ["audit", "Audit"],
  ["consumers", "Consumers"],
  [`why?id=${stage.fleet.devices[0].id}&user=admin`, "Why is it quiet?"],
  ["server", "Server"],
];

/** The rules of axe whose results depend on colours. */
const OF_COLOURS = ["color-contrast", "link-in-text-block"];

async function visit_all(stage, window, what, rules) {
  const visitor = await stage.visitor(window);
  await visitor.logIn();
  await visitor.isLive();
  for (const [address, heading] of pages(stage)) {
    await visitor.go(address, heading);
    await visitor.page.locator("[aria-busy=true]").first().waitFor({ state: "detached" });
    await visitor.isAccessible(`${heading} ${what}`, rules);
    await visitor.fits(`${heading} ${what}`);
  }
  await visitor.leave();
}

export const every_page_is_without_barriers_in_light = (stage) => visit_all(stage, {}, "in light");
export const every_page_is_without_barriers_in_dark = (stage) => visit_all(stage, { scheme: "dark" }, "in dark", OF_COLOURS);
export const every_page_fits_a_window_of_360_pixels = (stage) => visit_all(stage, { width: 360, height: 740 }, "at 360 pixels");

export async function a_narrow_window_has_a_menu(stage) {
  const visitor = await stage.visitor({ width: 360, height: 740 });
  await visitor.logIn();
  await visitor.isLive("Live");
  await visitor.button("Menu").click();
  await visitor.page.getByRole("link", { name: "Alarms", exact: true }).click();
  await visitor.page.getByRole("heading", { level: 1, name: "Alarms" }).waitFor();
  await visitor.page.getByRole("link", { name: "Registration" }).waitFor({ state: "hidden" });
  await visitor.leave();
}

export async function the_keyboard_is_enough(stage) {
  const visitor = await stage.visitor();
  const { page } = visitor;
  await page.goto(stage.base);
  await page.getByLabel("Password").waitFor();
  await page.keyboard.type("main/admin");
  await page.keyboard.press("Tab");
  await page.keyboard.type(PASSWORD);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await eventually("the heading has the focus", () => page.evaluate(() => document.activeElement.textContent === "Overview"));
  await page.getByRole("link", { name: "Devices", exact: true }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "Devices" }).waitFor();
  await page.getByRole("link", { name: stage.fleet.devices[1].name }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: stage.fleet.devices[1].name }).waitFor();
  await page.getByRole("button", { name: "New operation" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await visitor.leave();
}

export async function times_are_in_the_zone_of_the_viewer(stage) {
  const device = stage.fleet.devices[20];
  await stage.fleet.call("POST", "/event/events", { type: "acme_Dated", text: "Long ago", time: "2024-07-01T23:30:00.000Z", source: { id: device.id } });
  const visitor = await stage.visitor({ zone: "Asia/Tokyo" });
  await visitor.logIn("main/admin", PASSWORD, { page: `devices/${device.id}` });
  const time = visitor.page.locator("time[datetime^='2024-07-01']");
  assert.match(await time.textContent(), /2 Jul 2024, 08:30/);
  assert.match(await time.getAttribute("title"), /2024-07-01T23:30:00\.000Z/);
  await visitor.leave();
}
