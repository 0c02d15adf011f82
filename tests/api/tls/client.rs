//! Clients that speak TLS: a connection to look closely at, and a way for clients that do not speak it.

use std::net::SocketAddr;
use std::sync::Arc;

use rustls::crypto::ring::default_provider;
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use rustls_pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::*;
use crate::harness::certificates::Certificates;

/// Returns the TLS configuration of a client.
pub(super) fn offer(
    certificates: &Certificates,
    versions: &[&'static SupportedProtocolVersion],
    protocols: &[&str],
) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add(certificates.root()).unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()));
    let builder = builder.with_protocol_versions(versions).unwrap();
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
    config
}

/// An encrypted connection.
pub(super) struct Encrypted(TlsStream<TcpStream>);

impl Encrypted {
    pub(super) async fn open(server: &TestServer, certificates: &Certificates) -> Self {
        Self::try_open(server, offer(certificates, rustls::ALL_VERSIONS, &[])).await.unwrap()
    }

    /// Opens a connection; returns the error if the server rejects the handshake.
    pub(super) async fn try_open(server: &TestServer, offer: ClientConfig) -> std::io::Result<Self> {
        connect(server.address(), Arc::new(offer)).await.map(Self)
    }

    /// Returns the negotiated TLS session.
    pub(super) fn session(&self) -> &rustls::ClientConnection {
        self.0.get_ref().1
    }

    /// The server's own certificate.
    pub(super) fn certificate(&self) -> CertificateDer<'static> {
        self.session().peer_certificates().unwrap()[0].clone().into_owned()
    }

    /// Sends bytes as one record.
    pub(super) async fn send(&mut self, text: &str) {
        soon("room for bytes", self.0.write_all(text.as_bytes())).await.unwrap();
        soon("room for bytes", self.0.flush()).await.unwrap();
    }

    /// Sends one request of `admin`; `more` holds further header lines.
    pub(super) async fn request(&mut self, line: &str, more: &[&str], body: &str) {
        let caller = Caller::new("https://localhost", Some(("admin", ADMIN_PASSWORD)));
        let authorization = caller.authorization().unwrap();
        let more: String = more.iter().map(|field| format!("{field}\r\n")).collect();
        self.send(&format!(
            "{line} HTTP/1.1\r\nHost: localhost\r\nAuthorization: {authorization}\r\n{more}Content-Length: \
             {}\r\n\r\n{body}",
            body.len()
        ))
        .await;
    }

    /// Returns the content of the next record; nothing at the end.
    ///
    /// # Errors
    /// The connection ended without a close alert.
    pub(super) async fn record(&mut self) -> std::io::Result<String> {
        let mut buffer = vec![0; 32 << 10];
        let count = soon("a record", self.0.read(&mut buffer)).await?;
        buffer.truncate(count);
        Ok(String::from_utf8(buffer).unwrap())
    }

    /// Reads until this text has arrived. Returns everything that arrived.
    pub(super) async fn read_until(&mut self, text: &str) -> String {
        let mut came = String::new();
        while !came.contains(text) {
            let piece = self.record().await.unwrap();
            assert!(!piece.is_empty(), "the connection ended before {text:?} came: {came:?}");
            came.push_str(&piece);
        }
        came
    }

    /// Sends close_notify and keeps the connection open for reading.
    pub(super) async fn say_farewell(&mut self) {
        self.0.get_mut().1.send_close_notify();
        soon("room for a farewell", self.0.flush()).await.unwrap();
    }

    /// Closes the connection without close_notify.
    pub(super) fn hang_up(self) {
        drop(self.0.into_inner().0);
    }

    /// Ends the connection by a reset, as a machine does that was switched off and on.
    pub(super) fn reset(self) {
        self.0.into_inner().0.set_zero_linger().unwrap();
    }
}

async fn connect(address: SocketAddr, offer: Arc<ClientConfig>) -> std::io::Result<TlsStream<TcpStream>> {
    let tcp = soon("a connection", TcpStream::connect(address)).await?;
    let name = ServerName::try_from("localhost").unwrap();
    soon("a handshake", TlsConnector::from(offer).connect(name, tcp)).await
}

/// Opens a port for clients without TLS, which forwards every connection to the server over TLS. Returns its `http://`
/// base.
pub(super) async fn tunnel(server: &TestServer, certificates: &Certificates) -> String {
    let offer = Arc::new(offer(certificates, rustls::ALL_VERSIONS, &[]));
    let (listener, server) = (TcpListener::bind("127.0.0.1:0").await.unwrap(), server.address());
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut plain, _)) = listener.accept().await {
            let offer = offer.clone();
            tokio::spawn(async move {
                if let Ok(mut encrypted) = connect(server, offer).await {
                    copy_bidirectional(&mut plain, &mut encrypted).await.ok();
                }
            });
        }
    });
    format!("http://{address}")
}

/// The user `admin` of tenant `main`, through a tunnel.
pub(super) async fn admin(server: &TestServer, certificates: &Certificates) -> Caller {
    Caller::new(&tunnel(server, certificates).await, Some(("admin", ADMIN_PASSWORD)))
}
