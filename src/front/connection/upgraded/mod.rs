//! A connection after an upgrade request: bytes in both directions, without a buffer while nothing is transferred.
//!
//! actix-http keeps a read buffer and a write buffer of 8 kB each as long as a connection lives. A WebSocket is idle
//! for hours, so this module reads its bytes into a buffer on the stack and frees the written bytes after they were
//! sent. Routes see no difference: they receive a request with a payload, and the body of their response is written.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::error::Error;
use std::future::poll_fn;
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker, ready};

use actix_codec::{Encoder, Framed};
use actix_http::body::{BodySize, BoxBody, MessageBody};
use actix_http::error::PayloadError;
use actix_http::h1::{Codec, Message};
use actix_http::{BoxedPayloadStream, ConnectionType, HttpMessage, Request, Response};
use actix_service::Service;
use bytes::Bytes;
use futures_util::future::{LocalBoxFuture, select};
use futures_util::{FutureExt, Stream};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

mod outlet;

pub use outlet::DirectWriter;
use outlet::Outlet;

/// The maximum number of bytes that one read returns.
const AT_ONCE: usize = 8 << 10;
/// The maximum number of received bytes that wait for the route. When it is reached, nothing more is read from the
/// peer.
const WAITING: usize = 32 << 10;

/// Returns a future that calls the route and transfers bytes until the peer or the response body ends, or until
/// `grace_over` resolves, because a server that is stopping does not wait for upgraded connections. A response that
/// does not upgrade the connection is its last one. If the connection or the body breaks, nobody remains to be
/// notified.
pub fn serve<T, S, B>(
    service: Rc<S>,
    request: Request,
    connection: Framed<T, Codec>,
    grace_over: impl Future<Output = ()> + 'static,
) -> LocalBoxFuture<'static, ()>
where
    T: AsyncRead + AsyncWrite + Unpin + 'static,
    S: Service<Request> + 'static,
    S::Response: Into<Response<B>>,
    S::Error: Into<Response<BoxBody>>,
    B: MessageBody + 'static,
{
    let (mut upgraded, payload) = Upgraded::of(connection);
    let payload: BoxedPayloadStream = Box::pin(payload);
    let (request, _) = request.replace_payload(payload.into());
    request.extensions_mut().insert(DirectWriter::new(upgraded.outlet.clone()));
    // This future is boxed and dropped with the response, so that no memory is reserved for it while the socket lives.
    let call = Box::pin(async move {
        match service.call(request).await {
            Ok(answer) => answer.into().map_into_boxed_body(),
            Err(error) => error.into(),
        }
    });
    // Each future has a box of its own, because an async block reserves memory for a future that it is given twice.
    let served = Box::pin(async move {
        // A peer that has closed its half may still read the response (B-24).
        let answer = tokio::select! {
            biased;
            Err(_) = poll_fn(|cx| upgraded.poll_incoming(cx)) => return,
            answer = call => answer,
        };
        if let Ok(body) = upgraded.begin(answer) {
            upgraded.transfer(body).await.ok();
        }
    });
    Box::pin(select(served, Box::pin(grace_over)).map(drop))
}

struct Upgraded<T> {
    outlet: Rc<RefCell<Outlet<T>>>,
    codec: Codec,
    incoming: Rc<RefCell<Incoming>>,
}

impl<T: AsyncRead + AsyncWrite + Unpin> Upgraded<T> {
    /// Takes over a connection without its buffers for requests.
    fn of(connection: Framed<T, Codec>) -> (Self, FromPeer) {
        let parts = connection.into_parts();
        let incoming = Rc::new(RefCell::new(Incoming::default()));
        if !parts.read_buf.is_empty() {
            incoming.borrow_mut().push(Bytes::copy_from_slice(&parts.read_buf));
        }
        let payload = FromPeer { incoming: incoming.clone(), over: false };
        let outlet = Rc::new(RefCell::new(Outlet::new(parts.io)));
        (Self { outlet, codec: parts.codec, incoming }, payload)
    }

    /// Encodes the response head and returns the body.
    fn begin(&mut self, answer: Response<BoxBody>) -> io::Result<BoxBody> {
        let (mut head, body) = answer.into_parts();
        if !head.upgrade() {
            head.head_mut().set_connection_type(ConnectionType::Close);
        }
        self.encode(Message::Item((head, body.size())))?;
        Ok(body)
    }

