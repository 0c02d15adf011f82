// Flows of certificates: an authority that is trusted once its key is proven, lists of revoked certificates, the
// authority of the platform, and the certificates that it issues to devices. Keys and certificates are made by openssl.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { basic } from "../../../clients/platform.mjs";
import { eventually } from "../stage.mjs";

const AUTHORITIES = "/tenant/tenants/main/trusted-certificates";
const CERTIFICATES = "/tenant/tenants/main/device-certificates";
const CONFIGURATION = "[ca]\ndefault_ca = own\n[own]\ndatabase = index.txt\ncrlnumber = number\ndefault_md = sha256\ndefault_crl_days = 30\n";

/** A directory with the key and the certificate of an authority, and commands that run there. */
class Factory {
  static async make(name) {
    const factory = new Factory();
    factory.directory = await mkdtemp(path.join(os.tmpdir(), "platform-factory-"));
    await factory.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "100", "-subj", `/CN=${name}`, "-keyout", "authority.key", "-out", "authority.pem");
    return factory;
  }

  async run(program, ...parameters) {
    const { stdout } = await promisify(execFile)(program, parameters, { cwd: this.directory, encoding: "buffer" });
    return stdout;
  }

  openssl = (...parameters) => this.run("openssl", ...parameters);
  at = (name) => path.join(this.directory, name);
  pem = () => readFile(this.at("authority.pem"), "utf8");
  remove = () => rm(this.directory, { recursive: true });

  /** Signs a list of revoked certificates with these serial numbers. */
  async list(...serials) {
    const revoked = serials.map((serial) => `R\t401231235959Z\t260101000000Z\t${serial}\tunknown\t/CN=device\n`);
    await Promise.all([writeFile(this.at("index.txt"), revoked.join("")), writeFile(this.at("number"), "01\n"), writeFile(this.at("ca.cnf"), CONFIGURATION)]);
    await this.openssl("ca", "-gencrl", "-config", "ca.cnf", "-keyfile", "authority.key", "-cert", "authority.pem", "-out", "revoked.crl");
    return this.at("revoked.crl");
  }
}

/** Returns the authority of a name as the server has it. */
const authorityOf = async (stage, name) => (await stage.fleet.call("GET", AUTHORITIES)).certificates.find((one) => one.name === name);
const revokedBy = async (stage, fingerprint) => (await stage.fleet.call("GET", `${AUTHORITIES}/${fingerprint}/revoked-certificates`)).revokedCertificates;

/** Opens the page in a window in which the server may refuse requests. */
async function open(stage, address = "certificates") {
  const visitor = await stage.at(address);
  visitor.expectsCuts = true;
  return visitor;
}

export async function an_authority_is_trusted_once_its_key_is_proven(stage) {
  const factory = await Factory.make("Factory of the flow");
  await factory.openssl("x509", "-in", "authority.pem", "-outform", "DER", "-out", "authority.der");
  const visitor = await open(stage);
  const dialog = visitor.page.getByRole("dialog");
  await visitor.button("Trust an authority").click();
  await dialog.getByRole("textbox", { name: "Name" }).fill("factory");
  await dialog.getByLabel("Certificate in PEM").fill("no certificate");
  await visitor.isAccessible("the window for an authority");
  await dialog.getByRole("button", { name: "Add" }).click();
  await dialog.getByRole("alert").getByText("expected a certificate in PEM").waitFor();
  assert.equal(await authorityOf(stage, "factory"), undefined);
  await dialog.getByLabel("File with its certificate").setInputFiles(factory.at("authority.der"));
  await eventually("the certificate is read from the file", async () => (await dialog.getByLabel("Certificate in PEM").inputValue()) === (await factory.pem()));
  await dialog.getByLabel("Id of a device").selectOption("DNS_NAME");
  await dialog.getByLabel("register devices").check();
  await dialog.getByRole("button", { name: "Add" }).click();

  const proof = visitor.page.getByRole("dialog", { name: "Prove the key of factory" });
  await proof.getByRole("button", { name: "Request a code" }).click();
  const command = await proof.locator("pre").innerText();
  assert.equal((await authorityOf(stage, "factory")).proofOfPossessionValid, false);
  await visitor.isAccessible("the window for the proof");
  await visitor.fits("the window for the proof");
  const prove = async (signed) => {
    await proof.getByRole("textbox", { name: /^Signed code/ }).fill(signed);
    await proof.getByRole("button", { name: "Prove", exact: true }).click();
  };
  await prove(" ");
  await proof.getByRole("alert").getByText("Paste the signed code").waitFor();
  await prove(String(await factory.run("bash", "-c", command.replace(/'\w+'/, "another"))));
  await proof.getByRole("alert").getByText("it is not the signature of the code").waitFor();
  const row = visitor.page.getByRole("row", { name: /Factory of the flow/ });
  await row.locator(".mark", { hasText: "not proven" }).waitFor();
  // The command that the page shows is the one that makes the proof.
  await prove(String(await factory.run("bash", "-c", command)));
  await visitor.sees("You have proven that you have the key of factory.");
  await row.getByText("trusted", { exact: true }).waitFor();
  const { proofOfPossessionValid, deviceIdFrom, autoRegistrationEnabled, fingerprint } = await authorityOf(stage, "factory");
  assert.deepEqual([proofOfPossessionValid, deviceIdFrom, autoRegistrationEnabled], [true, "DNS_NAME", true]);
  await row.getByText(fingerprint.slice(0, 16)).waitFor();
  await row.getByText("DNS name").waitFor();
  assert.equal(await visitor.button("Prove the key of factory").count(), 0);
  await visitor.isAccessible("the page of certificates");
  await visitor.leave();
  await factory.remove();
}

