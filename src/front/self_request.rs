//! A request to a server on this machine, which finds out whether that server responds.
//!
//! The request contains no credentials, and only the status of the response is used. So the certificate of a TLS server
//! is not verified: it names the host that clients use, and rarely the address of the machine.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

/// The most bytes of a response that are read, enough for the states of all background jobs.
const RESPONSE: u64 = 64 << 10;

/// The protocol of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP.
    Plain,
    /// HTTPS.
    Encrypted,
}

/// The kind of server found at an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// An HTTP server, with its response.
    Response {
        /// The status.
        status: u16,
        /// The beginning of the body.
        body: Vec<u8>,
    },
    /// A server with another protocol, or one that does not respond in time.
    Stranger,
}

/// Sends GET to a server on this machine. `patience` is the timeout of the connection and, separately, of the response.
///
/// # Errors
/// The connection cannot be opened.
pub async fn get(
    address: SocketAddr,
    protocol: Protocol,
    path: &str,
    patience: Duration,
) -> io::Result<Answer> {
    let address = here(address);
    let late = |_| io::Error::from(io::ErrorKind::TimedOut);
    let tcp = timeout(patience, TcpStream::connect(address)).await.map_err(late)??;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    let exchanged = timeout(patience, async {
        match protocol {
            Protocol::Plain => exchange(tcp, &request).await,
            Protocol::Encrypted => {
                let stream = connector()?.connect(ServerName::from(address.ip()), tcp).await?;
                exchange(stream, &request).await
            }
        }
    });
    let response = exchanged.await.ok().and_then(io::Result::ok).unwrap_or_default();
    Ok(status_of(&response)
        .map_or(Answer::Stranger, |status| Answer::Response { status, body: body_of(&response) }))
}

/// Returns the address by which this machine reaches a server that listens on `address`.
fn here(address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => (Ipv4Addr::LOCALHOST, address.port()).into(),
        IpAddr::V6(ip) if ip.is_unspecified() => (Ipv6Addr::LOCALHOST, address.port()).into(),
        _ => address,
    }
}

async fn exchange(mut stream: impl AsyncRead + AsyncWrite + Unpin, request: &str) -> io::Result<Vec<u8>> {
    stream.write_all(request.as_bytes()).await?;
    let mut response = Vec::new();
    // The bytes before an error are used, because some servers close a TLS connection without close_notify.
    stream.take(RESPONSE).read_to_end(&mut response).await.ok();
    Ok(response)
}

fn status_of(response: &[u8]) -> Option<u16> {
    let digits = response.strip_prefix(b"HTTP/1.1 ")?.get(..3)?;
    str::from_utf8(digits).ok()?.parse().ok()
}

/// Returns the bytes after the head.
fn body_of(response: &[u8]) -> Vec<u8> {
    let end = response.windows(4).position(|window| window == b"\r\n\r\n");
    end.map_or_else(Vec::new, |end| response[end + 4..].to_vec())
}

fn connector() -> io::Result<TlsConnector> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions();
    let config = config.map_err(io::Error::other)?.dangerous();
    let config = config.with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)));
    Ok(Arc::new(config.with_no_client_auth()).into())
}

/// A verifier that accepts every certificate, if the server has its private key.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_on_all_addresses_is_requested_on_the_loopback() {
        for (listens, asked) in
            [("0.0.0.0:80", "127.0.0.1:80"), ("[::]:80", "[::1]:80"), ("10.0.0.1:80", "10.0.0.1:80")]
        {
            assert_eq!(here(listens.parse().unwrap()).to_string(), asked);
        }
    }

    #[test]
    fn status_is_that_of_a_response_of_http() {
        assert_eq!(status_of(b"HTTP/1.1 503 Service Unavailable\r\n"), Some(503));
        for strange in [&b""[..], b"SSH-2.0-x", b"HTTP/1.1 2", b"HTTP/1.1 abc"] {
            assert_eq!(status_of(strange), None);
        }
    }

    #[test]
    fn body_follows_the_empty_line() {
        assert_eq!(body_of(b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n{}\r\n\r\n"), b"{}\r\n\r\n");
        assert_eq!(body_of(b"HTTP/1.1 200 OK\r\nA: b\r\n"), b"");
    }
}
