//! Connections to external servers, with or without TLS.

use hyper::rt::{Read, Write};
use hyper_util::rt::TokioIo;
use rustls_pki_types::ServerName;
use tokio::net::TcpStream;

use super::Roots;

/// Whether a connection is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Security {
    /// It is not.
    Plain,
    /// It is, by TLS.
    Tls,
}

/// A connection, as `hyper` uses it.
pub trait Stream: Read + Write + Unpin + Send {}

impl<S: Read + Write + Unpin + Send> Stream for S {}

impl Roots {
    /// Connects to a server, and verifies its certificate if the connection is encrypted. An IPv6 address may be in
    /// brackets, as in a URL.
    ///
    /// # Errors
    /// The reason as a text for people; nothing was sent.
    pub async fn connect(
        &self,
        security: Security,
        host: &str,
        port: u16,
    ) -> Result<Box<dyn Stream>, String> {
        let unreachable = |error: std::io::Error| format!("{host}:{port} cannot be reached: {error}");
        let name = host.trim_matches(['[', ']']);
        let tcp = TcpStream::connect((name, port)).await.map_err(unreachable)?;
        tcp.set_nodelay(true).map_err(unreachable)?;
        match security {
            Security::Plain => Ok(Box::new(TokioIo::new(tcp))),
            Security::Tls => {
                let server = ServerName::try_from(name.to_owned())
                    .map_err(|_| format!("'{host}' is not a valid host name for https"))?;
                let stream = self.connector().await?.connect(server, tcp).await.map_err(unreachable)?;
                Ok(Box::new(TokioIo::new(stream)))
            }
        }
    }
}
