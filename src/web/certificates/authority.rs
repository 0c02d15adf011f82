//! Certificates of authorities that tenants trust, and the proof that a tenant has the private key of one (C-29).

use platform_model::devices::trusted_certificate::{CertificateFacts, Fingerprint};
use platform_model::error::{Error, Result};
use platform_model::timestamp::Timestamp;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, SignatureVerificationAlgorithm};
use time::OffsetDateTime;
use webpki::{EndEntityCert, ring as algorithms};
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer;
use x509_parser::time::ASN1Time;

use super::{base64_lines, decode_base64, der_of, serial, sha256};

/// The signatures that prove the possession of a key: those of `openssl dgst -sha256 -sign`, and of Ed25519.
const PROOFS: [&dyn SignatureVerificationAlgorithm; 4] = [
    algorithms::ECDSA_P256_SHA256,
    algorithms::ECDSA_P384_SHA256,
    algorithms::RSA_PKCS1_2048_8192_SHA256,
    algorithms::ED25519,
];
/// The maximum number of characters of a name that is shown.
const MAX_NAME: usize = 1000;

/// Parses the certificate of an authority, which must be one that may sign certificates and be valid now.
///
/// # Errors
/// `Invalid` says what it is instead.
pub(crate) fn parse_authority(pem: &str) -> Result<CertificateFacts> {
    let invalid = |reason: &str| Error::Invalid(format!("Invalid value of 'certInPemFormat': {reason}"));
    if pem.contains("PRIVATE KEY") {
        return Err(invalid(
            "it contains a private key, which stays with its owner; send the certificate alone",
        ));
    }
    if pem.contains("\\n") {
        return Err(invalid("its line ends are escaped (\\n) as text"));
    }
    let mut all = CertificateDer::pem_slice_iter(pem.as_bytes());
    let first = all.next().ok_or_else(|| {
        invalid("expected a certificate in PEM, which begins with -----BEGIN CERTIFICATE-----")
    })?;
    let der = first.map_err(|_| invalid("the text between BEGIN and END is not that of a certificate"))?;
    if all.next().is_some() {
        return Err(invalid("it contains several certificates; send each in a request of its own"));
    }
    let (_, certificate) =
        X509Certificate::from_der(&der).map_err(|_| invalid("it is not an X.509 certificate"))?;
    if !certificate.is_ca() {
        return Err(invalid(
            "it is not the certificate of an authority (basicConstraints CA:TRUE), so it signs no certificates",
        ));
    }
    if EndEntityCert::try_from(&der).is_err() {
        return Err(invalid("it has a version or critical extensions that are not supported"));
    }
    let facts = facts(&der, &certificate);
    if facts.not_after.instant() < OffsetDateTime::now_utc() {
        return Err(invalid(&format!("it expired at {}", facts.not_after)));
    }
    Ok(facts)
}

/// Returns the facts that a certificate states.
fn facts(der: &CertificateDer<'_>, certificate: &X509Certificate<'_>) -> CertificateFacts {
    let validity = certificate.validity();
    let time = |time: ASN1Time| Timestamp::stored(time.to_datetime(), 0);
    CertificateFacts {
        fingerprint: Fingerprint::of_bytes(&sha256(der)),
        pem: format!("-----BEGIN CERTIFICATE-----\n{}-----END CERTIFICATE-----\n", base64_lines(der, "\n")),
        subject: shown(certificate.subject()),
        issuer: shown(certificate.issuer()),
        serial: serial(certificate.raw_serial()),
        not_before: time(validity.not_before),
        not_after: time(validity.not_after),
        subject_hash: sha256(certificate.subject().as_raw()),
        key_hash: sha256(certificate.public_key().raw),
    }
}

/// Returns a name as text for people, without characters that PostgreSQL or a terminal would not take.
pub(super) fn shown(name: &x509_parser::x509::X509Name<'_>) -> String {
    name.to_string().chars().filter(|c| !c.is_control()).take(MAX_NAME).collect()
}

/// Checks that a code was signed with the private key of an authority: RSA or ECDSA with SHA-256, or Ed25519.
///
/// # Errors
/// `Invalid` says what is expected.
pub(crate) fn check_proof(authority: &CertificateFacts, code: &str, signature: &str) -> Result<()> {
    const MEMBER: &str = "Invalid value of 'proofOfPossessionSignedVerificationCode'";
    let signature = decode_base64(signature.as_bytes())
        .ok_or_else(|| Error::Invalid(format!("{MEMBER}: it is not base64, as of openssl base64 -A")))?;
    let der = der_of(authority)
        .ok_or_else(|| Error::Invalid(format!("{MEMBER}: the stored certificate cannot be read")))?;
    let is_signed = EndEntityCert::try_from(&der).is_ok_and(|certificate| {
        PROOFS.iter().any(|proof| certificate.verify_signature(*proof, code.as_bytes(), &signature).is_ok())
    });
    if is_signed {
        Ok(())
    } else {
        Err(Error::Invalid(format!(
            "{MEMBER}: it is not the signature of the code '{code}' by the key of the certificate, with SHA-256"
        )))
    }
}
