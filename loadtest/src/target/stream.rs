//! The socket of a connection, encrypted or not.

use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::FutureExt as _;
use rustls::client::Resumption;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::error::Error;

/// A connected socket.
#[derive(Debug)]
pub(crate) enum Stream {
    /// Not encrypted.
    Plain(TcpStream),
    /// Encrypted.
    Tls(Box<TlsStream<TcpStream>>),
}

/// The encryption of sockets, and the name that the server's certificate must have.
#[derive(Clone)]
pub(crate) struct Encryption {
    connector: TlsConnector,
    roots: Arc<RootCertStore>,
    name: ServerName<'static>,
}

impl std::fmt::Debug for Encryption {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Encryption for {:?}", self.name)
    }
}

impl Encryption {
    /// Trusts the certificates of a PEM file, or those that the system trusts.
    ///
    /// # Errors
    /// The file has no certificate, or the host is not a name.
    pub(crate) fn new(host: &str, ca_file: Option<&Path>) -> Result<Self, Error> {
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let name = ServerName::try_from(host.to_owned())
            .map_err(|error| Error::Refused(format!("{host}: {error}")))?;
        let certificates = match ca_file {
            Some(file) => certificates_of(file)?,
            None => rustls_native_certs::load_native_certs().certs,
        };
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(certificates);
        if roots.is_empty() {
            return Err(Error::Refused("no certificate is trusted; --ca-file names one".to_owned()));
        }
        let roots = Arc::new(roots);
        let config = ClientConfig::builder().with_root_certificates(Arc::clone(&roots)).with_no_client_auth();
        Ok(Self { connector: TlsConnector::from(Arc::new(config)), roots, name })
    }

    /// Returns the same, with a certificate of the client. Sessions are not resumed, because each handshake is to prove
    /// the possession of the key.
    ///
    /// # Errors
    /// The certificate or its key cannot be used.
    pub(crate) fn with_certificate(
        &self,
        certificate: CertificateDer<'static>,
        key: PrivateKeyDer<'static>,
    ) -> Result<Self, Error> {
        let builder = ClientConfig::builder().with_root_certificates(Arc::clone(&self.roots));
        let mut config = builder
            .with_client_auth_cert(vec![certificate], key)
            .map_err(|error| Error::Refused(format!("a certificate: {error}")))?;
        config.resumption = Resumption::disabled();
        Ok(Self { connector: TlsConnector::from(Arc::new(config)), ..self.clone() })
    }

    /// Encrypts a socket.
    ///
    /// # Errors
    /// The server's certificate is not trusted, or it does not speak TLS.
    pub(crate) async fn wrap(&self, stream: TcpStream) -> io::Result<Stream> {
        let connected = Box::pin(self.connector.connect(self.name.clone(), stream)).await?;
        Ok(Stream::Tls(Box::new(connected)))
    }
}

fn certificates_of(file: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let refused = |error| Error::Refused(format!("{}: {error}", file.display()));
    let certificates = CertificateDer::pem_file_iter(file).map_err(refused)?;
    certificates.collect::<Result<_, _>>().map_err(refused)
}

impl Stream {
    /// Returns whether the server has closed the connection or sent unrequested bytes. Encrypted bytes may be tickets
    /// of the session, so they are ignored.
    pub(crate) fn is_stale(&self) -> bool {
        let (stream, is_encrypted) = match self {
            Self::Plain(stream) => (stream, false),
            Self::Tls(stream) => (stream.get_ref().0, true),
        };
        match stream.peek(&mut [0]).now_or_never() {
            None => false,
            Some(Ok(bytes)) => bytes == 0 || !is_encrypted,
            Some(Err(_)) => true,
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(context),
            Self::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
