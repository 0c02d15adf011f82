import { equal } from "node:assert/strict";
import { test } from "node:test";
import type { DeviceCertificate, TrustedCertificate } from "../src/reference";
import {
  codeOf,
  issuingOf,
  pemOf,
  shortOf,
  signatureOf,
  signingCommand,
  stateOfAuthority,
  stateOfCertificate,
} from "../src/values/certificates";

const NOW = Date.parse("2026-06-01T00:00:00Z");
const authority = (of: Partial<TrustedCertificate>) =>
  ({
    status: "ENABLED",
    notAfter: "2030-01-01T00:00:00Z",
    proofOfPossessionValid: true,
    ...of,
  }) as TrustedCertificate;

test("an authority says why it logs in no device", () => {
  equal(stateOfAuthority(authority({}), NOW), "TRUSTED");
  equal(stateOfAuthority(authority({ proofOfPossessionValid: false }), NOW), "NOT_PROVEN");
  equal(stateOfAuthority(authority({ status: "DISABLED", proofOfPossessionValid: false }), NOW), "DISABLED");
  equal(stateOfAuthority(authority({ notAfter: "2026-06-01T00:00:00Z" }), NOW), "EXPIRED");
});

test("the newest authority of the platform that is trusted issues certificates", () => {
  const own = { tenantCertificateAuthority: true };
  const list = [
    authority({ name: "first", ...own }),
    authority({ name: "second", ...own }),
    authority({ name: "third", ...own, status: "DISABLED" }),
    authority({ name: "factory" }),
  ];
  equal(issuingOf(list, NOW)?.name, "second");
  equal(issuingOf(list.slice(3), NOW), undefined);
});

test("a certificate of a device is valid until it ends or is revoked", () => {
  const of = (one: Partial<DeviceCertificate>) => stateOfCertificate(one as DeviceCertificate, NOW);
  equal(of({ notAfter: "2026-06-01T00:00:01Z" }), "VALID");
  equal(of({ notAfter: "2026-05-31T00:00:00Z" }), "EXPIRED");
  equal(of({ notAfter: "2026-05-31T00:00:00Z", revocationTime: "2026-01-01T00:00:00Z" }), "REVOKED");
});

test("a code counts until its time is over", () => {
  const of = (until?: string) =>
    codeOf(
      authority({
        proofOfPossessionUnsignedVerificationCode: "abc",
        proofOfPossessionVerificationCodeUsableUntil: until,
      }),
      NOW,
    );
  equal(of("2026-06-01T00:00:01Z"), "abc");
  equal(of("2026-05-31T23:59:59Z"), undefined);
  equal(of(), undefined);
});

test("the command prints the signature in one line", () => {
  equal(signingCommand("abc", "a.key"), "printf %s 'abc' | openssl dgst -sha256 -sign a.key | openssl base64 -A");
  equal(shortOf("ab".repeat(32)), "abababababababab…");
});

test("a signed code is read as base64 with line ends, or as bytes", () => {
  const bytes = (text: string) => new TextEncoder().encode(text);
  equal(signatureOf(bytes("MEUC\nIQD+/w==\r\n")), "MEUCIQD+/w==");
  equal(signatureOf(Uint8Array.of(0x30, 0x45, 0xff)), "MEX/");
  equal(signatureOf(bytes("\n ")), "");
});

test("a certificate is read as PEM, or as the bytes that it encodes", () => {
  const pem = "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n";
  const bytes = new TextEncoder();
  equal(pemOf(bytes.encode(pem)), pem);
  equal(pemOf(bytes.encode(`0: root\n${pem}`)), `0: root\n${pem}`);
  equal(pemOf(Uint8Array.of(0x30, 0x00)), pem);
  const long = pemOf(Uint8Array.of(0x30, ...new Array<number>(99).fill(1))).split("\n");
  equal(long[1].length, 64);
  equal(long.length, 6);
});
