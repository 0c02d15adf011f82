//! The response to a held poll: one piece if no space was sent before, otherwise chunks that begin with spaces.

use std::time::Duration;

use platform_front::config::Settings;
use serde_json::json;

use super::pair::Side;
use super::responses::Conversation;
use super::sample::Sample;
use crate::harness::{RawConnection, TestServer};

/// A keep-alive interval so long that no space is sent in a test.
const QUIET: Duration = Duration::from_secs(600);

async fn lane(change: impl FnOnce(&mut Settings)) -> Side {
    let server = TestServer::start_with(|settings| {
        settings.fast_lane = true;
        change(settings);
    })
    .await;
    let address = server.address();
    Side::new(server, address).await
}

/// Creates a device to whose alarms the session is subscribed.
async fn listening(side: &Side) -> String {
    let admin = side.admin();
    let device = admin.create_device("pump").await;
    assert_eq!(admin.resume(&side.client).subscribe("/alarms/*").await["successful"], true);
    device
}

fn poll(side: &Side) -> Sample {
    Side::connect(&side.client, json!({}))
}

#[tokio::test]
async fn poll_that_was_held_in_silence_gets_its_response_in_one_piece() {
    let side = lane(|settings| settings.limits.keep_alive = QUIET).await;
    let device = listening(&side).await;

    for (request, end) in [(poll(&side), ""), (poll(&side).closing(), "close")] {
        let mut connection = RawConnection::open(side.address).await;
        connection.send(request.bytes()).await;
        side.has_seen_all().await;
        side.admin().raise_alarm(&device, "hot").await;

        let came = String::from_utf8(connection.read_at_most(64 << 10).await).unwrap();
        let (head, body) = came.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("\r\ncontent-length: {}\r\n", body.len())), "{came}");
        assert!(!head.contains("transfer-encoding"), "{came}");
        assert!(body.starts_with('[') && body.ends_with(']') && body.contains("realtimeAction"), "{came}");
        assert_eq!(head.contains("\r\nconnection: close"), !end.is_empty(), "{came}");
        if !end.is_empty() {
            assert_eq!(connection.read_to_end().await, "");
        }
    }
}

#[tokio::test]
async fn nothing_precedes_the_response_to_a_poll_that_is_held_in_silence() {
    let side = lane(|settings| settings.limits.keep_alive = QUIET).await;
    let mut conversation = Conversation::open(side.address).await;

    // This is longer than actix-http withholds a head.
    let answer = conversation.ask(Side::connect(&side.client, json!({"timeout": 900}))).await;

    assert_eq!(answer.field("content-length"), Some(&*answer.body.len().to_string()), "{answer:?}");
    assert!(answer.body.starts_with('['), "{answer:?}");
}

#[tokio::test]
async fn poll_that_is_held_longer_gets_chunks_that_begin_with_spaces() {
    let side = lane(|settings| settings.limits.keep_alive = Duration::from_millis(30)).await;
    let device = listening(&side).await;

    for (request, end) in [(poll(&side), None), (poll(&side).closing(), Some("close"))] {
        let mut conversation = Conversation::open(side.address).await;
        conversation.send(request).await;
        let head = conversation.head().await.unwrap();
        let spaces = [conversation.chunk().await, conversation.chunk().await, conversation.chunk().await];
        side.admin().raise_alarm(&device, "hot").await;
        let mut chunk = conversation.chunk().await;
        while chunk == " " {
            chunk = conversation.chunk().await;
        }

        assert_eq!((head.field("transfer-encoding"), head.field("content-length")), (Some("chunked"), None));
        assert_eq!(head.field("connection"), end);
        assert_eq!(spaces, [" ", " ", " "]);
        assert!(chunk.contains("realtimeAction"), "{chunk}");
        assert_eq!(conversation.chunk().await, "", "the end of the chunks");
        match end {
            Some(_) => assert!(conversation.answer().await.is_none()),
            None => assert_eq!(conversation.ask(Sample::idle()).await.body, "[]"),
        }
    }
}

#[tokio::test]
async fn rows_are_sent_in_one_piece_or_in_chunks_too() {
    for (keep_alive, chunked) in [(QUIET, None), (Duration::from_millis(30), Some("chunked"))] {
        let side = lane(|settings| {
            settings.limits.keep_alive = keep_alive;
            settings.limits.connect_timeout = Duration::from_millis(300);
        });
        let side = side.await;

        let mut conversation = Conversation::open(side.address).await;
        let answer = conversation.ask(Sample::rows("/cep/realtime", format!("83,{}c", side.client))).await;

        assert_eq!(answer.field("transfer-encoding"), chunked, "{answer:?}");
        assert_eq!(answer.body.trim_start_matches(' '), "86,300,0,retry\n");
        assert_eq!(answer.body.starts_with(' '), chunked.is_some(), "{answer:?}");
        assert_eq!(conversation.ask(Sample::idle()).await.body, "[]");
    }
}

/// Returns a large text, different for each number.
fn text_of(n: usize) -> String {
    format!("{n:04}").repeat(15_000)
}

#[tokio::test]
async fn large_batch_comes_whole_in_either_way() {
    for keep_alive in [QUIET, Duration::from_millis(30)] {
        let side = lane(|settings| settings.limits.keep_alive = keep_alive).await;
        let device = listening(&side).await;
        for n in 0..30 {
            let mut alarm = crate::harness::alarm_of(&device, &format!("type {n}"));
            alarm["text"] = json!(text_of(n));
            side.admin().create("/alarm/alarms", &alarm).await;
        }

        let mut conversation = Conversation::open(side.address).await;
        let mut told = Vec::new();
        while told.len() < 30 {
            let answer = conversation.ask(poll(&side)).await;
            let messages: Vec<serde_json::Value> = serde_json::from_str(&answer.body).unwrap();
            told.extend_from_slice(crate::harness::notifications(&messages));
        }

        for (n, notification) in told.iter().enumerate() {
            assert_eq!(notification["data"]["data"]["text"], text_of(n), "{n}");
        }
    }
}
