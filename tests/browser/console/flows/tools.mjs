// Flows that save work: completions, multiple selection, roll-outs, rights, old data.

import assert from "node:assert/strict";
import { basic, PASSWORD } from "../../../clients/platform.mjs";
import { eventually } from "../stage.mjs";

async function at(stage, page) {
  const visitor = await stage.at(page);
  await visitor.isLive("Live");
  return visitor;
}

export async function a_query_is_completed_with_the_keyboard(stage) {
  const visitor = await at(stage, "devices");
  // On a busy machine, a query is sent before it is complete, and is 422.
  visitor.expectsCuts = true;
  const { page } = visitor;
  await visitor.sees("meter 002");
  const field = page.getByRole("combobox", { name: "Name or query" });
  await field.pressSequentially("plat_Hardware.mo");
  await page.getByRole("option", { name: /plat_Hardware\.model/ }).waitFor();
  // Until the text is a query, it is a part of a name, which no device has.
  await visitor.sees("0 devices");
  await visitor.isAccessible("the field with completions");
  for (const key of ["ArrowDown", "Enter"]) await page.keyboard.press(key);
  assert.equal(await field.inputValue(), "plat_Hardware.model");
  await page.keyboard.type(" e");
  for (const key of ["ArrowDown", "Enter"]) await page.keyboard.press(key);
  await page.getByRole("option", { name: /'RX 400'/ }).click();
  assert.equal(await field.inputValue(), "plat_Hardware.model eq 'RX 400' ");
  await visitor.sees("14 devices");
  await page.keyboard.press("Escape");
  await page.getByRole("option").first().waitFor({ state: "detached" });
  await visitor.leave();
}

export async function an_error_in_a_query_is_marked_with_a_caret(stage) {
  const visitor = await at(stage, "devices");
  visitor.expectsCuts = true;
  await visitor.page.getByRole("combobox", { name: "Name or query" }).fill("name eq 'a' nad has(plat_Firmware)");
  const mistake = visitor.page.locator("pre.mistake");
  await mistake.waitFor();
  const [text, caret] = (await mistake.textContent()).split("\n");
  assert.equal(text, "name eq 'a' nad has(plat_Firmware)");
  assert.equal(caret.indexOf("^"), text.indexOf("nad"));
  await visitor.leave();
}

export async function chosen_alarms_are_acknowledged_together(stage) {
  const { fleet } = stage;
  for (const index of [31, 32, 33]) await fleet.alarm(fleet.devices[index].id, "WARNING", "acme_Chosen", `Choose me ${index}`);
  const visitor = await at(stage, "alarms?type=acme_Chosen");
  for (const index of [31, 33]) await visitor.page.getByLabel(`Choose Choose me ${index}`).check();
  await visitor.sees("2 chosen");
  await visitor.isAccessible("alarms of which some are chosen");
  await visitor.button("Acknowledge them").click();
  await visitor.sees("2 alarms are acknowledged.");
  const row = (index) => visitor.page.getByRole("row", { name: new RegExp(`Choose me ${index}`) });
  await row(31).getByText("acknowledged").waitFor();
  await row(32).getByText("active", { exact: true }).waitFor();
  await visitor.button("Choose all that are shown").click();
  await visitor.button("Clear them").click();
  await visitor.sees("No alarm matches these filters.");
  await visitor.leave();
}

export async function a_roll_out_is_planned_started_inspected_and_stopped(stage) {
  const visitor = await at(stage, "operations");
  await visitor.button("For a whole group").click();
  const dialog = visitor.page.getByRole("dialog");
  await dialog.locator("select").selectOption({ label: "Pumps" });
  await dialog.getByLabel("Start", { exact: false }).first().fill("2030-01-01T12:00");
  await dialog.getByLabel(/Seconds from one device/).fill("100");
  await dialog.getByLabel("What the device is to do").fill('{"description":"Slowly","plat_Restart":{}}');
  await dialog.getByRole("button", { name: "Start", exact: true }).click();
  const row = visitor.page.locator("li.bulk", { hasText: "Slowly" });
  await row.getByText("planned").waitFor();
  await row.getByRole("button", { name: "Start now" }).click();
  await row.getByText("active").waitFor();
  await eventually("the first device got it", async () => /\d of 20/.test(await row.textContent()));
  await row.getByRole("link", { name: "Slowly" }).click();
  await visitor.sees("of one roll-out");
  await visitor.page.getByRole("table", { name: "Operations" }).getByText("Slowly").first().waitFor();
  await row.getByRole("button", { name: "Stop Slowly" }).click();
  await visitor.confirms("Stop roll-out");
  await row.waitFor({ state: "detached" });
  await visitor.leave();
}

