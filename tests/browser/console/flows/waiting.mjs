// Flows of the connection that mostly wait. They run at the same time as each other and as all other flows, so they have a
// tenant and a way to the server of their own.

import { basic, PASSWORD } from "../../../clients/platform.mjs";
import { Relay } from "../../../clients/relay.mjs";
import { sleep } from "../../../clients/wait.mjs";

const TENANT = "waiting";

/** The device of the tenant, and a function that raises an alarm there. */
let made;
const tenant = (stage) => (made ??= makeTenant(stage));

async function makeTenant({ fleet }) {
  const body = { id: TENANT, domain: "waiting.example.com", company: "Acme", adminName: "admin", adminPass: PASSWORD, adminEmail: "a@example.com" };
  await fleet.call("POST", "/tenant/tenants", body, { Authorization: basic("management/admin") });
  const own = { Authorization: basic(`${TENANT}/admin`) };
  const { id } = await fleet.call("POST", "/inventory/managedObjects", { name: "a pump", plat_IsDevice: {} }, own);
  const alarm = (type, text) => fleet.call("POST", "/alarm/alarms", { type, text, severity: "MAJOR", time: new Date().toISOString(), source: { id } }, own);
  await alarm("acme_Before", "Raised before");
  return alarm;
}

/** Opens the alarms of the tenant over a relay that only this flow cuts. */
async function at(stage) {
  const alarm = await tenant(stage);
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
  return { alarm, relay, visitor, leave };
}

export async function a_long_cut_is_shown_and_the_lists_load_again(stage) {
  const { alarm, relay, visitor, leave } = await at(stage);
  relay.refusing = true;
  relay.cut("rst");
  await visitor.page.locator(".connection.interrupted").waitFor();
  await visitor.sees("What you see is the last known state");
  await visitor.isAccessible("a page without connection");
  // This is longer than the ten seconds for which the server keeps a session without a connection.
  await sleep(14_000);
  relay.refusing = false;
  await alarm("acme_Long", "Raised during the long cut");
  await visitor.isLive("Live");
  await visitor.sees("The lists were loaded again.");
  await visitor.sees("Raised during the long cut");
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
