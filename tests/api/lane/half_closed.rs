//! Clients that close their half of the connection and keep reading: each complete request gets a response (B-24).

use super::pair::{Pair, Side};
use super::responses::{Conversation, RawResponse};
use super::sample::Sample;
use super::*;

/// Sends bytes and closes the sending half at once; returns every response.
async fn said_and_done(side: &Side, bytes: impl Into<Vec<u8>>) -> Vec<RawResponse> {
    let mut conversation = Conversation::open(side.address).await;
    conversation.send(bytes).await;
    conversation.half_close().await;
    conversation.rest().await
}

/// Opens a new session that is subscribed to an object.
async fn listen(side: &Side, device: &str) -> Session {
    side.admin().listen(&format!("/alarms/{device}")).await
}

#[tokio::test]
async fn client_that_half_closes_behind_a_request_gets_the_whole_response() {
    let pair = Pair::shared().await;

    for side in pair.sides() {
        let device = side.admin().create_device("pump").await;
        let get =
            Sample::to(&format!("{OBJECTS}/{device}"), "").line(&format!("GET {OBJECTS}/{device} HTTP/1.1"));
        let rows = Sample::to("/s", "10,x").instead("Content-Type: text/plain");
        for (request, status) in [
            (get.clone(), 200),
            (Sample::to(OBJECTS, r#"{"name":"a"}"#), 201),
            (rows, 200),
            (Sample::idle(), 200),
            (Sample::to("/unknown", ""), 404),
        ] {
            let answers = said_and_done(side, request.clone()).await;
            let statuses: Vec<_> = answers.iter().map(RawResponse::status).collect();
            assert_eq!(statuses, [status], "{request:?}: {answers:?}");
        }
        let both = [get.bytes(), Sample::idle().bytes(), get.bytes()].concat();
        let answers = said_and_done(side, both).await;
        assert_eq!((answers.len(), &*answers[1].body), (3, "[]"), "{answers:?}");
        assert!(answers[2].body.contains("pump"), "{answers:?}");
    }
}

#[tokio::test]
async fn large_body_arrives_whole_from_a_client_that_half_closes_behind_it() {
    let pair = Pair::shared().await;

    for side in pair.sides() {
        for size in [40_000, 200_000, 1_000_000] {
            let body = json!({"name": "a", "plat_Text": "a".repeat(size)}).to_string();
            // An unknown user is looked up in the database, and the body has to wait for that.
            let name = format!("user {size} {}", side.address.port());
            side.server.user_with(&name, &["ROLE_INVENTORY_ADMIN"]).await;
            let token = crate::harness::token(&name, crate::harness::ADMIN_PASSWORD);
            let request = Sample::to(OBJECTS, body).instead(&format!("Authorization: Basic {token}"));
            for _ in 0..3 {
                let answers = said_and_done(side, request.clone()).await;
                let statuses: Vec<_> = answers.iter().map(RawResponse::status).collect();
                assert_eq!(statuses, [201], "{size} bytes: {answers:.1000?}");
            }
        }
    }
}

#[tokio::test]
async fn body_that_is_cut_short_by_a_half_close_is_refused() {
    let pair = Pair::shared().await;

    for side in pair.sides() {
        let whole = Sample::to(OBJECTS, r#"{"name":"a"}"#).bytes();
        let answers = said_and_done(side, &whole[..whole.len() - 3]).await;
        assert_eq!(answers.iter().map(RawResponse::status).collect::<Vec<_>>(), [400], "{answers:?}");
    }
}

#[tokio::test]
async fn held_poll_of_a_half_closed_client_ends_at_once_and_later_notifications_wait() {
    for keep_alive in [Duration::from_millis(20), Duration::from_secs(600)] {
        let pair = Pair::start_with(|settings| settings.limits.keep_alive = keep_alive).await;
        for side in pair.sides() {
            let device = side.admin().create_device("pump").await;
            let session = listen(side, &device).await;
            for wait in [true, false] {
                let mut conversation = Conversation::open(side.address).await;
                conversation.send(Side::connect(&session.client, json!({}))).await;
                if wait {
                    side.has_seen_all().await;
                }
                conversation.half_close().await;

                let answer = conversation.answer().await.expect("an answer");
                let replies: Vec<Value> = serde_json::from_str(&answer.body).unwrap();
                assert_eq!((answer.status(), replies.len()), (200, 1), "{answer:?}");
                assert_eq!(reply(&replies)["successful"], true, "{answer:?}");
                assert!(conversation.rest().await.is_empty());
                let kind = format!("type {wait}");
                side.admin().raise_alarm(&device, &kind).await;
                assert_eq!(session.receive(1).await[0]["data"]["data"]["type"], kind);
            }
        }
    }
}

#[tokio::test]
async fn held_poll_of_a_half_closed_client_that_acknowledges_ends_with_its_number() {
    let pair = Pair::shared().await;

    for side in pair.sides() {
        let session = side.admin().session_with(json!({"ext": {"ack": true}})).await;
        let mut conversation = Conversation::open(side.address).await;
        let connect = json!([session.message("/meta/connect", json!({"ext": {"ack": 0}}))]);
        conversation.send(Sample::of(connect.to_string())).await;
        side.has_seen_all().await;
        conversation.half_close().await;
        let answer = conversation.answer().await.expect("an answer");
        let replies: Vec<Value> = serde_json::from_str(&answer.body).unwrap();
        assert_eq!(reply(&replies)["ext"], json!({"ack": 0}), "{answer:?}");
    }
}

#[tokio::test]
async fn notification_that_waits_is_not_given_to_a_half_closed_client() {
    let pair = Pair::shared().await;

    for side in pair.sides() {
        let device = side.admin().create_device("pump").await;
        let session = listen(side, &device).await;
        side.admin().raise_alarm(&device, "hot").await;
        side.has_seen_all().await;

        for _ in 0..10 {
            let answers = said_and_done(side, Side::connect(&session.client, json!({}))).await;
            let replies: Vec<Value> = serde_json::from_str(&answers[0].body).unwrap();
            if !notifications(&replies).is_empty() {
                // The response was sent before the end arrived.
                side.admin().raise_alarm(&device, "hotter").await;
            }
        }

        assert!(!session.receive(1).await.is_empty());
    }
}

#[tokio::test]
async fn session_of_a_half_closed_poll_ends_after_its_interval() {
    let interval = Duration::from_millis(400);
    let pair = Pair::start_with(|settings| settings.limits.session_interval = interval).await;

    for side in pair.sides() {
        let session = side.admin().session().await;
        let answers = said_and_done(side, Side::connect(&session.client, json!({}))).await;
        assert_eq!(answers.len(), 1, "{answers:?}");
        tokio::time::sleep(interval * 3).await;
        assert!(!session.is_known().await);
    }
}

#[tokio::test]
async fn held_row_of_a_half_closed_client_ends_as_if_its_time_was_over() {
    for keep_alive in [Duration::from_millis(20), Duration::from_secs(600)] {
        let pair = Pair::start_with(|settings| settings.limits.keep_alive = keep_alive).await;
        for side in pair.sides() {
            let device = side.admin().create_device("pump").await;
            let session = listen(side, &device).await;
            let mut conversation = Conversation::open(side.address).await;
            conversation.send(Sample::rows(REALTIME, format!("83,{}c", session.client))).await;
            side.has_seen_all().await;
            conversation.half_close().await;

            let answer = conversation.answer().await.expect("an answer");
            assert_eq!(answer.body.trim_start_matches(' '), "86,5400000,0,retry\n", "{answer:?}");
            assert!(conversation.rest().await.is_empty());
            side.admin().raise_alarm(&device, "hot").await;
            assert_eq!(session.receive(1).await.len(), 1);
        }
    }
}

#[tokio::test]
async fn request_behind_a_held_poll_gets_a_response_to_a_half_closed_client_too() {
    let pair = Pair::start_with(|settings| settings.limits.keep_alive = Duration::from_secs(600)).await;

    for side in pair.sides() {
        let poll = Side::connect(&side.client, json!({})).bytes();
        let answers = said_and_done(side, [poll, Sample::idle().bytes()].concat()).await;
        assert_eq!(answers.len(), 2, "{answers:?}");
        assert!(answers[0].keeps_alive() && answers[0].body.contains("/meta/connect"), "{answers:?}");
        assert_eq!(answers[1].body, "[]");
    }
}

#[tokio::test]
async fn poll_with_many_bytes_behind_it_ends_at_once_and_loses_nothing() {
    let pair = Pair::start_with(|settings| settings.limits.keep_alive = Duration::from_secs(600)).await;
    let behind = Sample::of(format!("[{}]", " ".repeat(12_000))).bytes();

    let side = &pair.lane;
    let device = side.admin().create_device("pump").await;
    let session = listen(side, &device).await;
    let mut conversation = Conversation::open(side.address).await;
    conversation.send(Side::connect(&session.client, json!({}))).await;
    side.has_seen_all().await;
    conversation.send(behind).await;

    let poll = conversation.answer().await.expect("an answer");
    let replies: Vec<Value> = serde_json::from_str(&poll.body).unwrap();
    assert!(notifications(&replies).is_empty() && poll.keeps_alive(), "{poll:?}");
    assert_eq!(conversation.answer().await.expect("an answer").body, "[]");
    drop(conversation);
    side.admin().raise_alarm(&device, "kept").await;
    assert_eq!(session.receive(1).await[0]["data"]["data"]["type"], "kept");
}