    async fn transfer(&mut self, mut body: BoxBody) -> io::Result<()> {
        poll_fn(|cx| self.poll_both_ways(Pin::new(&mut body), cx)).await?;
        poll_fn(|cx| self.poll_written(cx)).await?;
        poll_fn(|cx| self.outlet.borrow_mut().poll_shutdown(cx)).await
    }

    /// Ready when either direction has ended. The response body is polled again only when all previous bytes were
    /// accepted, so a peer that does not read delays the writer.
    fn poll_both_ways(
        &mut self,
        mut body: Pin<&mut impl MessageBody>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        self.outlet.borrow_mut().belongs_to(cx);
        loop {
            let ended = self.poll_incoming(cx)?.is_ready();
            ready!(self.poll_written(cx))?;
            match body.as_mut().poll_next(cx) {
                Poll::Ready(Some(Ok(part))) => self.encode(Message::Chunk(Some(part)))?,
                Poll::Ready(Some(Err(error))) => {
                    let cause: Box<dyn Error> = error.into();
                    return Poll::Ready(Err(io::Error::other(cause.to_string())));
                }
                Poll::Ready(None) => return Poll::Ready(self.encode(Message::Chunk(None))),
                // The reader of the payload has been notified of the end by now and has had the opportunity to write
                // its last bytes.
                Poll::Pending if ended => return Poll::Ready(Ok(())),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// Reads the bytes that the peer sent, up to the limit of waiting bytes. Ready when the peer has ended.
    fn poll_incoming(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let taken = Rc::strong_count(&self.incoming) > 1;
        let mut incoming = self.incoming.borrow_mut();
        while !incoming.ended {
            if incoming.bytes >= WAITING && taken {
                incoming.room = Some(cx.waker().clone());
                return Poll::Pending;
            }
            let mut room = [MaybeUninit::uninit(); AT_ONCE];
            let mut read = ReadBuf::uninit(&mut room);
            ready!(self.outlet.borrow_mut().poll_read(cx, &mut read))?;
            match read.filled() {
                [] => incoming.end(),
                bytes if taken => incoming.push(Bytes::copy_from_slice(bytes)),
                _ => {}
            }
        }
        Poll::Ready(Ok(()))
    }

    fn poll_written(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.outlet.borrow_mut().poll_written(cx)
    }

    fn encode(&mut self, message: Message<(Response<()>, BodySize)>) -> io::Result<()> {
        self.codec.encode(message, &mut self.outlet.borrow_mut().unwritten)
    }
}

/// The bytes that the peer sent and the route has not taken.
#[derive(Default)]
struct Incoming {
    parts: VecDeque<Bytes>,
    bytes: usize,
    ended: bool,
    /// The waker of the task that waits for more bytes.
    taker: Option<Waker>,
    /// The waker of the task that waits for space.
    room: Option<Waker>,
}

impl Incoming {
    fn push(&mut self, part: Bytes) {
        self.bytes += part.len();
        self.parts.push_back(part);
        self.wake_taker();
    }

    fn end(&mut self) {
        self.ended = true;
        self.wake_taker();
    }

    fn wake_taker(&mut self) {
        if let Some(taker) = self.taker.take() {
            taker.wake();
        }
    }
}

/// The payload of the upgraded request.
struct FromPeer {
    incoming: Rc<RefCell<Incoming>>,
    /// Whether the end of the payload was returned.
    over: bool,
}

impl Stream for FromPeer {
    type Item = Result<Bytes, PayloadError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let mut incoming = this.incoming.borrow_mut();
        let Some(part) = incoming.parts.pop_front() else {
            // The payload of an upgrade has no length, so its end is an error.
            if incoming.ended {
                let told = std::mem::replace(&mut this.over, true);
                return Poll::Ready((!told).then_some(Err(PayloadError::Incomplete(None))));
            }
            incoming.taker = Some(cx.waker().clone());
            return Poll::Pending;
        };
        incoming.bytes -= part.len();
        if incoming.parts.is_empty() {
            incoming.parts = VecDeque::new();
        }
        if let Some(room) = incoming.room.take() {
            room.wake();
        }
        Poll::Ready(Some(Ok(part)))
    }
}

#[cfg(test)]
mod tests;
