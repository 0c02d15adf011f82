//! The byte stream of a connection: TCP, plain or encrypted.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use actix_rt::net::TcpStream;
use actix_server::GracefulShutdownSignal;
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::server::TlsStream;

use crate::tls::{self, Accepted, ClientCertificate, Socket, Tls};

/// The bound of the send buffer in bytes. It is enough for 2.5 MB/s at a round-trip time of 100 ms.
const SEND_BUFFER: usize = 256 << 10;
/// The number of unsent bytes that the operating system accepts. It accepts more each time half of them were sent, so
/// that a client that reads slowly can be distinguished from one that does not read.
const UNSENT: u32 = 32 << 10;

/// The byte stream of a connection.
#[derive(Debug)]
pub enum Stream {
    /// A connection without TLS.
    Plain(TcpStream),
    /// A connection with TLS. This variant is boxed, so that a plain connection stays small.
    Tls(Box<TlsStream<Socket>>),
}

impl Stream {
    /// Wraps an accepted connection without TLS.
    pub fn plain(stream: TcpStream) -> Self {
        bound_unsent(&stream);
        Self::Plain(stream)
    }

    /// Performs the TLS handshake on an accepted connection. The stop of the server aborts it. The connection stays
    /// plain if its client sends HTTP without TLS.
    ///
    /// # Errors
    /// The handshake failed.
    pub async fn encrypt(
        stream: TcpStream,
        (tls, stopping): (Arc<Tls>, GracefulShutdownSignal),
    ) -> io::Result<Self> {
        bound_unsent(&stream);
        let connected = tokio::select! {
            connected = tls.accept(stream) => connected,
            () = stopping.notified() => Err(io::ErrorKind::Interrupted.into()),
        };
        Ok(match connected? {
            Accepted::Encrypted(stream) => Self::Tls(stream),
            Accepted::Plain(stream) => Self::Plain(stream),
        })
    }

    /// Returns the certificate that the client presented in the handshake.
    pub fn certificate(&self) -> Option<Arc<ClientCertificate>> {
        match self {
            Self::Plain(_) => None,
            Self::Tls(stream) => stream.get_ref().0.certificate(),
        }
    }

    /// Bounds the send buffer of the operating system. Its default of some megabytes takes a slow client many seconds
    /// to read after the last write; but the last write must complete only when the client has read nearly everything
    /// (B-10a).
    pub fn bound_send_buffer(&self) {
        let tcp = match self {
            Self::Plain(tcp) => tcp,
            Self::Tls(stream) => stream.get_ref().0.tcp(),
        };
        // The bound does not matter for a connection that is gone.
        SockRef::from(tcp).set_send_buffer_size(SEND_BUFFER).ok();
    }

    /// Returns whether the operating system has accepted bytes since the last call, although the last write found no
    /// space.
    pub fn took_some(&mut self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Tls(stream) => stream.get_mut().0.took_some(),
        }
    }

    /// Writes bytes outside of the connection's task, which is not woken when the stream has space again.
    ///
    /// # Errors
    /// `WouldBlock` when the operating system accepts none now or the stream is encrypted; other errors when the peer
    /// is gone.
    pub fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(tcp) => tcp.try_write(bytes),
            Self::Tls(_) => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    /// Returns whether the connection's task has read everything that has arrived by now, including a close. An
    /// encrypted stream may always have more to read, so the result is `false` for it.
    pub fn has_been_read(&self) -> bool {
        match self {
            Self::Plain(tcp) => peek(tcp).is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock),
            Self::Tls(_) => false,
        }
    }

    /// See [`ConnectionHandle::peer_is_gone`](super::ConnectionHandle::peer_is_gone).
    pub fn peer_is_gone(&mut self, cx: &Context<'_>) -> bool {
        match self {
            Self::Plain(tcp) => match peek(tcp) {
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

/// Returns how many bytes have arrived, at most one; none is a close. The operating system is called, because the
/// events that the worker knows are as old as its last turn, and a close that came after them would go unnoticed.
fn peek(tcp: &TcpStream) -> io::Result<usize> {
    SockRef::from(tcp).peek(&mut [MaybeUninit::uninit()])
}

/// Limits the unsent bytes that the operating system accepts. By default it accepts megabytes of a response at once,
/// and then nothing until a third of them was read, which takes a slow client minutes.
pub(super) fn bound_unsent(tcp: &TcpStream) {
    // Operating systems without this option keep their default, and an error means that the connection is gone.
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
                // A close without a TLS close alert truncates nothing, because HTTP requests carry their length.
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

    /// With TLS, both slices form one record.
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

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::task::Waker;

    use super::*;

    /// A connection whose worker has polled it and noticed nothing, and its client.
    async fn waiting() -> (Stream, std::net::TcpStream) {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let client =
            std::net::TcpStream::connect(listener.local_addr().expect("an address")).expect("a client");
        let (accepted, _) = listener.accept().expect("a connection");
        accepted.set_nonblocking(true).expect("an option");
        let mut stream = Stream::plain(TcpStream::from_std(accepted).expect("a stream"));
        let mut bytes = [0];
        let mut buffer = ReadBuf::new(&mut bytes);
        std::future::poll_fn(|cx| Poll::Ready(Pin::new(&mut stream).poll_read(cx, &mut buffer).is_pending()))
            .await;
        (stream, client)
    }

    /// Neither test lets the worker poll the operating system for events after the client has acted.
    #[tokio::test]
    async fn close_that_the_worker_has_not_noticed_counts() {
        let (mut stream, client) = waiting().await;
        assert!(stream.has_been_read() && !stream.peer_is_gone(&Context::from_waker(Waker::noop())));

        drop(client);

        assert!(!stream.has_been_read() && stream.peer_is_gone(&Context::from_waker(Waker::noop())));
    }

    #[tokio::test]
    async fn request_that_the_worker_has_not_noticed_is_no_close() {
        let (mut stream, mut client) = waiting().await;

        client.write_all(b"GET").expect("a request");

        assert!(!stream.has_been_read() && !stream.peer_is_gone(&Context::from_waker(Waker::noop())));
    }
}
