//! Certificate authorities whose certificates log in the devices of a tenant (docs/rules.md#c-29).

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::body::{Body, MAX_SHORT_TEXT, missing};
use crate::error::{Error, Noun, Result};
use crate::hex::hex;
use crate::id::TenantId;
use crate::links::Linked;
use crate::timestamp::Timestamp;

/// The maximum number of authorities of a tenant.
pub const MOST_AUTHORITIES: i64 = 100;
/// The maximum number of bytes of a certificate in PEM.
const MAX_PEM: usize = 32 << 10;
/// The longest validity in days of the certificates that an authority of the platform issues.
const MAX_DAYS: i32 = 3650;

/// The SHA-256 of a certificate, by which paths name it: 64 lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Fingerprint(String);

impl Fingerprint {
    /// Returns the fingerprint with these bytes.
    pub fn of_bytes(bytes: &[u8; 32]) -> Self {
        Self(hex(bytes))
    }

    /// Parses the fingerprint in a path, also with colons and in upper case as `openssl` prints it.
    ///
    /// # Errors
    /// `NotFound`, because an invalid fingerprint names no certificate.
    pub fn parse_of_path(text: &str, noun: Noun) -> Result<Self> {
        let digits: String = text.chars().filter(|c| *c != ':').map(|c| c.to_ascii_lowercase()).collect();
        if digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            Ok(Self(digits))
        } else {
            Err(Error::not_found(noun, text.chars().take(128).collect::<String>()))
        }
    }

    /// Returns the digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// The part of a certificate that is the id of its device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdSource {
    /// The common name of the subject.
    CommonName,
    /// The serial number in the subject, as in IEEE 802.1AR.
    SerialNumber,
    /// The DNS name in the subject alternative name.
    DnsName,
    /// The URI in the subject alternative name.
    Uri,
}

impl IdSource {
    const ALL: [Self; 4] = [Self::CommonName, Self::SerialNumber, Self::DnsName, Self::Uri];

    /// Returns the word that clients read and write.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CommonName => "COMMON_NAME",
            Self::SerialNumber => "SERIAL_NUMBER",
            Self::DnsName => "DNS_NAME",
            Self::Uri => "URI",
        }
    }

    /// Parses the upper-case word.
    ///
    /// # Errors
    /// `Invalid` names the value and what is allowed.
    pub fn parse(word: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|source| source.as_str() == word);
        let allowed = "COMMON_NAME, SERIAL_NUMBER, DNS_NAME, URI";
        found.ok_or_else(|| Error::invalid_value("deviceIdFrom", word, allowed))
    }
}

/// Facts that the certificate of an authority states.
#[derive(Debug, Clone)]
pub struct CertificateFacts {
    /// Its fingerprint.
    pub fingerprint: Fingerprint,
    /// The certificate in PEM.
    pub pem: String,
    /// The subject, as text.
    pub subject: String,
    /// The issuer, as text.
    pub issuer: String,
    /// The serial number in hexadecimal digits.
    pub serial: String,
    /// The begin of its validity.
    pub not_before: Timestamp,
    /// The end of its validity.
    pub not_after: Timestamp,
    /// The SHA-256 of the subject in DER, by which certificates that it signed name it.
    pub subject_hash: [u8; 32],
    /// The SHA-256 of its public key in DER.
    pub key_hash: [u8; 32],
}

/// The proof that a tenant may use an authority: without it anybody could name the authority of others, and receive
/// their devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Possession {
    /// The tenant has proven that it has the private key, or the platform made it.
    Proven,
    /// The tenant has not proven it. If it requested a code to sign, this is the code and the end of its validity.
    Unproven(Option<(String, Timestamp)>),
}

/// An authority of a tenant.
#[derive(Debug, Clone)]
pub struct TrustedCertificate {
    /// The tenant.
    pub tenant: TenantId,
    /// Its certificate.
    pub facts: CertificateFacts,
    /// The settings, which can be changed.
    pub settings: AuthoritySettings,
    /// The part of a certificate that is the id of its device.
    pub id_source: IdSource,
    /// Whether it may be used.
    pub possession: Possession,
    /// Whether the platform has its private key, and issues certificates with it.
    pub issues: bool,
}

