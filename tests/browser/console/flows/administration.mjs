// Flows of administrators: their own password, groups of devices, options, tenants, applications, keys.

import assert from "node:assert/strict";
import http from "node:http";
import { basic, PASSWORD } from "../../../clients/platform.mjs";
import { zip } from "../../zip.mjs";
import { eventually } from "../stage.mjs";

const at = (stage, page, user, password) => stage.at(page, user, password);

export async function a_user_changes_its_own_password_and_stays_logged_in(stage) {
  await stage.fleet.user("owner", "owner-secret", ["ROLE_ALARM_READ"]);
  const { id } = await stage.fleet.alarm(stage.fleet.devices[1].id, "MAJOR", "acme_Noise", "It is too loud");
  const visitor = await at(stage, "overview", "main/owner", "owner-secret");
  visitor.expectsCuts = true;
  const { page } = visitor;
  await visitor.isLive();
  await page.getByRole("link", { name: "main/owner" }).click();
  await page.getByRole("heading", { level: 1, name: "Profile" }).waitFor();
  await visitor.sees("alarm read");
  await visitor.isAccessible("the profile");
  const fill = async (present, next) => {
    await page.getByLabel("Present password").fill(present);
    await page.getByLabel("New password", { exact: false }).first().fill(next);
    await page.getByLabel("New password, again").fill(next);
    await visitor.button("Change password").click();
  };
  await fill("wrong-secret", "newer-secret");
  await visitor.sees("The present password is wrong.");
  await fill("owner-secret", "newer-secret");
  await visitor.sees("Your password was changed.");
  const status = (password) => stage.fetch("/alarm/alarms", { headers: { Authorization: basic("main/owner", password) } }).then(({ status }) => status);
  assert.deepEqual([await status("owner-secret"), await status("newer-secret")], [401, 200]);
  await visitor.go("alarms", "Alarms");
  await visitor.isLive();
  await visitor.sees("It is too loud");
  await stage.fleet.call("PUT", `/alarm/alarms/${id}`, { status: "CLEARED" });
  await visitor.leave();
}

export async function a_user_gets_and_loses_a_role_of_its_own(stage) {
  await stage.fleet.user("single", "single-secret", ["ROLE_ALARM_READ"]);
  const roles = async () => (await stage.fleet.call("GET", "/user/main/users/single")).roles.references.map(({ role }) => role.name).filter((name) => !name.includes("OWN"));
  const visitor = await at(stage, "users?name=single");
  await visitor.sees("1 user");
  await visitor.button("Edit single").click();
  const dialog = visitor.page.getByRole("dialog");
  await dialog.getByText(/Roles of its own/).click();
  assert.ok(await dialog.locator("input[value=ROLE_ALARM_READ]").isChecked());
  await dialog.locator("input[value=ROLE_ALARM_READ]").uncheck();
  await dialog.locator("input[value=ROLE_EVENT_READ]").check();
  await visitor.isAccessible("the roles of a user");
  await dialog.getByRole("button", { name: "Save" }).click();
  await visitor.sees("single was changed.");
  assert.deepEqual(await roles(), ["ROLE_EVENT_READ"]);
  await visitor.leave();
}

