//! Certificates by which devices log in, and those that are revoked (docs/rules.md#c-28, C-31).

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::body::{Body, MAX_SHORT_TEXT, missing};
use crate::devices::trusted_certificate::Fingerprint;
use crate::error::{Error, Noun, Result};
use crate::id::TenantId;
use crate::links::Linked;
use crate::timestamp::Timestamp;

/// The maximum number of hexadecimal digits of a serial number (RFC 5280 allows 40).
const MAX_SERIAL: usize = 64;
/// The maximum number of characters of a reason.
const MAX_REASON: usize = 200;

/// A certificate that a device of the tenant has, or had.
#[derive(Debug, Clone)]
pub struct DeviceCertificate {
    /// The tenant.
    pub tenant: TenantId,
    /// Its fingerprint.
    pub fingerprint: Fingerprint,
    /// The user of the device.
    pub user: String,
    /// The trusted authority by which it is accepted.
    pub authority: Fingerprint,
    /// The serial number in hexadecimal digits.
    pub serial: String,
    /// The subject, as text.
    pub subject: String,
    /// The end of its validity.
    pub not_after: Timestamp,
    /// The time of its first use, or of its issue by the platform.
    pub creation_time: Timestamp,
    /// The time of its revocation.
    pub revoked: Option<Timestamp>,
    /// A number that rises in the order in which the server learned of it. It is not shown.
    pub number: i64,
}

impl Serialize for Linked<'_, DeviceCertificate> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let certificate = self.value;
        let mut map = serializer.serialize_map(None)?;
        let link = self.links.device_certificate(&certificate.tenant, certificate.fingerprint.as_str());
        map.serialize_entry("self", &link)?;
        map.serialize_entry("fingerprint", certificate.fingerprint.as_str())?;
        map.serialize_entry("user", &certificate.user)?;
        map.serialize_entry("subject", &certificate.subject)?;
        map.serialize_entry("serialNumber", &certificate.serial)?;
        map.serialize_entry("authority", certificate.authority.as_str())?;
        map.serialize_entry("notAfter", &certificate.not_after)?;
        map.serialize_entry("creationTime", &certificate.creation_time)?;
        if let Some(revoked) = &certificate.revoked {
            map.serialize_entry("revocationTime", revoked)?;
        }
        map.end()
    }
}

/// A certificate to revoke, by the serial number that its authority gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revocation {
    /// The serial number in lower-case hexadecimal digits, without leading zeros.
    pub serial: String,
    /// The reason, for people.
    pub reason: Option<String>,
}

impl Revocation {
    /// Parses the body of a POST.
    ///
    /// # Errors
    /// `Invalid` names the missing, unknown or invalid member.
    pub fn parse(mut body: Body) -> Result<Self> {
        body.only(&["serialNumber", "reason"], &["revocationTime"])?;
        let serial = body.take_text("serialNumber", MAX_SHORT_TEXT)?;
        let serial = serial.ok_or_else(|| missing(&[("serialNumber", true)]))?;
        let serial = parse_serial(&serial).ok_or_else(|| {
            Error::invalid_value(
                "serialNumber",
                &serial,
                "1 to 64 hexadecimal digits, colons may separate them",
            )
        })?;
        let reason = body.take_text("reason", MAX_SHORT_TEXT)?;
        Ok(Self { serial, reason: reason.map(parse_reason).transpose()? })
    }
}

/// Parses the reason of a revocation.
///
/// # Errors
/// `Invalid` names the value and what is allowed.
pub fn parse_reason(reason: String) -> Result<String> {
    if reason.contains('\0') {
        return Err(Error::invalid_value("reason", "\\0", "a text without NUL"));
    }
    if reason.chars().count() > MAX_REASON {
        return Err(Error::invalid_value("reason", reason, "at most 200 characters"));
    }
    Ok(reason)
}

/// Returns a serial number in the format in which it is stored; `None` if the text is not one.
pub fn parse_serial(text: &str) -> Option<String> {
    let digits: String = text.chars().filter(|c| *c != ':').map(|c| c.to_ascii_lowercase()).collect();
    let is_serial =
        (1..=MAX_SERIAL).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let digits = digits.trim_start_matches('0');
    is_serial.then(|| if digits.is_empty() { "0".to_owned() } else { digits.to_owned() })
}

/// A revoked certificate, as it is returned.
#[derive(Debug, Clone)]
pub struct RevokedCertificate {
    /// The serial number and the reason.
    pub revocation: Revocation,
    /// The time from which on it was not accepted.
    pub time: Timestamp,
}

impl Serialize for Linked<'_, RevokedCertificate> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("serialNumber", &self.value.revocation.serial)?;
        map.serialize_entry("revocationTime", &self.value.time)?;
        if let Some(reason) = &self.value.revocation.reason {
            map.serialize_entry("reason", reason)?;
        }
        map.end()
    }
}

/// Returns the error for a certificate that no device of the tenant has used.
pub fn not_found(fingerprint: &Fingerprint) -> Error {
    Error::not_found(Noun::DeviceCertificate, fingerprint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serial_number_is_read_as_other_tools_write_it() {
        for (text, stored) in [("0A:FF", "aff"), ("00", "0"), ("7f", "7f"), ("0010", "10")] {
            assert_eq!(parse_serial(text).as_deref(), Some(stored), "{text}");
        }
        for text in ["", ":", "0x10", "g", &"1".repeat(65)] {
            assert_eq!(parse_serial(text), None, "{text}");
        }
    }
}
