//! What carries the bytes of a connection: TCP, as it is or encrypted.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use actix_server::GracefulShutdownSignal;
use actix_web::rt::net::TcpStream;
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::server::TlsStream;

use crate::tls::{self, Tls};

/// Bytes that the system keeps of what is written to a connection with a bound. Enough for 2.5 MB/s over a way of 100 ms.
const SEND_BUFFER: usize = 256 << 10;

/// What carries the bytes.
#[derive(Debug)]
pub(crate) enum Stream {
    Plain(TcpStream),
    /// On the heap, so that a plain connection stays small.
    Tls(Box<TlsStream<TcpStream>>),
}

impl Stream {
    /// Of a connection that was accepted; with TLS after the handshake, which the stop of the server cuts short.
    ///
    /// # Errors
    /// The handshake failed.
    pub(super) async fn open(
        stream: TcpStream,
        tls: Option<(Arc<Tls>, GracefulShutdownSignal)>,
    ) -> io::Result<Self> {
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

    /// Bounds what the system keeps of what is written. Left to itself it keeps some megabytes, which a slow client reads for many
    /// seconds after the last byte was written; but the end of writing must tell when the client has nearly read it all (B-10a).
    pub(crate) fn bound_send_buffer(&self) {
        let tcp = match self {
            Self::Plain(tcp) => tcp,
            Self::Tls(stream) => stream.get_ref().0,
        };
        // A connection that is gone needs none.
        SockRef::from(tcp).set_send_buffer_size(SEND_BUFFER).ok();
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