export async function an_authority_is_changed_disabled_and_deleted(stage) {
  const factory = await Factory.make("Factory to leave");
  await stage.fleet.call("POST", AUTHORITIES, { name: "leaving factory", autoRegistrationEnabled: true, certInPemFormat: await factory.pem() });
  const visitor = await open(stage);
  const row = visitor.page.getByRole("row", { name: /Factory to leave/ });
  const settings = async (name = "works") => {
    const { autoRegistrationEnabled, status } = await authorityOf(stage, name);
    return [autoRegistrationEnabled, status];
  };
  await visitor.button("Details of leaving factory").click();
  const dialog = visitor.page.getByRole("dialog", { name: "Details of leaving factory" });
  await dialog.getByText((await authorityOf(stage, "leaving factory")).fingerprint).waitFor();
  await dialog.getByRole("textbox", { name: "Name" }).fill("works");
  await dialog.getByLabel("register devices").uncheck();
  await visitor.isAccessible("the details of an authority");
  await visitor.tick();
  assert.equal(await dialog.getByRole("textbox", { name: "Name" }).inputValue(), "works");
  // While the response is on its way, nothing says that the authority was changed.
  const sent = Promise.withResolvers?.() ?? deferred();
  const released = Promise.withResolvers?.() ?? deferred();
  await visitor.page.route(`**${AUTHORITIES}/*`, async (route) => {
    const response = await route.fetch();
    sent.resolve();
    await released.promise;
    await route.fulfill({ response });
  });
  await dialog.getByRole("button", { name: "Save" }).click();
  await sent.promise;
  assert.deepEqual(await settings(), [false, "ENABLED"]);
  assert.equal(await visitor.page.getByText("was changed").count(), 0);
  released.resolve();
  await visitor.sees("The authority works was changed.");
  await visitor.page.unrouteAll({ behavior: "wait" });

  await visitor.button("Disable the authority works").click();
  await visitor.confirms("Disable authority");
  await row.getByText("disabled", { exact: true }).waitFor();
  assert.deepEqual(await settings(), [false, "DISABLED"]);
  await visitor.button("Enable the authority works").click();
  await visitor.button("Disable the authority works").waitFor();
  assert.deepEqual(await settings(), [false, "ENABLED"]);
  await visitor.button("Delete the authority works").click();
  await visitor.confirms("Delete authority", "works");
  await visitor.sees("The authority works was deleted.");
  await row.waitFor({ state: "detached" });
  assert.equal(await authorityOf(stage, "works"), undefined);
  await visitor.leave();
  await factory.remove();
}

/** What `Promise.withResolvers` returns, for older versions of Node. */
function deferred() {
  const all = {};
  all.promise = new Promise((resolve) => (all.resolve = resolve));
  return all;
}

