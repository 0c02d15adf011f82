//! Upgrade requests and other protocols.

use crate::lane::pair::{Pair, Sent};
use crate::lane::sample::Sample;

/// The headers with which a browser opens a WebSocket.
const SOCKET: [&str; 4] = [
    "Upgrade: websocket",
    "Connection: Upgrade",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
];

#[tokio::test]
async fn expectations_are_met_alike() {
    let pair = Pair::shared().await;

    for expect in [
        "100-continue",
        "100-Continue",
        "x, 100-continue",
        "100-continue, 100-continue",
        "x",
        "\"100-continue\"",
        "",
    ] {
        for request in [
            Sample::idle(),
            Sample::of("{"),
            Sample::rows("/cep/realtime", "80"),
            Sample::to("/unknown", "[]"),
        ] {
            pair.agree(request.clone().with(&format!("Expect: {expect}"))).await;
            pair.agree(request.without("Authorization").with(&format!("Expect: {expect}"))).await;
        }
    }
    pair.agree(Sample::idle().with("Expect: x").with("Expect: 100-continue")).await;
    pair.agree(Sample::idle().line("POST /notification/realtime HTTP/1.0").with("Expect: 100-continue"))
        .await;
}

#[tokio::test]
async fn client_that_waits_for_100_continue_gets_it() {
    let pair = Pair::shared().await;

    for side in pair.sides() {
        let mut conversation = crate::lane::responses::Conversation::open(side.address).await;
        conversation.send(Sample::idle().with("Expect: 100-continue").head()).await;
        let word = conversation.answer().await.unwrap();
        let answer = conversation.ask("[]").await;
        assert_eq!((word.status(), answer.status(), &*answer.body), (100, 200, "[]"));
    }
}

#[tokio::test]
async fn upgrades_are_judged_alike() {
    let pair = Pair::shared().await;

    for upgrade in ["h2c", "HTTP/2.0", "TLS/1.0", "websockets", "x, websocket", "", "h2c, websocket"] {
        for connection in ["Connection: Upgrade", "Connection: Upgrade, HTTP2-Settings", "X: y"] {
            let request = Sample::idle().with(&format!("Upgrade: {upgrade}")).with(connection);
            pair.agree(request.with("HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA")).await;
        }
    }
    // A POST with the headers of an upgrade has no end.
    for fields in [&SOCKET[..1], &SOCKET[..2], &SOCKET] {
        for request in
            [Sample::idle(), Sample::idle().unmeasured().body(""), Sample::rows("/cep/realtime", "80")]
        {
            let request = fields.iter().fold(request, |request, field| request.with(field));
            pair.agree_on(Sent::Part, |_| request.bytes()).await;
        }
    }
}

#[tokio::test]
async fn socket_is_opened_by_get_alone() {
    let pair = Pair::shared().await;

    for side in pair.sides() {
        let mut conversation = crate::lane::responses::Conversation::open(side.address).await;
        assert_eq!(conversation.ask(Sample::idle()).await.status(), 200);
        let get = Sample::of("").unmeasured().line("GET /notification/realtime HTTP/1.1");
        let answer = conversation.ask(SOCKET.iter().fold(get, |request, field| request.with(field))).await;
        assert_eq!(answer.status(), 101, "on a connection that has served polls: {answer:?}");
    }
}

#[tokio::test]
async fn tunnels_are_refused_alike() {
    let pair = Pair::shared().await;

    for target in ["x:80", "/notification/realtime", "*"] {
        let request = Sample::idle().line(&format!("CONNECT {target} HTTP/1.1"));
        pair.agree_on(Sent::Part, |_| request.bytes()).await;
        pair.agree_on(Sent::Part, |_| request.clone().unmeasured().body("").bytes()).await;
    }
}

#[tokio::test]
async fn other_protocols_are_refused_alike() {
    let pair = Pair::shared().await;
    let tls_hello = [
        &b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03"[..],
        &[7; 32],
        b"\x20",
        &[9; 32],
        b"\x00\x02\x13\x01\x01\x00",
    ]
    .concat();

    for bytes in [
        &b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0"[..],
        &tls_hello,
        b"\x80\x2e\x01\x00\x02\x00\x15\x00\x00\x00\x10",
        b"\0",
        b"\0\0\0\0\0\0\0\0",
        b"\xff\xfb\x01",
        b"<policy-file-request/>\0",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"\x10\x0c\x00\x04MQTT\x04\x02\x00\x3c\x00\x00",
        b"EHLO x\r\n",
        b"{\"channel\":\"/meta/handshake\"}\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n",
        b"\r\n\r\n\r\n\0",
        b"[]",
        b"POST",
        b"P",
        b"\r",
    ] {
        pair.agree_on(Sent::Part, |_| bytes.to_vec()).await;
        pair.agree_on(Sent::PartBehindAnother, |_| bytes.to_vec()).await;
    }
}
