//! Tests how long a session keeps notifications that its client does not fetch
//! (docs/rules.md#sessions-and-messages; B-10, B-12).

use super::*;

/// The session interval of these tests, instead of ten seconds.
fn short() -> Duration {
    // A session that moves between two servers needs a part of the time.
    Duration::from_secs(if runs_at_two_servers() { 4 } else { 1 })
}

async fn server_with_short_interval() -> TestServer {
    TestServer::start_with(|settings| settings.limits.session_interval = short()).await
}

/// Waits longer than `interval`. The test is about time itself, so there is no event to wait for.
async fn outlast(interval: Duration) {
    tokio::time::sleep(interval * 2).await;
}

async fn assert_forgotten(session: &Session) {
    let answer = session.glance().await;
    let advice = json!({"reconnect": "handshake", "interval": 0});
    assert_eq!(
        reply(&answer),
        json!({"successful": false, "error": "402::Unknown client", "advice": advice})
    );
}

#[tokio::test]
async fn session_that_never_connects_ends_after_the_interval() {
    let server = server_with_short_interval().await;
    let session = server.admin().listen("/alarms/*").await;

    outlast(short()).await;

    assert_forgotten(&session).await;
    assert_eq!(session.subscribe("/alarms/*").await["error"], "402::Unknown client");
}

#[tokio::test]
async fn session_ends_an_interval_after_its_last_connect() {
    let server = server_with_short_interval().await;
    let session = server.admin().session().await;
    session.glance().await;

    outlast(short()).await;

    assert_forgotten(&session).await;
}

#[tokio::test]
async fn session_does_not_end_while_a_connect_is_held() {
    let (_server, admin, device) = server_with_short_interval().await.with_device("pump").await;
    let session = admin.listen("/alarms/*").await;

    let held = session.hold().await;
    outlast(short() * 2).await;
    admin.raise_alarm(&device, "hot").await;

    assert_eq!(notifications(&held.answer().await).len(), 1);
    assert!(session.is_known().await);
}

#[tokio::test]
async fn other_messages_keep_a_session_alive_too() {
    let server = server_with_short_interval().await;
    let session = server.admin().session().await;

    for _ in 0..8 {
        tokio::time::sleep(short() / 4).await;
        assert_eq!(session.subscribe("/alarms/*").await["successful"], true);
    }

    assert!(session.is_known().await);
}

#[tokio::test]
async fn what_is_published_within_the_interval_is_delivered_by_the_next_connect() {
    let (_server, admin, device, session) =
        TestServer::shared().await.with_listener("pump", "/alarms/*").await;
    session.glance().await;

    let alarm = admin.raise_alarm(&device, "hot").await;

    let answer = session.connect().await;
    assert_eq!(answer[0]["data"]["data"], alarm);
}

#[tokio::test]
async fn interval_asked_for_at_handshake_replaces_the_default() {
    let server = server_with_short_interval().await;
    let longer = server.admin().session_with(json!({"advice": {"interval": 60_000}})).await;
    let usual = server.admin().session_with(json!({"advice": {"interval": 0}})).await;
    let negative = server.admin().session_with(json!({"advice": {"interval": -1}})).await;

    outlast(short()).await;

    assert!(longer.is_known().await);
    assert_forgotten(&usual).await;
    assert_forgotten(&negative).await;
}

#[tokio::test]
async fn interval_asked_for_at_connect_replaces_the_default() {
    let server = server_with_short_interval().await;
    let longer = server.admin().session().await;
    longer.connect_with(json!({"advice": {"timeout": 0, "interval": 60_000}})).await;
    let usual = server.admin().session().await;
    usual.connect_with(json!({"advice": {"timeout": 0, "interval": 0}})).await;

    outlast(short()).await;

    assert!(longer.is_known().await);
    assert_forgotten(&usual).await;
}

#[tokio::test]
async fn shorter_interval_of_the_client_counts() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let session = admin.session_with(json!({"advice": {"interval": 300}})).await;

    outlast(short()).await;

    assert_forgotten(&session).await;
}

#[tokio::test]
async fn queue_does_not_survive_a_new_handshake() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let old = admin.listen("/alarms/*").await;
    admin.raise_alarm(&device, "before").await;

    let new = admin.listen("/alarms/*").await;
    admin.raise_alarm(&device, "after").await;

    let (of_new, of_old) = (new.receive(1).await, old.receive(2).await);
    assert_eq!((of_new.len(), &of_new[0]["data"]["data"]["type"]), (1, &json!("after")));
    assert_eq!(of_old.len(), 2, "the old session goes on");
}

#[tokio::test]
async fn what_came_before_the_subscription_is_not_delivered() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let session = admin.session().await;
    admin.raise_alarm(&device, "before").await;

    session.subscribe("/alarms/*").await;
    admin.raise_alarm(&device, "after").await;

    let told = session.receive(1).await;
    assert_eq!((told.len(), &told[0]["data"]["data"]["type"]), (1, &json!("after")));
}
