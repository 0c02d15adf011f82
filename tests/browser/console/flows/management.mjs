// Flows of management: operations, registration, modules, users, tenants.

import assert from "node:assert/strict";
import { basic, PASSWORD } from "../../../clients/platform.mjs";
import { eventually } from "../stage.mjs";

async function at(stage, page, user = "main/admin") {
  const visitor = await stage.at(page, user);
  await visitor.isLive();
  return visitor;
}

export async function an_operation_is_created_diagnosed_and_watched(stage) {
  const device = stage.fleet.devices[10];
  const visitor = await at(stage, `devices/${device.id}`);
  await visitor.button("New operation").click();
  await visitor.isAccessible("the window for a new operation");
  await visitor.page.getByRole("dialog").getByRole("button", { name: "Create" }).click();
  const operations = visitor.page.locator(".card", { has: visitor.page.getByRole("heading", { name: "Operations" }) });
  await operations.getByText("pending").first().waitFor();
  await operations.getByText("Why is it still pending?").waitFor();
  await operations.getByText(/real-time connection|subscribed/).first().waitFor();
  await visitor.isAccessible("a device with a pending operation");
  const [operation] = (await stage.fleet.call("GET", `/devicecontrol/operations?deviceId=${device.id}`)).operations;
  await stage.fleet.setOperation(operation.id, "EXECUTING");
  await operations.getByText("executing", { exact: true }).waitFor();
  await stage.fleet.setOperation(operation.id, "FAILED", "The valve is stuck");
  await operations.getByText("The valve is stuck").waitFor();
  await visitor.leave();
}

export async function an_operation_that_is_not_json_is_rejected_by_the_page(stage) {
  const visitor = await at(stage, "operations");
  await visitor.button("New operation").click();
  // Without a device, the browser itself asks for one.
  await visitor.page.getByRole("dialog").locator("select").selectOption({ index: 0 });
  await visitor.page.getByLabel("What the device is to do").fill("{ not json");
  await visitor.page.getByRole("dialog").getByRole("button", { name: "Create" }).click();
  await visitor.page.getByRole("dialog").getByRole("alert").waitFor();
  await visitor.leave();
}

export async function operations_are_listed_live_with_their_details(stage) {
  const device = stage.fleet.devices[11];
  const visitor = await at(stage, "operations?status=PENDING");
  const operation = await stage.fleet.operation(device.id, { description: "Look at me", plat_Command: { text: "blink" } });
  await visitor.button("Look at me").click();
  await visitor.page.getByRole("dialog").getByText('"blink"').waitFor();
  await visitor.page.getByRole("dialog").getByText("Why is it still pending?").waitFor();
  await visitor.isAccessible("the details of an operation");
  await visitor.page.keyboard.press("Escape");
  await stage.fleet.setOperation(operation.id, "SUCCESSFUL");
  await visitor.page.getByRole("button", { name: "Look at me" }).waitFor({ state: "detached" });
  await visitor.leave();
}

export async function a_whole_group_gets_an_operation_with_progress(stage) {
  const visitor = await at(stage, "operations");
  await visitor.button("For a whole group").click();
  await visitor.page.getByRole("dialog").locator("select").selectOption({ label: "Meters" });
  await visitor.page.getByLabel(/Seconds from one device/).fill("0");
  await visitor.isAccessible("the window for a bulk operation");
  await visitor.page.getByRole("dialog").getByRole("button", { name: "Start", exact: true }).click();
  await visitor.sees("0 of 20");
  const operations = await eventually("all operations exist", async () => {
    const { operations } = await stage.fleet.call("GET", "/devicecontrol/operations?pageSize=100&status=PENDING");
    const own = operations.filter((one) => one.bulkOperationId);
    return own.length === 20 && own;
  });
  for (const [index, one] of operations.entries()) await stage.fleet.setOperation(one.id, index < 3 ? "FAILED" : "SUCCESSFUL", index < 3 ? "no space" : undefined);
  await visitor.sees("20 of 20, 3 failed");
  await visitor.button("Retry failed").click();
  await visitor.sees("0 of 3");
  await visitor.leave();
}

export async function a_device_registers_while_the_page_waits(stage) {
  await stage.fleet.call("PUT", "/user/management/users/devicebootstrap", { password: PASSWORD }, { Authorization: basic("management/admin") });
  const visitor = await at(stage, "registration");
  await visitor.page.getByLabel("Identifier").fill("sn-new");
  await visitor.button("Register").first().click();
  await visitor.sees("It has not asked yet.");
  const ask = () =>
    stage.fetch(`/devicecontrol/deviceCredentials`, {
      method: "POST",
      headers: { Authorization: basic("management/devicebootstrap"), "Content-Type": "application/json", Accept: "application/json" },
      body: JSON.stringify({ id: "sn-new" }),
    });
  assert.equal((await ask()).status, 404);
  await visitor.sees("It asks for access.");
  await visitor.isAccessible("the registration page with a waiting device");
  await visitor.button("Accept sn-new").click();
  await visitor.sees("sn-new is accepted.");
  assert.equal((await ask()).status, 201);
  await visitor.leave();
}

