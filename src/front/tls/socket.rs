//! The socket below an encrypted connection.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::ClientCertificate;

/// The socket below an encrypted connection. Only the socket shows whether the operating system accepts bytes; the TLS
/// layer accepts bytes when it encrypts them and sends them later.
#[derive(Debug)]
pub struct Socket {
    tcp: TcpStream,
    took_some: bool,
    /// The certificate that the client presented in the handshake.
    pub(super) certificate: Option<Arc<ClientCertificate>>,
}

impl Socket {
    pub(super) fn new(tcp: TcpStream) -> Self {
        Self { tcp, took_some: false, certificate: None }
    }

    pub(crate) fn tcp(&self) -> &TcpStream {
        &self.tcp
    }

    /// Returns the certificate that the client presented.
    pub(crate) fn certificate(&self) -> Option<Arc<ClientCertificate>> {
        self.certificate.clone()
    }

    /// Returns whether the operating system has accepted bytes since the last call.
    pub(crate) fn took_some(&mut self) -> bool {
        std::mem::take(&mut self.took_some)
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().tcp).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.tcp).poll_write(cx, buffer);
        this.took_some |= written.is_ready();
        written
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.tcp).poll_write_vectored(cx, buffers);
        this.took_some |= written.is_ready();
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.tcp.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().tcp).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().tcp).poll_shutdown(cx)
    }
}
