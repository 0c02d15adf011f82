// What cannot be undone: it is asked for by name and number, and it affects nothing else.

import assert from "node:assert/strict";
import { eventually } from "../stage.mjs";

const at = (stage, page) => stage.at(page);
const statusOf = async (stage, { id }) => (await stage.fleet.call("GET", `/alarm/alarms/${id}`)).status;

export async function all_alarms_of_a_view_are_cleared_and_no_others(stage) {
  const device = stage.fleet.devices[29].id;
  const [minor, acknowledged, warning] = [
    await stage.fleet.alarm(device, "MINOR", "acme_Many", "One of many"),
    await stage.fleet.alarm(device, "MINOR", "acme_Acknowledged", "Somebody works on it"),
    await stage.fleet.alarm(device, "WARNING", "acme_Other", "Not of this view"),
  ];
  for (const { id } of [acknowledged, warning]) await stage.fleet.call("PUT", `/alarm/alarms/${id}`, { status: "ACKNOWLEDGED" });
  const visitor = await at(stage, "alarms?severity=MINOR&status=ACKNOWLEDGED");
  await visitor.sees("Somebody works on it");
  assert.equal(await visitor.button("Acknowledge all").count(), 0, "no alarm of this view can be acknowledged");
  const { statistics } = await stage.fleet.call("GET", "/alarm/alarms?severity=MINOR&status=ACKNOWLEDGED&pageSize=1&withTotalPages=true");
  await visitor.button("Clear all").click();
  await visitor.confirms(new RegExp(`^Clear ${statistics.totalPages} minor`), "all");
  await visitor.sees("No alarm matches these filters.");
  const states = await Promise.all([minor, acknowledged, warning].map((alarm) => statusOf(stage, alarm)));
  assert.deepEqual(states, ["ACTIVE", "CLEARED", "ACKNOWLEDGED"]);
  await visitor.page.getByRole("group", { name: "Status" }).getByRole("button", { name: "Cleared" }).click();
  await visitor.sees("Somebody works on it");
  assert.equal(await visitor.button("Clear all").count(), 0, "cleared alarms cannot be cleared");
  await visitor.leave();
}

export async function a_double_click_destroys_nothing(stage) {
  await stage.fleet.user("survivor", "survivor-secret", []);
  const alarm = await stage.fleet.alarm(stage.fleet.devices[25].id, "MAJOR", "acme_Double", "Still open after a double click");
  const visitor = await at(stage, "users");
  await visitor.button("Delete survivor").dblclick();
  const question = visitor.page.getByRole("dialog", { name: "Delete the user survivor?" });
  await question.waitFor();
  await visitor.page.keyboard.press("Enter");
  // The second click may have taken the focus from "Cancel", so that Enter does nothing.
  if (await question.isVisible()) await visitor.page.keyboard.press("Escape");
  await question.waitFor({ state: "detached" });
  assert.equal((await stage.fleet.call("GET", "/user/main/users/survivor")).userName, "survivor");
  await visitor.go("alarms", "Alarms");
  await visitor.sees("Still open after a double click");
  await visitor.button("Clear all").dblclick();
  const all = visitor.page.getByRole("dialog");
  await all.getByRole("textbox").fill("al");
  await visitor.page.waitForTimeout(700);
  assert.ok(await all.getByRole("button", { name: /^Clear \d/ }).isDisabled(), "the word is not complete");
  await visitor.page.keyboard.press("Enter");
  await all.getByRole("button", { name: "Cancel" }).click();
  assert.equal(await statusOf(stage, alarm), "ACTIVE");
  await visitor.leave();
}

export async function an_alarm_that_was_cleared_by_mistake_is_open_again(stage) {
  const alarm = await stage.fleet.alarm(stage.fleet.devices[26].id, "MAJOR", "acme_Mistake", "Cleared by mistake");
  const visitor = await at(stage, "alarms");
  await visitor.button("Clear Cleared by mistake").click();
  await visitor.sees("is cleared.");
  assert.equal(await statusOf(stage, alarm), "CLEARED");
  await visitor.button("Undo").click();
  await visitor.sees("Undone.");
  assert.equal(await statusOf(stage, alarm), "ACTIVE");
  await visitor.leave();
}

export async function an_address_cannot_make_an_object_of_something_else(stage) {
  await stage.fleet.user("victim", "victim-secret", []);
  const form = new FormData();
  form.append("object", new Blob([JSON.stringify({ name: "old pump", type: "application/json" })]));
  form.append("file", new Blob([JSON.stringify({ id: "../../user/main/users/victim", name: "old pump" })], { type: "application/json" }), "pump.json");
  const response = await stage.fetch("/inventory/binaries", { method: "POST", headers: { Authorization: stage.fleet.authorization }, body: form });
  const { id } = await response.json();
  const visitor = await at(stage, "overview");
  for (const address of [`..%2Fbinaries%2F${id}`, "a%3Fb", `${stage.fleet.devices[0].id}%2F..`, "..", "."]) {
    await visitor.page.evaluate((hash) => (location.hash = hash), `#/devices/${address}`);
    await visitor.page.getByRole("alert").filter({ hasText: "is not the id of a device" }).waitFor();
    assert.equal(await visitor.button("Edit").count(), 0);
  }
  assert.equal((await stage.fleet.call("GET", "/user/main/users/victim")).userName, "victim");
  await visitor.leave();
}

export async function a_group_shows_the_roles_that_it_holds_and_loses_one(stage) {
  const { groups } = await stage.fleet.call("GET", "/user/main/groups?pageSize=100");
  const { id } = groups.find(({ name }) => name === "readers");
  const rolesHeld = async () => (await stage.fleet.call("GET", `/user/main/groups/${id}`)).roles.references.map(({ role }) => role.name).sort();
  const before = await rolesHeld();
  const visitor = await at(stage, "users");
  await visitor.sees(`${before.length} roles`);
  await visitor.button("Roles of readers").click();
  const dialog = visitor.page.getByRole("dialog", { name: "Roles of readers" });
  await dialog.getByRole("checkbox").first().waitFor();
  const ticked = await dialog.getByRole("checkbox", { checked: true }).evaluateAll((boxes) => boxes.map((box) => box.value).sort());
  assert.deepEqual(ticked, before);
  await dialog.locator(`input[value=${before[0]}]`).uncheck();
  await dialog.getByRole("button", { name: "Save" }).click();
  await visitor.sees("The roles of readers are in force.");
  await eventually("only this role is gone", async () => JSON.stringify(await rolesHeld()) === JSON.stringify(before.slice(1)));
  await stage.fleet.call("POST", `/user/main/groups/${id}/roles`, { role: { id: before[0] } });
  await visitor.leave();
}
