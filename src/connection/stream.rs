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
/// Bytes that the system takes beyond those that are on their way to the client. Each time half of them left, it takes more: so who
/// reads slowly is told from who does not read.
const UNSENT: u32 = 32 << 10;

/// What carries the bytes.
#[derive(Debug)]
pub(crate) enum Stream {
    Plain(TcpStream),
    /// On the heap, so that a plain connection stays small.
    Tls(Box<TlsStream<Socket>>),
}

/// The socket below an encrypted connection, which tells whether the system takes what is written. Above it nobody sees that:
/// some is written when it is encrypted, and leaves later.
#[derive(Debug)]
pub(crate) struct Socket {
    tcp: TcpStream,
    took_some: bool,
}

impl Socket {
    pub(crate) fn new(tcp: TcpStream) -> Self {
        Self { tcp, took_some: false }
    }

    pub(crate) fn tcp(&self) -> &TcpStream {
        &self.tcp
    }
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
        bound_unsent(&stream);
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
            Self::Tls(stream) => stream.get_ref().0.tcp(),
        };
        // A connection that is gone needs none.
        SockRef::from(tcp).set_send_buffer_size(SEND_BUFFER).ok();
    }

    /// Whether the system took some of what was written since this was asked before, though whoever writes was told that there is no
    /// room.
    pub(crate) fn took_some(&mut self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Tls(stream) => std::mem::take(&mut stream.get_mut().0.took_some),
        }
    }

    /// See [`Line::peer_is_gone`](super::Line::peer_is_gone).
    pub(crate) fn peer_is_gone(&mut self, cx: &Context<'_>) -> bool {
        match self {
            Self::Plain(tcp) => match SockRef::from(&*tcp).peek(&mut [MaybeUninit::uninit()]) {
                Ok(bytes) => bytes == 0,
                Err(error) => error.kind() != io::ErrorKind::WouldBlock,
            },
            Self::Tls(stream) => {
                let (socket, session) = stream.get_mut();
                let (ended, taken) = tls::has_ended(socket.tcp(), session);
                if taken {
                    cx.waker().wake_by_ref();
                }
                ended
            }
        }
    }
}

/// Has the system take no more than it can send soon. Left to itself it takes megabytes of an answer at once, and no more before a
/// third of them was read, which takes a slow client minutes.
pub(super) fn bound_unsent(tcp: &TcpStream) {
    // Where the system knows no such bound, or the connection is gone, that is all there is to it.
    #[cfg(any(target_os = "android", target_os = "linux"))]
    SockRef::from(tcp).set_tcp_notsent_lowat(UNSENT).ok();
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
