//! Ten planted losses, each of which the diagnosis explains: the test reads nothing else.

use super::*;

/// Raises an alarm while a trace of its device runs, and returns what the diagnosis says for a user.
async fn findings_of_alarm(admin: &Caller, device: &str, user: &str) -> Vec<(String, String)> {
    let alarm = admin.raise_alarm(device, "leak").await;
    findings(admin, &format!("id={}&user={user}", id(&alarm))).await
}

#[tokio::test]
async fn other_channel() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    trace(&admin, json!({"device": device})).await;
    let mia = server.user_with("mia", &["ROLE_EVENT_READ"]).await;
    mia.listen("/events/*").await;

    let findings = findings_of_alarm(&admin, &device, "mia").await;

    assert_found(&findings, "PUBLISHED", &["was stored by", "published"]);
    assert_found(&findings, "NOT_SUBSCRIBED", &["/events/*", &format!("/alarms/{device}")]);
    assert_not_found(&findings, "SENT");
}

#[tokio::test]
async fn missing_role() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    trace(&admin, json!({"user": "mia"})).await;
    let mia = server.user_with("mia", &["ROLE_EVENT_READ"]).await;
    let reply = mia.session().await.subscribe("/alarms/*").await;
    assert_eq!(reply["successful"], false, "{reply}");

    let findings = findings_of_alarm(&admin, &device, "mia").await;

    assert_found(&findings, "DENIED", &["/alarms/*", "403::subscribe_denied", "mia", "ROLE_ALARM_READ"]);
    assert_found(&findings, "NOT_SUBSCRIBED", &["no channel"]);
}

#[tokio::test]
async fn filter() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    trace(&admin, json!({"device": device})).await;
    let mia = server.user_with("mia", &["ROLE_ALARM_READ"]).await;
    let session = mia.session().await;
    let filter = "severity eq 'CRITICAL' and type eq 'smoke'";
    let ext = json!({"subscription": "/alarms/*", "ext": {"com.platform.filter": filter}});
    assert_eq!(session.ask("/meta/subscribe", ext).await["successful"], true);

    let findings = findings_of_alarm(&admin, &device, "mia").await;

    assert_found(&findings, "FILTER", &["/alarms/*", filter]);
    assert_not_found(&findings, "NOT_SUBSCRIBED");
}

#[tokio::test]
async fn slow_reader() {
    let server = TestServer::start_with(|settings| settings.limits.queued_notifications = 3).await;
    let (server, admin, device) = server.with_device("pump").await;
    trace(&admin, json!({"device": device})).await;
    let mia = server.user_with("mia", &["ROLE_ALARM_READ"]).await;
    mia.listen("/alarms/*").await;
    let mut alarms = Vec::new();
    for n in 0..6 {
        alarms.push(id(&admin.raise_alarm(&device, &format!("leak {n}")).await));
    }

    until_without_session(&admin, "mia").await;

    let (queued, later) = (&alarms[0], &alarms[5]);
    let queued = findings(&admin, &format!("id={queued}&user=mia")).await;
    assert_found(&queued, "SESSION_ENDED", &["waited in the queue", "the queue exceeded a limit"]);
    let later = findings(&admin, &format!("id={later}&user=mia")).await;
    assert_found(&later, "SESSION_ENDED", &["The change came later", "the queue exceeded a limit"]);
    assert_found(&later, "NO_SESSION", &["no session now"]);
}

#[tokio::test]
async fn cut_connection() {
    let interval = Duration::from_secs(1);
    let server = TestServer::start_with(|settings| settings.limits.session_interval = interval).await;
    let (server, admin, device) = server.with_device("pump").await;
    trace(&admin, json!({"user": "mia"})).await;
    let mia = server.user_with("mia", &["ROLE_ALARM_READ"]).await;
    let session = mia.listen("/alarms/*").await;
    session.hold().await.abort();
    until_without_session(&admin, "mia").await;

    let findings = findings_of_alarm(&admin, &device, "mia").await;

    assert_found(&findings, "SESSION_ENDED", &["The change came later", "held no connect for its interval"]);
}

#[tokio::test]
async fn moved_session() {
    let [north, south] = TestServer::north_and_south().await;
    let (north, admin, device) = north.with_device("pump").await;
    trace(&admin, json!({"user": "mia"})).await;
    let mia = north.user_with("mia", &["ROLE_ALARM_READ"]).await;
    let session = mia.listen("/alarms/*").await;
    let queued = admin.raise_alarm(&device, "queued").await;
    let moved = south.caller("mia", ADMIN_PASSWORD).resume(&session.client);
    let received = moved.glance_until_told().await;
    assert_eq!(notifications(&received)[0]["data"]["data"]["id"], queued["id"]);

    let findings = findings(&admin, &format!("id={}&user=mia", id(&queued))).await;

    assert_found(&findings, "SENT", &["by south", "moved"]);
    assert_found(&findings, "SESSION", &["at south", "/alarms/*"]);
    assert_not_found(&findings, "SESSION_ENDED");
}

