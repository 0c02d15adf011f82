//! Held polls over TLS: as fast as without TLS, and never lost (B-12, B-22).

use super::client::{Encrypted, admin};
use super::*;
use crate::harness::certificates::Certificates;

/// A connect on a connection of its own.
async fn connect(server: &TestServer, certificates: &Certificates, session: &Session) -> Encrypted {
    let mut connection = Encrypted::open(server, certificates).await;
    let message = session.message("/meta/connect", json!({"connectionType": "long-polling"}));
    let line = format!("POST {REALTIME}");
    connection.request(&line, &["Accept: application/json"], &json!([message]).to_string()).await;
    connection
}

/// A connect whose head has arrived, and with it the first space: it is held.
async fn hold(server: &TestServer, certificates: &Certificates, session: &Session) -> Encrypted {
    let mut connection = connect(server, certificates, session).await;
    let head = connection.read_until("\r\n\r\n").await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    connection
}

#[tokio::test]
async fn early_response_leaves_with_its_head_as_one_record() {
    let certificates = Certificates::new();
    let quiet = Duration::from_secs(600);
    let server = server_with(&certificates, |settings| settings.limits.keep_alive = quiet).await;
    let admin = admin(&server, &certificates).await;
    let device = admin.create_device("pump").await;
    let session = admin.listen("/alarms/*").await;

    let mut soon = 0;
    for round in 0..20 {
        let begun = Instant::now();
        let mut connection = connect(&server, &certificates, &session).await;
        admin.raise_alarm(&device, &format!("type {round}")).await;
        let first = connection.record().await.unwrap();
        assert!(first.starts_with("HTTP/1.1 200 OK\r\n"), "{first}");
        // On a busy machine, the alarm may come after the head was sent.
        if begun.elapsed() < Duration::from_millis(400) {
            soon += 1;
            assert!(first.contains("realtimeAction"), "round {round}: the head came alone: {first}");
        } else if !first.contains("realtimeAction") {
            connection.read_until("realtimeAction").await;
        }
    }
    assert!(soon > 0, "no answer came soon");
}

/// Asserts that nothing is lost when a client that holds a poll leaves in this way.
async fn loses_nothing<Rest>(leave: impl AsyncFn(Encrypted) -> Rest) {
    let certificates = Certificates::new();
    let server = server_with(&certificates, |settings| {
        (settings.workers, settings.actor_threads) = (2, 2);
    })
    .await;
    let admin = admin(&server, &certificates).await;
    let device = admin.create_device("pump").await;
    let session = admin.listen("/alarms/*").await;

    session.loses_nothing(&device, async || leave(hold(&server, &certificates, &session).await).await).await;
}

#[tokio::test]
async fn client_that_says_farewell_keeps_its_batch() {
    loses_nothing(async |mut connection: Encrypted| {
        connection.say_farewell().await;
        connection
    })
    .await;
}

#[tokio::test]
async fn client_that_hangs_up_keeps_its_batch() {
    loses_nothing(async |connection: Encrypted| connection.hang_up()).await;
}

#[tokio::test]
async fn reset_client_keeps_its_batch() {
    loses_nothing(async |connection: Encrypted| connection.reset()).await;
}

#[tokio::test]
async fn request_behind_a_held_poll_does_not_end_it_and_gets_a_response() {
    let (server, certificates) = serving().await;
    let admin = admin(&server, &certificates).await;
    let device = admin.create_device("pump").await;
    let session = admin.listen("/alarms/*").await;

    for n in 0..30 {
        let mut connection = hold(&server, &certificates, &session).await;
        let kind = format!("type {n}");
        let raised = tokio::spawn({
            let (admin, device, kind) = (admin.clone(), device.clone(), kind.clone());
            async move { admin.raise_alarm(&device, &kind).await }
        });
        for _ in 0..n % 7 {
            tokio::task::yield_now().await;
        }
        connection.request("GET /alarm/alarms?pageSize=1", &[], "").await;

        let told = connection.read_until("\"statistics\"").await;
        assert!(told.contains(&format!("\"type\":\"{kind}\"")), "round {n}: {told}");
        raised.await.unwrap();
    }
}

#[tokio::test]
async fn stop_releases_held_polls_and_closes_tls() {
    let (server, certificates) = serving().await;
    let admin = admin(&server, &certificates).await;
    let session = admin.listen("/alarms/*").await;
    let mut held = hold(&server, &certificates, &session).await;
    let mut idle = Encrypted::open(&server, &certificates).await;
    idle.request("GET /platform", &[], "").await;
    idle.read_until("deviceControl").await;

    let stopping = tokio::spawn(server.stop());

    held.read_until("\"interval\"").await;
    for connection in [&mut held, &mut idle] {
        while !connection.record().await.expect("the end comes with a farewell").is_empty() {}
    }
    stopping.await.unwrap();
}
