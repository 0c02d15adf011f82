//! Lists of revoked certificates that authorities publish (C-31).

use platform_model::devices::trusted_certificate::CertificateFacts;
use platform_model::error::{Error, Result};
use platform_store::devices::certificates::revocations::Revoked;
use rustls_pki_types::CertificateRevocationListDer;
use rustls_pki_types::pem::PemObject;
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer;
use x509_parser::revocation_list::CertificateRevocationList;

use super::{der_of, serial};

/// The maximum number of certificates in a list.
const MOST_REVOKED: usize = 100_000;

/// Returns the certificates that a list of an authority revokes, in PEM or DER.
///
/// # Errors
/// `Invalid` for anything that is not a list that the authority has signed.
pub(crate) fn revoked_by(authority: &CertificateFacts, list: &[u8]) -> Result<Vec<Revoked>> {
    let invalid = |reason: &str| Error::Invalid(format!("Invalid list of revoked certificates: {reason}"));
    let der = if list.trim_ascii_start().starts_with(b"-----") {
        CertificateRevocationListDer::from_pem_slice(list)
            .map_err(|_| invalid("expected PEM that begins with -----BEGIN X509 CRL-----"))?
    } else {
        list.to_vec().into()
    };
    let (_, list) = CertificateRevocationList::from_der(&der)
        .map_err(|_| invalid("it is neither a list in PEM nor one in DER (RFC 5280)"))?;
    let unreadable = || invalid("the certificate of the authority cannot be read");
    let certificate = der_of(authority).ok_or_else(unreadable)?;
    let (_, certificate) = X509Certificate::from_der(&certificate).map_err(|_| unreadable())?;
    let is_of_authority = list.issuer().as_raw() == certificate.subject().as_raw();
    if !is_of_authority || list.verify_signature(certificate.public_key()).is_err() {
        return Err(invalid("it is not signed by this authority"));
    }
    let has_scope = list.extensions().iter().any(|extension| extension.critical);
    if has_scope {
        return Err(invalid(
            "it has critical extensions: a list of changes (delta), or one of only some certificates",
        ));
    }
    let revoked: Vec<Revoked> =
        list.iter_revoked_certificates().take(MOST_REVOKED + 1).map(revoked).collect();
    if revoked.len() > MOST_REVOKED {
        return Err(invalid(&format!("it has more than {MOST_REVOKED} certificates")));
    }
    Ok(revoked)
}

fn revoked(certificate: &x509_parser::revocation_list::RevokedCertificate<'_>) -> Revoked {
    Revoked {
        serial: serial(certificate.raw_serial()),
        time: certificate.revocation_date.to_datetime(),
        reason: certificate.reason_code().map(|(_, code)| code.to_string()),
    }
}
