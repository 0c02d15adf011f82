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

use platform_model::devices::device_certificate::parse_serial;
use platform_model::devices::trusted_certificate::hex;
use ring::digest::{SHA256, digest};
use x509_parser::certificate::X509Certificate;

/// Returns the SHA-256 of bytes.
pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    digest(&SHA256, bytes).as_ref().try_into().expect("SHA-256 has 32 bytes")
}

/// Returns the serial number of a certificate in the format in which it is stored.
fn serial(certificate: &X509Certificate<'_>) -> String {
    let digits = hex(certificate.raw_serial());
    parse_serial(&digits).unwrap_or(digits)
}
