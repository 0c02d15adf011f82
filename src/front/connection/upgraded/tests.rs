//! Tests upgraded connections over in-memory pipes.

use std::convert::Infallible;
use std::future::pending;

use actix_codec::{Decoder, FramedParts};
use actix_http::{Payload, StatusCode};
use actix_service::fn_service;
use futures_util::StreamExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

use super::*;

/// A response body that returns the received bytes and ends with them.
struct Echo(Payload);

impl MessageBody for Echo {
    type Error = Infallible;

    fn size(&self) -> BodySize {
        BodySize::Stream
    }

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Infallible>>> {
        self.0.poll_next_unpin(cx).map(|part| part.and_then(Result::ok).map(Ok))
    }
}

/// An endless body that counts how often it is polled.
struct Endless(usize);

impl MessageBody for Endless {
    type Error = Infallible;

    fn size(&self) -> BodySize {
        BodySize::Stream
    }

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, Infallible>>> {
        self.0 += 1;
        Poll::Ready(Some(Ok(Bytes::from_static(&[0; 1024]))))
    }
}

/// Returns an upgrade request, its connection (`unread` are bytes that were read beyond the request), and the pipe of
/// the client.
fn asked(unread: &[u8]) -> (Request, Framed<DuplexStream, Codec>, DuplexStream) {
    let (server, client) = duplex(64 << 10);
    let mut codec = Codec::default();
    let head = "GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n";
    let Ok(Some(Message::Item(request))) = codec.decode(&mut head.into()) else { panic!("it is a request") };
    let parts = FramedParts::with_read_buf(server, codec, unread.into());
    (request, Framed::from_parts(parts), client)
}

/// Creates a connection that its response has upgraded.
fn upgraded(io: DuplexStream) -> (Upgraded<DuplexStream>, FromPeer) {
    let (mut upgraded, payload) = Upgraded::of(Framed::new(io, Codec::default()));
    let head = Response::build(StatusCode::SWITCHING_PROTOCOLS).upgrade("websocket").finish().drop_body();
    upgraded.encode(Message::Item((head, BodySize::Stream))).unwrap();
    (upgraded, payload)
}

async fn echo(
    request: Request,
    connection: Framed<DuplexStream, Codec>,
    grace_over: impl Future<Output = ()> + 'static,
) {
    let service = fn_service(async |mut request: Request| {
        let mut answer = Response::build(StatusCode::SWITCHING_PROTOCOLS);
        Ok::<_, Response<BoxBody>>(
            answer.upgrade("websocket").message_body(Echo(request.take_payload())).unwrap(),
        )
    });
    serve(Rc::new(service), request, connection, grace_over).await;
}

async fn skip_head(client: &mut DuplexStream) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(client.read_u8().await.unwrap());
    }
}

#[actix_rt::test]
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

    let (echoed, ()) = tokio::join!(talk, echo(request, connection, pending()));

    assert_eq!(&echoed, b"first then");
}

#[actix_rt::test]
async fn response_that_does_not_upgrade_is_the_last_of_its_connection() {
    let (request, connection, mut client) = asked(b"");
    let service = fn_service(async |_: Request| {
        Ok::<Response<&'static str>, Response<BoxBody>>(Response::with_body(StatusCode::UNAUTHORIZED, "no"))
    });
    let mut answer = String::new();

    let (_, ()) = tokio::join!(
        client.read_to_string(&mut answer),
        serve(Rc::new(service), request, connection, pending())
    );

    assert!(answer.starts_with("HTTP/1.1 401 Unauthorized\r\n"), "{answer}");
    assert!(answer.contains("\r\nconnection: close\r\n") && answer.ends_with("\r\n\r\nno"), "{answer}");
}

#[actix_rt::test]
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
    assert_eq!(
        (incoming.parts.capacity(), incoming.bytes, upgraded.outlet.borrow().unwritten.capacity()),
        (0, 0, 0)
    );
}

