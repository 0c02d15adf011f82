//! Held polls: their responses are the same in one piece and in chunks.

use super::*;
use crate::lane::pair::{Pair, Side};
use crate::lane::responses::{Conversation, RawResponse};
use crate::lane::sample::Sample;

/// Checks that both send the same response, apart from the headers about its length and the spaces before it.
async fn agree_on_held(pair: &Pair, request: impl Fn(&Side) -> Sample) -> RawResponse {
    let told = async |side: &Side| {
        let answer = Conversation::open(side.address).await.ask(request(side)).await;
        let answer = side.redacted(vec![answer]).remove(0).unframed();
        vec![RawResponse { body: answer.body.trim_start_matches(' ').to_owned(), ..answer }]
    };
    let (mut lane, mut alone) = tokio::join!(told(&pair.lane), told(&pair.alone));
    RawResponse::close_alike(&mut alone, &mut lane);
    assert_eq!(lane, alone, "with the lane (left) and without (right)");
    lane.remove(0)
}

async fn pair(keep_alive: Duration) -> Pair {
    Pair::start_with(|settings| settings.limits.keep_alive = keep_alive).await
}

fn row(side: &Side, path: &str) -> Sample {
    Sample::rows(path, format!("83,{}c", side.client))
}

#[tokio::test]
async fn connect_whose_time_is_over_gets_the_same_response_on_every_path() {
    for keep_alive in [Duration::from_millis(10), Duration::from_secs(600)] {
        let pair = pair(keep_alive).await;
        for path in every_path() {
            let line = format!("POST {path} HTTP/1.1");
            let held =
                agree_on_held(&pair, |side| Side::connect(&side.client, json!({"timeout": 40})).line(&line));
            let held = held.await;
            assert_eq!(held.status(), 200);
            assert!(held.body.contains(r#""timeout":5400000"#), "{path}: {held:?}");
        }
    }
}

#[tokio::test]
async fn row_whose_time_is_over_gets_the_same_response_on_every_path() {
    let pair = Pair::start_with(|settings| {
        settings.limits.keep_alive = Duration::from_secs(600);
        settings.limits.connect_timeout = Duration::from_millis(40);
    })
    .await;

    for path in every_path() {
        let held = agree_on_held(&pair, |side| row(side, &path)).await;
        assert_eq!((held.status(), &*held.body), (200, "86,40,0,retry\n"), "{path}");
    }
}

#[tokio::test]
async fn queued_notifications_are_delivered_alike() {
    let pair = pair(Duration::from_secs(600)).await;
    for side in pair.sides() {
        let admin = side.admin();
        let device = admin.create_device("pump").await;
        admin.resume(&side.client).subscribe(&format!("/alarms/{device}")).await;
        for n in 0..5 {
            admin.raise_alarm(&device, &format!("type {n}")).await;
        }
    }

    let told = async |side: &Side| {
        let (mut conversation, mut told) = (Conversation::open(side.address).await, Vec::new());
        while told.len() < 5 {
            let answer = conversation.ask(Side::connect(&side.client, json!({}))).await;
            let messages: Vec<Value> = serde_json::from_str(&answer.body).unwrap();
            told.extend(
                notifications(&messages).iter().map(|message| message["data"]["data"]["type"].clone()),
            );
        }
        told
    };
    let (lane, alone) = tokio::join!(told(&pair.lane), told(&pair.alone));

    assert_eq!(lane, alone);
    assert_eq!(lane.len(), 5);
}

#[tokio::test]
async fn held_polls_of_all_kinds_get_the_same_response() {
    let pair = Pair::start_with(|settings| {
        settings.limits.keep_alive = Duration::from_secs(600);
        settings.limits.connect_timeout = Duration::from_millis(40);
        settings.trusted_proxies = vec!["127.0.0.1".parse().unwrap()];
    })
    .await;

    for fields in [
        &[][..],
        &["Connection: close"],
        &["Connection: keep-alive"],
        &["Origin: https://app.example.org"],
        &["Origin: http://x"],
        &["Origin: null", "Connection: close"],
        &[
            "X-Forwarded-Proto: https",
            "X-Forwarded-Host: things.example.com",
            "Origin: https://things.example.com",
        ],
        &["Accept-Encoding: gzip"],
        &["Accept: */*"],
    ] {
        let all = |sample: Sample| fields.iter().fold(sample, |sample, field| sample.with(field));
        let json = agree_on_held(&pair, |side| all(Side::connect(&side.client, json!({})))).await;
        let rows = agree_on_held(&pair, |side| all(row(side, "/cep/realtime"))).await;
        assert_eq!(json.status(), 200, "{fields:?}");
        // A page of another site may send text without a preflight.
        assert!(rows.status() == 200 || fields.iter().any(|field| field.starts_with("Origin")), "{fields:?}");
    }
}

#[tokio::test]
async fn poll_of_another_user_gets_the_same_response() {
    let pair = pair(Duration::from_secs(600)).await;
    pair.lane.server.user_with("joe", &[]).await;
    let joe = format!("Authorization: Basic {}", token("joe", ADMIN_PASSWORD));

    let held = agree_on_held(&pair, |side| Side::connect(&side.client, json!({})).instead(&joe)).await;
    let rows = agree_on_held(&pair, |side| row(side, "/notification/operations").instead(&joe)).await;

    assert!(held.body.contains("402::Unknown client"), "{held:?}");
    assert!(rows.body.contains("402::Unknown client"), "{rows:?}");
}

#[tokio::test]
async fn connection_after_a_held_poll_ends_or_continues_alike() {
    let pair = Pair::start_with(|settings| settings.limits.connect_timeout = Duration::from_millis(40)).await;

    for connection in ["close", "Close, x", "keep-alive", "x"] {
        let after = async |side: &Side| {
            let mut conversation = Conversation::open(side.address).await;
            let request = Side::connect(&side.client, json!({})).with(&format!("Connection: {connection}"));
            let held = conversation.ask(request).await;
            conversation.send(Sample::idle().closing()).await;
            (held.status(), held.keeps_alive(), conversation.rest().await.len())
        };
        let (lane, alone) = tokio::join!(after(&pair.lane), after(&pair.alone));
        assert_eq!(lane, alone, "{connection}");
    }
}
