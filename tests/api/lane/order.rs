//! A connection with many requests may move to the common transport, and then stays there.

use super::pair::{Pair, Side};
use super::responses::Conversation;
use super::sample::Sample;
use super::*;

const LIVE: &str = "GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n";

/// Sends a poll that is held briefly, and returns whether it was.
async fn poll(conversation: &mut Conversation, side: &Side) -> bool {
    let answer = conversation.ask(Side::connect(&side.client, json!({"timeout": 30}))).await;
    answer.status() == 200 && answer.body.contains(r#""timeout":5400000"#)
}

async fn pair(keep_alive: Duration) -> Pair {
    Pair::start_with(|settings| settings.limits.keep_alive = keep_alive).await
}

#[tokio::test]
async fn connection_serves_whatever_comes_in_any_order() {
    for keep_alive in [Duration::from_millis(10), Duration::from_secs(600)] {
        let pair = pair(keep_alive).await;
        for side in pair.sides() {
            let mut conversation = Conversation::open(side.address).await;
            for round in 0..3 {
                for _ in 0..5 {
                    assert_eq!(conversation.ask(Sample::idle()).await.body, "[]");
                }
                assert!(poll(&mut conversation, side).await, "round {round}");
                assert_eq!(conversation.ask(Sample::rows("/cep/realtime", "81,x,/a")).await.status(), 200);
                assert_eq!(conversation.ask(LIVE).await.status(), 200);
                assert!(poll(&mut conversation, side).await, "round {round}, behind another request");
                assert_eq!(conversation.ask(Sample::of("{")).await.status(), 400);
                assert_eq!(conversation.ask(Sample::to("/unknown", "")).await.status(), 404);
            }
            assert!(!conversation.ask(Sample::idle().closing()).await.keeps_alive());
            assert!(conversation.answer().await.is_none());
        }
    }
}

#[tokio::test]
async fn connection_whose_first_request_is_another_one_serves_polls_too() {
    let pair = pair(Duration::from_secs(600)).await;

    for side in pair.sides() {
        for first in
            [LIVE.as_bytes(), &Sample::idle().with("Expect: x").bytes(), &Sample::to("/unknown", "").bytes()]
        {
            let mut conversation = Conversation::open(side.address).await;
            conversation.ask(first).await;
            assert!(poll(&mut conversation, side).await && poll(&mut conversation, side).await);
        }
    }
}

#[tokio::test]
async fn hundred_polls_go_through_one_connection() {
    let pair = pair(Duration::from_secs(600)).await;

    for side in pair.sides() {
        let mut conversation = Conversation::open(side.address).await;
        for n in 0..100 {
            let timeout = n % 2;
            let answer = conversation.ask(Side::connect(&side.client, json!({"timeout": timeout}))).await;
            assert!(answer.keeps_alive() && answer.body.contains(r#""successful":true"#), "{n}: {answer:?}");
        }
    }
}

#[tokio::test]
async fn sizes_of_requests_may_vary_on_one_connection() {
    let pair = pair(Duration::from_secs(600)).await;

    for side in pair.sides() {
        let mut conversation = Conversation::open(side.address).await;
        for size in [2, 50_000, 3, 9000, 2, 200_000, 1025, 2] {
            let answer = conversation.ask(Sample::of(format!("[{}]", " ".repeat(size - 2)))).await;
            assert_eq!((answer.status(), &*answer.body), (200, "[]"), "{size}");
        }
    }
}
