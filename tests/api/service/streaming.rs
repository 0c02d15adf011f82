//! Bodies are forwarded as they arrive, and no faster than the receiver takes them.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use super::*;

/// More bytes than all buffers between a client and a service hold together.
const MUCH: usize = 64 << 20;

#[tokio::test]
async fn body_of_a_request_reaches_the_service_before_its_end() {
    let behind = Behind::in_turn().await;
    let (mut client, lines) = behind.client().await;

    client.send(format!("POST /service/rules/x HTTP/1.1\r\n{lines}Content-Length: 10\r\n\r\nfirst")).await;
    let mut service = behind.accept().await;
    let came = service.read_until("first").await;
    client.send("later").await;
    service.read_until("later").await;
    service.send(OK).await;

    assert_eq!(field(&came, "Content-Length"), Some("10"));
    client.read_until("ok").await;
}

#[tokio::test]
async fn body_of_unknown_length_reaches_the_service_in_chunks() {
    let behind = Behind::in_turn().await;
    for method in ["POST", "GET", "DELETE"] {
        let (mut client, lines) = behind.client().await;

        client
            .send(format!("{method} /service/rules/x HTTP/1.1\r\n{lines}Transfer-Encoding: chunked\r\n\r\n"))
            .await;
        client.send("5;ext=1\r\nfirst\r\n").await;
        let mut service = behind.accept().await;
        let came = service.read_until("5\r\nfirst\r\n").await;
        client.send("5\r\nlater\r\n0\r\nX-Trailer: 1\r\n\r\n").await;
        let rest = service.read_until("0\r\n\r\n").await;
        service.send(OK).await;

        assert_eq!(field(&came, "Transfer-Encoding"), Some("chunked"), "{method}: {came}");
        assert_eq!((field(&came, "Content-Length"), rest.contains("X-Trailer")), (None, false));
        client.read_until("ok").await;
    }
}

#[tokio::test]
async fn response_reaches_the_client_before_its_end() {
    let behind = Behind::in_turn().await;
    for (framing, first, later) in [
        ("Content-Length: 10", "first", "later"),
        ("Transfer-Encoding: chunked", "5\r\nfirst\r\n", "5\r\nlater\r\n0\r\n\r\n"),
    ] {
        let (mut client, mut service) = behind.called().await;

        service.send(format!("HTTP/1.1 200 OK\r\n{framing}\r\n\r\n{first}")).await;
        client.read_until("first").await;
        service.send(later).await;

        client.read_until("later").await;
    }
}

#[tokio::test]
async fn response_without_a_length_ends_with_its_connection() {
    let (behind, admin) = Behind::in_turn().await.with_admin();

    let service = async {
        let (mut service, _) = behind.asked().await;
        service.send("HTTP/1.0 200 OK\r\n\r\nall of it").await;
    };
    let ((), answer) = tokio::join!(service, admin.get("/service/rules/x"));

    assert_eq!((answer.status, &*answer.text), (200, "all of it"));
}

#[tokio::test]
async fn service_may_respond_before_the_request_ends() {
    let behind = Behind::in_turn().await;
    let (mut client, lines) = behind.client().await;
    client.send(format!("POST /service/rules/x HTTP/1.1\r\n{lines}Transfer-Encoding: chunked\r\n\r\n")).await;
    let (mut service, _) = behind.asked().await;
    service.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").await;
    client.read_until("\r\n\r\n").await;

    for word in ["one", "two", "six"] {
        client.send(format!("3\r\n{word}\r\n")).await;
        service.read_until(word).await;
        service.send(format!("3\r\n{word}\r\n")).await;
        client.read_until(word).await;
    }
    client.send("0\r\n\r\n").await;
    service.read_until("0\r\n\r\n").await;
    service.send("0\r\n\r\n").await;

    client.read_until("0\r\n\r\n").await;
}

#[tokio::test]
async fn much_passes_both_ways_whole() {
    let behind = Behind::in_turn().await;
    let body: Vec<u8> = (0..MUCH).map(|at| b' ' + (at % 95) as u8).collect();
    let request = behind.server.admin().request("PUT", "/service/rules/x").body(body.clone());

    let service = async {
        let (connection, head) = behind.asked().await;
        assert_eq!(field(&head, "Content-Length"), Some(&*MUCH.to_string()));
        let mut stream = connection.into_stream();
        // Bytes that arrived with the head belong to the body.
        let mut came = head.split_once("\r\n\r\n").unwrap().1.len();
        let mut buffer = vec![0; 1 << 16];
        while came < MUCH {
            came += stream.read(&mut buffer).await.unwrap();
        }
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {MUCH}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(&body).await.unwrap();
        stream
    };
    let client = async { request.head().await.bytes().await.unwrap() };
    let (_stream, answer) = soon("all of it", futures_util::future::join(service, client)).await;

    assert!(answer == body);
}

#[tokio::test]
async fn client_that_does_not_read_makes_the_service_wait() {
    let behind = Behind::in_turn().await;
    let (client, mut service) = behind.called().await;
    service.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {MUCH}\r\n\r\n")).await;
    let mut service = service.into_stream();

    let sent = fill(&mut service).await;

    assert!(sent < MUCH / 2, "{sent} bytes are somewhere between");
    let (rest, reads) = (vec![b'x'; MUCH - sent], drain(client.into_stream()));
    let (wrote, read) = soon("the rest", futures_util::future::join(service.write_all(&rest), reads)).await;
    wrote.unwrap();
    assert!(read > MUCH, "all of it came in the end: {read}");
}

#[tokio::test]
async fn service_that_does_not_read_makes_the_client_wait() {
    let behind = Behind::in_turn().await;
    let (mut client, lines) = behind.client().await;
    client.send(format!("PUT /service/rules/x HTTP/1.1\r\n{lines}Content-Length: {MUCH}\r\n\r\n")).await;
    let (service, _) = behind.asked().await;
    let mut client = client.into_stream();

    let sent = fill(&mut client).await;

    assert!(sent < MUCH / 2, "{sent} bytes are somewhere between");
    drop(service);
}

/// Writes until no more bytes are accepted, and returns their number.
async fn fill(stream: &mut tokio::net::TcpStream) -> usize {
    let (part, mut sent) = (vec![b'x'; 1 << 16], 0);
    while sent < MUCH / 2 {
        match timeout(Duration::from_secs(1), stream.write(&part)).await {
            Ok(count) => sent += count.unwrap(),
            Err(_) => break,
        }
    }
    sent
}

/// Reads until nothing comes for a while and returns how much came.
async fn drain(mut stream: tokio::net::TcpStream) -> usize {
    let (mut buffer, mut came) = (vec![0; 1 << 16], 0);
    while let Ok(Ok(count @ 1..)) = timeout(Duration::from_secs(2), stream.read(&mut buffer)).await {
        came += count;
    }
    came
}
