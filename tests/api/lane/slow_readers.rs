//! Clients of held polls that read slowly or not at all.

use std::time::Duration;

use serde_json::json;

use super::answers::Conversation;
use super::pair::{Pair, Side};
use super::sample::Sample;
use crate::harness::{Caller, RawConnection, Session, alarm_of, notifications, within};

/// Large enough that a few hundred do not fit into what the system keeps for a connection.
const TEXT_BYTES: usize = 60_000;
/// How many of them.
const ALARMS: usize = 100;
/// Clients that do not read.
const SLOW: usize = 20;

async fn raise_large(caller: &Caller, device: &str) {
    for n in 0..ALARMS {
        let mut alarm = alarm_of(device, &format!("type {n}"));
        alarm["text"] = json!("x".repeat(TEXT_BYTES));
        let request = caller.request("POST", "/alarm/alarms").json(&alarm);
        let answer = within(Duration::from_secs(10), "a write beside slow readers", request.send()).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
    }
}

/// Polls that nobody reads, and their sessions.
async fn unread_polls(side: &Side, device: &str) -> Vec<(Conversation, Session)> {
    let admin = side.admin();
    let mut sessions = Vec::new();
    for _ in 0..SLOW {
        sessions.push(admin.listen("/alarms/*").await);
    }
    raise_large(&admin, device).await;
    let mut polls = Vec::new();
    for session in sessions {
        let mut conversation = Conversation::over(RawConnection::open_narrow(side.address).await);
        conversation.send(Side::connect(&session.client, json!({}))).await;
        polls.push((conversation, session));
    }
    side.has_seen_all().await;
    polls
}

async fn pair() -> Pair {
    Pair::start_with(|settings| settings.limits.keep_alive = Duration::from_secs(600)).await
}

#[tokio::test]
async fn clients_that_do_not_read_delay_nobody_and_get_all_when_they_do() {
    let pair = pair().await;

    for side in pair.sides() {
        let admin = side.admin();
        let device = admin.create_device("pump").await;
        let other = admin.listen(&format!("/events/{device}")).await;
        let polls = unread_polls(side, &device).await;

        for n in 0..10 {
            let kind = format!("beside {n}");
            admin.create_event(&device, &kind).await;
            let told =
                within(Duration::from_secs(10), "a delivery beside slow readers", other.receive(1)).await;
            assert_eq!(told[0]["data"]["data"]["type"], kind.as_str());
        }
        // Reading on takes seconds through so small a window, so one stands for all.
        for (mut conversation, _) in polls.into_iter().take(1) {
            let answer = conversation.answer().await.unwrap();
            let messages: Vec<serde_json::Value> = serde_json::from_str(&answer.body).unwrap();
            assert_eq!(notifications(&messages).len(), ALARMS);
            assert_eq!(conversation.ask(Sample::idle()).await.body, "[]");
        }
    }
}

#[tokio::test]
async fn clients_that_leave_within_a_batch_harm_nobody() {
    let pair = pair().await;

    for side in pair.sides() {
        let device = side.admin().create_device("pump").await;
        for (n, (mut conversation, session)) in unread_polls(side, &device).await.into_iter().enumerate() {
            match n % 3 {
                0 => conversation.reset(),
                1 => conversation.half_close().await,
                _ => drop(conversation),
            }
            assert!(session.is_known().await, "the session lives until its interval is over");
        }
        side.has_seen_all().await;
    }
}

#[tokio::test]
async fn server_stops_beside_clients_that_do_not_read() {
    let pair = pair().await;

    for side in [pair.lane, pair.alone] {
        let device = side.admin().create_device("pump").await;
        let polls = unread_polls(&side, &device).await;

        side.server.stop().await;

        drop(polls);
    }
}

#[tokio::test]
async fn request_behind_an_answer_that_is_not_read_waits_its_turn() {
    let pair = pair().await;

    for side in pair.sides() {
        let device = side.admin().create_device("pump").await;
        for (mut conversation, _) in unread_polls(side, &device).await.into_iter().take(1) {
            conversation.send(Sample::of(r#"[{"id":5,"channel":"/meta/connect"}]"#)).await;
            side.has_seen_all().await;
            let (batch, behind) =
                (conversation.answer().await.unwrap(), conversation.answer().await.unwrap());
            assert!(batch.body.contains("type 99") && behind.body.contains(r#""id":5,"#), "{behind:?}");
        }
    }
}
