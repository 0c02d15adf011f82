//! A connection whose request asks for an upgrade: bytes both ways, and no buffer while nothing passes.
//!
//! For requests actix-http keeps 8 kB to read into and 8 kB to write from as long as a connection lives. A WebSocket
//! idles for hours, so its bytes are read into room on the stack, and what is written is freed when it has left. To the
//! routes nothing differs: they are given a request with a payload, and their answer's body is what is written.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::error::Error;
use std::future::poll_fn;
use std::io;
use std::mem::MaybeUninit;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker, ready};

use actix_codec::{Encoder, Framed};
use actix_http::body::{BodySize, BoxBody, MessageBody};
use actix_http::error::PayloadError;
use actix_http::h1::{Codec, Message};
use actix_http::{BoxedPayloadStream, ConnectionType, Request, Response};
use actix_service::Service;
use bytes::{Buf, Bytes, BytesMut};
use futures_util::Stream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes that are read at once.
const AT_ONCE: usize = 8 << 10;
/// Bytes of the peer that may wait for whoever takes them; then the peer waits.
const WAITING: usize = 32 << 10;

/// Answers the request and carries bytes until the peer or the answer's body ends, or until `grace_over`, when the server stops
/// and waits for nobody. An answer that upgrades to nothing is the last one of its connection. When the connection or the body
/// breaks, nobody is left to be told.
pub(super) fn serve<T, S, B>(
    service: Rc<S>,
    request: Request,
    connection: Framed<T, Codec>,
    grace_over: impl Future<Output = ()>,
) -> impl Future<Output = Result<(), Infallible>>
where
    T: AsyncRead + AsyncWrite + Unpin,
    S: Service<Request>,
    S::Response: Into<Response<B>>,
    S::Error: Into<Response<BoxBody>>,
    B: MessageBody + 'static,
{
    let (mut upgraded, payload) = Upgraded::of(connection);
    let payload: BoxedPayloadStream = Box::pin(payload);
    let (request, _) = request.replace_payload(payload.into());
    async move {
        // On the heap and gone with the answer, so that the task has no room for the way there as long as the socket lives.
        let call = Box::pin(async move {
            match service.call(request).await {
                Ok(answer) => answer.into().map_into_boxed_body(),
                Err(error) => error.into(),
            }
        });
        let served = async move {
            let answer = tokio::select! {
                biased;
                _ = poll_fn(|cx| upgraded.poll_incoming(cx)) => return,
                answer = call => answer,
            };
            upgraded.answer(answer).await.ok();
        };
        tokio::select! {
            biased;
            () = served => {}
            () = grace_over => {}
        }
        Ok(())
    }
}

struct Upgraded<T> {
    io: T,
    codec: Codec,
    incoming: Rc<RefCell<Incoming>>,
    /// What the connection did not take yet.
    unwritten: BytesMut,
}

impl<T: AsyncRead + AsyncWrite + Unpin> Upgraded<T> {
    /// Takes a connection over, without the buffers it had for requests.
    fn of(connection: Framed<T, Codec>) -> (Self, FromPeer) {
        let parts = connection.into_parts();
        let incoming = Rc::new(RefCell::new(Incoming::default()));
        if !parts.read_buf.is_empty() {
            incoming.borrow_mut().push(Bytes::copy_from_slice(&parts.read_buf));
        }
        let payload = FromPeer { incoming: incoming.clone(), over: false };
        (Self { io: parts.io, codec: parts.codec, incoming, unwritten: BytesMut::new() }, payload)
    }

    async fn answer(&mut self, answer: Response<BoxBody>) -> io::Result<()> {
        let (mut head, body) = answer.into_parts();
        if !head.upgrade() {
            head.head_mut().set_connection_type(ConnectionType::Close);
        }
        self.encode(Message::Item((head, body.size())))?;
        let mut body = pin!(body);
        poll_fn(|cx| self.poll_both_ways(body.as_mut(), cx)).await?;
        poll_fn(|cx| self.poll_written(cx)).await?;
        poll_fn(|cx| Pin::new(&mut self.io).poll_shutdown(cx)).await
    }

    /// Ready when either way has ended. The body is asked for more only when all before was taken: so a peer that does not read
    /// holds up whoever writes to it.
    fn poll_both_ways(
        &mut self,
        mut body: Pin<&mut impl MessageBody>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
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
                // Whoever takes the payload knows by now that it ended, and had its word.
                Poll::Pending if ended => return Poll::Ready(Ok(())),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// Takes what the peer sent, up to what may wait. Ready when the peer has ended.
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
            ready!(Pin::new(&mut self.io).poll_read(cx, &mut read))?;
            match read.filled() {
                [] => incoming.end(),
                bytes if taken => incoming.push(Bytes::copy_from_slice(bytes)),
                _ => {}
            }
        }
        Poll::Ready(Ok(()))
    }

    fn poll_written(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.unwritten.is_empty() {
            match ready!(Pin::new(&mut self.io).poll_write(cx, &self.unwritten))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => self.unwritten.advance(written),
            }
        }
        self.unwritten = BytesMut::new();
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn encode(&mut self, message: Message<(Response<()>, BodySize)>) -> io::Result<()> {
        self.codec.encode(message, &mut self.unwritten)
    }
}

/// What the peer sent and nobody took yet.
#[derive(Default)]
struct Incoming {
    parts: VecDeque<Bytes>,
    bytes: usize,
    ended: bool,
    /// Waits for more.
    taker: Option<Waker>,
    /// Waits until there is room again.
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

/// The payload of the request.
struct FromPeer {
    incoming: Rc<RefCell<Incoming>>,
    /// Whether its end was told.
    over: bool,
}

impl Stream for FromPeer {
    type Item = Result<Bytes, PayloadError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let mut incoming = this.incoming.borrow_mut();
        let Some(part) = incoming.parts.pop_front() else {
            // The payload of an upgrade has no length: it does not end, it breaks off.
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
