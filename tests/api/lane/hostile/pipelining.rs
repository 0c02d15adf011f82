//! Pipelined requests: each gets one response, in order.

use super::*;
use crate::lane::pair::{Pair, Sent, Side};
use crate::lane::responses::Conversation;
use crate::lane::sample::Sample;

const INVENTORY: &str = "/inventory/managedObjects";
const READY: &str = "GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n";

/// Returns a message whose number is in its reply.
fn numbered(n: usize) -> Sample {
    Sample::of(format!(r#"[{{"id":{n},"channel":"/meta/connect","clientId":"{}"}}]"#, "f".repeat(32)))
}

#[tokio::test]
async fn many_requests_at_once_get_responses_in_order() {
    let pair = Pair::shared().await;

    for count in [2, 3, 15, 16, 17, 18, 40, 300] {
        let requests: Vec<u8> = (0..count).flat_map(|n| numbered(n).bytes()).collect();
        let answers = pair.agree_on(Sent::Whole(count), |_| requests.clone()).await;
        assert_eq!(answers.len(), count + 2, "{count}");
        for (n, answer) in answers[..count].iter().enumerate() {
            assert!(answer.body.contains(&format!(r#""id":{n},"#)), "{count}: {n}: {answer:?}");
        }
    }
}

#[tokio::test]
async fn requests_of_all_kinds_may_follow_each_other() {
    let pair = Pair::shared().await;
    let (poll, rows, get) =
        (numbered(1).bytes(), Sample::rows("/cep/realtime", "80").bytes(), READY.as_bytes().to_vec());
    let large = Sample::of(format!("[{}]", " ".repeat(20_000))).bytes();
    let chunked =
        Sample::idle().unmeasured().with("Transfer-Encoding: chunked").body("2\r\n[]\r\n0\r\n\r\n").bytes();
    let refused = Sample::of("{").bytes();
    let stranger = Sample::idle().without("Authorization").bytes();
    let all = [&poll, &rows, &get, &large, &chunked, &refused, &stranger];

    for first in all {
        for second in all {
            let answers = pair.agree_on(Sent::Whole(2), |_| [&first[..], second].concat()).await;
            assert_eq!(answers.len(), 4, "{:.200} {:.200}", show(first), show(second));
        }
    }
    let one_of_each = all.map(|request| &request[..]).concat();
    assert_eq!(pair.agree_on(Sent::Whole(7), |_| one_of_each.clone()).await.len(), 9);
}

fn show(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[tokio::test]
async fn handshake_and_subscription_may_be_sent_at_once() {
    let pair = Pair::shared().await;

    let answers = pair.agree_on(Sent::Whole(3), |side| {
        let subscribe = side.message("/meta/subscribe", json!({"subscription": "/alarms/*"}));
        let connect = Side::connect(&side.client, json!({"timeout": 0}));
        let handshake = Sample::of(r#"[{"channel":"/meta/handshake"}]"#);
        [handshake, Sample::of(json!([subscribe]).to_string()), connect]
            .map(|request| request.bytes())
            .concat()
    });

    assert_eq!(answers.await.len(), 5);
}

#[tokio::test]
async fn last_request_gets_a_response_whatever_is_behind_it() {
    let pair = Pair::shared().await;

    for first in [numbered(1), Sample::rows("/cep/realtime", "81,x,/a"), Sample::of("{")] {
        for second in [numbered(2).bytes(), READY.into(), b"\0\0\0".to_vec(), b"\r\n\r\n".to_vec()] {
            let bytes = [first.clone().closing().bytes(), second].concat();
            let mut told = Vec::new();
            for side in pair.sides() {
                let mut conversation = Conversation::open(side.address).await;
                let answer = conversation.ask(&bytes[..]).await;
                conversation.half_close().await;
                let rest = conversation.everything().await;
                assert_eq!(rest, "", "nothing behind the last answer: {}", show(&bytes));
                told.push((answer.line, answer.body));
            }
            assert_eq!(told[0], told[1], "{}", show(&bytes));
        }
    }
}

#[tokio::test]
async fn request_that_begins_with_the_one_before_gets_a_response_when_it_is_whole() {
    let pair = Pair::shared().await;
    let (first, second) = (numbered(1).bytes(), numbered(2).bytes());

    for side in pair.sides() {
        for at in [1, 10, second.len() / 2, second.len() - 3, second.len() - 1] {
            let mut conversation = Conversation::open(side.address).await;
            let one = conversation.ask([&first, &second[..at]].concat()).await;
            let two = conversation.ask(&second[at..]).await;
            conversation.send(Sample::idle().closing()).await;
            assert!(
                one.body.contains(r#""id":1,"#) && two.body.contains(r#""id":2,"#),
                "{at}: {one:?} {two:?}"
            );
            // actix-http ignores an unread body that arrived only by half, and then closes the connection.
            let goes_on = one.keeps_alive() && two.keeps_alive();
            assert_eq!(conversation.rest().await.len(), usize::from(goes_on), "{at}");
        }
    }
}

#[tokio::test]
async fn request_behind_the_last_one_is_not_carried_out() {
    let pair = Pair::shared().await;
    let create = |name: &str| Sample::to(INVENTORY, json!({"name": name}).to_string());
    let old = |name: &str| create(name).line(&format!("POST {INVENTORY} HTTP/1.0"));
    let chunked = |name: &str| {
        let body = json!({"name": name}).to_string();
        let chunks = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
        create(name).unmeasured().with("Transfer-Encoding: chunked").body(chunks)
    };

    for (first, second) in [
        (create("first").closing(), create("second")),
        (chunked("first").instead("Connection: keep-alive, close"), create("second")),
        (old("first"), old("second")),
        (old("first").with("Connection: close"), create("second")),
    ] {
        let bytes = [first.bytes(), second.bytes()].concat();
        for side in pair.sides() {
            let admin = side.admin();
            let before = names_of(&admin).await;
            let mut conversation = Conversation::open(side.address).await;
            let answer = conversation.ask(&bytes[..]).await;
            // The client keeps the connection open and reads until its end.
            let rest = conversation.everything().await;
            let created = names_of(&admin).await.split_off(before.len());

            assert_eq!((answer.status(), &*rest), (201, ""), "{}", show(&bytes));
            assert_eq!(created, ["first"], "{}", show(&bytes));
        }
    }
}

#[tokio::test]
async fn requests_of_an_old_client_that_keeps_its_connection_are_all_carried_out() {
    let pair = Pair::shared().await;
    let line = format!("GET {INVENTORY} HTTP/1.0");
    let get = Sample::of("").unmeasured().line(&line).with("Connection: keep-alive").bytes();

    let answers = pair.agree_on(Sent::Whole(2), |_| [&get[..], &get].concat()).await;

    assert!(answers[..2].iter().all(|answer| answer.status() == 200), "{answers:?}");
}

/// The names of all objects, in the order in which they were created.
async fn names_of(admin: &Caller) -> Vec<String> {
    let objects = admin.read(&format!("{INVENTORY}?pageSize=100")).await;
    member_texts(&objects, "managedObjects", "name")
}

/// Checks that two requests get their responses in order when the first one is held. `together`: both are sent in one
/// write.
async fn held_before(behind: &[u8], together: bool, is_answer: impl Fn(&str) -> bool) {
    for keep_alive in [std::time::Duration::from_millis(20), std::time::Duration::from_secs(600)] {
        let pair = Pair::start_with(|settings| settings.limits.keep_alive = keep_alive).await;
        for side in pair.sides() {
            let poll = Side::connect(&side.client, json!({"timeout": 300})).bytes();
            let mut conversation = Conversation::open(side.address).await;
            if together {
                conversation.send([&poll, behind].concat()).await;
            } else {
                conversation.send(poll).await;
                side.has_seen_all().await;
                conversation.send(behind).await;
            }
            let (first, second) =
                (conversation.answer().await.unwrap(), conversation.answer().await.unwrap());
            conversation.send(Sample::idle().closing()).await;
            let rest = conversation.rest().await;

            assert!(first.body.contains(r#""channel":"/meta/connect""#), "{first:?}");
            assert!(is_answer(&second.body), "{second:?}");
            assert_eq!(rest.len(), 1, "exactly two answers: {rest:?}");
        }
    }
}

#[tokio::test]
async fn request_that_comes_with_a_held_poll_gets_a_response_after_it() {
    held_before(&numbered(2).bytes(), true, |body| body.contains(r#""id":2,"#)).await;
    held_before(READY.as_bytes(), true, |body| body.contains("UP")).await;
}

#[tokio::test]
async fn request_that_comes_behind_a_held_poll_gets_a_response_after_it() {
    held_before(&numbered(2).bytes(), false, |body| body.contains(r#""id":2,"#)).await;
    held_before(READY.as_bytes(), false, |body| body.contains("UP")).await;
}

#[tokio::test]
async fn two_held_polls_of_one_connection_get_responses_one_after_the_other() {
    let pair = Pair::shared().await;

    for side in pair.sides() {
        let poll = Side::connect(&side.client, json!({"timeout": 200})).bytes();
        let mut conversation = Conversation::open(side.address).await;
        conversation.send([&poll[..], &poll, &Sample::idle().closing().bytes()].concat()).await;
        let answers = conversation.rest().await;

        assert_eq!(answers.len(), 3, "{answers:?}");
        for poll in &answers[..2] {
            assert!(poll.body.contains(r#""successful":true"#), "{poll:?}");
        }
    }
}