export async function a_device_is_locked_out_and_let_in_again(stage) {
  const form = new FormData();
  form.append("file", new Blob(["ID;CREDENTIALS;TYPE;NAME\nlocked-1;0123456789abcdef;acme_Door;door of the flow\n"]), "one.csv");
  const response = await stage.fetch("/devicecontrol/bulkNewDeviceRequests", { method: "POST", headers: { Authorization: stage.fleet.authorization }, body: form });
  assert.equal((await response.json()).numberOfCreated, 1);
  const { managedObjects: [device] } = await stage.fleet.call("GET", `/inventory/managedObjects?${new URLSearchParams({ query: "name eq 'door of the flow'" })}`);
  const visitor = await at(stage, `devices/${device.id}`);
  const ask = () => stage.fetch("/inventory/managedObjects", { headers: { Authorization: `Basic ${btoa("main/device_locked-1:0123456789abcdef")}` } }).then(({ status }) => status);
  assert.equal(await ask(), 200);
  await visitor.sees("main/device_locked-1");
  await visitor.button("Lock out").click();
  await visitor.confirms("Lock out now");
  await visitor.button("Let in").waitFor();
  assert.equal(await ask(), 401);
  await visitor.button("Let in").click();
  await visitor.button("Lock out").waitFor();
  assert.equal(await ask(), 200);
  await visitor.leave();
}

export async function a_retention_rule_has_a_preview_of_its_deletions(stage) {
  const visitor = await at(stage, "tenants");
  await visitor.button("New rule").click();
  const dialog = visitor.page.getByRole("dialog");
  await dialog.locator("select").selectOption("MEASUREMENT");
  await visitor.button("What would it delete?").click();
  await dialog.getByText("Now it would delete nothing.").waitFor();
  await visitor.isAccessible("the window for a rule");
  await dialog.getByRole("button", { name: "Create" }).click();
  const rule = visitor.page.locator(".rows li", { hasText: "measurements" });
  await rule.getByText("365 days").waitFor();
  await rule.getByRole("button", { name: "Preview" }).click();
  await rule.getByText("Now it would delete nothing.").waitFor();
  await rule.getByRole("button", { name: "Delete" }).click();
  await visitor.confirms("Delete rule");
  await visitor.sees("Everything is kept for ever.");
  await visitor.leave();
}

export async function a_group_gets_roles_and_a_user_gets_the_group(stage) {
  await stage.fleet.user("worker", "worker-secret", []);
  const visitor = await at(stage, "users");
  await visitor.button("New group").click();
  await visitor.page.getByRole("dialog").getByLabel("Name").fill("night shift");
  await visitor.page.getByRole("dialog").getByRole("button", { name: "Create" }).click();
  await visitor.button("Roles of night shift").click();
  await visitor.page.getByRole("dialog").getByLabel("alarm read").check();
  await visitor.isAccessible("the roles of a group");
  await visitor.page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
  await visitor.sees("The roles of night shift are in force.");
  await visitor.button("Edit worker").click();
  await visitor.page.getByRole("dialog").getByLabel("night shift").check();
  await visitor.page.getByLabel("Permissions for single devices").fill(`${stage.fleet.devices[0].id}: MEASUREMENT:*:READ`);
  await visitor.isAccessible("the window that edits a user");
  await visitor.page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
  await visitor.sees("worker was changed.");
  const worker = { Authorization: `Basic ${btoa("main/worker:worker-secret")}` };
  const status = (path) => stage.fetch(path, { headers: worker }).then((response) => response.status);
  assert.equal(await status("/alarm/alarms"), 200);
  assert.equal(await status(`/measurement/measurements?source=${stage.fleet.devices[0].id}`), 200);
  assert.equal(await status("/audit/auditRecords"), 403);
  await visitor.leave();
}

