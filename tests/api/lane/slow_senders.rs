//! Clients that send a body slowly or not at all.

use tokio::time::sleep;

use super::pair::{Pair, Sent};
use super::responses::{Conversation, RawResponse};
use super::sample::Sample;
use super::*;

const INVENTORY: &str = "/inventory/managedObjects";

/// Returns the request with a body that is shorter than announced, and the request in chunks without the last one.
fn unfinished(request: Sample) -> [Sample; 2] {
    let [body, chunks] = ["{\"name\":", "8\r\n{\"name\":\r\n"];
    [
        request.clone().unmeasured().with("Content-Length: 1000").body(body),
        request.unmeasured().with("Transfer-Encoding: chunked").body(chunks),
    ]
}

#[tokio::test]
async fn body_that_does_not_come_is_408_and_ends_the_connection() {
    let pair = Pair::start_with(|settings| settings.limits.body_pause = Duration::from_secs(1)).await;

    for request in [
        Sample::to(INVENTORY, ""),
        Sample::to("/inventory/binaries", "").instead("Content-Type: multipart/form-data; boundary=x"),
        Sample::rows("/s", ""),
        Sample::idle(),
        Sample::rows("/cep/realtime", ""),
        Sample::to("/v1/oauth/accesstokens", "").without("Authorization"),
    ] {
        for unfinished in unfinished(request) {
            let shown = String::from_utf8_lossy(&unfinished.bytes()).into_owned();
            let answers = pair.agree_on(Sent::Whole(1), |_| unfinished.bytes()).await;
            assert_eq!((answers.len(), answers[0].status()), (1, 408), "{shown}: {answers:?}");
            assert!(answers[0].body.contains("--body-bytes-per-second"), "{shown}: {answers:?}");
            assert!(!answers[0].keeps_alive(), "{shown}: {answers:?}");
        }
    }
}

#[tokio::test]
async fn body_that_comes_by_drops_is_408() {
    let pair = Pair::start_with(|settings| settings.limits.body_pause = Duration::from_secs(2)).await;

    for request in [Sample::to(INVENTORY, ""), Sample::idle()] {
        for side in pair.sides() {
            let mut conversation = Conversation::open(side.address).await;
            conversation.send(unfinished(request.clone())[0].clone()).await;
            let dripping = dripped(&mut conversation);
            let answer = tokio::time::timeout(Duration::from_secs(30), dripping).await;
            assert_eq!(answer.expect("an answer").status(), 408);
        }
    }
}

/// Sends single bytes, with pauses shorter than the allowed one, until there is a response.
async fn dripped(conversation: &mut Conversation) -> RawResponse {
    loop {
        sleep(Duration::from_millis(100)).await;
        conversation.send(" ").await;
        if let Some(answer) = conversation.answer_if_any().await {
            return answer;
        }
    }
}

#[tokio::test]
async fn body_that_comes_slowly_and_steadily_is_taken() {
    let pair = Pair::start_with(|settings| settings.limits.body_pause = Duration::from_secs(2)).await;
    let body = json!({"text": "x".repeat(5_000)}).to_string();

    for side in pair.sides() {
        let request = Sample::to(INVENTORY, body.clone());
        let mut conversation = Conversation::open(side.address).await;
        conversation.send(request.head()).await;
        // The sum of the pauses is longer than allowed.
        for piece in body.as_bytes().chunks(500) {
            sleep(Duration::from_millis(400)).await;
            conversation.send(piece).await;
        }
        assert_eq!(conversation.answer().await.expect("an answer").status(), 201);
    }
}

#[tokio::test]
async fn unfinished_bodies_of_a_user_are_bounded_together() {
    let pair = Pair::start_with(|settings| settings.limits.held_bytes_per_user = 1_000_000).await;
    let body = json!({"text": "x".repeat(800_000)}).to_string();
    let request = Sample::to(INVENTORY, body.clone());
    let (part, rest) = body.split_at(600_000);

    for side in pair.sides() {
        let mut first = Conversation::open(side.address).await;
        first.send(request.head() + part).await;
        side.has_seen_all().await;
        let mut second = Conversation::open(side.address).await;
        second.send(request.head() + part).await;
        // The second request is rejected; the operating system decides which one that is.
        let refused = tokio::select! {
            answer = first.answer() => {
                std::mem::swap(&mut first, &mut second);
                answer
            }
            answer = second.answer() => answer,
        };

        let refused = refused.expect("an answer");
        assert_eq!(refused.status(), 429, "{refused:?}");
        assert!(refused.body.contains("--held-bytes-per-user"), "{refused:?}");
        assert!(refused.field("retry-after").is_some(), "{refused:?}");
        assert_eq!(first.ask(rest).await.status(), 201);
    }
}
