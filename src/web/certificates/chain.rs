//! Whether an authority that a tenant trusts has signed the certificate of a client, and which device it is for (C-28).

use std::ops::RangeInclusive;
use std::time::{SystemTime, UNIX_EPOCH};

use platform_front::tls::ClientCertificate;
use platform_model::device_id::DeviceId;
use platform_model::devices::trusted_certificate::{IdSource, TrustedCertificate};
use platform_store::devices::certificates::device_certificates::VerifiedCertificate;
use rustls_pki_types::{CertificateDer, UnixTime};
use time::OffsetDateTime;
use webpki::{EndEntityCert, KeyUsage, anchor_from_trusted_cert};
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::FromDer;
use x509_parser::x509::X509Version;

use super::authority::shown;
use super::{der_of, serial, sha256};

/// The reason why the certificate of a client does not log in a device, as the end of a sentence about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Flaw {
    /// It cannot be parsed.
    #[error("it is not an X.509 certificate that can be read")]
    Unreadable,
    /// It has no extensions, so nothing says what it is for.
    #[error("it is not of X.509 version 3, as openssl makes them without extensions (-extfile)")]
    OldVersion,
    /// No tenant trusts an authority with the name of its issuer.
    #[error("no tenant trusts its issuer")]
    UnknownIssuer,
    /// An authority of that name is trusted, but its signature is not there.
    #[error("it is not signed by the trusted authority with the name of its issuer")]
    BadSignature,
    /// Its validity, or that of one above it, has not begun.
    #[error("it is not valid yet")]
    NotYetValid,
    /// Its validity, or that of one above it, is over.
    #[error("it has expired")]
    Expired,
    /// It is for another purpose than to log in a client.
    #[error("its key usage does not permit the authentication of clients")]
    WrongPurpose,
    /// It is the certificate of an authority.
    #[error("it is the certificate of an authority, not of a device")]
    IsAuthority,
    /// The part that its authority prescribes does not contain one valid id.
    #[error("it does not name its device where its authority prescribes (deviceIdFrom)")]
    NoDevice,
    /// The device has no user, and the authority does not register devices.
    #[error("its device is not registered")]
    NotRegistered,
    /// It is revoked.
    #[error("it is revoked")]
    Revoked,
    /// Its authority was disabled.
    #[error("its authority is disabled")]
    Disabled,
    /// The user of its device was disabled.
    #[error("the user of its device is disabled")]
    UserDisabled,
}

/// A client's certificate and those above it, parsed.
pub(crate) struct Parsed<'c> {
    certificate: &'c ClientCertificate,
    chain: Vec<X509Certificate<'c>>,
    /// The SHA-256 of the names of their issuers. One of them is a trusted authority, if any is.
    pub(crate) issuers: Vec<[u8; 32]>,
}

/// Parses the certificates of a client.
///
/// # Errors
/// [`Flaw::Unreadable`], [`Flaw::OldVersion`], [`Flaw::Expired`] or [`Flaw::NotYetValid`] for that of the client
/// itself.
pub(crate) fn parse(certificate: &ClientCertificate) -> Result<Parsed<'_>, Flaw> {
    let all = std::iter::once(certificate.own()).chain(certificate.intermediates());
    let parsed = all.map(|der| X509Certificate::from_der(der).map(|(_, parsed)| parsed));
    let chain = parsed.collect::<Result<Vec<_>, _>>().map_err(|_| Flaw::Unreadable)?;
    if chain[0].version() != X509Version::V3 {
        return Err(Flaw::OldVersion);
    }
    ensure_valid_now(&validity(&chain[0]))?;
    let issuers = chain.iter().map(|one| sha256(one.issuer().as_raw())).collect();
    Ok(Parsed { certificate, chain, issuers })
}

/// Checks a client's certificate against the authorities with the names of its issuers, and returns it with the
/// authority that signed it.
///
/// # Errors
/// The [`Flaw`] of the certificate.
pub(crate) fn verify<'a>(
    parsed: &Parsed<'_>,
    authorities: &'a [TrustedCertificate],
) -> Result<(VerifiedCertificate, &'a TrustedCertificate), Flaw> {
    if authorities.is_empty() {
        return Err(Flaw::UnknownIssuer);
    }
    // Another tenant may trust an authority above the one that signed the certificate, so the nearest one decides.
    let mut nearest_first: Vec<&TrustedCertificate> = authorities.iter().collect();
    nearest_first
        .sort_by_key(|one| parsed.issuers.iter().position(|issuer| *issuer == one.facts.subject_hash));
    let mut flaw = Flaw::BadSignature;
    for authority in nearest_first {
        match links_to(parsed, authority) {
            Ok(path) => return Ok((verified(parsed, authority, &path)?, authority)),
            // The flaw that is nearest to success says most.
            Err(Flaw::BadSignature) => {}
            Err(other) => flaw = other,
        }
    }
    Err(flaw)
}