export async function a_tenant_sees_its_limits_and_its_usage(stage) {
  const visitor = await at(stage, "tenants");
  const sessions = visitor.page.locator(".limits li", { hasText: /^real-time sessions/ });
  await eventually("the session of the page is counted", async () => Number((await sessions.locator("b").textContent()).replace(/\D/g, "")) >= 1);
  await visitor.sees("What it stores");
  await visitor.sees("The last days");
  await visitor.isAccessible("limits and usage");
  await visitor.leave();
}

export async function a_limit_of_a_tenant_is_set_and_taken_back(stage) {
  await stage.fleet.call("POST", "/tenant/tenants", { id: "limited", domain: "limited.example.com", company: "Acme", adminName: "admin", adminPass: PASSWORD, adminEmail: "a@example.com" }, { Authorization: basic("management/admin") });
  const visitor = await stage.at("tenants", "management/admin");
  await visitor.isLive("Live");
  await visitor.button("Limits of limited").click();
  const dialog = visitor.page.getByRole("dialog");
  await dialog.locator("select").selectOption("devices");
  await dialog.getByLabel("Most").fill("7");
  await dialog.getByRole("button", { name: "Set" }).click();
  const devices = dialog.locator(".limits li", { hasText: /^devices/ });
  await devices.getByText("of 7").waitFor();
  await visitor.isAccessible("the limits of a tenant");
  await dialog.getByRole("button", { name: "Default of the server" }).click();
  await devices.getByText("no limit").waitFor();
  await visitor.leave();
}

export async function sessions_are_listed_and_one_is_ended(stage) {
  await stage.fleet.user("watcher", "watcher-secret", ["ROLE_ALARM_READ"]);
  const watcher = await stage.visitor();
  watcher.expectsCuts = true;
  await watcher.logIn("main/watcher", "watcher-secret", { page: "alarms" });
  await watcher.isLive("Live");
  const visitor = await at(stage, "server");
  const row = visitor.page.getByRole("table", { name: "Sessions" }).getByRole("row", { name: /watcher/ });
  await row.getByText("WebSocket").waitFor();
  await visitor.isAccessible("the sessions of a tenant");
  await row.getByRole("button", { name: "End the session of watcher" }).click();
  await visitor.confirms("End session");
  // The page of this user opens another session and loads its lists again.
  await watcher.sees("The lists were loaded again.");
  await visitor.leave();
  await watcher.leave();
}

export async function a_printed_list_has_all_its_rows_and_no_buttons(stage) {
  const visitor = await at(stage, "devices");
  const { page } = visitor;
  await visitor.sees("meter 002");
  const table = page.getByRole("table", { name: "Devices" });
  const rows = table.locator(".virtual-body > [role=row]");
  const total = Number(await table.getAttribute("aria-rowcount"));
  assert.ok((await rows.count()) < total, "the screen shows fewer rows than there are");
  // A browser sends this event before it lays the page out for paper.
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  await eventually("all rows exist", async () => (await rows.count()) === total);
  await page.emulateMedia({ media: "print" });
  const heights = await page.evaluate(() => ({ list: document.querySelector(".virtual-body").getBoundingClientRect().height, page: document.documentElement.scrollHeight, rows: [...document.querySelectorAll(".virtual-body > [role=row]")].reduce((sum, row) => sum + row.getBoundingClientRect().height, 0) }));
  assert.ok(heights.list >= heights.rows - 1 && heights.page >= heights.list, `${JSON.stringify(heights)}: rows are cut`);
  for (const hidden of ["navigation", "banner"]) for (const one of await page.getByRole(hidden).all()) assert.equal(await one.isVisible(), false, hidden);
  await page.emulateMedia({ media: null });
  await page.evaluate(() => dispatchEvent(new Event("afterprint")));
  await eventually("the rows in sight are left", async () => (await rows.count()) < total);
  // Selected rows are copied as lines with tabs.
  const copied = await page.evaluate(() => {
    const list = document.querySelectorAll(".virtual-body > [role=row]");
    getSelection().setBaseAndExtent(list[0], 0, list[2], 1);
    const event = new ClipboardEvent("copy", { bubbles: true, cancelable: true, clipboardData: new DataTransfer() });
    list[0].dispatchEvent(event);
    return event.clipboardData.getData("text/plain");
  });
  assert.equal(copied.split("\n").length, 3);
  assert.match(copied.split("\n")[0], /\t/);
  await visitor.leave();
}
