//! Connections that end in any state: the server keeps working, and no notification is lost.

use super::pair::{Pair, Side};
use super::responses::Conversation;
use super::sample::Sample;
use super::*;

/// The bytes that a connection has sent when it ends.
fn states(side: &Side) -> Vec<(&'static str, Vec<u8>)> {
    let poll = Side::connect(&side.client, json!({}));
    let (head, whole) = (poll.head().into_bytes(), poll.bytes());
    let idle = Sample::idle().bytes();
    let large = Sample::of(format!("[{}]", " ".repeat(12_000))).bytes();
    vec![
        ("before anything", Vec::new()),
        ("within the request line", head[..7].to_vec()),
        ("within the head", head[..60].to_vec()),
        ("behind the head", head.clone()),
        ("within the body", whole[..head.len() + 9].to_vec()),
        ("while held", whole.clone()),
        ("while held, with a request behind", [&whole[..], &idle].concat()),
        ("while held, with half a request behind", [&whole[..], &idle[..40]].concat()),
        ("while held, with nonsense behind", [&whole[..], b"\0\0\0\0"].concat()),
        ("while held, with more behind than is kept", [&whole[..], &large].concat()),
        ("between polls", idle.clone()),
        ("within the second request", [&idle[..], &idle[..40]].concat()),
        (
            "within a body that is too long",
            Sample::of(" ".repeat(1000)).unmeasured().with("Content-Length: 99999999").bytes(),
        ),
    ]
}

/// Returns two pairs of servers: in one, held polls receive spaces at once, in the other they do not.
async fn pairs() -> [Pair; 2] {
    let start = async |keep_alive| Pair::start_with(|settings| settings.limits.keep_alive = keep_alive).await;
    [start(Duration::from_millis(20)).await, start(Duration::from_secs(600)).await]
}

/// Ends a connection in each state, again and again, while notifications are sent to its session.
async fn nothing_is_lost<Rest>(leave: impl AsyncFn(Conversation) -> Rest) {
    for pair in pairs().await {
        for side in pair.sides() {
            let admin = side.admin();
            let device = admin.create_device("pump").await;
            let session = admin.resume(&side.client);
            session.subscribe(&format!("/alarms/{device}")).await;
            for (state, bytes) in states(side) {
                for wait in [true, false] {
                    let mut conversation = Conversation::open(side.address).await;
                    conversation.send(&bytes[..]).await;
                    if wait {
                        side.has_seen_all().await;
                    }
                    let rest = leave(conversation).await;
                    admin.raise_alarm(&device, state).await;
                    let told = session.receive(1).await;
                    assert_eq!(told[0]["data"]["data"]["type"], state, "after it ended {state}");
                    drop(rest);
                    let alarm = &told[0]["data"]["data"]["id"];
                    let path = format!("/alarm/alarms/{}", alarm.as_str().unwrap());
                    assert_eq!(admin.put(&path, &json!({"status": "CLEARED"})).await.status, 200);
                    assert_eq!(session.receive(1).await.len(), 1, "{state}");
                }
            }
        }
    }
}

#[tokio::test]
async fn client_that_closes_in_any_state_loses_nothing() {
    nothing_is_lost(async |conversation| drop(conversation)).await;
}

#[tokio::test]
async fn client_that_resets_in_any_state_loses_nothing() {
    nothing_is_lost(async |conversation: Conversation| conversation.reset()).await;
}

#[tokio::test]
async fn client_that_closes_one_half_in_any_state_loses_nothing() {
    nothing_is_lost(async |mut conversation: Conversation| {
        conversation.half_close().await;
        conversation
    })
    .await;
}

#[tokio::test]
async fn server_closes_what_a_client_half_closes() {
    for pair in pairs().await {
        for side in pair.sides() {
            for (state, bytes) in states(side) {
                let mut conversation = Conversation::open(side.address).await;
                conversation.send(&bytes[..]).await;
                side.has_seen_all().await;
                conversation.half_close().await;
                // A head that was sent before the end may be the last thing that arrives.
                let came = conversation.everything().await;
                assert!(came.matches("HTTP/1.1 ").count() <= 2, "{state}: {came}");
            }
        }
    }
}

#[tokio::test]
async fn storm_of_connections_that_end_harms_nobody() {
    let server =
        TestServer::start_with(|settings| settings.limits.keep_alive = Duration::from_secs(600)).await;
    let address = server.address();
    let side = Side::new(server, address).await;
    let states = states(&side);

    for n in 0..600 {
        let (state, bytes) = &states[n % states.len()];
        let mut conversation = Conversation::open(side.address).await;
        conversation.send(&bytes[..]).await;
        match n % 3 {
            0 => conversation.reset(),
            1 => conversation.half_close().await,
            _ => drop(conversation),
        }
        if n % 50 == 0 {
            assert_eq!(Conversation::open(address).await.ask(Sample::idle()).await.body, "[]", "{state}");
        }
    }

    side.has_seen_all().await;
    let answer = side.admin().resume(&side.client).glance().await;
    assert!(notifications(&answer).is_empty());
}

#[tokio::test]
async fn batch_that_could_not_be_written_comes_with_the_next_connect() {
    for pair in pairs().await {
        for side in pair.sides() {
            let admin = side.admin();
            let device = admin.create_device("pump").await;
            let session = admin.resume(&side.client);
            session.subscribe("/alarms/*").await;

            // The end and the alarm race. In both cases the alarm is delivered once, or twice if it was in transit.
            for n in 0..30 {
                let mut conversation = Conversation::open(side.address).await;
                conversation.send(Side::connect(&side.client, json!({}))).await;
                if n % 2 == 0 {
                    side.has_seen_all().await;
                }
                conversation.reset();
                let kind = format!("type {n}");
                admin.raise_alarm(&device, &kind).await;

                let told = session.receive(1).await;
                assert_eq!((told.len(), &told[0]["data"]["data"]["type"]), (1, &json!(kind)), "round {n}");
            }
        }
    }
}
