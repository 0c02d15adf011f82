// Flows of searches, and of places, focus and text that stay.

import assert from "node:assert/strict";
import { eventually } from "../stage.mjs";

const at = (stage, page, user, password) => stage.at(page, user, password);

/** Makes a device that only its external id names. */
const meterOfSupport = async (stage) => {
  const { id } = await stage.fleet.call("POST", "/inventory/managedObjects", { name: "meter of support", type: "acme_Rare", plat_IsDevice: {} });
  await stage.fleet.call("POST", `/identity/globalIds/${id}/externalIds`, { type: "plat_Serial", externalId: "QX-77/12" }).catch((error) => assert.match(error.message, /409/));
  return id;
};

export async function a_device_is_found_by_its_serial_number_its_id_and_its_type(stage) {
  const id = await meterOfSupport(stage);
  const visitor = await at(stage, "devices");
  await visitor.sees("meter 002");
  const field = visitor.page.getByRole("combobox", { name: "Name or query" });
  for (const text of ["QX-77/12", id, "acme_Rare", "of supp", "METER OF SUPP"]) {
    // The result of the last text must not be taken for that of this one.
    await field.fill("no such thing");
    await visitor.page.getByText("0 devices", { exact: true }).waitFor();
    await field.fill(text);
    await visitor.page.getByText("1 device", { exact: true }).waitFor();
    await visitor.sees("meter of support");
  }
  await visitor.leave();
  await stage.fleet.call("DELETE", `/inventory/managedObjects/${id}`);
}

export async function one_field_finds_pages_devices_and_groups(stage) {
  const id = await meterOfSupport(stage);
  const visitor = await at(stage, "audit");
  const { page } = visitor;
  await page.getByRole("heading", { name: "Audit" }).waitFor();
  await page.keyboard.press("Control+k");
  const field = page.getByRole("combobox", { name: /serial number/ });
  await field.fill("QX-77/12");
  await page.getByRole("option", { name: /meter of support/ }).waitFor();
  await visitor.isAccessible("the window that finds everything");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "meter of support" }).waitFor();
  await page.keyboard.press("Control+k");
  await field.fill("Meters");
  await page.getByRole("option", { name: /Meters group/ }).click();
  await visitor.sees("20 devices");
  await page.keyboard.press("Control+k");
  await field.fill("regis");
  await page.getByRole("option", { name: /Registration/ }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "Registration" }).waitFor();
  await visitor.leave();
  await stage.fleet.call("DELETE", `/inventory/managedObjects/${id}`);
}

export async function back_returns_to_the_place_and_to_the_filter(stage) {
  const visitor = await at(stage, "devices");
  const { page } = visitor;
  const table = page.getByRole("table", { name: "Devices" });
  const top = () => table.evaluate((box) => box.scrollTop);
  await visitor.sees("meter 002");
  await table.evaluate((box) => (box.scrollTop = 600));
  await eventually("the rows below", async () => (await page.getByRole("link", { name: "pump 001" }).count()) > 0 || (await top()) === 600);
  const row = table.getByRole("row").nth(12);
  await row.getByRole("link").first().click();
  await page.getByRole("link", { name: "← All devices" }).waitFor();
  await page.goBack();
  await page.getByRole("heading", { level: 1, name: "Devices" }).waitFor();
  await eventually("the place is the same", async () => (await top()) === 600);
  // Another filter begins at the top.
  await page.getByRole("link", { name: "Meters" }).click();
  await visitor.sees("20 devices");
  assert.equal(await top(), 0);
  await page.getByRole("link", { name: "meter 002" }).click();
  await page.getByRole("heading", { level: 1, name: "meter 002" }).waitFor();
  await page.getByRole("link", { name: "← All devices" }).click();
  await visitor.sees("20 devices");
  await page.getByRole("group", { name: "Availability" }).getByRole("button", { name: "Unavailable" }).click();
  await visitor.sees("No device matches.");
  await page.goBack();
  await visitor.sees("20 devices");
  await visitor.leave();
}