export async function groups_of_devices_are_made_filled_renamed_and_deleted(stage) {
  const visitor = await stage.visitor();
  const { page } = visitor;
  const [tree] = await Promise.all([page.waitForRequest(/fragmentType=plat_IsDeviceGroup/), visitor.logIn("main/admin", PASSWORD, { page: "devices" })]);
  assert.match(tree.url(), /withChildren=false/, "the members of all groups may be very many");
  const { id } = await stage.fleet.call("POST", "/inventory/managedObjects", { name: "to be grouped", plat_IsDevice: {} });
  const make = async (name) => {
    await visitor.button("New group").click();
    const dialog = page.getByRole("dialog", { name: "New group of devices" });
    await dialog.getByLabel("Name").fill(name);
    await dialog.getByRole("button", { name: "Create" }).click();
    await dialog.waitFor({ state: "detached" });
  };
  await make("Hall 9");
  await page.getByRole("link", { name: "Hall 9" }).click();
  await make("Row 1");
  await visitor.button("Groups in Hall 9").click();
  await page.getByRole("link", { name: "Row 1" }).waitFor();
  await visitor.isAccessible("the tree of groups");
  await visitor.go(`devices/${id}`, "to be grouped");
  await visitor.button("Add to a group").click();
  await page.getByRole("dialog").locator("select").selectOption({ label: "Hall 9 / Row 1" });
  await page.getByRole("dialog").getByRole("button", { name: "Add", exact: true }).click();
  await page.getByRole("link", { name: "Row 1" }).click();
  await visitor.sees("1 device");
  await visitor.sees("to be grouped");
  await page.getByRole("link", { name: "Hall 9" }).click();
  await visitor.button("Edit the group Hall 9").click();
  await page.getByRole("dialog").getByLabel("Name").fill("Hall 10");
  await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
  await visitor.button("Edit the group Hall 10").click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await visitor.confirms("Delete group", "Hall 10");
  await page.getByRole("link", { name: "Hall 10" }).waitFor({ state: "detached" });
  assert.equal((await stage.fleet.call("GET", `/inventory/managedObjects/${id}`)).name, "to be grouped", "the device stays");
  assert.ok(stage.fleet.groups.Meters && (await stage.fleet.call("GET", `/inventory/managedObjects/${stage.fleet.groups.Meters}`)));
  await visitor.leave();
  await stage.fleet.call("DELETE", `/inventory/managedObjects/${id}`);
}

export async function an_option_is_set_changed_and_deleted(stage) {
  const visitor = await at(stage, "tenants");
  const value = () => stage.fleet.call("GET", "/tenant/options/acme/colour").then(({ value }) => value, () => null);
  await visitor.button("New option").click();
  const dialog = visitor.page.getByRole("dialog");
  await dialog.getByLabel("Category").fill("acme");
  await dialog.getByLabel("Key").fill("colour");
  await dialog.locator("textarea[name=value]").fill("green");
  await dialog.getByRole("button", { name: "Save" }).click();
  await visitor.button("Edit the option acme / colour").click();
  assert.equal(await value(), "green");
  await dialog.locator("textarea[name=value]").fill("blue");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.waitFor({ state: "detached" });
  assert.equal(await value(), "blue");
  await visitor.button("Delete the option acme / colour").click();
  await visitor.confirms("Delete option");
  await visitor.button("Edit the option acme / colour").waitFor({ state: "detached" });
  assert.equal(await value(), null);
  await visitor.leave();
}

export async function a_tenant_is_edited_and_deleted_by_its_name(stage) {
  const management = { Authorization: basic("management/admin") };
  for (const id of ["leaving", "staying"]) await stage.fleet.call("POST", "/tenant/tenants", { id, domain: `${id}.example.com`, company: "Acme", adminName: "admin", adminPass: PASSWORD, adminEmail: "a@example.com" }, management);
  const tenant = (id) => stage.fleet.call("GET", `/tenant/tenants/${id}`, undefined, management);
  const visitor = await at(stage, "tenants", "management/admin");
  await visitor.button("Edit leaving").click();
  await visitor.page.getByRole("dialog").getByLabel("Company").fill("Acme of the North");
  await visitor.isAccessible("the window that edits a tenant");
  await visitor.page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
  await visitor.sees("The tenant leaving was changed.");
  assert.equal((await tenant("leaving")).company, "Acme of the North");
  await visitor.button("Edit leaving").click();
  await visitor.page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await visitor.confirms("Delete tenant", "leaving");
  await visitor.sees("The tenant leaving was deleted.");
  await assert.rejects(tenant("leaving"), /404/);
  assert.equal((await tenant("staying")).company, "Acme");
  await visitor.leave();
}

