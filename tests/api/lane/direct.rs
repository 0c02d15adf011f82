//! Responses that a session writes to the connection of its poll within the call with the notification.

use super::pair::{Pair, Side};
use super::responses::{Conversation, RawResponse};
use super::sample::Sample;
use super::*;

/// The number of clients that receive the same notification.
const CLIENTS: usize = 30;

async fn pair() -> Pair {
    Pair::start_with(|settings| settings.limits.keep_alive = Duration::from_secs(600)).await
}

/// Opens sessions that are subscribed to the device, each with a held poll.
async fn held_polls(side: &Side, device: &str) -> Vec<(Conversation, Session)> {
    let mut polls = Vec::new();
    for _ in 0..CLIENTS {
        let session = side.admin().listen(&format!("/alarms/{device}")).await;
        let mut conversation = Conversation::open(side.address).await;
        conversation.send(Side::connect(&session.client, json!({}))).await;
        polls.push((conversation, session));
    }
    side.has_seen_all().await;
    polls
}

/// Returns the types of the alarms in a response.
fn types(answer: &RawResponse) -> Vec<String> {
    let messages: Vec<Value> = serde_json::from_str(&answer.body).unwrap_or_else(|_| panic!("{answer:?}"));
    notifications(&messages).iter().map(type_of).collect()
}

fn type_of(notification: &Value) -> String {
    notification["data"]["data"]["type"].as_str().expect("an alarm").to_owned()
}

async fn raise_with_text(caller: &Caller, device: &str, kind: &str, bytes: usize) {
    let mut alarm = alarm_of(device, kind);
    alarm["text"] = json!("x".repeat(bytes));
    caller.request("POST", "/alarm/alarms").json(&alarm).send().await.expect(201);
}

#[tokio::test]
async fn notifications_for_polls_that_have_just_ended_wait_for_the_next_connect() {
    let pair = pair().await;

    for side in pair.sides() {
        let device = side.admin().create_device("pump").await;
        let mut left = Vec::new();
        for (n, (mut conversation, session)) in held_polls(side, &device).await.into_iter().enumerate() {
            let rest = match n % 3 {
                0 => {
                    conversation.half_close().await;
                    Some(conversation)
                }
                1 => {
                    conversation.reset();
                    None
                }
                _ => None,
            };
            left.push((rest, session));
        }
        // The server may process this request before it has polled any of the connections that ended.
        side.admin().raise_alarm(&device, "kept").await;

        for (_, session) in left {
            assert_eq!(session.receive(1).await.iter().map(type_of).collect::<Vec<_>>(), ["kept"]);
        }
    }
}

#[tokio::test]
async fn connection_takes_one_response_after_another_and_requests_behind_them() {
    let pair = pair().await;

    for side in pair.sides() {
        let device = side.admin().create_device("pump").await;
        let session = side.admin().listen(&format!("/alarms/{device}")).await;
        let mut conversation = Conversation::open(side.address).await;
        let poll = Side::connect(&session.client, json!({})).bytes();
        for n in 0..20 {
            conversation.send(&poll[..]).await;
            side.has_seen_all().await;
            let kind = format!("type {n}");
            side.admin().raise_alarm(&device, &kind).await;
            let answer = conversation.answer().await.expect("an answer");
            assert_eq!((types(&answer), answer.keeps_alive()), (vec![kind], true));
        }
        conversation.send([&poll[..], &Sample::idle().bytes()].concat()).await;
        side.has_seen_all().await;
        side.admin().raise_alarm(&device, "with a request behind").await;
        assert_eq!(types(&conversation.answer().await.expect("an answer")), ["with a request behind"]);
        assert_eq!(conversation.answer().await.expect("an answer").body, "[]");
    }
}

#[tokio::test]
async fn two_notifications_at_once_are_delivered_once_each() {
    let pair = pair().await;

    for side in pair.sides() {
        let device = side.admin().create_device("pump").await;
        let polls = held_polls(side, &device).await;
        let admin = side.admin();
        tokio::join!(admin.raise_alarm(&device, "one"), admin.raise_alarm(&device, "other"));

        for (mut conversation, session) in polls {
            let mut told = types(&conversation.answer().await.expect("an answer"));
            if told.len() < 2 {
                told.extend(session.receive(1).await.iter().map(type_of));
            }
            told.sort_unstable();
            assert_eq!(told, ["one", "other"]);
            assert!(session.is_known().await);
        }
    }
}

#[tokio::test]
async fn client_that_does_not_read_gets_every_response_when_it_does() {
    const POLLS: usize = 60;
    let pair = pair().await;

    for side in pair.sides() {
        let device = side.admin().create_device("pump").await;
        let session = side.admin().listen(&format!("/alarms/{device}")).await;
        let mut conversation = Conversation::over(RawConnection::open_narrow(side.address).await);
        let poll = Side::connect(&session.client, json!({})).bytes();
        conversation.send(&poll[..]).await;
        side.has_seen_all().await;
        for n in 0..POLLS {
            raise_with_text(&side.admin(), &device, &format!("type {n}"), 15_000).await;
            conversation.send(&poll[..]).await;
        }

        let mut told = Vec::new();
        while told.len() < POLLS {
            told.extend(types(&soon("a response", conversation.answer()).await.expect("an answer")));
        }
        assert_eq!(told, Vec::from_iter((0..POLLS).map(|n| format!("type {n}"))));
    }
}

#[tokio::test]
async fn every_poll_gets_one_whole_response_when_the_server_stops_among_notifications() {
    let Pair { lane, alone } = pair().await;

    for side in [lane, alone] {
        let device = side.admin().create_device("pump").await;
        let polls = held_polls(&side, &device).await;
        let admin = side.admin();
        let raised = tokio::spawn(async move {
            admin.request("POST", "/alarm/alarms").json(&alarm_of(&device, "late")).send().await
        });
        let stopping = tokio::spawn(side.server.stop());

        for (mut conversation, _) in polls {
            let answer = conversation.answer().await.expect("an answer");
            let told = types(&answer);
            assert!(told.is_empty() || told == ["late"], "{answer:?}");
            assert!(answer.body.contains("/meta/connect"), "{answer:?}");
            assert!(conversation.rest().await.is_empty());
        }
        soon("the end of the server", stopping).await.unwrap();
        drop(raised.await);
    }
}