export async function the_focus_stays_in_a_list_whose_rows_go(stage) {
  const { fleet } = stage;
  for (const index of [1, 2, 3]) await fleet.alarm(fleet.devices[33].id, "WARNING", `acme_Focus${index}`, `Focus ${index}`);
  const visitor = await at(stage, `alarms?source=${fleet.devices[33].id}`);
  const { page } = visitor;
  await page.getByRole("button", { name: "Ack: acknowledge Focus 3" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("row", { name: /Focus 3/ }).getByText("acknowledged").waitFor();
  const focused = () => page.evaluate(() => document.activeElement.getAttribute("aria-label"));
  await eventually("the focus is on the same alarm", async () => (await focused()) === "Clear Focus 3");
  await page.keyboard.press("Enter");
  await page.getByRole("row", { name: /Focus 3/ }).waitFor({ state: "detached" });
  await eventually("the focus is on the next alarm", async () => (await focused()) === "Clear Focus 2");
  for (const index of [1, 2]) await page.getByRole("button", { name: `Clear Focus ${index}` }).click();
  await visitor.sees("No alarm matches these filters.");
  await visitor.leave();
}

export async function unsaved_text_is_asked_for(stage) {
  const visitor = await at(stage, "modules/new");
  const { page } = visitor;
  const text = page.getByLabel("Text of the module");
  await text.fill("module mine;");
  await page.getByRole("link", { name: "Alarms", exact: true }).click();
  const question = page.getByRole("dialog", { name: "Discard the text of the module?" });
  await question.getByRole("button", { name: "Cancel" }).click();
  assert.equal(await text.inputValue(), "module mine;");
  await page.getByRole("link", { name: "Alarms", exact: true }).click();
  await visitor.confirms("Discard");
  await page.getByRole("heading", { level: 1, name: "Alarms" }).waitFor();
  await visitor.go("operations", "Operations");
  await visitor.button("New operation").click();
  await page.getByLabel("What the device is to do").fill('{"description":"half written"}');
  await page.keyboard.press("Escape");
  await page.getByRole("dialog", { name: /Discard/ }).getByRole("button", { name: "Cancel" }).click();
  assert.match(await page.getByLabel("What the device is to do").inputValue(), /half written/);
  await page.getByRole("dialog", { name: "New operation" }).getByRole("button", { name: "Close" }).click();
  await visitor.confirms("Discard");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await visitor.go("alarms", "Alarms");
  await visitor.leave();
}

export async function an_alarm_is_shown_whole_with_who_changed_it(stage) {
  const text = `A long text about the pressure of the third pipe behind the second pump, which ${"really ".repeat(10)}ends here.`;
  const alarm = await stage.fleet.alarm(stage.fleet.devices[34].id, "MAJOR", "acme_Long", text);
  await stage.fleet.call("PUT", `/alarm/alarms/${alarm.id}`, { status: "ACKNOWLEDGED" });
  const visitor = await at(stage, "alarms?type=acme_Long");
  await visitor.page.getByRole("button", { name: text, exact: true }).click();
  const dialog = visitor.page.getByRole("dialog", { name: text });
  await dialog.getByText("status: ACTIVE → ACKNOWLEDGED").waitFor();
  await dialog.getByText("acme_Long").waitFor();
  await visitor.isAccessible("the window of an alarm");
  await dialog.getByRole("button", { name: `Clear ${text}` }).click();
  await dialog.waitFor({ state: "detached" });
  assert.equal((await stage.fleet.call("GET", `/alarm/alarms/${alarm.id}`)).status, "CLEARED");
  await visitor.leave();
}

export async function alarms_that_are_not_stored_are_in_no_list(stage) {
  const device = stage.fleet.devices[35].id;
  const visitor = await at(stage, `alarms?source=${device}`);
  await visitor.isLive();
  await visitor.sees("0 alarms");
  const body = { type: "acme_Ghost", text: "Not stored", severity: "MAJOR", time: new Date().toISOString(), source: { id: device } };
  await stage.fleet.call("POST", "/alarm/alarms", body, { "X-Platform-Processing-Mode": "TRANSIENT" });
  const stored = await stage.fleet.alarm(device, "MAJOR", "acme_Stored", "Stored");
  await visitor.page.getByRole("row", { name: /Stored/ }).first().waitFor();
  await visitor.sees("1 alarm");
  assert.equal(await visitor.page.getByText("Not stored").count(), 0);
  await stage.fleet.call("PUT", `/alarm/alarms/${stored.id}`, { status: "CLEARED" });
  await visitor.leave();
}

export async function an_executing_operation_has_an_age_and_can_be_cancelled(stage) {
  const operation = await stage.fleet.operation(stage.fleet.devices[36].id, { description: "Takes for ever", plat_Restart: {} });
  await stage.fleet.setOperation(operation.id, "EXECUTING");
  const visitor = await at(stage, "operations?status=EXECUTING");
  await visitor.button("Takes for ever").click();
  await visitor.sees("Why is it still executing?");
  await visitor.page.getByRole("dialog").getByText(/It was created/).waitFor();
  await visitor.button("Cancel the operation").click();
  await visitor.confirms("Cancel operation");
  await visitor.sees("The operation is cancelled.");
  const { status, failureReason } = await stage.fleet.call("GET", `/devicecontrol/operations/${operation.id}`);
  assert.deepEqual([status, failureReason], ["FAILED", "Cancelled by admin"]);
  await visitor.leave();
}
