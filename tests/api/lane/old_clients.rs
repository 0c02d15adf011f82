//! HTTP/1.0: such a client does not know chunks (B-24).

use super::pair::{Pair, Side};
use super::responses::{Conversation, RawResponse};
use super::sample::Sample;
use super::*;

fn old(sample: Sample) -> Sample {
    sample.line(&format!("POST {REALTIME} HTTP/1.0"))
}

/// Reads a response as a client of HTTP/1.0 does.
fn read(answer: &RawResponse) -> Vec<Value> {
    assert_eq!((&*answer.line, answer.field("transfer-encoding")), ("HTTP/1.0 200 OK", None), "{answer:?}");
    serde_json::from_str(&answer.body).unwrap_or_else(|error| panic!("{error}: {answer:?}"))
}

#[tokio::test]
async fn poll_over_http_1_0_never_gets_chunks() {
    for keep_alive in [Duration::from_millis(20), Duration::from_secs(600)] {
        let pair = Pair::start_with(|settings| settings.limits.keep_alive = keep_alive).await;
        for side in pair.sides() {
            let device = side.admin().create_device("pump").await;
            let session = side.admin().listen(&format!("/alarms/{device}")).await;
            let held = json!({});
            for (connection, advice) in [
                ("Connection: close", held.clone()),
                ("Connection: keep-alive", held.clone()),
                ("Connection: close", json!({"timeout": 0})),
                ("Connection: keep-alive", json!({"timeout": 0})),
            ] {
                let told = usize::from(advice == held);
                let mut conversation = Conversation::open(side.address).await;
                conversation.send(old(Side::connect(&session.client, advice).instead(connection))).await;
                side.has_seen_all().await;
                for _ in 0..told {
                    side.admin().raise_alarm(&device, connection).await;
                }

                let answer = conversation.answer().await.expect("an answer");

                assert_eq!(notifications(&read(&answer)).len(), told, "{answer:?}");
                assert!(conversation.answer().await.is_none(), "the connection is closed");
            }
        }
    }
}

#[tokio::test]
async fn empty_response_over_http_1_0_has_its_head() {
    let pair = Pair::start_with(|settings| settings.limits.keep_alive = Duration::from_secs(600)).await;

    for side in pair.sides() {
        // A held row 83 that a newer one replaces returns no lines.
        let client = side.admin().session().await.client;
        let row = Sample::rows(REALTIME, format!("83,{client}c"));
        let (mut first, mut second) =
            (Conversation::open(side.address).await, Conversation::open(side.address).await);
        first.send(old(row.clone())).await;
        side.has_seen_all().await;
        second.send(row).await;

        let answer = first.answer().await.expect("an answer");
        assert_eq!((&*answer.line, &*answer.body), ("HTTP/1.0 200 OK", ""), "{answer:?}");
    }
}
