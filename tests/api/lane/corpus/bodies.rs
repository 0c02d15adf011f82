//! Bodies: valid and invalid messages and rows.

use super::*;
use crate::lane::pair::{Pair, Sent};
use crate::lane::sample::Sample;

/// The size limit of a body in bytes.
const LIMIT: usize = 1024;

async fn pair() -> Pair {
    Pair::start_with(|settings| settings.limits.bayeux_bytes = LIMIT).await
}

/// An empty array, padded.
fn array_of(bytes: usize) -> String {
    format!("[{}]", " ".repeat(bytes - 2))
}

#[tokio::test]
async fn messages_get_the_same_response_on_every_path() {
    let pair = pair().await;
    let connect = json!([{"id": 1, "channel": "/meta/connect", "clientId": NOBODY}]).to_string();
    let handshake = json!([{"channel": "/meta/handshake", "version": "1.0"}]).to_string();

    for path in every_path() {
        let deprecated = (!path.starts_with("/notification/")).then_some("true");
        for (body, status) in [
            ("[]", 200),
            (&*connect, 200),
            (&*handshake, 200),
            ("", 400),
            ("{", 400),
            ("{}", 200),
            ("5", 400),
            (&*array_of(LIMIT), 200),
            (&*array_of(LIMIT + 1), 413),
        ] {
            let answers = pair.agree(Sample::to(&path, body)).await;
            assert_eq!(answers[0].status(), status, "{path} {body:.40}: {answers:?}");
            if status == 200 {
                assert_eq!(answers[0].field("deprecation"), deprecated, "{path}");
            }
        }
    }
}

#[tokio::test]
async fn rows_get_the_same_response_on_every_path() {
    let pair = pair().await;

    for path in every_path() {
        for rows in ["80", &format!("83,{NOBODY}c"), "81,x", "", "100\n15,a", &"8".repeat(LIMIT + 1)] {
            let answers = pair.agree(Sample::rows(&path, rows)).await;
            let status = if rows.len() > LIMIT { 413 } else { 200 };
            assert_eq!(answers[0].status(), status, "{path} {rows:.40}: {answers:?}");
        }
    }
}

#[tokio::test]
async fn what_is_wrong_with_messages_is_said_alike() {
    let pair = pair().await;
    let deep = "[".repeat(LIMIT);

    for body in [
        &b"["[..],
        b"null",
        b"\"text\"",
        b"[5]",
        b"[null]",
        b"[[]]",
        b"[{}",
        b"[{}]x",
        b"[]\r\n",
        b"\r\n[]",
        b"\0",
        b"[{\"channel\":\"\xff\xfe\"}]",
        b"\xef\xbb\xbf[]",
        b"[{\"channel\":\"/meta/connect\"}]",
        b"[{\"channel\":\"/alarms/1\",\"data\":1}]",
        b"[{\"channel\":\"/meta/unknown\"}]",
        b"[{\"id\":{\"a\":[1]},\"channel\":\"/meta/subscribe\",\"subscription\":\"/alarms/*\"}]",
        b"[{\"channel\":\"/meta/handshake\",\"supportedConnectionTypes\":[\"x\"]}]",
        b"[{\"channel\":\"/meta/handshake\"},{\"channel\":\"/meta/connect\"}]",
        deep.as_bytes(),
    ] {
        pair.agree(Sample::of(body)).await;
    }
}

#[tokio::test]
async fn life_of_a_session_has_the_same_responses() {
    let pair = Pair::shared().await;

    for (channel, more) in [
        ("/meta/subscribe", json!({"subscription": "/alarms/*"})),
        ("/meta/subscribe", json!({"subscription": ["/events/*", "/operations/1"]})),
        ("/meta/subscribe", json!({})),
        ("/meta/unsubscribe", json!({"subscription": "/events/*"})),
        ("/meta/disconnect", json!({})),
        ("/meta/connect", json!({})),
    ] {
        let answers = pair.agree_on(Sent::Whole(1), |side| {
            Sample::of(json!([side.message(channel, more.clone())]).to_string()).bytes()
        });
        let answers = answers.await;
        assert_eq!(answers.len(), 3, "{channel} {more}: {answers:?}");
    }
}

#[tokio::test]
async fn life_of_a_session_of_rows_has_the_same_responses() {
    let pair = Pair::shared().await;

    for rows in [
        "81,<c>,/alarms/*",
        "81,<c>,/alarms/*,absent",
        "82,<c>,/alarms/*",
        "\n83,<c>\n81,<c>,/events/*",
        "84,<c>",
    ] {
        let answers = pair.agree_on(Sent::Whole(1), |side| {
            let rows = rows.replace("<c>", &format!("{}c", side.client));
            Sample::rows("/notification/realtime", rows).bytes()
        });
        assert_eq!(answers.await[0].status(), 200, "{rows}");
    }
}

#[tokio::test]
async fn large_bodies_arrive_whole() {
    let pair = Pair::start_with(|settings| settings.limits.bayeux_bytes = 1 << 20).await;

    for bytes in [1000, 4096, 8192, 16_384, 65_536, 131_072, 300_000] {
        let answers = pair.agree(Sample::of(array_of(bytes))).await;
        assert_eq!((answers[0].status(), &*answers[0].body), (200, "[]"), "{bytes}");
    }
}
