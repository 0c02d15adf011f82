//! WebSockets through the platform: authenticated like every call, then bytes both ways.

use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, accept_async, client_async};

use super::*;

/// A client's head that asks for a WebSocket, but for the lines every request has.
const UPGRADE: &str = "Upgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n\
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
/// The response of a service to it.
const SWITCHED: &str = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\nConnection: Upgrade\r\n\
    Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nSec-WebSocket-Protocol: chat\r\n\r\n";

/// Opens a WebSocket to the microservice and returns the client's end, or the error.
async fn open(caller: &Caller) -> Result<WebSocketStream<TcpStream>, Error> {
    let authority = caller.base().strip_prefix("http://").unwrap();
    let mut request = format!("ws://{authority}/service/rules/chat?room=1").into_client_request().unwrap();
    if let Some(authorization) = caller.authorization() {
        request.headers_mut().insert("Authorization", authorization.parse().unwrap());
    }
    let connection = TcpStream::connect(authority).await.unwrap();
    soon("the upgrade", client_async(request, connection)).await.map(|(socket, _)| socket)
}

/// Both ends of a WebSocket.
async fn opened(behind: &Behind) -> (WebSocketStream<TcpStream>, WebSocketStream<TcpStream>) {
    let service = async { accept_async(behind.accept().await.into_stream()).await.unwrap() };
    let admin = behind.server.admin();
    let (service, client) = tokio::join!(service, open(&admin));
    (client.unwrap(), service)
}

/// Returns both ends of a tunnel, for bytes that are not WebSocket frames.
async fn tunnelled(behind: &Behind) -> (RawConnection, RawConnection) {
    let (mut client, lines) = behind.client().await;
    client.send(format!("GET /service/rules/x HTTP/1.1\r\n{lines}{UPGRADE}")).await;
    let (mut service, _) = behind.asked().await;
    service.send(SWITCHED).await;
    client.read_until("\r\n\r\n").await;
    (client, service)
}

async fn next(socket: &mut WebSocketStream<TcpStream>) -> Option<Message> {
    soon("a frame", socket.next()).await.map(Result::ok)?
}

#[tokio::test]
async fn frames_pass_both_ways() {
    let behind = Behind::in_turn().await;
    let (mut client, mut service) = opened(&behind).await;

    for message in [Message::text("hello"), Message::binary(vec![7; 100_000]), Message::Ping("x".into())] {
        client.send(message.clone()).await.unwrap();
        assert_eq!(next(&mut service).await, Some(message.clone()));
        service.send(message.clone()).await.unwrap();
        let came = next(&mut client).await.unwrap();
        // The WebSocket library of the service responds to pings by itself.
        let came = if came.is_pong() { next(&mut client).await.unwrap() } else { came };
        assert_eq!(came, message);
    }
}