#[tokio::test]
async fn lapsed_consumer() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let consumer = json!({"name": "slow", "channels": ["/events/*"], "maxBytes": 65536});
    admin.create("/notification/consumers", &consumer).await;
    let mut events = Vec::new();
    for _ in 0..4 {
        let mut event = event_of(&device, "large");
        event["text"] = json!("x".repeat(20_000));
        events.push(id(&admin.create(EVENTS, &event).await));
    }
    until("the consumer lapses", async || {
        admin.read("/notification/consumers/slow").await["state"] == "LAPSED"
    })
    .await;

    let findings = findings(&admin, &format!("id={}&consumer=slow", events[0])).await;

    assert_found(&findings, "LAPSED", &["slow", "larger or older than its bounds"]);
    assert_found(&findings, "CONSUMER", &["Nobody reads"]);
    assert_not_found(&findings, "ACKNOWLEDGED");
}

#[tokio::test]
async fn module_that_is_not_deployed() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    trace(&admin, json!({"user": "mia"})).await;
    let mia = server.user_with("mia", &["ROLE_NOTIFICATION_READ"]).await;
    let reply = mia.session().await.subscribe("/pumps/hot").await;
    assert_eq!(reply["successful"], false, "{reply}");

    let findings = findings(&admin, &format!("id={device}&user=mia")).await;

    assert_found(&findings, "DENIED", &["/pumps/hot", "no module of this name is deployed"]);
}

#[tokio::test]
async fn change_that_nothing_stores() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    trace(&admin, json!({"device": device})).await;
    let consumer = json!({"name": "billing", "channels": ["/events/*"]});
    admin.create("/notification/consumers", &consumer).await;
    let transient = admin.request("POST", EVENTS).header("X-Platform-Processing-Mode", "TRANSIENT");
    transient.accepting_json().json(&event_of(&device, "door")).send().await.expect(201);

    let findings = findings(&admin, &format!("id={device}&consumer=billing")).await;

    assert_found(&findings, "TRANSIENT", &["not in the journal", "no consumer receives it"]);
}

#[tokio::test]
async fn object_of_another_tenant() {
    let (_other, _, device) = TestServer::shared().await.with_device("theirs").await;
    let (server, admin) = TestServer::shared().await.with_admin();
    trace(&admin, json!({})).await;
    let mia = server.user_with("mia", &["ROLE_ALARM_READ"]).await;
    mia.listen("/alarms/*").await;

    let findings = findings(&admin, &format!("id={device}&user=mia")).await;

    assert_found(&findings, "UNKNOWN_OBJECT", &[&device, "Nothing in this tenant", "other tenants"]);
    assert_found(&findings, "SESSION", &["mia", "/alarms/*"]);
}

#[tokio::test]
async fn nothing_is_lost_if_the_client_has_acknowledged() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    trace(&admin, json!({"device": device})).await;
    let mia = server.user_with("mia", &["ROLE_ALARM_READ"]).await;
    let session = mia.session_with(json!({"ext": {"ack": true}})).await;
    assert_eq!(session.subscribe("/alarms/*").await["successful"], true);
    let alarm = id(&admin.raise_alarm(&device, "leak").await);
    let query = format!("id={alarm}&user=mia");
    eventually("the alarm waits", async || {
        findings(&admin, &query).await.into_iter().find(|(cause, _)| cause == "WAITING")
    })
    .await;
    let ack = async |batch: Value| {
        session.connect_with(json!({"advice": {"timeout": 0}, "ext": {"ack": batch}})).await
    };

    let received = ack(json!(0)).await;
    assert_found(&findings(&admin, &query).await, "SENT", &["passed to the connection"]);
    ack(reply(&received)["ext"]["ack"].clone()).await;

    assert_found(&findings(&admin, &query).await, "ACKNOWLEDGED", &["The client acknowledged it"]);
}

#[tokio::test]
async fn change_that_the_list_of_the_subscription_shows_is_no_loss() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    trace(&admin, json!({"device": device})).await;
    let mia = server.user_with("mia", &["ROLE_ALARM_READ"]).await;
    let session = mia.session().await;
    let list = json!({"subscription": "/alarms/*", "ext": {"com.platform.snapshot": {"alarms": ""}}});
    let alarm = admin.raise_alarm(&device, "leak").await;
    assert_eq!(session.ask("/meta/subscribe", list).await["successful"], true);
    session.receive(2).await;

    let findings = findings(&admin, &format!("id={}&user=mia", id(&alarm))).await;

    assert_found(&findings, "NOT_SUBSCRIBED", &["no channel"]);
    assert_found(&findings, "SESSION", &["/alarms/*"]);
}

#[tokio::test]
async fn right_that_is_withdrawn() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    trace(&admin, json!({"user": "mia"})).await;
    let mia = server.user_with("mia", &["ROLE_ALARM_READ"]).await;
    mia.listen("/alarms/*").await;
    let user = format!("/user/{}/users/mia", server.tenant());
    admin.put(&user, &json!({"enabled": false})).await.expect(200);

    let findings = findings_of_alarm(&admin, &device, "mia").await;

    assert_found(&findings, "SESSION_ENDED", &["its user was changed, disabled or deleted"]);
    assert_found(&findings, "NO_USER", &["mia", "disabled"]);
}
