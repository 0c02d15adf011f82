//! Clients that read slowly or not at all, the responses to held polls and any others.

use tokio::io::AsyncWriteExt;
use tokio::time::sleep;

use super::pair::{Pair, Side};
use super::responses::Conversation;
use super::sample::Sample;
use super::*;

/// The size of a text; 40 of them do not fit into the buffers of a connection.
const TEXT_BYTES: usize = 60_000;
/// The number of these texts.
const ALARMS: usize = 40;
/// The number of clients that do not read.
const SLOW: usize = 20;

async fn raise_large(caller: &Caller, device: &str) {
    for n in 0..ALARMS {
        let mut alarm = alarm_of(device, &format!("type {n}"));
        alarm["text"] = json!("x".repeat(TEXT_BYTES));
        let request = caller.request("POST", "/alarm/alarms").json(&alarm);
        within(Duration::from_secs(10), "a write beside slow readers", request.send()).await.expect(201);
    }
}

/// Opens polls whose responses nobody reads; returns them with their sessions.
async fn unread_polls(side: &Side, device: &str) -> Vec<(Conversation, Session)> {
    let admin = side.admin();
    let mut sessions = Vec::new();
    for _ in 0..SLOW {
        sessions.push(admin.listen("/alarms/*").await);
    }
    let last = admin.listen("/alarms/*").await;
    raise_large(&admin, device).await;
    // A poll that arrives before the last notification would return without it.
    last.receive(ALARMS).await;
    sleep(Duration::from_millis(200)).await;
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
        // Reading through such a small window takes seconds, so only one response is read.
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
async fn request_behind_an_unread_response_waits_its_turn() {
    let pair = pair().await;

    for side in pair.sides() {
        let device = side.admin().create_device("pump").await;
        for (mut conversation, _) in unread_polls(side, &device).await.into_iter().take(1) {
            conversation.send(Sample::of(r#"[{"id":5,"channel":"/meta/connect"}]"#)).await;
            side.has_seen_all().await;
            let (batch, behind) =
                (conversation.answer().await.unwrap(), conversation.answer().await.unwrap());
            let last = format!("type {}", ALARMS - 1);
            assert!(batch.body.contains(&last) && behind.body.contains(r#""id":5,"#), "{behind:?}");
        }
    }
}

/// Continues to send, without reading, until the server has closed the connection.
async fn closed_unread(conversation: Conversation) {
    let mut stream = conversation.into_stream();
    let closed = async {
        // Sending fails when the server has closed the connection.
        while stream.write_all(b"\r\n").await.is_ok() {
            sleep(Duration::from_millis(50)).await;
        }
    };
    within(Duration::from_secs(30), "the end of a connection whose client does not read", closed).await;
}

#[tokio::test]
async fn unread_response_ends_its_connection_whatever_its_request_was() {
    let pair = Pair::start_with(|settings| {
        settings.limits.keep_alive = Duration::from_secs(600);
        settings.limits.unread_answer = Duration::from_secs(1);
    })
    .await;

    for side in pair.sides() {
        let admin = side.admin();
        let device = admin.create_device("pump").await;
        let large = create_large(&admin).await;
        let mut conversation = Conversation::over(RawConnection::open_narrow(side.address).await);
        conversation.send(get(&large)).await;

        closed_unread(conversation).await;
        for (conversation, _) in unread_polls(side, &device).await {
            closed_unread(conversation).await;
        }
    }
}

#[tokio::test]
async fn response_that_is_read_slowly_arrives_whole() {
    let pair = Pair::start_with(|settings| settings.limits.unread_answer = Duration::from_secs(2)).await;

    for side in pair.sides() {
        let large = create_large(&side.admin()).await;
        let mut connection = RawConnection::open(side.address).await;
        connection.send(get(&large).closing().bytes()).await;

        let mut came = 0;
        let begun = std::time::Instant::now();
        loop {
            // The whole response takes longer than the time within which a byte must be read.
            if begun.elapsed() < Duration::from_secs(4) {
                sleep(Duration::from_millis(100)).await;
            }
            match connection.read_at_most(32 << 10).await.len() {
                0 => break,
                count => came += count,
            }
        }
        assert!(came > 2_000_000, "{came}");
    }
}

/// Creates an object that does not fit into the buffers of a connection.
async fn create_large(admin: &Caller) -> String {
    let object = json!({"name": "large", "text": "x".repeat(2_000_000)});
    let answer = admin.request("POST", "/inventory/managedObjects").accepting_json().json(&object);
    answer.send().await.json()["id"].as_str().expect("an id").to_owned()
}

/// Returns a request for an object.
fn get(id: &str) -> Sample {
    let line = format!("GET /inventory/managedObjects/{id} HTTP/1.1");
    Sample::of("").unmeasured().line(&line)
}

#[tokio::test]
async fn user_with_too_many_unread_responses_gets_an_error_and_nobody_else_does() {
    let pair = Pair::start_with(|settings| settings.limits.held_bytes_per_user = 3_000_000).await;

    for (side, user) in pair.sides().into_iter().zip(["mia", "max"]) {
        let admin = side.admin();
        let large = create_large(&admin).await;
        let mia = side.server.user_with(user, &["ROLE_INVENTORY_READ"]).await;
        let path = format!("/inventory/managedObjects/{large}");
        let unread = begun(side, &large).await;

        let refused = until(429, &admin, &path).await;

        assert!(refused.text.contains("--held-bytes-per-user"), "{}", refused.text);
        assert!(refused.header("Retry-After").is_some());
        assert_eq!(mia.get(&path).await.status, 200);
        assert_eq!(admin.get("/inventory/managedObjects?pageSize=1&type=none").await.status, 200);
        unread.reset();
        until(200, &admin, &path).await;
    }
}

#[tokio::test]
async fn tenant_with_too_many_unread_responses_gets_an_error() {
    let pair = Pair::start_with(|settings| settings.limits.held_bytes_per_tenant = 3_000_000).await;

    for (side, user) in pair.sides().into_iter().zip(["mia", "max"]) {
        let admin = side.admin();
        let large = create_large(&admin).await;
        let mia = side.server.user_with(user, &["ROLE_INVENTORY_READ"]).await;
        let unread = begun(side, &large).await;

        let refused = until(429, &mia, &format!("/inventory/managedObjects/{large}")).await;

        assert!(refused.text.contains("limit unreadBytes"), "{}", refused.text);
        drop(unread);
    }
}

/// Opens a connection that reads only the beginning of an object.
async fn begun(side: &Side, id: &str) -> RawConnection {
    let mut connection = RawConnection::open_narrow(side.address).await;
    connection.send(get(id).bytes()).await;
    assert_eq!(connection.read_at_most(12).await, b"HTTP/1.1 200");
    connection
}

/// Repeats a request until the response has this status.
async fn until(status: u16, caller: &Caller, path: &str) -> Response {
    let asking = async {
        loop {
            match caller.get(path).await {
                answer if answer.status == status => return answer,
                _ => sleep(Duration::from_millis(50)).await,
            }
        }
    };
    within(Duration::from_secs(30), "another answer", asking).await
}

#[tokio::test]
async fn stop_does_not_wait_for_responses_that_nobody_reads() {
    let shutdown = Duration::from_secs(120);
    let Pair { lane, alone } = Pair::start_with(|settings| {
        settings.limits.keep_alive = Duration::from_secs(600);
        settings.shutdown = shutdown;
    })
    .await;

    for side in [lane, alone] {
        let device = side.admin().create_device("pump").await;
        let polls = unread_polls(&side, &device).await;
        let mut list = Conversation::over(RawConnection::open_narrow(side.address).await);
        let page = format!("GET /alarm/alarms?source={device}&pageSize={ALARMS} HTTP/1.1");
        list.send(Sample::idle().line(&page).unmeasured().body("")).await;
        side.has_seen_all().await;

        let begun = Instant::now();
        side.server.stop().await;

        assert!(begun.elapsed() < shutdown / 2, "{:?}", begun.elapsed());
        drop((polls, list));
    }
}
