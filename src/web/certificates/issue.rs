//! Authorities that the platform makes, and the certificates that it issues with them (C-30).

use platform_model::device_id::DeviceId;
use platform_model::error::{Error, Result};
use platform_model::id::TenantId;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, SerialNumber, SubjectPublicKeyInfo,
};
use ring::rand::{SecureRandom, SystemRandom};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, CertificateSigningRequestDer};
use time::{Duration, OffsetDateTime};
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::prelude::FromDer;

use super::{base64_lines, decode_base64};

/// The validity of an authority that the platform makes.
const AUTHORITY_VALID: Duration = Duration::days(3650);
/// The time before its issue from which on a certificate is valid, for devices whose clock is slow.
const BACKDATED: Duration = Duration::minutes(5);

/// A new authority.
pub(crate) struct MadeAuthority {
    /// The certificate in PEM.
    pub(crate) pem: String,
    /// The private key in PEM.
    pub(crate) key: String,
}

/// Makes an authority for the devices of a tenant, with a key on the curve P-256.
///
/// # Errors
/// `Unavailable` if the system has no random source left.
pub(crate) fn make_authority(tenant: &TenantId) -> Result<MadeAuthority> {
    let key = KeyPair::generate().map_err(failed)?;
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, format!("Devices of {tenant}"));
    params.distinguished_name.push(DnType::OrganizationName, tenant.as_str());
    params.serial_number = Some(new_serial()?);
    (params.not_before, params.not_after) = validity(AUTHORITY_VALID);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let certificate = params.self_signed(&key).map_err(failed)?;
    Ok(MadeAuthority { pem: certificate.pem(), key: key.serialize_pem() })
}

/// A request of a device for a certificate (PKCS#10), whose sender has the private key.
pub(crate) struct SigningRequest {
    key: Vec<u8>,
}

impl SigningRequest {
    /// Parses a request in DER, in base64 as EST sends it, or in PEM.
    ///
    /// # Errors
    /// `Invalid` for anything but a request that is signed with its own key, and for one that names another device.
    pub(crate) fn parse(body: &[u8], device: &DeviceId) -> Result<Self> {
        let invalid = |reason: &str| Error::Invalid(format!("Invalid certificate signing request: {reason}"));
        let der = to_der(body)
            .ok_or_else(|| invalid("expected PKCS#10 in base64, as EST sends it, in PEM or in DER"))?;
        let (_, request) = X509CertificationRequest::from_der(&der)
            .map_err(|_| invalid("it is not one of PKCS#10 (RFC 2986)"))?;
        if request.verify_signature().is_err() {
            return Err(invalid(
                "it is not signed with its own key by ECDSA, Ed25519 or RSA of 2048 bits or more",
            ));
        }
        let info = &request.certification_request_info;
        let names: Vec<_> = info.subject.iter_common_name().map(|name| name.as_str().ok()).collect();
        if names != [Some(device.as_str())] {
            return Err(invalid(&format!(
                "the common name of its subject must be '{device}', the id of the device"
            )));
        }
        Ok(Self { key: info.subject_pki.raw.to_vec() })
    }

    /// Returns the public key in DER.
    pub(crate) fn key(&self) -> &[u8] {
        &self.key
    }

    /// Issues a certificate, valid for some days but not longer than its authority.
    ///
    /// # Errors
    /// `Invalid` for a key of a kind that is not supported; `Unavailable` if the key of the authority cannot be used.
    pub(crate) fn issue(
        &self,
        device: &DeviceId,
        (authority, key): (&str, &str),
        (days, at_most): (i32, OffsetDateTime),
    ) -> Result<CertificateDer<'static>> {
        let public_key = SubjectPublicKeyInfo::from_der(&self.key).map_err(|_| {
            Error::Invalid("Invalid certificate signing request: keys of this kind are not supported".into())
        })?;
        let issuer =
            Issuer::from_ca_cert_pem(authority, KeyPair::from_pem(key).map_err(failed)?).map_err(failed)?;
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, device.as_str());
        params.serial_number = Some(new_serial()?);
        (params.not_before, params.not_after) = validity(Duration::days(i64::from(days)));
        params.not_after = params.not_after.min(at_most);
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        params.use_authority_key_identifier_extension = true;
        Ok(params.signed_by(&public_key, &issuer).map_err(failed)?.der().clone())
    }
}

fn to_der(body: &[u8]) -> Option<Vec<u8>> {
    if body.first() == Some(&0x30) {
        return Some(body.to_vec());
    }
    if body.trim_ascii_start().starts_with(b"-----") {
        return CertificateSigningRequestDer::from_pem_slice(body).ok().map(|der| der.to_vec());
    }
    decode_base64(body).filter(|der| !der.is_empty())
}

fn validity(valid: Duration) -> (OffsetDateTime, OffsetDateTime) {
    // Certificates state whole seconds.
    let now = OffsetDateTime::now_utc().replace_nanosecond(0).unwrap_or_else(|_| OffsetDateTime::now_utc());
    (now - BACKDATED, now + valid)
}

/// Returns a random serial number of 127 bits, which is positive.
fn new_serial() -> Result<SerialNumber> {
    let mut bytes = [0; 16];
    SystemRandom::new().fill(&mut bytes).map_err(failed)?;
    bytes[0] = bytes[0] & 0x7f | 0x40;
    Ok(SerialNumber::from_slice(&bytes))
}

fn failed(error: impl std::fmt::Display) -> Error {
    tracing::error!(%error, "a certificate cannot be issued");
    Error::unavailable("a certificate cannot be issued")
}

/// Returns certificates as a message of PKCS#7 without a signature (RFC 5652, `certs-only`), in base64.
pub(crate) fn certificates_only(certificates: &[CertificateDer<'_>]) -> String {
    use yasna::Tag;
    use yasna::models::ObjectIdentifier;
    let signed_data = ObjectIdentifier::from_slice(&[1, 2, 840, 113549, 1, 7, 2]);
    let data = ObjectIdentifier::from_slice(&[1, 2, 840, 113549, 1, 7, 1]);
    let message = yasna::construct_der(|writer| {
        writer.write_sequence(|content| {
            content.next().write_oid(&signed_data);
            content.next().write_tagged(Tag::context(0), |explicit| {
                explicit.write_sequence(|signed| {
                    signed.next().write_u8(1);
                    signed.next().write_set(|_| {});
                    signed.next().write_sequence(|content| content.next().write_oid(&data));
                    signed.next().write_tagged_implicit(Tag::context(0), |all| {
                        all.write_set(|all| certificates.iter().for_each(|one| all.next().write_der(one)));
                    });
                    signed.next().write_set(|_| {});
                });
            });
        });
    });
    base64_lines(&message, "\r\n")
}