/// The settings of an authority.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthoritySettings {
    /// The name for people.
    pub name: String,
    /// Whether its certificates log in devices.
    pub enabled: bool,
    /// Whether its certificates register devices that have no user yet.
    pub registers: bool,
    /// The validity in days of the certificates that the platform issues with it.
    pub issued_days: i32,
}

impl AuthoritySettings {
    /// Returns the settings of an authority with this name that are in force unless a request says otherwise.
    pub fn new(name: String) -> Self {
        Self { name, enabled: true, registers: false, issued_days: 365 }
    }

    /// Changes the settings to those of a body.
    ///
    /// # Errors
    /// `Invalid` names the member, the value and what is allowed.
    fn apply(&mut self, body: &mut Body) -> Result<()> {
        if let Some(name) = body.take_text("name", MAX_SHORT_TEXT)? {
            if name.trim().is_empty() || name.contains('\0') {
                return Err(Error::invalid_value("name", name, "a text that is not blank"));
            }
            self.name = name;
        }
        if let Some(status) = body.take_text("status", MAX_SHORT_TEXT)? {
            self.enabled = match &*status {
                "ENABLED" => true,
                "DISABLED" => false,
                _ => return Err(Error::invalid_value("status", status, "ENABLED, DISABLED")),
            };
        }
        if let Some(raw) = body.take("autoRegistrationEnabled") {
            let parsed = serde_json::from_str(raw.get());
            self.registers = parsed
                .map_err(|_| Error::invalid_value("autoRegistrationEnabled", raw.get(), "true, false"))?;
        }
        if let Some(raw) = body.take("deviceCertificateDays") {
            let days = serde_json::from_str(raw.get()).ok().filter(|days| (1..=MAX_DAYS).contains(days));
            self.issued_days = days.ok_or_else(|| {
                Error::invalid_value("deviceCertificateDays", raw.get(), "a number of days from 1 to 3650")
            })?;
        }
        Ok(())
    }
}

/// The members of a body that are settings.
const SETTINGS: [&str; 4] = ["name", "status", "autoRegistrationEnabled", "deviceCertificateDays"];
/// The members that the server sets.
const BY_SERVER: [&str; 12] = [
    "self",
    "fingerprint",
    "tenantId",
    "subject",
    "issuer",
    "serialNumber",
    "notBefore",
    "notAfter",
    "proofOfPossessionValid",
    "proofOfPossessionUnsignedVerificationCode",
    "proofOfPossessionVerificationCodeUsableUntil",
    "tenantCertificateAuthority",
];

/// The body of a POST of an authority.
#[derive(Debug, Clone)]
pub struct NewTrustedCertificate {
    /// The certificate in PEM.
    pub pem: String,
    /// The settings.
    pub settings: AuthoritySettings,
    /// The part of a certificate that is the id of its device.
    pub id_source: IdSource,
}

impl NewTrustedCertificate {
    /// Parses a body.
    ///
    /// # Errors
    /// `Invalid` names the missing, unknown or invalid member.
    pub fn parse(mut body: Body) -> Result<Self> {
        let own = ["certInPemFormat", "deviceIdFrom"];
        body.only(&[&SETTINGS[..], &own].concat(), &BY_SERVER)?;
        let pem = body.take_text("certInPemFormat", MAX_PEM)?;
        let pem = pem.ok_or_else(|| missing(&[("certInPemFormat", true)]))?;
        let id_source = body.take_text("deviceIdFrom", MAX_SHORT_TEXT)?;
        let id_source = id_source.map_or(Ok(IdSource::CommonName), |word| IdSource::parse(&word))?;
        let mut settings = AuthoritySettings::new("certificate authority".into());
        settings.apply(&mut body)?;
        Ok(Self { pem, settings, id_source })
    }
}

/// Parses the body of a POST that makes an authority of the platform for a tenant.
///
/// # Errors
/// `Invalid` names the unknown or invalid member.
pub fn parse_new_authority(mut body: Body, tenant: &TenantId) -> Result<AuthoritySettings> {
    body.only(&SETTINGS, &BY_SERVER)?;
    let mut settings = AuthoritySettings::new(format!("devices of {tenant}"));
    settings.apply(&mut body)?;
    Ok(settings)
}

