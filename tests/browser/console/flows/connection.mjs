// Flows of the connection: cut, rejected, ended by the server, hidden tab.

import assert from "node:assert/strict";
import { PASSWORD } from "../../../clients/platform.mjs";
import { sleep } from "../../../clients/wait.mjs";
import { eventually } from "../stage.mjs";

async function at(stage, page) {
  const visitor = await stage.visitor();
  visitor.expectsCuts = true;
  await visitor.logIn("main/admin", PASSWORD, { page });
  await visitor.isLive();
  return visitor;
}

const alarm = (stage, number, text) => stage.fleet.alarm(stage.fleet.devices[30 + number].id, "MAJOR", `acme_Cut${number}`, text);

export async function long_polling_serves_where_websockets_fail(stage) {
  const visitor = await stage.visitor();
  visitor.expectsCuts = true;
  await visitor.page.routeWebSocket(/./, (socket) => socket.close());
  await visitor.logIn("main/admin", PASSWORD, { page: "alarms" });
  await visitor.isLive("long polling");
  await alarm(stage, 0, "Seen over polls");
  await visitor.sees("Seen over polls");
  await visitor.leave();
}

export async function a_short_cut_loses_nothing(stage) {
  const visitor = await at(stage, "alarms");
  await visitor.page.locator(".virtual").waitFor();
  stage.relay.cut("rst");
  await alarm(stage, 1, "Raised during the cut");
  await visitor.sees("Raised during the cut");
  await visitor.isLive("Live");
  await visitor.leave();
}

export async function a_cut_right_after_a_list_arrived_loses_nothing(stage) {
  const visitor = await at(stage, "profile");
  await visitor.go("alarms", "Alarms");
  await visitor.page.locator(".virtual").waitFor();
  stage.relay.refusing = true;
  stage.relay.cut("rst");
  await visitor.page.locator(".connection.interrupted").waitFor();
  // By then a list that had not arrived would be read without its notifications.
  await sleep(1500);
  stage.relay.refusing = false;
  await visitor.isLive("Live");
  await alarm(stage, 3, "Raised after the list");
  await visitor.sees("Raised after the list");
  await visitor.page.locator(".sub .standing.live").waitFor();
  await visitor.leave();
}

export async function a_request_during_a_cut_shows_an_error_until_the_connection_returns(stage) {
  const visitor = await at(stage, "overview");
  stage.relay.refusing = true;
  stage.relay.cut("rst");
  const pulse = visitor.page.locator(".card", { has: visitor.page.getByRole("heading", { name: "Live writes" }) });
  await pulse.locator(".standing", { hasText: "nothing arrives now" }).waitFor();
  await visitor.page.getByRole("link", { name: "Audit", exact: true }).click();
  await visitor.sees("The server cannot be reached.");
  stage.relay.refusing = false;
  await visitor.isLive("Live");
  // The page itself may have asked again, and then has no button any more.
  const again = visitor.button("Try again");
  await eventually("the error is gone", async () => {
    if ((await visitor.page.getByText("The server cannot be reached.").count()) === 0) return true;
    await again.click({ timeout: 500 }).catch(() => {});
  });
  await visitor.leave();
}

export async function a_request_that_failed_can_be_repeated(stage) {
  const visitor = await at(stage, "overview");
  // Only these requests fail: the page would ask again by itself after an interruption of the connection.
  await visitor.page.route("**/audit/auditRecords**", (route) => route.abort());
  await visitor.page.getByRole("link", { name: "Audit", exact: true }).click();
  await visitor.sees("The server cannot be reached.");
  await visitor.page.unroute("**/audit/auditRecords**");
  await visitor.button("Try again").click();
  await visitor.page.getByText("The server cannot be reached.").waitFor({ state: "detached" });
  await visitor.leave();
}

export async function a_restart_of_the_server_is_survived(stage) {
  const visitor = await at(stage, "alarms");
  await visitor.page.locator(".virtual").waitFor();
  await stage.platform.terminate();
  await visitor.page.locator(".connection.interrupted").waitFor();
  await stage.platform.launch();
  await visitor.isLive("Live");
  await alarm(stage, 4, "Raised after the restart");
  await visitor.sees("Raised after the restart");
  await visitor.leave();
}

export async function a_hidden_tab_rests_and_catches_up(stage) {
  const visitor = await stage.visitor();
  visitor.expectsCuts = true;
  await visitor.page.clock.install();
  await visitor.logIn("main/admin", PASSWORD, { page: "alarms" });
  await visitor.isLive();
  await visitor.page.locator(".virtual").waitFor();
  const hide = (hidden) =>
    visitor.page.evaluate((wanted) => {
      Object.defineProperty(document, "hidden", { configurable: true, get: () => wanted });
      document.dispatchEvent(new Event("visibilitychange"));
    }, hidden);
  await hide(true);
  await visitor.page.clock.fastForward(31_000);
  await visitor.page.locator(".connection.resting").waitFor();
  await alarm(stage, 5, "Raised while it rested");
  assert.equal(await visitor.page.getByText("Raised while it rested").count(), 0);
  await hide(false);
  await visitor.isLive();
  await visitor.sees("This tab rested while it was hidden");
  await visitor.sees("Raised while it rested");
  await visitor.leave();
}
