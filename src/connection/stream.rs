//! What carries the bytes of a connection: TCP, as it is or encrypted.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use actix_server::GracefulShutdownSignal;
use actix_web::rt::net::TcpStream;
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::server::TlsStream;

use crate::tls::{self, Tls};

/// What carries the bytes.
#[derive(Debug)]
pub(crate) enum Stream {
    Plain(TcpStream),
    /// On the heap, so that a plain connection stays small.
    Tls(Box<TlsStream<TcpStream>>),
}

/// TCP keep-alive finds peers that vanished behind a NAT without a word.
const TCP_KEEP_ALIVE: Duration = Duration::from_secs(120);

impl Stream {
    /// Of a connection that was accepted; with TLS after the handshake, which the stop of the server cuts short.
    ///
    /// # Errors
    /// The handshake failed.
    pub(super) async fn open(
        stream: TcpStream,
        tls: Option<(Arc<Tls>, GracefulShutdownSignal)>,
    ) -> io::Result<Self> {
        let socket = SockRef::from(&stream);
        // A small answer must not wait for an acknowledgement. Without either setting everything works, only later.
        socket.set_tcp_nodelay(true).ok();
        socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(TCP_KEEP_ALIVE)).ok();
        let Some((tls, stopping)) = tls else { return Ok(Self::Plain(stream)) };
        // On the heap, so that tasks of plain connections have no room for it.
        let connected = Box::pin(async move {
            tokio::select! {
                connected = tls.accept(stream) => connected,
                () = stopping.notified() => Err(io::ErrorKind::Interrupted.into()),
            }
        });
        Ok(Self::Tls(connected.await?))
    }

    /// See [`Line::peer_is_gone`](super::Line::peer_is_gone).
    pub(crate) fn peer_is_gone(&mut self, cx: &Context<'_>) -> bool {
        match self {
            Self::Plain(tcp) => match SockRef::from(&*tcp).peek(&mut [MaybeUninit::uninit()]) {
                Ok(bytes) => bytes == 0,
                Err(error) => error.kind() != io::ErrorKind::WouldBlock,
            },
            Self::Tls(stream) => {
                let (tcp, session) = stream.get_mut();
                let (ended, taken) = tls::has_ended(tcp, session);
                if taken {
                    cx.waker().wake_by_ref();
                }
                ended
            }
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_read(cx, buffer),
            Self::Tls(stream) => match ready!(Pin::new(stream).poll_read(cx, buffer)) {
                // Who hangs up without a farewell cuts nothing short: HTTP says how long a request is.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Poll::Ready(Ok(())),
                read => Poll::Ready(read),
            },
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_write(cx, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, buffer),
        }
    }

    /// Over TLS both slices make one record.
    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_write_vectored(cx, buffers),
            Self::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, buffers),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
