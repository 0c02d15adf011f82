//! A request may arrive in pieces that are cut at any byte.

use super::*;
use crate::lane::pair::{Pair, Side};
use crate::lane::responses::{Conversation, RawResponse};
use crate::lane::sample::Sample;

/// Returns the responses to a request, on one connection for each position at which it is cut in two.
async fn cut_everywhere(side: &Side, request: &[u8]) -> Vec<RawResponse> {
    let mut conversations = Vec::new();
    for at in 0..=request.len() {
        let mut conversation = Conversation::open(side.address).await;
        conversation.send(&request[..at]).await;
        conversations.push((at, conversation));
    }
    side.has_seen_all().await;
    for (at, conversation) in &mut conversations {
        conversation.send(&request[*at..]).await;
    }
    let mut answers = Vec::new();
    for (_, mut conversation) in conversations {
        let mut answer = conversation.answer().await.unwrap();
        // If the server keeps the connection open, it has read the request to its end.
        if answer.keeps_alive() {
            conversation.send(Sample::idle().closing()).await;
        }
        let rest = conversation.rest().await;
        assert_eq!(rest.len(), usize::from(answer.keeps_alive()), "{answer:?} {rest:?}");
        if answer.status() == 401 {
            // The connection may or may not be closed here, see `leaves_its_request_unread`.
            answer.close_as(&RawResponse { fields: Vec::new(), ..answer.clone() });
        }
        answers.push(answer);
    }
    side.redacted(answers)
}

#[tokio::test]
async fn request_is_understood_wherever_it_is_cut() {
    let pair = Pair::shared().await;

    for request in [
        Sample::of(r#"[{"id":1,"channel":"/meta/handshake"}]"#),
        Sample::rows("/devicecontrol/notifications/connect", "81,x,/alarms/*"),
        Sample::idle().closing(),
        Sample::of("{"),
        Sample::idle().without("Authorization"),
        Sample::idle().unmeasured().with("Transfer-Encoding: chunked").body("2\r\n[]\r\n0\r\n\r\n"),
        Sample::idle().with("Expect: x").with("X: a\nY: b"),
        Sample::idle().unmeasured().with("Content-Length: +2"),
        Sample::of("").unmeasured().line("GET /health/live HTTP/1.1"),
    ] {
        let request = request.bytes();
        let shown = String::from_utf8_lossy(&request).into_owned();
        let whole = cut_everywhere(&pair.alone, &request).await;
        let lane = cut_everywhere(&pair.lane, &request).await;
        assert!(whole.iter().all(|answer| *answer == whole[0]), "{shown}: {whole:?}");
        assert_eq!(lane, whole, "{shown}");
    }
}

#[tokio::test]
async fn life_of_a_session_continues_wherever_its_requests_are_cut() {
    let pair = Pair::shared().await;
    let handshake = Sample::of(r#"[{"channel":"/meta/handshake"}]"#).bytes();

    for side in pair.sides() {
        let (mut sessions, mut longest) = (Vec::new(), 1);
        while sessions.len() < longest {
            let mut conversation = Conversation::open(side.address).await;
            let reply = conversation.ask(&handshake[..]).await.body;
            let replies: serde_json::Value = serde_json::from_str(&reply).unwrap();
            let client = replies[0]["clientId"].as_str().unwrap();
            let subscribe =
                json!([{"channel": "/meta/subscribe", "clientId": client, "subscription": "/alarms/*"}]);
            let steps = [
                Sample::of(subscribe.to_string()).bytes(),
                Side::connect(client, json!({"timeout": 30})).bytes(),
                Side::connect(client, json!({"timeout": 0})).bytes(),
                Sample::of(json!([{"channel": "/meta/disconnect", "clientId": client}]).to_string()).bytes(),
            ];
            longest = steps.iter().map(Vec::len).max().unwrap();
            sessions.push((conversation, steps));
        }
        for step in 0..4 {
            for (at, (conversation, steps)) in sessions.iter_mut().enumerate() {
                conversation.send(&steps[step][..at.min(steps[step].len())]).await;
            }
            side.has_seen_all().await;
            for (at, (conversation, steps)) in sessions.iter_mut().enumerate() {
                conversation.send(&steps[step][at.min(steps[step].len())..]).await;
            }
            for (at, (conversation, _)) in sessions.iter_mut().enumerate() {
                let answer = conversation.answer().await.unwrap();
                assert!(answer.body.contains(r#""successful":true"#), "step {step}, cut at {at}: {answer:?}");
            }
        }
    }
}
