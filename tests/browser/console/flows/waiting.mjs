// Flows of the connection that mostly wait. They run at the same time as each other and as all other flows, so they have a
// tenant and a way to the server of their own.

import { basic, PASSWORD } from "../../../clients/platform.mjs";
import { Relay } from "../../../clients/relay.mjs";
import { sleep } from "../../../clients/wait.mjs";
import { eventually } from "../stage.mjs";

const TENANT = "waiting";

/** Functions that raise and clear an alarm of the tenant. */
let made;
const tenant = (stage) => (made ??= makeTenant(stage));

async function makeTenant({ fleet }) {
  const body = { id: TENANT, domain: "waiting.example.com", company: "Acme", adminName: "admin", adminPass: PASSWORD, adminEmail: "a@example.com" };
  await fleet.call("POST", "/tenant/tenants", body, { Authorization: basic("management/admin") });
  const own = { Authorization: basic(`${TENANT}/admin`) };
  const { id } = await fleet.call("POST", "/inventory/managedObjects", { name: "a pump", plat_IsDevice: {} }, own);
  const alarm = (type, text) => fleet.call("POST", "/alarm/alarms", { type, text, severity: "MAJOR", time: new Date().toISOString(), source: { id } }, own);
  const clear = (alarm) => fleet.call("PUT", `/alarm/alarms/${alarm}`, { status: "CLEARED" }, own);
  await alarm("acme_Before", "Raised before");
  return { alarm, clear };
}

const standing = (visitor, text) => visitor.page.locator(".sub .standing", { hasText: text }).first().waitFor();

/** Opens the alarms of the tenant over a relay that only this flow cuts. */
async function at(stage) {
  const { alarm, clear } = await tenant(stage);
  const relay = await Relay.open(() => stage.platform.port);
  const visitor = await stage.visitor({ relay, isBeside: true });
  visitor.expectsCuts = true;
  await visitor.logIn(`${TENANT}/admin`, PASSWORD, { page: "alarms" });
  await visitor.isLive();
  await visitor.sees("Raised before");
  const leave = async () => {
    await visitor.leave();
    relay.close();
  };
  return { alarm, clear, relay, visitor, leave };
}

/** Opens a page in another window of the same flow. */
async function beside(stage, relay, page) {
  const visitor = await stage.visitor({ relay, isBeside: true });
  visitor.expectsCuts = true;
  await visitor.logIn(`${TENANT}/admin`, PASSWORD, { page });
  await visitor.isLive();
  return visitor;
}

export async function a_long_cut_is_shown_and_the_lists_load_again(stage) {
  const { alarm, clear, relay, visitor, leave } = await at(stage);
  const { id } = await alarm("acme_Gone", "Cleared during the long cut");
  await visitor.sees("Cleared during the long cut");
  const overview = await beside(stage, relay, "overview");
  const audit = await beside(stage, relay, "profile");
  const major = overview.page.locator(".severities li", { hasText: /major/i }).locator(".figure");
  await major.getByText(/^\d+$/).waitFor();
  relay.refusing = true;
  relay.cut("rst");
  await visitor.page.locator(".connection.interrupted").waitFor();
  await visitor.sees("What you see is the last known state");
  await audit.page.getByRole("link", { name: "Audit", exact: true }).click();
  await audit.sees("The server cannot be reached.");
  await visitor.isAccessible("a page without connection");
  // This is longer than the ten seconds for which the server keeps a session without a connection.
  await sleep(14_000);
  relay.refusing = false;
  await clear(id);
  for (let number = 0; number < 20; number += 1) await alarm(`acme_Long${number}`, "Raised during the long cut");
  await visitor.isLive("Live");
  await visitor.sees("The lists were loaded again.");
  await visitor.sees("Raised during the long cut");
  await visitor.page.getByText("Cleared during the long cut").waitFor({ state: "detached" });
  await standing(visitor, "live");
  await eventually("the figure is loaded again", async () => Number(await major.textContent()) >= 20);
  await audit.page.getByText("The server cannot be reached.").waitFor({ state: "detached" });
  await audit.leave();
  await overview.leave();
  await alarm("acme_After", "Raised after the long cut");
  await visitor.sees("Raised after the long cut");
  await leave();
}

export async function a_silent_connection_is_found_within_fifteen_seconds(stage) {
  const { alarm, relay, visitor, leave } = await at(stage);
  // Neither side learns of it: packets vanish, as when a laptop changes its network.
  relay.refusing = true;
  relay.cut("blackhole");
  await visitor.page.locator(".connection.interrupted").waitFor({ timeout: 20_000 });
  await visitor.sees("What you see is the last known state");
  relay.refusing = false;
  await alarm("acme_Silent", "Raised while nothing arrived");
  await visitor.isLive("Live");
  await visitor.sees("Raised while nothing arrived");
  await leave();
}
