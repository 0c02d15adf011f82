//! The header in which a proxy sends the certificate that a client presented to it (C-32).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode;
use platform_front::tls::ClientCertificate;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;

/// Parses the value of the header: a byte sequence (`:base64:`) as of RFC 9440 and HAProxy, or percent-encoded PEM as
/// of nginx, which may contain the certificates above that of the client. Returns `None` for anything else.
pub(crate) fn parse_forwarded(value: &[u8]) -> Option<ClientCertificate> {
    let value = value.trim_ascii();
    let chain = match value.strip_prefix(b":").and_then(|value| value.strip_suffix(b":")) {
        Some(base64) => vec![STANDARD.decode(base64).ok()?.into()],
        None => {
            let pem: Vec<u8> = percent_decode(value).collect();
            CertificateDer::pem_slice_iter(&pem).collect::<Result<Vec<_>, _>>().ok()?
        }
    };
    ClientCertificate::new(chain)
}