export async function a_registered_device_is_rejected_with_the_message_of_the_server(stage) {
  const visitor = await at(stage, "registration");
  visitor.expectsCuts = true;
  for (let time = 0; time < 2; time += 1) {
    await visitor.page.getByLabel("Identifier").fill("sn-twice");
    await visitor.button("Register").first().click();
    await visitor.page.locator("code", { hasText: "sn-twice" }).waitFor();
  }
  assert.match(await visitor.page.locator("form [role=alert]").textContent(), /sn-twice/);
  await visitor.leave();
}

export async function a_file_registers_many_and_explains_each_row_that_failed(stage) {
  const visitor = await at(stage, "registration");
  const rows = ["ID;CREDENTIALS;TYPE;NAME;PATH", "csv-1;0123456789abcdef;acme_Valve;valve 1;Valves", "csv-2;short;acme_Valve;valve 2;Valves", 'csv-3;0123456789abcdef;acme_Valve;"valve; ""3""";Valves'];
  await visitor.page.getByLabel("CSV file").setInputFiles({ name: "devices.csv", mimeType: "text/csv", buffer: Buffer.from(rows.join("\n")) });
  await visitor.page.getByRole("cell", { name: 'valve; "3"' }).waitFor();
  assert.equal(await visitor.page.getByText("0123456789abcdef").count(), 0, "passwords are not shown");
  await visitor.button("Register all").click();
  await visitor.sees("of 3 rows succeeded");
  await visitor.sees("1 failed");
  await visitor.page.getByRole("cell", { name: /Line 3: .*6 to 32/ }).waitFor();
  await visitor.isAccessible("the result of a file");
  await visitor.leave();
}

const MODULE = "module console_test;\n\n@Name('hot') select getNumber(m, 'plat_TemperatureMeasurement.T.value') as degrees\nfrom MeasurementCreated m where getNumber(m, 'plat_TemperatureMeasurement.T.value') > 90;\n";

export async function an_error_in_a_module_is_marked_with_line_and_caret(stage) {
  const visitor = await at(stage, "modules/new");
  visitor.expectsCuts = true;
  const text = visitor.page.getByLabel("Text of the module");
  await text.fill(MODULE.replace("MeasurementCreated m where", "MeasurementMade m where"));
  await visitor.button("Deploy").click();
  const alert = visitor.page.getByRole("alert");
  await alert.waitFor();
  assert.match(await alert.textContent(), /line 4, column \d+\nfrom MeasurementMade.*\n +\^/);
  assert.equal(await visitor.page.locator(".numbers .wrong").textContent(), "4");
  const selected = await text.evaluate((area) => area.value.slice(area.selectionStart).split("\n")[0]);
  assert.match(selected, /^MeasurementMade/);
  await visitor.isAccessible("the editor with a mistake");
  await visitor.leave();
}

export async function a_module_is_deployed_shows_its_rows_and_is_deleted(stage) {
  const visitor = await at(stage, "modules/new");
  await visitor.page.getByLabel("Text of the module").fill(MODULE);
  await visitor.button("Deploy").click();
  await visitor.sees("The module console_test runs.");
  await visitor.sees("No statement gave a row since this page was opened.");
  await visitor.seesWhatIsSent('{"degrees":95.5', () => stage.fleet.measure(stage.fleet.devices[12].id, 95.5));
  await visitor.button("Undeploy").click();
  await visitor.sees("It no longer runs.");
  await visitor.button("Delete").click();
  await visitor.confirms("Delete module");
  await visitor.sees("The module was deleted.");
  await visitor.page.getByRole("link", { name: "console_test" }).waitFor({ state: "detached" });
  await visitor.leave();
}

export async function a_device_is_edited_and_gets_an_external_id(stage) {
  const device = stage.fleet.devices[13];
  const visitor = await at(stage, `devices/${device.id}`);
  await visitor.button("Edit").click();
  await visitor.page.getByLabel("Name").fill("renamed here");
  await visitor.page.getByLabel(/Response interval/).fill("15");
  await visitor.isAccessible("the window that edits a device");
  await visitor.button("Save").click();
  await visitor.page.getByRole("heading", { level: 1, name: "renamed here" }).waitFor();
  await visitor.sees("a message every 15 min is expected");
  await visitor.page.getByRole("button", { name: "Add", exact: true }).click();
  await visitor.page.getByLabel("Value").fill("sn/by hand?");
  await visitor.page.locator("form").getByRole("button", { name: "Add" }).click();
  await visitor.sees("sn/by hand?");
  await visitor.button("Remove sn/by hand?").click();
  await visitor.confirms("Remove id");
  await visitor.page.getByText("sn/by hand?").waitFor({ state: "detached" });
  assert.deepEqual((await stage.fleet.call("GET", `/identity/globalIds/${device.id}/externalIds`)).externalIds, []);
  await visitor.leave();
}