/// The body of a PUT of an authority: the settings to change.
#[derive(Debug, Clone)]
pub struct AuthorityPatch(Body);

impl AuthorityPatch {
    /// Parses a body.
    ///
    /// # Errors
    /// `Invalid` names an unknown member.
    pub fn parse(body: Body) -> Result<Self> {
        body.only(&SETTINGS, &[&BY_SERVER[..], &["certInPemFormat", "deviceIdFrom"]].concat())?;
        Ok(Self(body))
    }

    /// Returns the settings after the change.
    ///
    /// # Errors
    /// `Invalid` names the member, the value and what is allowed.
    pub fn applied(mut self, settings: &AuthoritySettings) -> Result<AuthoritySettings> {
        let mut settings = settings.clone();
        settings.apply(&mut self.0)?;
        Ok(settings)
    }
}

/// Parses the body with the signature of a code, which is base64.
///
/// # Errors
/// `Invalid` names the missing or unknown member.
pub fn parse_signed_code(mut body: Body) -> Result<String> {
    const SIGNED: &str = "proofOfPossessionSignedVerificationCode";
    body.only(&[SIGNED], &[])?;
    body.take_text(SIGNED, MAX_PEM)?.ok_or_else(|| missing(&[(SIGNED, true)]))
}

impl Serialize for Linked<'_, TrustedCertificate> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let TrustedCertificate { tenant, facts, settings, id_source, possession, issues } = self.value;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("self", &self.links.trusted_certificate(tenant, facts.fingerprint.as_str()))?;
        map.serialize_entry("fingerprint", facts.fingerprint.as_str())?;
        map.serialize_entry("tenantId", tenant.as_str())?;
        map.serialize_entry("name", &settings.name)?;
        map.serialize_entry("status", if settings.enabled { "ENABLED" } else { "DISABLED" })?;
        map.serialize_entry("autoRegistrationEnabled", &settings.registers)?;
        map.serialize_entry("deviceIdFrom", id_source.as_str())?;
        map.serialize_entry("subject", &facts.subject)?;
        map.serialize_entry("issuer", &facts.issuer)?;
        map.serialize_entry("serialNumber", &facts.serial)?;
        map.serialize_entry("notBefore", &facts.not_before)?;
        map.serialize_entry("notAfter", &facts.not_after)?;
        map.serialize_entry("proofOfPossessionValid", &(*possession == Possession::Proven))?;
        if let Possession::Unproven(Some((code, until))) = possession {
            map.serialize_entry("proofOfPossessionUnsignedVerificationCode", code)?;
            map.serialize_entry("proofOfPossessionVerificationCodeUsableUntil", until)?;
        }
        map.serialize_entry("tenantCertificateAuthority", issues)?;
        if *issues {
            map.serialize_entry("deviceCertificateDays", &settings.issued_days)?;
        }
        map.serialize_entry("certInPemFormat", &facts.pem)?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprint_is_read_as_other_tools_write_it() {
        let digits = "ab".repeat(32);
        let with_colons = ["AB"; 32].join(":");
        let parsed = Fingerprint::parse_of_path(&with_colons, Noun::TrustedCertificate).expect("valid");
        assert_eq!(parsed.as_str(), digits);
        for text in ["", "ab", &"xy".repeat(32), &"ab".repeat(33)] {
            assert!(Fingerprint::parse_of_path(text, Noun::TrustedCertificate).is_err(), "{text}");
        }
    }

    #[test]
    fn patch_changes_what_it_names() {
        let before = AuthoritySettings::new("a".into());
        let applied = |json: &str| {
            AuthorityPatch::parse(Body::parse(json.as_bytes()).expect("json"))
                .and_then(|patch| patch.applied(&before))
        };
        let after = applied(r#"{"status":"DISABLED","autoRegistrationEnabled":true}"#).expect("valid");
        assert_eq!(after, AuthoritySettings { enabled: false, registers: true, ..before.clone() });
        for json in [r#"{"status":"off"}"#, r#"{"autoRegistrationEnabled":1}"#, r#"{"states":"x"}"#] {
            assert!(matches!(applied(json), Err(Error::Invalid(_))), "{json}");
        }
    }
}
