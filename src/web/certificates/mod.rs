//! X.509: what certificates of authorities and devices state, whether an authority signed them, and certificates that
//! the platform issues (docs/rules.md#c-28 to C-33). [`auth`](crate::auth) decides which users they log in.

pub(crate) mod authority;
mod chain;
mod crl;
mod forwarded;
pub(crate) mod issue;

pub(crate) use chain::{Flaw, ensure_valid_now, parse, verify};
pub(crate) use crl::revoked_by;
pub(crate) use forwarded::parse_forwarded;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use platform_model::devices::device_certificate::parse_serial;
use platform_model::devices::trusted_certificate::CertificateFacts;
use platform_model::hex::hex;
use ring::digest::{SHA256, digest};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;

/// Returns the SHA-256 of bytes.
pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    digest(&SHA256, bytes).as_ref().try_into().expect("SHA-256 has 32 bytes")
}

/// Returns a serial number in the format in which it is stored.
fn serial(raw: &[u8]) -> String {
    let digits = hex(raw);
    parse_serial(&digits).unwrap_or(digits)
}

/// Returns the certificate of an authority; `None` if the stored text cannot be read.
pub(crate) fn der_of(authority: &CertificateFacts) -> Option<CertificateDer<'static>> {
    CertificateDer::from_pem_slice(authority.pem.as_bytes()).ok()
}

/// Returns bytes in base64, in lines of 64 characters that end with `end`.
fn base64_lines(bytes: &[u8], end: &str) -> String {
    let text = STANDARD.encode(bytes);
    let lines = text.as_bytes().chunks(64).map(|line| str::from_utf8(line).expect("base64 is ASCII"));
    lines.flat_map(|line| [line, end]).collect()
}

/// Decodes base64, in lines or not; `None` for anything else.
fn decode_base64(text: &[u8]) -> Option<Vec<u8>> {
    let text: Vec<u8> = text.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    STANDARD.decode(text).ok()
}