export async function what_another_person_changed_meanwhile_is_not_overwritten(stage) {
  const { id } = await stage.fleet.call("POST", "/inventory/managedObjects", { name: "shared", plat_IsDevice: {} });
  const address = `/inventory/managedObjects/${id}`;
  const visitor = await at(stage, `devices/${id}`);
  await visitor.button("Edit").click();
  await visitor.page.getByLabel("Name").fill("mine");
  await stage.fleet.call("PUT", address, { name: "theirs" });
  await visitor.page.locator("h1", { hasText: "theirs" }).waitFor();
  assert.equal(await visitor.page.getByLabel("Name").inputValue(), "mine");
  visitor.expectsCuts = true;
  await visitor.button("Save").click();
  await visitor.sees("Somebody else has changed it meanwhile, so nothing was saved.");
  assert.equal((await stage.fleet.call("GET", address)).name, "theirs");
  visitor.complaints = [];
  await visitor.page.keyboard.press("Escape");
  await visitor.confirms("Discard");
  await visitor.button("Edit").click();
  await visitor.page.getByLabel("Name").fill("mine after all");
  await visitor.button("Save").click();
  await visitor.page.getByRole("heading", { level: 1, name: "mine after all" }).waitFor();
  await visitor.leave();
}

export async function a_device_is_deleted_after_a_question(stage) {
  const { id } = await stage.fleet.call("POST", "/inventory/managedObjects", { name: "short-lived", plat_IsDevice: {} });
  const visitor = await at(stage, `devices/${id}`);
  await visitor.button("Edit").click();
  await visitor.button("Delete").click();
  await visitor.isAccessible("the question before a device is deleted");
  await visitor.confirms("Delete device", "short-lived");
  await visitor.page.getByRole("heading", { level: 1, name: "Devices" }).waitFor();
  await visitor.page.getByText("short-lived").waitFor({ state: "detached" });
  await visitor.leave();
}

export async function an_unknown_device_shows_an_error(stage) {
  const visitor = await at(stage, "devices/4711");
  visitor.expectsCuts = true;
  await visitor.page.getByRole("alert").filter({ hasText: "4711" }).waitFor();
  visitor.complaints = [];
  await visitor.leave();
}

export async function a_user_is_created_logs_in_and_is_disabled(stage) {
  const visitor = await at(stage, "users");
  await visitor.button("New user").click();
  const dialog = visitor.page.getByRole("dialog");
  await dialog.getByLabel("User name").fill("colleague");
  await dialog.getByLabel("Password").fill("colleague-secret");
  await dialog.getByLabel("Group").selectOption({ label: "readers" });
  await visitor.isAccessible("the window for a new user");
  await dialog.getByRole("button", { name: "Create" }).click();
  await visitor.sees("colleague can log in now.");
  const colleague = await stage.visitor();
  await colleague.logIn("main/colleague", "colleague-secret");
  await colleague.isLive();
  await colleague.leave();
  await visitor.button("Disable colleague").click();
  await visitor.button("Enable colleague").waitFor();
  await visitor.leave();
}

export async function the_tenant_management_creates_and_suspends_a_tenant(stage) {
  const visitor = await at(stage, "tenants", "management/admin");
  await visitor.button("New tenant").click();
  const dialog = visitor.page.getByRole("dialog");
  const values = { Id: "acme", Domain: "acme.example.com", Company: "Acme", Password: "acme-secret", "E-mail": "a@example.com" };
  for (const [label, value] of Object.entries(values)) await dialog.getByLabel(label).fill(value);
  await dialog.getByRole("button", { name: "Create" }).click();
  await visitor.sees("Log in as acme/admin.");
  await visitor.button("Suspend acme").click();
  await visitor.confirms("Suspend tenant", "acme");
  await visitor.button("Activate acme").waitFor();
  await visitor.leave();
}

export async function the_audit_log_shows_users_and_their_changes(stage) {
  const alarm = await stage.fleet.alarm(stage.fleet.devices[14].id, "MAJOR", "acme_Audited", "Audited");
  await stage.fleet.call("PUT", `/alarm/alarms/${alarm.id}`, { status: "ACKNOWLEDGED" });
  const visitor = await at(stage, "audit?type=Alarm");
  const row = visitor.page.getByRole("row", { name: new RegExp(alarm.id) });
  await row.getByText(/ACKNOWLEDGED/).waitFor();
  await row.getByText("admin", { exact: true }).waitFor();
  await visitor.leave();
}

export async function the_server_page_shows_health_and_metrics(stage) {
  const visitor = await at(stage, "server");
  await visitor.page.locator(".status-up").waitFor();
  await visitor.sees("platform_http_request_seconds_count");
  await visitor.sees("real-time sessions");
  const jobs = visitor.page.getByRole("region", { name: "Background jobs and their last runs" });
  await jobs.getByRole("row", { name: /log-upkeep 1 s/ }).locator(".status-done").waitFor();
  await eventually("requests are counted", async () => parseFloat(await visitor.page.locator(".legend li", { hasText: "requests" }).locator("b").textContent()) > 0);
  await visitor.leave();
}

export async function applications_are_listed_with_their_owner(stage) {
  const visitor = await at(stage, "applications");
  await visitor.page.getByRole("row", { name: /cockpit/ }).getByText("management").waitFor();
  await visitor.leave();
}
