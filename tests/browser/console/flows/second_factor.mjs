// The second factor: setting it up, logging in with codes and recovery codes, and a group that requires it.

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import decoder from "jsqr";
import { basic } from "../../../clients/platform.mjs";

const PASSWORD = "second-secret";

/** Returns the code that an authenticator shows (RFC 6238), now or some steps later. */
function codeOf(secret, later = 0) {
  const bits = [...secret].map((letter) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(letter).toString(2).padStart(5, "0")).join("");
  const key = Buffer.from(bits.match(/.{8}/g).map((byte) => parseInt(byte, 2)));
  const step = Buffer.alloc(8);
  step.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + later));
  const tag = createHmac("sha1", key).update(step).digest();
  const number = tag.readUInt32BE(tag[19] & 15) & 0x7fffffff;
  return String(number % 1_000_000).padStart(6, "0");
}

/** Returns the fields of a card or the log-in page, and what its buttons do. */
const within = (place) => ({
  enter: async (label, text, button) => {
    await place.getByLabel(label, { exact: false }).first().fill(text);
    await place.getByRole("button", { name: button }).click();
  },
  secret: () => place.locator("code.secret").innerText(),
  codes: () => place.getByRole("list", { name: "Recovery codes" }).locator("code").allInnerTexts(),
});

/** Returns what a camera reads from the code on the page, in the colours of the page. */
async function scanned(page) {
  const picture = await page.locator("svg.qr").screenshot();
  const [width, height, pixels] = await page.evaluate(async (encoded) => {
    const bytes = Uint8Array.from(atob(encoded), (letter) => letter.charCodeAt(0));
    const bitmap = await createImageBitmap(new Blob([bytes]));
    const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
    context.drawImage(bitmap, 0, 0);
    return [bitmap.width, bitmap.height, [...context.getImageData(0, 0, bitmap.width, bitmap.height).data]];
  }, picture.toString("base64"));
  assert.ok(pixels[4 * (3 * width + (width >> 1))] > 200, "the ground of the code is light");
  const decode = decoder.default ?? decoder;
  return decode(Uint8ClampedArray.from(pixels), width, height, { inversionAttempts: "dontInvert" })?.data;
}

/** Logs in with the password, and then with a code. */
async function logInWith(visitor, user, code) {
  await visitor.logIn(user, PASSWORD);
  await within(visitor.page).enter("Code", code, "Log in");
}

export async function a_person_sets_up_a_second_factor_and_logs_in_with_its_codes(stage) {
  await stage.fleet.user("ida", PASSWORD, ["ROLE_ALARM_READ"]);
  const visitor = await stage.visitor();
  visitor.expectsCuts = true;
  const { page } = visitor;
  await visitor.logIn("main/ida", PASSWORD, { page: "profile" });
  const card = within(page.getByRole("region", { name: "Second factor" }));
  await card.enter("Your password", "wrong-secret", "Set up");
  await visitor.sees("The password is wrong.");
  await card.enter("Your password", PASSWORD, "Set up");
  const secret = await card.secret();
  assert.equal(await scanned(page), await page.getByRole("link", { name: "this link" }).getAttribute("href"));
  await visitor.isAccessible("setting up a second factor");
  await visitor.fits("setting up a second factor");
  await card.enter("Code", codeOf(secret), "Confirm");
  await visitor.button("I have saved the codes").waitFor();
  const codes = await card.codes();
  assert.equal(new Set(codes).size, 10);
  await visitor.button("I have saved the codes").click();
  await visitor.sees("10 recovery codes are left");
  const { status } = await stage.fetch("/alarm/alarms", { headers: { Authorization: basic("main/ida", PASSWORD) } });
  assert.equal(status, 401);

  await page.getByRole("button", { name: "Log out", exact: true }).click();
  await logInWith(visitor, "main/ida", "000000x");
  await visitor.sees("The code is wrong or was used before.");
  await visitor.isAccessible("the log-in page with a code");
  await within(page).enter("Code", codeOf(secret, 1), "Log in");
  await visitor.isLive();
  await page.getByRole("button", { name: "Log out", exact: true }).click();
  await logInWith(visitor, "main/ida", codes[4]);
  await visitor.isLive();

  await visitor.go("profile", "Profile");
  await visitor.sees("9 recovery codes are left");
  await card.enter("Code", codes[4], "Remove");
  await page.getByText(/wrong or was used before/).waitFor();
  await card.enter("Code", codes[5], "Remove");
  await visitor.sees("The second factor was removed.");
  await page.getByRole("button", { name: "Log out", exact: true }).click();
  await visitor.logIn("main/ida", PASSWORD);
  await visitor.isLive();
  await visitor.leave();
}

