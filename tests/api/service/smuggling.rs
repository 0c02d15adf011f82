//! Requests that two parsers could interpret differently: the service receives exactly one well-formed request, or
//! none.

use super::*;

/// Additional header lines, each of which is rejected.
const REFUSED: [&str; 19] = [
    // Two lengths.
    "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /service/rules/smuggled HTTP/1.1\r\n\r\n",
    "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\nGET /service/rules/smuggled HTTP/1.1\r\n\r\n",
    "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
    "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
    "Content-Length: 5, 6\r\n\r\nhello!",
    "Content-Length: +5\r\n\r\nhello",
    "Content-Length: 0x5\r\n\r\nhello",
    "Content-Length: -1\r\n\r\n",
    "Content-Length: 99999999999999999999\r\n\r\n",
    // Encodings that only some parsers take for chunked.
    "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    "Transfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n",
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
    "Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n",
    // Names and values that only some parsers accept.
    "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    "X-Folded: a\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "X-Null: a\0b\r\n\r\n",
    "X-One: a\rX-Two: b\r\n\r\n",
    "Host: evil.example.com\r\n\r\n",
];

#[tokio::test]
async fn ambiguous_requests_are_400_and_reach_nobody() {
    let behind = Behind::in_turn().await;

    for rest in REFUSED {
        let (mut client, lines) = behind.client().await;
        client.send(format!("POST /service/rules/x HTTP/1.1\r\n{lines}{rest}")).await;
        let came = client.read_to_end().await;

        assert!(came.starts_with("HTTP/1.1 400 "), "{rest:?}: {came}");
        // The messages name the version, too.
        assert_eq!(came.matches("\r\ndate: ").count(), 1, "{rest:?}: {came}");
    }
    behind.hears_nothing_of_what_was_before().await;
}

#[tokio::test]
async fn broken_chunks_make_no_whole_request() {
    let behind = Behind::in_turn().await;

    for chunks in [
        "5\nhello\n0\n\n",
        "-5\r\nhello\r\n0\r\n\r\n",
        "5\r\nhello0\r\n\r\n",
        "ffffffffffffffff1\r\nhello",
        "g\r\nhello",
    ] {
        let (mut client, lines) = behind.client().await;
        client
            .send(format!("POST /service/rules/x HTTP/1.1\r\n{lines}Transfer-Encoding: chunked\r\n\r\n"))
            .await;
        let (mut service, head) = behind.asked().await;
        client.send(chunks).await;
        let came = head + &service.read_to_end().await;

        assert!(!came.contains("0\r\n\r\n"), "{chunks:?}: {came}");
        assert!(!client.read_to_end().await.contains("HTTP/1.1 2"), "{chunks:?}");
    }
}

#[tokio::test]
async fn line_feed_within_a_header_makes_two_headers_for_both() {
    let behind = Behind::in_turn().await;
    let (mut client, own) = behind.client().await;

    client
        .send(format!(
            "GET /service/rules/x HTTP/1.1\r\n{own}X-One: a\nX-Two: b\nX-Platform-User: forged\r\n\r\n"
        ))
        .await;
    let (mut service, head) = behind.asked().await;
    service.send(OK).await;
    client.read_until("ok").await;

    assert_eq!((field(&head, "X-One"), field(&head, "X-Two")), (Some("a"), Some("b")));
    assert_eq!(field(&head, "X-Platform-User"), Some("admin"));
    assert_eq!(head.matches('\n').count(), head.matches("\r\n").count(), "{head:?}");
}

#[tokio::test]
async fn length_that_a_program_would_read_from_another_spelling_is_dropped() {
    let behind = Behind::in_turn().await;
    let (mut client, own) = behind.client().await;

    client
        .send(format!(
            "POST /service/rules/x HTTP/1.1\r\n{own}Content_Length: 99\r\nTransfer_Encoding: \
             chunked\r\nContent-Length: 2\r\n\r\nhi"
        ))
        .await;
    let (mut service, head) = behind.asked().await;
    service.send(OK).await;
    client.read_until("ok").await;

    let framing = |line: &String| line.starts_with("content") || line.starts_with("transfer");
    assert_eq!(lines(&head).into_iter().filter(framing).collect::<Vec<_>>(), ["content-length: 2"]);
}

