//! The credentials that a request presents: a header, or the certificate of its client (C-28). A header goes before a
//! certificate, so that a gateway with a certificate can send requests for others.

use std::sync::Arc;

use actix_web::http::header::AUTHORIZATION;
use platform_front::tls::ClientCertificate;

use super::address::forwarded_certificate;
use super::head::Head;
use crate::certificates::parse_forwarded;

/// The credentials of a request, not yet verified.
#[derive(Debug, Clone)]
pub enum Presented<'h> {
    /// The value of the header `Authorization`.
    Header(&'h [u8]),
    /// The certificate of the TLS connection, or of the connection to a trusted proxy.
    Certificate(Arc<ClientCertificate>),
    /// The header of a trusted proxy for a certificate does not contain exactly one.
    Unreadable,
}

impl<'h> Presented<'h> {
    /// Returns the credentials of a request; `None` for a request without any.
    pub(crate) fn of(head: &'h impl Head) -> Option<Self> {
        if let Some(header) = head.header(&AUTHORIZATION) {
            return Some(Self::Header(header));
        }
        // The certificate of a trusted proxy itself is none of a client.
        if let Some(forwarded) = forwarded_certificate(head) {
            let certificate = forwarded.ok().and_then(parse_forwarded);
            return Some(certificate.map_or(Self::Unreadable, |one| Self::Certificate(Arc::new(one))));
        }
        head.certificate().map(Self::Certificate)
    }

    /// Returns the bytes by which equal credentials are recognized. They begin with the kind, so that no header is
    /// taken for a certificate.
    pub(crate) fn parts(&self) -> (u8, &[u8]) {
        match self {
            Self::Header(header) => (0, header),
            Self::Certificate(certificate) => (1, certificate.fingerprint()),
            Self::Unreadable => (2, b""),
        }
    }
}