export async function certificates_are_revoked_by_number_and_by_the_list_of_an_authority(stage) {
  const factory = await Factory.make("Factory with a list");
  const { fingerprint } = await stage.fleet.call("POST", AUTHORITIES, { name: "listing factory", certInPemFormat: await factory.pem() });
  const visitor = await open(stage);
  // The signed code is chosen as the file that openssl writes.
  await visitor.button("Prove the key of listing factory").click();
  const proof = visitor.page.getByRole("dialog", { name: "Prove the key of listing factory" });
  await proof.getByRole("button", { name: "Request a code" }).click();
  await writeFile(factory.at("code"), await proof.locator("code.secret").innerText());
  await factory.openssl("dgst", "-sha256", "-sign", "authority.key", "-out", "code.sig", "code");
  await proof.getByLabel("Or a file with the signed code").setInputFiles(factory.at("code.sig"));
  await proof.getByRole("button", { name: "Prove", exact: true }).click();
  await visitor.sees("You have proven that you have the key of listing factory.");

  const dialog = visitor.page.getByRole("dialog", { name: "Revoked certificates of listing factory" });
  const show = async () => {
    await visitor.button("Revoked by listing factory").click();
    await dialog.waitFor();
  };
  await show();
  await dialog.getByText("None of its certificates is revoked.").waitFor();
  await visitor.isAccessible("the window for revoked certificates");
  const revoke = async (serial) => {
    await dialog.getByRole("textbox", { name: /^Serial number/ }).fill(serial);
    await dialog.getByRole("textbox", { name: /^Reason/ }).fill("stolen in May");
    await dialog.getByRole("button", { name: "Revoke", exact: true }).click();
    await visitor.confirms("Revoke certificate");
  };
  await revoke("serial");
  await dialog.getByRole("alert").getByText("serialNumber").waitFor();
  await revoke("0A:1B:2C");
  await visitor.sees("The certificate 0A:1B:2C is revoked.");
  await show();
  await dialog.getByRole("row", { name: /a1b2c.*stolen in May/ }).waitFor();

  const upload = async (file) => {
    await dialog.getByLabel("List of revoked certificates").setInputFiles(file);
    await dialog.getByRole("button", { name: "Revoke all of the list" }).click();
    await visitor.confirms("Revoke these certificates");
  };
  await upload(factory.at("authority.pem"));
  await dialog.getByRole("alert").waitFor();
  assert.equal((await revokedBy(stage, fingerprint)).length, 1);
  await upload(await factory.list("0C0D", "0E0F"));
  await visitor.sees("All certificates of revoked.crl are revoked.");
  assert.deepEqual((await revokedBy(stage, fingerprint)).map(({ serialNumber, reason }) => [serialNumber, reason]).slice(0, 1), [["a1b2c", "stolen in May"]]);
  await show();
  for (const serial of ["c0d", "e0f"]) await dialog.getByRole("row", { name: serial }).waitFor();
  await visitor.leave();
  await factory.remove();
}

/** Lets a device get its first certificate from the platform. */
async function enroll(stage, factory, id) {
  const oneTimePassword = "k3Y-of-the-box";
  await stage.fleet.call("POST", "/devicecontrol/newDeviceRequests", { id, oneTimePassword });
  await factory.openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", `/CN=${id}`, "-keyout", `${id}.key`, "-outform", "DER", "-out", `${id}.csr`);
  const body = (await readFile(factory.at(`${id}.csr`))).toString("base64");
  const headers = { Authorization: basic(id, oneTimePassword), "Content-Type": "application/pkcs10" };
  const response = await stage.fetch("/.well-known/est/main/simpleenroll", { method: "POST", headers, body });
  assert.equal(response.status, 200, await response.text());
  const { deviceCertificates } = await stage.fleet.call("GET", `${CERTIFICATES}?user=device_${id}`);
  return deviceCertificates[0];
}

/** Creates the object of a device as its user. */
async function objectOf(stage, id) {
  await stage.fleet.call("PUT", `/user/main/users/device_${id}`, { password: "device-secret" });
  const headers = { Authorization: basic(`main/device_${id}`, "device-secret") };
  return (await stage.fleet.call("POST", "/inventory/managedObjects", { name: `Device ${id}`, plat_IsDevice: {} }, headers)).id;
}