export async function a_web_application_is_made_uploaded_opened_and_deleted(stage) {
  const visitor = await at(stage, "applications");
  await visitor.button("New application").click();
  const dialog = visitor.page.getByRole("dialog");
  for (const [label, value] of Object.entries({ Name: "weather of the flow", Key: "weather-flow", Path: "weather-flow" })) await dialog.getByLabel(label, { exact: false }).first().fill(value);
  await visitor.isAccessible("the window for a new application");
  await dialog.getByRole("button", { name: "Create" }).click();
  await visitor.button("Upload weather of the flow").click();
  await dialog.getByLabel("ZIP archive").setInputFiles({ name: "weather.zip", mimeType: "application/zip", buffer: zip([["index.html", Buffer.from("<title>It rains</title>")]]) });
  await dialog.getByRole("button", { name: "Upload and activate" }).click();
  await visitor.sees("The archive of weather of the flow is active.");
  await visitor.page.getByRole("link", { name: "/apps/weather-flow/" }).waitFor();
  await eventually("its page is there", async () => (await (await stage.fetch("/apps/weather-flow/")).text()).includes("It rains") || (await (await stage.fetch("/apps/weather-flow/?tenant=main")).text()).includes("It rains"));
  await visitor.button("Delete weather of the flow").click();
  await visitor.confirms("Delete application", "weather of the flow");
  await visitor.sees("weather of the flow was deleted.");
  await visitor.page.getByRole("row", { name: /cockpit/ }).waitFor();
  await visitor.leave();
}

export async function a_program_gets_a_key_and_loses_it(stage) {
  const visitor = await at(stage, "profile");
  await visitor.page.getByLabel("Name of the program").fill("nightly report");
  await visitor.button("Create a key").click();
  await visitor.sees("The secret of nightly report is");
  const { tokenClients } = await stage.fleet.call("GET", "/application/tokenClients");
  assert.deepEqual(tokenClients.map(({ name, scope }) => [name, scope]), [["nightly report", "READ"]]);
  await visitor.button("Delete the program nightly report").click();
  await visitor.confirms("Delete key");
  await visitor.sees("No program has a key for access tokens.");
  await visitor.leave();
}

export async function an_application_is_subscribed_and_unsubscribed(stage) {
  const subscribed = async () => (await stage.fleet.call("GET", "/tenant/tenants/main/applications?pageSize=100")).references.map(({ application }) => application.name);
  const before = await subscribed();
  const visitor = await at(stage, "applications");
  const row = visitor.page.getByRole("row", { name: /cockpit/ });
  await row.getByRole("button", { name: "Subscribe to cockpit" }).click();
  await visitor.sees("The tenant subscribes to cockpit.");
  assert.deepEqual((await subscribed()).filter((name) => !before.includes(name)), ["cockpit"]);
  await row.getByRole("button", { name: "Unsubscribe from cockpit" }).click();
  await visitor.confirms("Unsubscribe");
  await row.getByRole("button", { name: "Subscribe to cockpit" }).waitFor();
  assert.deepEqual(await subscribed(), before);
  await visitor.leave();
}

/** Starts a microservice whose readiness the flow decides. */
async function startMicroservice() {
  const service = { isReady: true };
  service.server = http.createServer((_, response) => response.writeHead(service.isReady ? 200 : 503).end());
  await new Promise((resolve) => service.server.listen(0, "127.0.0.1", resolve));
  return service;
}