export async function a_group_requires_a_second_factor_which_its_members_set_up_at_the_log_in(stage) {
  await stage.fleet.user("ola", PASSWORD, ["ROLE_ALARM_READ"]);
  const { id } = await stage.fleet.call("POST", "/user/main/groups", { name: "careful people", secondFactor: "REQUIRED" });
  await stage.fleet.call("POST", `/user/main/groups/${id}/users`, { user: { userName: "ola" } });
  const visitor = await stage.visitor({ scheme: "dark" });
  visitor.expectsCuts = true;
  await visitor.logIn("main/ola", PASSWORD);
  const card = within(visitor.page.getByRole("region", { name: "Second factor" }));
  const secret = await card.secret();
  assert.match(await scanned(visitor.page), new RegExp(`^otpauth://totp/.*secret=${secret}&`));
  await visitor.isAccessible("the log-in page that sets up a second factor");
  await visitor.fits("the log-in page that sets up a second factor");
  await card.enter("Code", codeOf(secret), "Confirm");
  await visitor.button("I have saved the codes").click();
  await within(visitor.page).enter("Code", codeOf(secret, 1), "Log in");
  await visitor.isLive();
  await visitor.leave();
}

/** Sets up a second factor over the API. */
async function enrolled(stage, user) {
  const headers = { Authorization: basic(`main/${user}`, PASSWORD) };
  const { secret } = await stage.fleet.call("POST", "/user/currentUser/totpSecret", undefined, headers);
  await stage.fleet.call("POST", "/user/currentUser/totpSecret/verify", { code: codeOf(secret) }, headers);
}

export async function an_administrator_removes_the_second_factor_of_a_person_who_lost_it(stage) {
  for (const name of ["factor-lost", "factor-kept", "factor-owed"]) await stage.fleet.user(name, PASSWORD, ["ROLE_ALARM_READ"]);
  await enrolled(stage, "factor-lost");
  await enrolled(stage, "factor-kept");
  const { id } = await stage.fleet.call("POST", "/user/main/groups", { name: "people with factors", secondFactor: "REQUIRED" });
  await stage.fleet.call("POST", `/user/main/groups/${id}/users`, { user: { userName: "factor-owed" } });
  const status = async (name) => (await stage.fetch("/alarm/alarms", { headers: { Authorization: basic(`main/${name}`, PASSWORD) } })).status;
  assert.deepEqual([await status("factor-lost"), await status("factor-kept")], [401, 401]);
  const visitor = await stage.at("users?name=factor-");
  const row = (name) => visitor.page.getByRole("row", { name });
  await row("factor-kept").getByText("active", { exact: true }).waitFor();
  await row("factor-owed").getByText("not set up", { exact: true }).waitFor();
  assert.equal(await row("factor-owed").getByRole("button", { name: /Remove factor/ }).count(), 0);
  await visitor.isAccessible("the users with second factors");
  await visitor.button("Remove factor of factor-lost").click();
  await visitor.confirms("Remove second factor");
  await visitor.sees("The second factor of factor-lost was removed.");
  await row("factor-lost").getByText("active", { exact: true }).waitFor({ state: "detached" });
  assert.deepEqual([await status("factor-lost"), await status("factor-kept")], [200, 401]);
  const { auditRecords } = await stage.fleet.call("GET", "/audit/auditRecords?type=User&source=factor-lost&revert=true&pageSize=50");
  assert.ok(auditRecords.some(({ activity, user }) => activity === "Second factor removed" && user === "admin"));
  await visitor.leave();
}
