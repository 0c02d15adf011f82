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

/// Answers the request and carries bytes until the peer or the answer's body ends. An answer that upgrades to nothing is the
/// last one of its connection. When the connection or the body breaks, nobody is left to be told.
pub(super) fn serve<T, S, B>(
    service: Rc<S>,
    request: Request,
    connection: Framed<T, Codec>,
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
        let answer = tokio::select! {
            biased;
            _ = poll_fn(|cx| upgraded.poll_incoming(cx)) => return Ok(()),
            answer = call => answer,
        };
        upgraded.answer(answer).await.ok();
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
                Poll::Pending => {
                    // A body may have released a head that the connection withheld, which leaves with a flush.
                    let _ = self.poll_written(cx)?;
                    return Poll::Pending;
                }
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
mod tests {
    use actix_codec::{Decoder, FramedParts};
    use actix_http::{Payload, StatusCode};
    use actix_service::fn_service;
    use futures_util::StreamExt;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

    use super::*;

    /// Gives back what comes, and ends with it.
    struct Echo(Payload);

    impl MessageBody for Echo {
        type Error = Infallible;

        fn size(&self) -> BodySize {
            BodySize::Stream
        }

        fn poll_next(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
        ) -> Poll<Option<Result<Bytes, Infallible>>> {
            self.0.poll_next_unpin(cx).map(|part| part.and_then(Result::ok).map(Ok))
        }
    }

    /// Has always more, and counts what it was asked for.
    struct Endless(usize);

    impl MessageBody for Endless {
        type Error = Infallible;

        fn size(&self) -> BodySize {
            BodySize::Stream
        }

        fn poll_next(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Bytes, Infallible>>> {
            self.0 += 1;
            Poll::Ready(Some(Ok(Bytes::from_static(&[0; 1024]))))
        }
    }

    /// A request for an upgrade that was read from its connection, and what was read beyond it.
    fn asked(unread: &[u8]) -> (Request, Framed<DuplexStream, Codec>, DuplexStream) {
        let (server, client) = duplex(64 << 10);
        let mut codec = Codec::default();
        let head = "GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n";
        let Ok(Some(Message::Item(request))) = codec.decode(&mut head.into()) else {
            panic!("it is a request")
        };
        let parts = FramedParts::with_read_buf(server, codec, unread.into());
        (request, Framed::from_parts(parts), client)
    }

    /// A connection whose answer upgraded it.
    fn upgraded(io: DuplexStream) -> (Upgraded<DuplexStream>, FromPeer) {
        let (mut upgraded, payload) = Upgraded::of(Framed::new(io, Codec::default()));
        let head = Response::build(StatusCode::SWITCHING_PROTOCOLS).upgrade("websocket").finish().drop_body();
        upgraded.encode(Message::Item((head, BodySize::Stream))).unwrap();
        (upgraded, payload)
    }

    async fn echo(request: Request, connection: Framed<DuplexStream, Codec>) {
        let service = fn_service(async |mut request: Request| {
            let mut answer = Response::build(StatusCode::SWITCHING_PROTOCOLS);
            Ok::<_, Response<BoxBody>>(
                answer.upgrade("websocket").message_body(Echo(request.take_payload())).unwrap(),
            )
        });
        let Ok(()) = serve(Rc::new(service), request, connection).await;
    }

    async fn skip_head(client: &mut DuplexStream) {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(client.read_u8().await.unwrap());
        }
    }

    #[actix_web::test]
    async fn what_came_with_the_request_is_the_first_of_its_payload() {
        let (request, connection, mut client) = asked(b"first ");
        client.write_all(b"then").await.unwrap();
        let talk = async {
            skip_head(&mut client).await;
            let mut echoed = [0; 10];
            client.read_exact(&mut echoed).await.unwrap();
            drop(client);
            echoed
        };

        let (echoed, ()) = tokio::join!(talk, echo(request, connection));

        assert_eq!(&echoed, b"first then");
    }

    #[actix_web::test]
    async fn answer_that_does_not_upgrade_is_the_last_of_its_connection() {
        let (request, connection, mut client) = asked(b"");
        let service = fn_service(async |_: Request| {
            Ok::<Response<&'static str>, Response<BoxBody>>(Response::with_body(
                StatusCode::UNAUTHORIZED,
                "no",
            ))
        });
        let mut answer = String::new();

        let (_, Ok(())) =
            tokio::join!(client.read_to_string(&mut answer), serve(Rc::new(service), request, connection));

        assert!(answer.starts_with("HTTP/1.1 401 Unauthorized\r\n"), "{answer}");
        assert!(answer.contains("\r\nconnection: close\r\n") && answer.ends_with("\r\n\r\nno"), "{answer}");
    }

    #[actix_web::test]
    async fn connection_over_which_nothing_passes_owns_no_buffer() {
        let (server, mut client) = duplex(64 << 10);
        let (mut upgraded, mut payload) = upgraded(server);
        client.write_all(&[0; 20 << 10]).await.unwrap();
        upgraded.encode(Message::Chunk(Some(Bytes::from_static(&[0; 20 << 10])))).unwrap();

        let passing = poll_fn(|cx| {
            let passed = (upgraded.poll_incoming(cx), upgraded.poll_written(cx));
            while payload.poll_next_unpin(cx).is_ready() {}
            Poll::Ready(passed)
        });
        let (read, written) = passing.await;

        assert!(read.is_pending() && written.is_ready());
        let incoming = upgraded.incoming.borrow();
        assert_eq!((incoming.parts.capacity(), incoming.bytes, upgraded.unwritten.capacity()), (0, 0, 0));
    }

    #[actix_web::test]
    async fn peer_whose_bytes_nobody_takes_has_to_wait() {
        let (server, mut client) = duplex(256 << 10);
        let (mut upgraded, _payload) = upgraded(server);
        client.write_all(&[0; 200 << 10]).await.unwrap();

        let read = poll_fn(|cx| Poll::Ready(upgraded.poll_incoming(cx))).await;

        assert!(read.is_pending());
        assert!(upgraded.incoming.borrow().bytes < WAITING + AT_ONCE);
    }

    #[actix_web::test]
    async fn body_is_asked_for_more_only_while_the_peer_reads() {
        let (server, _client) = duplex(4 << 10);
        let (mut upgraded, _payload) = upgraded(server);
        let mut body = Endless(0);

        let carried = poll_fn(|cx| Poll::Ready(upgraded.poll_both_ways(Pin::new(&mut body), cx))).await;

        assert!(carried.is_pending());
        assert!(body.0 <= 5, "{}", body.0);
    }
}