/// Returns the places of the certificates that lead from the client's own to an authority.
fn links_to(parsed: &Parsed<'_>, authority: &TrustedCertificate) -> Result<Vec<usize>, Flaw> {
    let certificate = parsed.certificate;
    let der = der_of(&authority.facts).ok_or(Flaw::BadSignature)?;
    let anchor = anchor_from_trusted_cert(&der).map_err(|_| Flaw::BadSignature)?;
    let own = EndEntityCert::try_from(certificate.own()).map_err(|_| Flaw::Unreadable)?;
    let now = OffsetDateTime::now_utc();
    // The validity of an anchor is not checked by the library.
    if now > authority.facts.not_after.instant() {
        return Err(Flaw::Expired);
    }
    let anchors = [anchor];
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let path = own.verify_for_usage(
        webpki::ALL_VERIFICATION_ALGS,
        &anchors,
        certificate.intermediates(),
        UnixTime::since_unix_epoch(since),
        KeyUsage::client_auth(),
        None,
        None,
    );
    let path = path.map_err(|error| flaw_of(&error))?;
    let place = |der: &CertificateDer<'_>| certificate.intermediates().iter().position(|one| one == der);
    let above = path.intermediate_certificates().filter_map(|one| place(&one.der()).map(|at| at + 1));
    Ok(std::iter::once(0).chain(above).collect())
}

fn flaw_of(error: &webpki::Error) -> Flaw {
    use webpki::Error;
    match error {
        Error::CertExpired { .. } => Flaw::Expired,
        Error::CertNotValidYet { .. } => Flaw::NotYetValid,
        Error::CaUsedAsEndEntity => Flaw::IsAuthority,
        Error::RequiredEkuNotFoundContext(_) => Flaw::WrongPurpose,
        Error::BadDer | Error::UnsupportedCertVersion | Error::UnsupportedCriticalExtension => {
            Flaw::Unreadable
        }
        _ => Flaw::BadSignature,
    }
}

/// Returns the certificate as it is stored.
fn verified(
    parsed: &Parsed<'_>,
    authority: &TrustedCertificate,
    path: &[usize],
) -> Result<VerifiedCertificate, Flaw> {
    let own = &parsed.chain[0];
    let (mut begin, mut end) = (OffsetDateTime::UNIX_EPOCH, authority.facts.not_after.instant());
    let (mut issuers, mut serials) = (Vec::new(), Vec::new());
    for at in path {
        let certificate = &parsed.chain[*at];
        let valid = validity(certificate);
        (begin, end) = (begin.max(*valid.start()), end.min(*valid.end()));
        issuers.push(parsed.issuers[*at]);
        serials.push(serial(certificate.raw_serial()));
    }
    Ok(VerifiedCertificate {
        fingerprint: *parsed.certificate.fingerprint(),
        tenant: authority.tenant.clone(),
        authority: authority.facts.fingerprint.clone(),
        device: device(own, authority.id_source).ok_or(Flaw::NoDevice)?,
        issuers,
        serials,
        subject: shown(own.subject()),
        validity: begin..=end,
    })
}

fn validity(certificate: &X509Certificate<'_>) -> RangeInclusive<OffsetDateTime> {
    let validity = certificate.validity();
    validity.not_before.to_datetime()..=validity.not_after.to_datetime()
}

/// Ensures that a time is within a validity.
///
/// # Errors
/// [`Flaw::NotYetValid`] or [`Flaw::Expired`].
pub(crate) fn ensure_valid_now(validity: &RangeInclusive<OffsetDateTime>) -> Result<(), Flaw> {
    let now = OffsetDateTime::now_utc();
    match validity {
        validity if now < *validity.start() => Err(Flaw::NotYetValid),
        validity if now > *validity.end() => Err(Flaw::Expired),
        _ => Ok(()),
    }
}

/// Returns the id of the device that a certificate names. The part must occur exactly once: a second name would let its
/// holder choose.
fn device(certificate: &X509Certificate<'_>, source: IdSource) -> Option<DeviceId> {
    let names = || certificate.subject_alternative_name().ok().flatten().map(|san| &san.value.general_names);
    let attribute =
        |of: &x509_parser::x509::AttributeTypeAndValue<'_>| of.as_str().ok().map(ToOwned::to_owned);
    let found: Vec<Option<String>> = match source {
        IdSource::CommonName => certificate.subject().iter_common_name().map(attribute).collect(),
        IdSource::SerialNumber => {
            let serial = x509_parser::oid_registry::OID_X509_SERIALNUMBER;
            certificate.subject().iter_by_oid(&serial).map(attribute).collect()
        }
        IdSource::DnsName => names()?
            .iter()
            .filter_map(|name| match name {
                GeneralName::DNSName(name) => Some(Some((*name).to_owned())),
                _ => None,
            })
            .collect(),
        IdSource::Uri => names()?
            .iter()
            .filter_map(|name| match name {
                GeneralName::URI(name) => Some(Some((*name).to_owned())),
                _ => None,
            })
            .collect(),
    };
    match &found[..] {
        [Some(id)] => DeviceId::parse(id).ok(),
        _ => None,
    }
}
