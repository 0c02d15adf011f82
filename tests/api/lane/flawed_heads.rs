//! Requests that are refused before they are routed: each gets the body of an error, is counted and logged (E-01a).

use super::pair::{Pair, Side};
use super::responses::{Conversation, RawResponse};
use super::sample::Sample;
use super::*;

/// Returns requests whose heads cannot be used, with their statuses and a word of the message.
fn flawed() -> Vec<(Vec<u8>, u16, &'static str)> {
    let get =
        |target: &str, more: &str| format!("GET {target} HTTP/1.1\r\nHost: x\r\n{more}\r\n").into_bytes();
    let list = "/inventory/managedObjects";
    let many = "A: b\r\n".repeat(100);
    vec![
        (get(&format!("{list}?text=K\u{fc}che"), ""), 400, "percent-encode"),
        (get(&format!("{list}?text=a b"), ""), 400, "percent-encode"),
        (get(&format!("{list}?text=\"a\""), ""), 400, "percent-encode"),
        (format!("GET {list} HTTP/1.1\r\n\r\n").into(), 400, "no header Host"),
        (get(list, "Host: y\r\n"), 400, "more than one header Host"),
        (get(list, "A: b\r\n c\r\n"), 400, "next line"),
        (get(list, "A : b\r\n"), 400, "not a header"),
        (get(list, "Content-Length: many\r\n"), 400, "Content-Length"),
        (get(list, "Transfer-Encoding: gzip\r\n"), 400, "Transfer-Encoding"),
        (get(list, &many), 431, "96 headers"),
        (get(list, &format!("A: {}\r\n", "b".repeat(140_000))), 431, "131072 bytes"),
        (get(list, &format!("{}: b\r\n", "a".repeat(70_000))), 431, "131072 bytes"),
        (get(&"/a".repeat(40_000), ""), 414, "65534 bytes"),
        (format!("GET {list} HTTP/2.0\r\nHost: x\r\n\r\n").into(), 505, "HTTP/1.1"),
        (b"\x16\x03\x01\x02\x00\r\n\r\n".to_vec(), 400, "request line"),
    ]
}

fn check(answer: &RawResponse, status: u16, word: &str, shown: &str) {
    assert_eq!(answer.status(), status, "{shown}: {answer:?}");
    let body: Value = serde_json::from_str(&answer.body).unwrap_or_else(|_| panic!("{shown}: {answer:?}"));
    assert!(body["message"].as_str().is_some_and(|message| message.contains(word)), "{shown}: {body}");
    assert!(body["error"].is_string() && body["info"].is_string(), "{shown}: {body}");
    assert!(answer.field("x-request-id").is_some(), "{shown}: {answer:?}");
    assert!(!answer.keeps_alive(), "{shown}: {answer:?}");
}

async fn malformed(side: &Side) -> u64 {
    let text = side.admin().get("/metrics").await.text;
    let name = "platform_http_faulty_connections_total{cause=\"malformed\"} ";
    text.lines().find_map(|line| line.strip_prefix(name)).map_or(0, |count| count.parse().unwrap())
}

#[tokio::test]
async fn request_with_a_flawed_head_gets_an_error_like_every_other_and_is_counted() {
    let pair = Pair::shared().await;

    for side in pair.sides() {
        let before = malformed(side).await;
        for (bytes, status, word) in flawed() {
            let shown: String = String::from_utf8_lossy(&bytes).chars().take(90).collect();
            let mut alone = Conversation::open(side.address).await;
            alone.send(bytes.clone()).await;
            let answers = alone.rest().await;
            assert_eq!(answers.len(), 1, "{shown}: {answers:?}");
            check(&answers[0], status, word, &shown);

            let mut behind = Conversation::open(side.address).await;
            behind.send([Sample::idle().bytes(), bytes].concat()).await;
            let answers = behind.rest().await;
            assert_eq!((answers.len(), answers[0].status()), (2, 200), "{shown}: {answers:?}");
            check(&answers[1], status, word, &shown);
        }
        // Servers of this process count together, and so may other tests.
        assert!(malformed(side).await >= before + 2 * flawed().len() as u64);
    }
}

#[tokio::test]
async fn failed_handshakes_of_sockets_get_an_error_like_every_other() {
    let pair = Pair::shared().await;
    let handshake = |version: &str, key: &str| {
        format!(
            "GET {REALTIME} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: {version}\r\n{key}\r\n"
        )
    };

    for side in pair.sides() {
        for request in [
            handshake("12", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"),
            handshake("13", ""),
            handshake("13", "").replace("Connection: Upgrade\r\n", ""),
        ] {
            let (mut open, mut half_closed) =
                (Conversation::open(side.address).await, Conversation::open(side.address).await);
            open.send(request.clone()).await;
            half_closed.send(request.clone()).await;
            half_closed.half_close().await;
            for conversation in [&mut open, &mut half_closed] {
                let answers = conversation.rest().await;
                assert_eq!(answers.len(), 1, "{request}: {answers:?}");
                check(&answers[0], 400, "No WebSocket", &request);
            }
        }
    }
}

#[tokio::test]
async fn responses_say_how_long_their_connection_is_kept() {
    let pair = Pair::shared().await;

    for side in pair.sides() {
        for (request, kept) in [
            (Sample::idle(), Some("timeout=75")),
            (Sample::to("/inventory/managedObjects", r#"{"name": "pump"}"#), Some("timeout=75")),
            (Sample::to("/inventory/managedObjects", r#"{"name": 1"#), Some("timeout=75")),
            (Sample::idle().closing(), None),
            (Sample::idle().line("GET /health/live HTTP/1.0").unmeasured().body(""), None),
            (Sample::to("/nowhere", "{}"), None),
        ] {
            let mut conversation = Conversation::open(side.address).await;
            let answer = conversation.ask(request.clone()).await;
            assert_eq!(answer.field("keep-alive"), kept, "{request:?}: {answer:?}");
        }
    }
}