export async function the_health_of_a_microservice_is_shown_as_it_changes(stage) {
  const service = await startMicroservice();
  const visitor = await at(stage, "applications");
  await visitor.button("New application").click();
  const dialog = visitor.page.getByRole("dialog");
  await dialog.locator("select").selectOption("MICROSERVICE");
  for (const [label, value] of Object.entries({ Name: "rules-of-the-flow", Key: "rules-flow", Path: "rules-flow" })) await dialog.getByLabel(label, { exact: false }).first().fill(value);
  await dialog.getByRole("button", { name: "Create" }).click();
  const row = visitor.page.getByRole("row", { name: /rules-of-the-flow/ });
  await row.getByText("unknown", { exact: true }).waitFor();
  await visitor.button("Upload rules-of-the-flow").click();
  const probe = { httpGet: { path: "/ready", port: 80 }, periodSeconds: 1, failureThreshold: 1 };
  const manifest = { apiVersion: "1", name: "rules-flow", contextPath: "rules-flow", version: "1.0.0", readinessProbe: probe };
  const buffer = zip([["platform.json", Buffer.from(JSON.stringify(manifest))], ["image.tar", Buffer.from("image")]]);
  await dialog.getByLabel("ZIP archive").setInputFiles({ name: "rules.zip", mimeType: "application/zip", buffer });
  await dialog.getByRole("button", { name: "Upload and activate" }).click();
  await visitor.sees("The archive of rules-of-the-flow is active.");
  await stage.platform.admin("application", "route", "rules-flow", `http://127.0.0.1:${service.server.address().port}`);
  // The page reads the health again every ten seconds.
  await row.getByText("up", { exact: true }).waitFor({ timeout: 30_000 });
  service.isReady = false;
  await row.getByText("down", { exact: true }).waitFor({ timeout: 30_000 });
  assert.match(await row.locator("td span[title]").first().getAttribute("title"), /503/);
  await visitor.isAccessible("the health of a microservice");
  await visitor.button("Delete rules-of-the-flow").click();
  await visitor.confirms("Delete application", "rules-of-the-flow");
  await row.waitFor({ state: "detached" });
  service.server.close();
  await visitor.leave();
}

export async function a_new_user_with_the_name_of_an_owner_is_asked_for(stage) {
  const { fleet } = stage;
  const secret = "leaving-secret";
  await fleet.user("leaving-owner", secret, ["ROLE_INVENTORY_CREATE"]);
  for (const name of ["left behind 1", "left behind 2", "left behind 3"]) await fleet.call("POST", "/inventory/managedObjects", { name }, { Authorization: basic("main/leaving-owner", secret) });
  await fleet.call("DELETE", "/user/main/users/leaving-owner");
  const exists = () => fleet.call("GET", "/user/main/users/leaving-owner").then(() => true, () => false);
  const visitor = await at(stage, "users");
  await visitor.button("New user").click();
  const dialog = visitor.page.getByRole("dialog", { name: "New user" });
  await dialog.getByLabel("User name").fill("leaving-owner");
  await dialog.getByLabel("Password").fill(secret);
  await dialog.getByRole("button", { name: "Create" }).click();
  const question = visitor.page.getByRole("dialog", { name: "Create leaving-owner as the owner of 3 objects?" });
  await question.waitFor();
  await visitor.isAccessible("the question about the objects of an earlier user");
  await question.getByRole("button", { name: "Cancel" }).click();
  await question.waitFor({ state: "detached" });
  assert.equal(await exists(), false, "nothing was created");
  await dialog.getByRole("button", { name: "Create" }).click();
  await visitor.confirms("Create the owner");
  await visitor.sees("leaving-owner can log in now.");
  const { auditRecords } = await fleet.call("GET", "/audit/auditRecords?type=User&source=leaving-owner&revert=true&pageSize=50");
  const said = auditRecords.flatMap(({ changes = [] }) => changes).find(({ attribute }) => attribute === "ownedObjects");
  assert.equal(said?.newValue, "3", "the audit log has the same number");
  // A name that nobody had needs no question.
  await visitor.button("New user").click();
  await dialog.getByLabel("User name").fill("never-an-owner");
  await dialog.getByLabel("Password").fill(secret);
  await dialog.getByRole("button", { name: "Create" }).click();
  await visitor.sees("never-an-owner can log in now.");
  for (const name of ["leaving-owner", "never-an-owner"]) await fleet.call("DELETE", `/user/main/users/${name}`);
  await visitor.leave();
}