#[actix_rt::test]
async fn peer_whose_bytes_nobody_takes_has_to_wait() {
    let (server, mut client) = duplex(256 << 10);
    let (mut upgraded, _payload) = upgraded(server);
    client.write_all(&[0; 200 << 10]).await.unwrap();

    let read = poll_fn(|cx| Poll::Ready(upgraded.poll_incoming(cx))).await;

    assert!(read.is_pending());
    assert!(upgraded.incoming.borrow().bytes < WAITING + AT_ONCE);
}

#[actix_rt::test]
async fn body_is_asked_for_more_only_while_the_peer_reads() {
    let (server, _client) = duplex(4 << 10);
    let (mut upgraded, _payload) = upgraded(server);
    let mut body = Endless(0);

    let carried = poll_fn(|cx| Poll::Ready(upgraded.poll_both_ways(Pin::new(&mut body), cx))).await;

    assert!(carried.is_pending());
    assert!(body.0 <= 5, "{}", body.0);
}

#[actix_rt::test]
async fn connection_that_does_not_end_by_itself_is_dropped_when_the_grace_is_over() {
    let (request, connection, mut client) = asked(b"");
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let talk = async {
        skip_head(&mut client).await;
        drop(end);
        client.read_to_end(&mut Vec::new()).await.unwrap()
    };

    let (rest, ()) = tokio::join!(talk, echo(request, connection, async { drop(ended.await) }));

    assert_eq!(rest, 0);
}

/// Returns a connection whose task waits, with its direct writer.
async fn waiting(io: DuplexStream) -> (Upgraded<DuplexStream>, FromPeer, DirectWriter) {
    let (mut upgraded, payload) = upgraded(io);
    let writer = DirectWriter::new(upgraded.outlet.clone());
    let mut body = Silent;
    let carried = poll_fn(|cx| Poll::Ready(upgraded.poll_both_ways(Pin::new(&mut body), cx))).await;
    assert!(carried.is_pending());
    (upgraded, payload, writer)
}

/// A response body that never returns anything.
struct Silent;

impl MessageBody for Silent {
    type Error = Infallible;

    fn size(&self) -> BodySize {
        BodySize::Stream
    }

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, Infallible>>> {
        Poll::Pending
    }
}

#[actix_rt::test]
async fn direct_writes_reach_the_peer_without_the_task_and_however_many_there_are() {
    let (server, mut client) = duplex(64 << 10);
    let (_upgraded, _payload, writer) = waiting(server).await;
    skip_head(&mut client).await;

    // More writes than tokio's budget allows a task before it must yield.
    assert!((0..1000).all(|_| writer.write(b"frame")));

    let mut frames = [0; 5000];
    client.read_exact(&mut frames).await.unwrap();
    assert_eq!(frames, *b"frame".repeat(1000));
}

#[actix_rt::test]
async fn task_writes_what_a_direct_write_left_and_until_then_no_other_write_comes_between() {
    let (server, mut client) = duplex(512);
    let (mut upgraded, _payload, writer) = waiting(server).await;
    skip_head(&mut client).await;

    assert!(writer.write(&[b'a'; 700]));
    assert!(!writer.write(b"b"), "the rest comes first");
    let mut first = [0; 512];
    client.read_exact(&mut first).await.unwrap();
    poll_fn(|cx| upgraded.poll_written(cx)).await.unwrap();
    assert!(writer.write(b"b"));

    let mut rest = [0; 189];
    client.read_exact(&mut rest).await.unwrap();
    assert!(first.iter().chain(&rest[..188]).all(|byte| *byte == b'a') && rest[188] == b'b');
}

#[actix_rt::test]
async fn nothing_is_written_directly_before_the_response_head() {
    let (server, _client) = duplex(512);
    let (upgraded, _payload) = upgraded(server);

    assert!(!DirectWriter::new(upgraded.outlet.clone()).write(b"frame"));
}