export async function the_platform_issues_certificates_to_devices_which_are_revoked_with_a_reason(stage) {
  const factory = await Factory.make("unused");
  const visitor = await open(stage);
  const dialog = visitor.page.getByRole("dialog", { name: "Authority of the platform" });
  await visitor.button("Authority of the platform").click();
  await dialog.getByRole("textbox", { name: "Name" }).fill("our devices");
  await dialog.getByLabel("Days").fill("90");
  await visitor.isAccessible("the window for an authority of the platform");
  await dialog.getByRole("button", { name: "Make it" }).click();
  await visitor.sees("The platform issues certificates of our devices now.");
  await visitor.page.getByRole("row", { name: /our devices.*issues certificates/ }).waitFor();
  const { fingerprint, name, deviceCertificateDays } = await stage.fleet.call("GET", "/certificate-authority");
  assert.deepEqual([name, deviceCertificateDays], ["our devices", 90]);
  const [lost, kept] = [await enroll(stage, factory, "lost-1"), await enroll(stage, factory, "kept-1")];

  const table = visitor.page.getByRole("region", { name: "Certificates of devices" });
  await visitor.go("certificates?user=device_lost-1", "Certificates");
  const row = table.getByRole("row", { name: /device_lost-1/ });
  await row.getByText("valid", { exact: true }).waitFor();
  await row.getByText("our devices").waitFor();
  assert.equal(await table.getByText("device_kept-1").count(), 0);
  await row.getByRole("button", { name: "Revoke" }).click();
  const question = visitor.page.getByRole("dialog", { name: `Revoke the certificate ${lost.serialNumber} of device_lost-1?` });
  await question.getByLabel("Reason").fill("left in a taxi");
  await visitor.isAccessible("the question before a certificate is revoked");
  await visitor.confirms("Revoke certificate");
  await visitor.sees("The certificate of device_lost-1 is revoked.");
  await row.getByText("revoked", { exact: true }).waitFor();
  assert.equal(await row.getByRole("button", { name: "Revoke" }).count(), 0);
  const isRevoked = async (one) => (await stage.fleet.call("GET", `${CERTIFICATES}/${one.fingerprint}`)).revocationTime !== undefined;
  assert.deepEqual([await isRevoked(lost), await isRevoked(kept)], [true, false]);
  assert.deepEqual((await revokedBy(stage, fingerprint)).map(({ serialNumber, reason }) => [serialNumber, reason]), [[lost.serialNumber, "left in a taxi"]]);

  // The page of a device has its certificates.
  const id = await objectOf(stage, "kept-1");
  await visitor.go(`devices/${id}`, "Device kept-1");
  const card = visitor.page.getByRole("region", { name: "Certificates" });
  await card.getByText(kept.serialNumber).waitFor();
  assert.equal(await card.getByText(lost.serialNumber).count(), 0);
  await visitor.isAccessible("the page of a device with a certificate");
  await card.getByRole("button", { name: "Revoke" }).click();
  await visitor.confirms("Revoke certificate");
  await card.getByText("revoked", { exact: true }).waitFor();
  assert.equal(await isRevoked(kept), true);
  await visitor.go("certificates", "Certificates");
  await visitor.fits("the page of certificates");
  await visitor.leave();
  await factory.remove();
}

export async function who_may_only_read_users_changes_no_certificate(stage) {
  const factory = await Factory.make("Factory to look at");
  await stage.fleet.call("POST", AUTHORITIES, { name: "seen factory", certInPemFormat: await factory.pem() });
  await stage.fleet.user("certificate-reader", "reader-secret", ["ROLE_USER_MANAGEMENT_READ"]);
  const visitor = await stage.at("certificates", "main/certificate-reader", "reader-secret");
  await visitor.button("Revoked by seen factory").click();
  await visitor.sees("None of its certificates is revoked.");
  const dialog = visitor.page.getByRole("dialog");
  assert.equal(await dialog.getByRole("button", { name: "Revoke" }).count(), 0);
  await dialog.getByRole("button", { name: "Close" }).click();
  await visitor.button("Details of seen factory").click();
  await dialog.getByText("Fingerprint").waitFor();
  assert.equal(await dialog.getByRole("button", { name: "Save" }).count(), 0);
  await dialog.getByRole("button", { name: "Close" }).click();
  assert.equal(await visitor.page.locator("main").getByRole("button", { name: /Trust|of the platform|Prove|Disable|Delete|Revoke the/ }).count(), 0);
  await visitor.leave();
  await factory.remove();
}
