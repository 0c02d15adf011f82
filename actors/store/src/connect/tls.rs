//! TLS to PostgreSQL by rustls, with the checks of PostgreSQL's certificate.

use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;

use platform_model::error::{Error, Result};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::server::ParsedCertificate;
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_pki_types::pem::{self, PemObject};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};

use super::url::{Authorities, ConnectionString, Mode};

/// Returns the configuration of TLS.
///
/// # Errors
/// `Invalid` with the parameter, the file and the problem, if a file cannot be used.
pub(super) fn configuration(given: &ConnectionString) -> Result<ClientConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let roots = match &given.roots {
        None => RootCertStore::empty(),
        Some(Authorities::File(file)) => roots_of(file)?,
        Some(Authorities::System) => roots_of_system()?,
    };
    let verifier = Verifier { provider: provider.clone(), roots, mode: given.mode };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::Invalid(format!("TLS cannot be used: {error}")))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    match &given.identity {
        None => Ok(config.with_no_client_auth()),
        Some((certificate, key)) => {
            let chain = certificates_of("sslcert", certificate)?;
            let secret =
                PrivateKeyDer::from_pem_file(key).map_err(|error| unusable("sslkey", key, reason(error)))?;
            config.with_client_auth_cert(chain, secret).map_err(|error| unusable("sslkey", key, error))
        }
    }
}

fn roots_of(file: &Path) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates_of("sslrootcert", file)? {
        roots.add(certificate).map_err(|error| unusable("sslrootcert", file, error))?;
    }
    Ok(roots)
}

fn roots_of_system() -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err(Error::Invalid(
            "sslrootcert=system: this machine has no certificates of authorities".into(),
        ));
    }
    Ok(roots)
}

fn certificates_of(parameter: &str, file: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let certificates = read.map_err(|error| unusable(parameter, file, reason(error)))?;
    if certificates.is_empty() {
        return Err(unusable(parameter, file, "it has no certificate in PEM"));
    }
    Ok(certificates)
}

fn unusable(parameter: &str, file: &Path, reason: impl Display) -> Error {
    Error::Invalid(format!("{parameter} {} cannot be used: {reason}", file.display()))
}

/// Returns the reason why a file cannot be read as PEM.
fn reason(error: pem::Error) -> String {
    match error {
        pem::Error::Io(error) => error.to_string(),
        pem::Error::NoItemsFound => "it has nothing of that kind in PEM".into(),
        other => other.to_string(),
    }
}

/// Checks the certificate of PostgreSQL according to the mode.
#[derive(Debug)]
struct Verifier {
    provider: Arc<CryptoProvider>,
    roots: RootCertStore,
    mode: Mode,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if matches!(self.mode, Mode::VerifyCa | Mode::VerifyFull) {
            let parsed = ParsedCertificate::try_from(certificate)?;
            let algorithms = self.provider.signature_verification_algorithms.all;
            verify_server_cert_signed_by_trust_anchor(&parsed, &self.roots, intermediates, now, algorithms)?;
            if self.mode == Mode::VerifyFull {
                verify_server_name(&parsed, name)?;
            }
        }
        Ok(ServerCertVerified::assertion())
    }

    // The signatures are checked in every mode: they prove that PostgreSQL has the key of the certificate, which
    // channel binding relies on.
    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