#[tokio::test]
async fn head_of_the_upgrade_passes_both_ways() {
    let behind = Behind::in_turn().await;
    let (mut client, lines) = behind.client().await;

    client
        .send(format!("GET /service/rules/a?b HTTP/1.1\r\n{lines}Sec-WebSocket-Protocol: chat\r\n{UPGRADE}"))
        .await;
    let (mut service, head) = behind.asked().await;
    service
        .send(format!("{}Set-Cookie: a=b\r\n\r\nfirst bytes", SWITCHED.strip_suffix("\r\n").unwrap()))
        .await;
    let answer = client.read_until("first bytes").await;

    assert!(head.starts_with("GET /a?b HTTP/1.1\r\n"), "{head}");
    assert_eq!((field(&head, "Upgrade"), field(&head, "Connection")), (Some("websocket"), Some("Upgrade")));
    assert_eq!(field(&head, "Sec-WebSocket-Key"), Some("dGhlIHNhbXBsZSBub25jZQ=="));
    assert_eq!(field(&head, "Sec-WebSocket-Protocol"), Some("chat"));
    assert_eq!((field(&head, "X-Platform-User"), field(&head, "Authorization")), (Some("admin"), None));
    assert!(answer.starts_with("HTTP/1.1 101 "), "{answer}");
    assert_eq!(field(&answer, "Upgrade"), Some("websocket"));
    assert_eq!(field(&answer, "Sec-WebSocket-Accept"), Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
    assert_eq!(
        (field(&answer, "Sec-WebSocket-Protocol"), field(&answer, "Set-Cookie")),
        (Some("chat"), None)
    );
}

#[tokio::test]
async fn strangers_get_no_websocket() {
    let behind = Behind::in_turn().await;

    let Err(Error::Http(refusal)) = open(&behind.server.stranger()).await else { panic!("no refusal") };

    assert_eq!(refusal.status(), 401);
    behind.hears_nothing_of_what_was_before().await;
}

#[tokio::test]
async fn refusal_of_the_service_is_passed_on() {
    let behind = Behind::in_turn().await;
    let (mut client, lines) = behind.client().await;

    client
        .send(format!("GET /service/rules/x HTTP/1.1\r\n{lines}{UPGRADE}GET /service/rules/y HTTP/1.1\r\n"))
        .await;
    let (mut service, _) = behind.asked().await;
    service
        .send(
            "HTTP/1.1 426 Upgrade Required\r\nX-Own: 1\r\nTransfer-Encoding: \
        chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n",
        )
        .await;
    let answer = client.read_to_end().await;

    assert!(answer.starts_with("HTTP/1.1 426 ") && answer.ends_with("\r\n\r\nno"), "{answer}");
    assert_eq!((field(&answer, "X-Own"), field(&answer, "Content-Length")), (Some("1"), Some("2")));
    assert_eq!(field(&answer, "Transfer-Encoding"), None);
}

#[tokio::test]
async fn switch_to_something_else_is_502() {
    let behind = Behind::in_turn().await;
    let (mut client, lines) = behind.client().await;

    client.send(format!("GET /service/rules/x HTTP/1.1\r\n{lines}{UPGRADE}")).await;
    let (mut service, _) = behind.asked().await;
    service.send(SWITCHED.replace("WebSocket\r\n", "h2c\r\n")).await;

    assert!(client.read_until("error_reporting").await.starts_with("HTTP/1.1 502 "));
    assert_eq!(service.read_to_end().await, "");
}

#[tokio::test]
async fn end_by_the_service_is_felt_by_the_client() {
    let behind = Behind::in_turn().await;
    let (mut client, mut service) = opened(&behind).await;

    service.close(None).await.unwrap();
    assert!(next(&mut client).await.unwrap().is_close());
    drop(service);

    assert_eq!(next(&mut client).await, None);

    let (mut client, service) = tunnelled(&behind).await;
    service.reset();
    assert_eq!(client.read_to_end().await, "");
}

#[tokio::test]
async fn what_the_service_sent_before_its_end_still_arrives() {
    let behind = Behind::in_turn().await;
    let (mut client, mut service) = tunnelled(&behind).await;

    service.send("x".repeat(1 << 20)).await;
    drop(service);

    assert_eq!(client.read_to_end().await.len(), 1 << 20);
}

#[tokio::test]
async fn end_by_the_client_is_felt_by_the_service() {
    let behind = Behind::in_turn().await;
    let (client, mut service) = opened(&behind).await;
    drop(client);
    assert!(!next(&mut service).await.is_some_and(|frame| frame.is_text()));

    let (client, mut service) = tunnelled(&behind).await;
    client.reset();
    assert_eq!(service.read_to_end().await, "");
}

#[tokio::test]
async fn websocket_ends_when_its_tenant_no_longer_uses_the_service() {
    let behind = Behind::start_with(|settings| settings.limits.socket_ping = Duration::from_millis(50)).await;
    let (mut client, mut service) = opened(&behind).await;

    behind.server.admin().delete(&format!("/application/applications/{}", behind.application)).await;
    let gone = "DELETE FROM applications WHERE context_path = 'rules'";
    behind.server.database().execute(gone, &[]).await;
    behind.server.database().announce("main/+applications").await;

    assert_eq!(next(&mut client).await, None);
    assert_eq!(next(&mut service).await, None);
}

#[tokio::test]
async fn websocket_ends_when_its_user_is_gone() {
    let behind = Behind::start_with(|settings| settings.limits.socket_ping = Duration::from_millis(50)).await;
    let mia = behind.server.user_with("mia", &[]).await;
    let service = async { accept_async(behind.accept().await.into_stream()).await.unwrap() };
    let (mut service, client) = tokio::join!(service, open(&mia));

    assert_eq!(behind.server.admin().delete("/user/main/users/mia").await.status, 204);

    assert_eq!(next(&mut client.unwrap()).await, None);
    assert_eq!(next(&mut service).await, None);
}

#[tokio::test]
async fn websocket_counts_as_a_call_until_it_ends() {
    let behind = Behind::start_with(|settings| settings.limits.service_calls = 1).await;
    let admin = behind.server.admin();
    let (client, service) = opened(&behind).await;

    assert_eq!(admin.get("/service/rules/x").await.status, 503);
    drop((client, service));

    crate::harness::eventually("room for a call", async || {
        tokio::select! {
            (mut service, _) = behind.asked() => {
                service.send(super::OK).await;
                Some(())
            }
            answer = admin.get("/service/rules/x") => { assert_eq!(answer.status, 503); None }
        }
    })
    .await;
}

#[tokio::test]
async fn stop_of_the_server_ends_websockets() {
    let behind = Behind::start_with(|settings| settings.shutdown = Duration::from_secs(600)).await;
    let (mut client, mut service) = opened(&behind).await;
    let Behind { server, .. } = behind;

    let ends = async { (next(&mut client).await, next(&mut service).await) };
    let ((), ended) = tokio::join!(server.stop(), ends);

    assert_eq!(ended, (None, None));
}

#[tokio::test]
async fn each_side_waits_for_the_other_one() {
    const MUCH: usize = 64 << 20;
    let behind = Behind::in_turn().await;
    let (client, service) = tunnelled(&behind).await;
    let (mut client, mut service) = (client.into_stream(), service.into_stream());

    for turn in 0..2 {
        let (from, to) = if turn == 0 { (&mut client, &mut service) } else { (&mut service, &mut client) };
        let (part, mut sent) = (vec![b'x'; 1 << 16], 0);
        while sent < MUCH {
            match timeout(Duration::from_secs(1), from.write(&part)).await {
                Ok(count) => sent += count.unwrap(),
                Err(_) => break,
            }
        }
        assert!(sent < MUCH, "{sent} bytes are somewhere between");
        let (mut buffer, mut came) = (vec![0; 1 << 16], 0);
        while came < sent {
            came += soon("what was sent", to.read(&mut buffer)).await.unwrap();
        }
        assert_eq!(came, sent);
    }
}

#[tokio::test]
async fn client_that_does_not_read_may_still_write() {
    let behind = Behind::in_turn().await;
    let (client, service) = tunnelled(&behind).await;
    let (mut client, mut service) = (client.into_stream(), service.into_stream());
    let part = vec![b'x'; 1 << 16];
    while timeout(Duration::from_millis(500), service.write_all(&part)).await.is_ok() {}

    client.write_all(b"still here").await.unwrap();

    let mut came = [0; 10];
    soon("what the client wrote", service.read_exact(&mut came)).await.unwrap();
    assert_eq!(&came, b"still here");
}
