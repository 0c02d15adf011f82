//! The bounded queue of a session (B-12): a client never misses a notification without noticing it.

use super::*;

async fn raise(caller: &Caller, device: &str, count: usize, bytes: usize) {
    for n in 0..count {
        let mut alarm = alarm_of(device, &format!("type {n}"));
        alarm["text"] = json!("x".repeat(bytes));
        caller.create("/alarm/alarms", &alarm).await;
    }
}

/// Returns the number of sessions that overflowed in this process, including those of other tests.
async fn overflows(server: &TestServer) -> f64 {
    let metrics = server.stranger().get("/metrics").await.text;
    let line = metrics.lines().find_map(|line| line.strip_prefix("platform_session_overflows_total "));
    line.map_or(0.0, |count| count.parse().unwrap())
}

fn told_to_handshake() -> Value {
    let advice = json!({"reconnect": "handshake", "interval": 0});
    json!({"successful": false, "error": "402::Unknown client", "advice": advice})
}

async fn assert_ended(session: &Session) {
    // The last notification may not have reached the session yet, and a connect would make room for it.
    until("the end of the session", async || session.unsubscribe("/events/1").await["successful"] == false)
        .await;
    // At two servers the session may be leaving one of them, which responds "not now" until its end is known (B-16a).
    until("the advice of an unknown client", async || {
        let answer = session.glance().await;
        assert_eq!(notifications(&answer).len(), 0, "{answer:?}");
        reply(&answer) == told_to_handshake()
    })
    .await;
}

#[tokio::test]
async fn queue_as_long_as_allowed_is_delivered() {
    let (_server, admin, device) =
        TestServer::start_with(|settings| settings.limits.queued_notifications = 10)
            .await
            .with_device("pump")
            .await;
    let session = admin.listen("/alarms/*").await;

    raise(&admin, &device, 10, 10).await;

    assert_eq!(session.receive(10).await.len(), 10);
}

#[tokio::test]
async fn queue_with_too_many_notifications_ends_the_session() {
    let (server, admin, device) =
        TestServer::start_with(|settings| settings.limits.queued_notifications = 10)
            .await
            .with_device("pump")
            .await;
    let session = admin.listen("/alarms/*").await;
    let other = admin.listen("/events/*").await;
    let before = overflows(&server).await;

    raise(&admin, &device, 11, 10).await;

    assert_ended(&session).await;
    assert!(overflows(&server).await > before, "it is counted");
    assert!(other.is_known().await, "others are not concerned");
}

#[tokio::test]
async fn queue_with_too_many_bytes_ends_the_session() {
    let (_server, admin, device) = TestServer::start_with(|settings| settings.limits.queued_bytes = 20_000)
        .await
        .with_device("pump")
        .await;
    let session = admin.listen("/alarms/*").await;

    raise(&admin, &device, 3, 9000).await;

    assert_ended(&session).await;
}

#[tokio::test]
async fn client_that_fetches_in_time_never_overflows() {
    let (_server, admin, device) =
        TestServer::start_with(|settings| settings.limits.queued_notifications = 5)
            .await
            .with_device("pump")
            .await;
    let session = admin.listen("/alarms/*").await;

    for _ in 0..5 {
        raise(&admin, &device, 5, 10).await;
        assert_eq!(session.receive(5).await.len(), 5);
    }

    assert!(session.is_known().await);
}

#[tokio::test]
async fn client_whose_session_overflowed_starts_over() {
    let (_server, admin, device) =
        TestServer::start_with(|settings| settings.limits.queued_notifications = 2)
            .await
            .with_device("pump")
            .await;
    let old = admin.listen("/alarms/*").await;
    raise(&admin, &device, 3, 10).await;
    assert_ended(&old).await;

    let new = admin.listen("/alarms/*").await;
    raise(&admin, &device, 1, 10).await;

    assert_eq!(new.receive(1).await.len(), 1);
}
