// Certificates in words, and what is read of the files that people choose.

import type { DeviceCertificate, DeviceIdSource, TrustedCertificate } from "../reference";

/** The parts of a certificate that can be the id of its device. */
export const ID_SOURCES: Record<DeviceIdSource, string> = {
  COMMON_NAME: "common name",
  SERIAL_NUMBER: "serial number in the subject",
  DNS_NAME: "DNS name",
  URI: "URI",
};

/** The first digits of a fingerprint, which tell certificates apart. */
export const shortOf = (fingerprint: string) => `${fingerprint.slice(0, 16)}…`;

const hasEnded = ({ notAfter }: { notAfter: string }, now: number) => Date.parse(notAfter) <= now;

/** Returns why the certificates of an authority log in no device at present; `TRUSTED` if they do. */
export function stateOfAuthority(one: TrustedCertificate, now: number): string {
  if (one.status === "DISABLED") return "DISABLED";
  if (hasEnded(one, now)) return "EXPIRED";
  return one.proofOfPossessionValid ? "TRUSTED" : "NOT_PROVEN";
}

/** Returns the authority with which the platform issues certificates: the newest of those that it made. */
export const issuingOf = (authorities: TrustedCertificate[], now: number) =>
  authorities.findLast((one) => one.tenantCertificateAuthority && stateOfAuthority(one, now) === "TRUSTED");

/** Returns whether a certificate of a device is valid, by itself. */
export function stateOfCertificate(one: DeviceCertificate, now: number): string {
  if (one.revocationTime) return "REVOKED";
  return hasEnded(one, now) ? "EXPIRED" : "VALID";
}

/** Returns the code of an authority that can be signed now. */
export const codeOf = (one: TrustedCertificate, now: number): string | undefined =>
  Date.parse(one.proofOfPossessionVerificationCodeUsableUntil ?? "") > now
    ? one.proofOfPossessionUnsignedVerificationCode
    : undefined;

/** Returns the command that signs a code with the key in a file. */
export const signingCommand = (code: string, key: string) =>
  `printf %s '${code}' | openssl dgst -sha256 -sign ${key} | openssl base64 -A`;

const base64 = (bytes: Uint8Array) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));

/** Returns a signed code in base64. A file with it contains base64 too, or the bytes that `openssl dgst` writes. */
export function signatureOf(bytes: Uint8Array): string {
  const text = new TextDecoder("latin1").decode(bytes).replaceAll(/\s/g, "");
  return /^[A-Za-z0-9+/]*={0,2}$/.test(text) ? text : base64(bytes);
}

/** Returns a certificate in PEM. A file with one contains PEM, or the bytes that PEM encodes (DER). */
export function pemOf(bytes: Uint8Array): string {
  const text = new TextDecoder().decode(bytes);
  // A certificate in DER is a sequence, which begins with this byte.
  if (bytes[0] !== 0x30 || text.includes("-----BEGIN")) return text;
  const lines = base64(bytes).match(/.{1,64}/g) ?? [];
  return ["-----BEGIN CERTIFICATE-----", ...lines, "-----END CERTIFICATE-----", ""].join("\n");
}
