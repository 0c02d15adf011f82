//! Responses while the server stops.

use super::pair::{Pair, Side};
use super::responses::Conversation;
use super::sample::Sample;
use super::*;

#[tokio::test]
async fn stop_releases_held_polls_with_advice_and_closes_every_connection() {
    for keep_alive in [Duration::from_millis(20), Duration::from_secs(600)] {
        let pair = Pair::start_with(|settings| settings.limits.keep_alive = keep_alive).await;
        let Pair { lane, alone } = pair;
        for side in [lane, alone] {
            stop_tells_everybody(side).await;
        }
    }
}

async fn stop_tells_everybody(side: Side) {
    let open = async || Conversation::open(side.address).await;
    let (mut held, mut rows, mut served, mut silent, mut within) =
        (open().await, open().await, open().await, open().await, open().await);
    let other = side.admin().session().await.client;
    held.send(Side::connect(&side.client, json!({}))).await;
    rows.send(Sample::rows("/cep/realtime", format!("83,{other}c"))).await;
    served.ask(Sample::idle()).await;
    let begun = Sample::idle().bytes();
    within.send(&begun[..begun.len() / 2]).await;
    side.has_seen_all().await;

    let stopping = tokio::spawn(side.server.stop());

    let answer = held.answer().await.unwrap();
    assert_eq!(answer.status(), 200);
    let replies: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(
        (&replies[0]["successful"], &replies[0]["advice"]["reconnect"]),
        (&json!(true), &json!("retry"))
    );
    assert!(replies[0]["advice"]["interval"].is_u64(), "{replies}");
    let lines = rows.answer().await.unwrap();
    assert!(lines.body.trim_start().starts_with("86,"), "{lines:?}");
    // A head that was sent before the stop began cannot announce the end of the connection.
    for answer in [&answer, &lines].into_iter().filter(|answer| answer.field("content-length").is_some()) {
        assert!(!answer.keeps_alive(), "{answer:?}");
    }
    for connection in [&mut held, &mut rows, &mut served, &mut silent, &mut within] {
        let rest = connection.rest().await;
        assert!(rest.is_empty(), "{rest:?}");
    }
    soon("the end of the server", stopping).await.unwrap();
}

#[tokio::test]
async fn stop_does_not_wait_for_idle_connections() {
    let pair = Pair::start_with(|settings| settings.shutdown = Duration::from_secs(15)).await;

    for side in [pair.lane, pair.alone] {
        let mut idle = Vec::new();
        for n in 0..20 {
            let mut conversation = Conversation::open(side.address).await;
            for _ in 0..n % 3 {
                conversation.ask(Sample::idle()).await;
            }
            idle.push(conversation);
        }
        side.has_seen_all().await;

        let begun = std::time::Instant::now();
        side.server.stop().await;

        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
        for mut conversation in idle {
            assert!(conversation.answer().await.is_none());
        }
    }
}

#[tokio::test]
async fn incomplete_body_does_not_delay_the_stop_and_its_request_gets_503() {
    let pair = Pair::start_with(|settings| settings.shutdown = Duration::from_secs(15)).await;

    for side in [pair.lane, pair.alone] {
        let form = "multipart/form-data; boundary=b";
        let part = "--b\r\nContent-Disposition: form-data; name=\"object\"\r\n\r\n{\"name\":";
        let requests = [
            Sample::of(" ".repeat(1000)),
            Sample::of(" ".repeat(1000)).unmeasured().with("Transfer-Encoding: chunked"),
            Sample::to("/inventory/managedObjects", " ".repeat(1000)),
            Sample::to("/inventory/binaries", part.repeat(10)).instead(&format!("Content-Type: {form}")),
        ];
        let mut begun = Vec::new();
        for request in requests {
            let bytes = request.bytes();
            let mut conversation = Conversation::open(side.address).await;
            let body = request.head().len();
            if request.head().contains("chunked") {
                conversation.send([&bytes[..body], b"8\r\n    "].concat()).await
            } else {
                conversation.send(&bytes[..body + 200]).await
            }
            begun.push((request, conversation));
        }
        side.has_seen_all().await;

        let stopping = std::time::Instant::now();
        let stopped = tokio::spawn(side.server.stop());

        for (request, mut conversation) in begun {
            let answer = conversation.answer().await.expect("an answer");
            assert_eq!((answer.status(), answer.keeps_alive()), (503, false), "{request:?}: {answer:?}");
            assert!(answer.field("retry-after").is_some(), "{answer:?}");
            assert!(answer.body.contains("stopping"), "{answer:?}");
            assert!(conversation.answer().await.is_none());
        }
        soon("the end of the server", stopped).await.unwrap();
        assert!(stopping.elapsed() < Duration::from_secs(10), "{:?}", stopping.elapsed());
    }
}

#[tokio::test]
async fn body_that_comes_whole_soon_after_the_stop_began_is_worked_on() {
    let pair = Pair::start_with(|settings| settings.shutdown = Duration::from_secs(15)).await;

    for side in [pair.lane, pair.alone] {
        let (mut held, mut late) =
            (Conversation::open(side.address).await, Conversation::open(side.address).await);
        let request = Sample::of("[        ]").bytes();
        late.send(&request[..request.len() - 4]).await;
        held.send(Side::connect(&side.client, json!({}))).await;
        side.has_seen_all().await;

        let stopped = tokio::spawn(side.server.stop());
        held.answer().await.expect("the stop has begun");
        late.send(&request[request.len() - 4..]).await;

        let answer = late.answer().await.expect("an answer");
        assert_eq!((answer.status(), &*answer.body), (200, "[]"), "{answer:?}");
        soon("the end of the server", stopped).await.unwrap();
    }
}