#[tokio::test]
async fn body_that_looks_like_a_request_is_a_body() {
    let behind = Behind::in_turn().await;
    let (mut client, own) = behind.client().await;
    let body = "GET /service/rules/smuggled HTTP/1.1\r\nHost: x\r\n\r\n";
    let length = body.len();

    client
        .send(format!("POST /service/rules/x HTTP/1.1\r\n{own}Content-Length: {length}\r\n\r\n{body}"))
        .await;
    let mut service = behind.accept().await;
    let came = service.read_until(body).await;
    service.send(KEPT).await;
    client.read_until("ok").await;

    assert_eq!(field(&came, "Content-Length"), Some(&*length.to_string()));
    // If bytes of the body were left on this connection, they would be taken for the next request.
    client.send(format!("GET /service/rules/next HTTP/1.1\r\n{own}\r\n")).await;
    assert!(service.read_until("\r\n\r\n").await.starts_with("GET /next HTTP/1.1\r\n"));
}

#[tokio::test]
async fn requests_one_behind_the_other_are_authenticated_one_by_one() {
    let behind = Behind::in_turn().await;
    let (mut client, own) = behind.client().await;
    let host = format!("Host: {}\r\n", behind.server.address());

    client
        .send(format!(
            "GET /service/rules/1 HTTP/1.1\r\n{own}\r\nGET /service/rules/2 HTTP/1.1\r\n{host}\r\nGET \
             /service/rules/3 HTTP/1.1\r\n{own}\r\n"
        ))
        .await;
    let (mut service, first) = behind.asked().await;
    service.send(KEPT).await;
    let third = service.read_until("\r\n\r\n").await;
    service.send(KEPT).await;
    let mut came = client.read_until("ok").await;
    while came.matches("ok").count() < 2 {
        came += &client.read_until("ok").await;
    }

    assert!(first.starts_with("GET /1 ") && third.starts_with("GET /3 "), "{first}{third}");
    let statuses: Vec<&str> = came.split("HTTP/1.1 ").skip(1).map(|answer| &answer[..3]).collect();
    assert_eq!(statuses, ["200", "401", "200"]);
}

#[tokio::test]
async fn upgrade_that_brings_a_body_is_an_ordinary_request() {
    let behind = Behind::in_turn().await;
    let upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: \
        dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n";

    for (method, more) in [
        ("GET", "Content-Length: 5\r\n\r\nhello"),
        ("GET", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"),
        ("POST", "Content-Length: 5\r\n\r\nhello"),
    ] {
        let (mut client, lines) = behind.client().await;
        client.send(format!("{method} /service/rules/x HTTP/1.1\r\n{lines}{upgrade}{more}")).await;
        let mut service = behind.accept().await;
        let came = service.read_until("hello").await;
        service.send(OK).await;

        assert!(came.starts_with(&format!("{method} /x HTTP/1.1\r\n")), "{came}");
        assert!(!came.to_ascii_lowercase().contains("\r\nupgrade:"), "{came}");
        assert!(client.read_until("ok").await.starts_with("HTTP/1.1 200 "), "{method} {more:?}");
    }
}

#[tokio::test]
async fn upgrade_that_connection_does_not_name_is_400_and_reaches_nobody() {
    let behind = Behind::in_turn().await;
    let (mut client, lines) = behind.client().await;

    client.send(format!("GET /service/rules/x HTTP/1.1\r\n{lines}Upgrade: websocket\r\n\r\n")).await;

    assert!(client.read_until("error_reporting").await.starts_with("HTTP/1.1 400 "), "without Connection");
    behind.hears_nothing_of_what_was_before().await;
}
