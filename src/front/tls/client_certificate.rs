//! Certificates that clients present in the TLS handshake (docs/rules.md#c-28). The handshake proves that the client
//! has the private key. Whether the certificate is trusted, and for whom, is decided when a request is authenticated:
//! the authorities belong to tenants, change at any time, and a rejected request can say why.

use std::sync::Arc;

use ring::digest::{SHA256, digest};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, Error, InvalidMessage, SignatureScheme};
use rustls_pki_types::{CertificateDer, UnixTime};

use crate::config::ClientCertificates;

/// The maximum number of bytes of the certificates of a client. They are kept as long as the connection.
const CHAIN_BYTES: usize = 16 << 10;
/// The maximum number of certificates of a client.
const CHAIN_LENGTH: usize = 6;

/// A certificate with those above it, as a client presented it. Its client has the private key; nobody has checked yet
/// who issued it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCertificate {
    chain: Vec<CertificateDer<'static>>,
    fingerprint: [u8; 32],
}

impl ClientCertificate {
    /// Returns the certificate of a chain that begins with it; `None` for no certificate, for more than six, and for
    /// more than 16 KiB.
    pub fn new(chain: Vec<CertificateDer<'static>>) -> Option<Self> {
        let own = chain.first().filter(|_| is_bounded(&chain))?;
        let fingerprint = digest(&SHA256, own).as_ref().try_into().expect("SHA-256 has 32 bytes");
        Some(Self { fingerprint, chain })
    }

    /// Returns the SHA-256 of the client's own certificate.
    pub fn fingerprint(&self) -> &[u8; 32] {
        &self.fingerprint
    }

    /// Returns the client's own certificate.
    pub fn own(&self) -> &CertificateDer<'static> {
        &self.chain[0]
    }

    /// Returns the certificates above that of the client, as the client sent them.
    pub fn intermediates(&self) -> &[CertificateDer<'static>] {
        &self.chain[1..]
    }
}

fn is_bounded(chain: &[CertificateDer<'_>]) -> bool {
    chain.len() <= CHAIN_LENGTH && chain.iter().map(|one| one.len()).sum::<usize>() <= CHAIN_BYTES
}

/// Checks in the handshake that the client has the private key of its certificate.
#[derive(Debug)]
pub(super) struct Possession {
    algorithms: WebPkiSupportedAlgorithms,
    is_required: bool,
}

impl Possession {
    /// Returns the check for a setting; `None` if clients are not asked for certificates.
    pub(super) fn of(
        setting: ClientCertificates,
        algorithms: WebPkiSupportedAlgorithms,
    ) -> Option<Arc<dyn ClientCertVerifier>> {
        let is_required = match setting {
            ClientCertificates::Off => return None,
            ClientCertificates::Optional => false,
            ClientCertificates::Required => true,
        };
        Some(Arc::new(Self { algorithms, is_required }))
    }
}

impl ClientCertVerifier for Possession {
    fn client_auth_mandatory(&self) -> bool {
        self.is_required
    }

    /// No authority is named, because the authorities of all tenants would be.
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let bytes = end_entity.len() + intermediates.iter().map(|one| one.len()).sum::<usize>();
        if bytes > CHAIN_BYTES || intermediates.len() >= CHAIN_LENGTH {
            return Err(Error::InvalidMessage(InvalidMessage::CertificatePayloadTooLarge));
        }
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
