// The log-in of the console with an identity provider that others wrote.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import net from "node:net";
import { fileURLToPath } from "node:url";
import { basic, Platform } from "../../../clients/platform.mjs";
import { until } from "../../../clients/wait.mjs";

const PROVIDER = fileURLToPath(new URL("../../../clients/identity_provider.mjs", import.meta.url));
const SOON = 15_000;

/** Returns a port that nobody uses. */
async function freePort() {
  const server = net.createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

export async function a_person_logs_in_with_the_identity_provider_of_the_tenant(stage) {
  const port = await freePort();
  const issuer = `http://127.0.0.1:${port}`;
  const platform = await Platform.start(stage.server, { PLATFORM_MODULE_REQUEST_HOSTS: `127.0.0.1:${port}` });
  const base = `http://127.0.0.1:${platform.port}`;
  const provider = spawn("node", [PROVIDER, String(port), base], { stdio: "ignore" });
  const { context, page } = await stage.visitor({ relay: platform });
  try {
    const options = { issuer, clientId: "console", "credentials.clientSecret": "console-secret", groups: JSON.stringify({ operators: "admins" }) };
    const headers = { Authorization: basic("main/admin"), "Content-Type": "application/json" };
    const set = await fetch(`${base}/tenant/options/identityProvider`, { method: "PUT", headers, body: JSON.stringify(options) });
    assert.equal(set.status, 200);
    await until(() => fetch(`${issuer}/.well-known/openid-configuration`).then(({ ok }) => ok, () => false), SOON);
    await page.goto(base);
    // A link of somebody else logs nobody in, and what it says is not on the page.
    await page.goto(`${base}/console/sso/callback?state=x&error=${encodeURIComponent("<h1>Call 0800</h1>")}`);
    await page.getByRole("alert").getByText("This browser has not begun the log-in").waitFor();
    assert.equal(page.url(), `${base}/`);
    await page.goto(`${base}/?sso=${encodeURIComponent("<h1>Call 0800</h1>")}`);
    await page.getByRole("alert").getByText("The log-in with the identity provider did not work.").waitFor();
    assert.equal(await page.getByText("0800").count(), 0);
    await page.getByRole("link", { name: "Log in with the identity provider" }).click();
    await page.getByRole("link", { name: "Cancel" }).click();
    await page.getByRole("alert").getByText("The identity provider refused the log-in.").waitFor();
    await page.getByRole("link", { name: "Log in with the identity provider" }).click();
    await page.locator("input[name=login]").fill("mia");
    await page.locator("input[name=password]").fill("any");
    await page.locator("button[type=submit]").click();
    // The provider asks for consent.
    await page.locator("button[type=submit]").click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await page.locator(".connection.live").waitFor();
    assert.equal(new URL(page.url()).origin, base);
    // Another tab is logged in, too, and the log-out ends both.
    const other = await context.newPage();
    await other.goto(base);
    await other.locator(".who b", { hasText: "mia" }).waitFor();
    const groups = await fetch(`${base}/user/main/users/mia`, { headers }).then((response) => response.json());
    assert.deepEqual(groups.groups.references.map(({ group }) => group.name), ["admins"]);
    // The log-out continues at the provider, which asks and sends the browser back.
    await page.getByRole("button", { name: "Log out" }).click();
    await other.getByRole("link", { name: "Log in with the identity provider" }).waitFor();
    await page.getByRole("button", { name: "Yes, sign me out" }).click();
    await page.getByRole("link", { name: "Log in with the identity provider" }).waitFor();
    assert.equal(page.url(), `${base}/`);
    // So the next log-in needs the password there; and a log-out at the provider ends the console in every tab.
    await page.getByRole("link", { name: "Log in with the identity provider" }).click();
    await page.locator("input[name=login]").fill("mia");
    await page.locator("input[name=password]").fill("any");
    await page.locator("button[type=submit]").click();
    await page.locator("button[type=submit]").click();
    await page.locator(".connection.live").waitFor();
    await other.goto(`${issuer}/session/end`);
    await other.getByRole("button", { name: "Yes, sign me out" }).click();
    await page.getByRole("link", { name: "Log in with the identity provider" }).waitFor();
  } finally {
    await context.close();
    provider.kill();
    await platform.remove();
  }
}
