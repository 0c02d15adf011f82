//! Bayeux sessions whose queue is a consumer.

use super::*;

pub(super) fn consuming(name: &str) -> Value {
    json!({"ext": {"ack": true, "com.platform.consumer": {"name": name}}})
}

/// Connects, acknowledges a batch, and returns the notifications with the number of their batch.
pub(super) async fn connect(session: &Session, acknowledged: i64) -> (Vec<Value>, i64) {
    let more = json!({"ext": {"ack": acknowledged}, "advice": {"timeout": 5000}});
    let answer = session.connect_with(more).await;
    let reply = reply(&answer);
    assert_eq!(reply["successful"], true, "{reply}");
    (notifications(&answer).to_vec(), reply["ext"]["ack"].as_i64().unwrap())
}

pub(super) fn kinds(notifications: &[Value]) -> Vec<&str> {
    notifications.iter().map(|one| one["data"]["data"]["type"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn session_continues_where_the_one_before_acknowledged() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    consumer(&admin, "queue", &["/events/*"]).await;
    for kind in ["one", "two"] {
        admin.create_event(&device, kind).await;
    }
    let handshake = admin.handshake(consuming("queue")).await;
    assert_eq!(handshake["ext"]["com.platform.consumer"]["recovered"], true, "{handshake}");
    let session = admin.resume(handshake["clientId"].as_str().unwrap());
    let (received, number) = connect(&session, 0).await;
    assert_eq!(kinds(&received), ["one", "two"]);
    let position = received[1]["ext"]["com.platform.consumer"]["position"].as_i64().unwrap();
    assert_eq!(received[0]["channel"], format!("/events/{device}"));
    admin.create_event(&device, "three").await;
    let (received, _) = connect(&session, number).await;
    assert_eq!(kinds(&received), ["three"]);
    until("the position has moved", async || shown(&admin, "queue").await["position"] == position).await;

    // The client is gone without an acknowledgement of the last one; another session continues.
    let again = admin.session_with(consuming("queue")).await;
    let (received, _) = connect(&again, 0).await;
    assert_eq!(kinds(&received), ["three"]);
}

#[tokio::test]
async fn session_ends_with_the_right_to_its_channels_and_with_no_other_change_of_rights() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let user = server.user_with("reader", &["ROLE_ALARM_READ", "ROLE_EVENT_READ"]).await;
    let roles = "/user/<tenant>/users/reader/roles";
    consumer(&user, "queue", &["/events/*"]).await;
    let session = user.session_with(consuming("queue")).await;

    admin.delete(&format!("{roles}/ROLE_ALARM_READ")).await.expect(204);
    let alarms = json!({"role": {"self": "/user/roles/ROLE_ALARM_READ"}});
    admin.post(roles, &alarms).await.expect(201);
    admin.create_event(&device, "one").await;
    assert_eq!(kinds(&connect(&session, 0).await.0), ["one"]);

    admin.delete(&format!("{roles}/ROLE_EVENT_READ")).await.expect(204);
    assert!(!session.is_known().await);
}

#[tokio::test]
async fn more_notifications_than_a_queue_holds_arrive_in_order() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    consumer(&admin, "queue", &["/events/*"]).await;
    let write = async |n: usize| drop(admin.create_event(&device, &n.to_string()).await);
    for chunk in (0..700).collect::<Vec<usize>>().chunks(50) {
        for n in chunk {
            write(*n).await;
        }
    }
    let session = admin.session_with(consuming("queue")).await;
    let (mut received, mut number) = (Vec::new(), 0);
    while received.len() < 700 {
        let (more, batch) = connect(&session, number).await;
        (number, received) = (batch, [received, more].concat());
    }
    let expected: Vec<String> = (0..700).map(|n| n.to_string()).collect();
    assert_eq!(kinds(&received), expected);
}

#[tokio::test]
async fn handshake_is_refused_without_acknowledgements_and_for_consumers_of_others() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let other = server.user_with("other", &["ROLE_ALARM_READ"]).await;
    consumer(&other, "theirs", &["/alarms/*"]).await;
    consumer(&admin, "mine", &["/alarms/*"]).await;
    let without = json!({"ext": {"com.platform.consumer": {"name": "mine"}}});
    let rows = [
        (without, "400::"),
        (consuming("theirs"), "404::"),
        (consuming("unknown"), "404::"),
        (json!({"ext": {"ack": true, "com.platform.consumer": "mine"}}), "404::"),
        (json!({"ext": {"ack": true, "com.platform.consumer": {"name": 7}}}), "404::"),
    ];
    for (more, error) in rows {
        let refused = admin.handshake(more.clone()).await;
        assert_eq!(refused["successful"], false, "{more}: {refused}");
        assert!(refused["error"].as_str().unwrap().starts_with(error), "{more}: {refused}");
        assert_eq!(refused["advice"]["reconnect"], "none");
    }
}

#[tokio::test]
async fn subscriptions_of_the_session_are_those_of_the_consumer() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    consumer(&admin, "queue", &["/events/*"]).await;
    let session = admin.session_with(consuming("queue")).await;
    assert_eq!(session.subscribe("/events/*").await["successful"], true);
    assert_eq!(session.subscribe("/alarms/*").await["successful"], false);
    assert_eq!(session.unsubscribe("/events/*").await["successful"], true);
    admin.raise_alarm(&device, "not for it").await;
    admin.create_event(&device, "once").await;
    let (received, number) = connect(&session, 0).await;
    assert_eq!(kinds(&received), ["once"]);
    admin.create_event(&device, "again").await;
    assert_eq!(kinds(&connect(&session, number).await.0), ["again"]);
}

#[tokio::test]
async fn older_session_ends_when_another_reader_takes_over() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    consumer(&admin, "queue", &["/events/*"]).await;
    let session = admin.session_with(consuming("queue")).await;
    let held = session.hold_with(json!({"ext": {"ack": 0}}));
    let (answer, _) = tokio::join!(async { held.await.answer().await }, async {
        until("the session reads", async || shown(&admin, "queue").await["reader"]["way"] == "BAYEUX").await;
        tokio::time::sleep(Duration::from_millis(200)).await;
        batch(&admin, "queue", "").await
    });
    let reply = reply(&answer);
    assert!(reply["error"].as_str().unwrap().starts_with("409::"), "{reply}");
    assert_eq!(reply["advice"]["reconnect"], "none");
    assert!(!session.is_known().await);
}

#[tokio::test]
async fn one_of_two_sessions_that_begin_at_once_ends() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    consumer(&admin, "queue", &["/events/*"]).await;
    let begin = async || admin.session_with(consuming("queue")).await;
    for round in 0..20 {
        let (one, other) = tokio::join!(begin(), begin());
        let (one, other) =
            (async { one.hold().await.answer().await }, async { other.hold().await.answer().await });
        let first = async {
            tokio::select! { answer = one => answer, answer = other => answer }
        };
        let answer = soon("the end of the older session", first).await;
        let reply = reply(&answer);
        assert_eq!(reply["successful"], false, "round {round}: {reply}");
    }
}

#[tokio::test]
async fn handshake_after_a_lapse_names_the_gap() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    consumer(&admin, "queue", &["/events/*"]).await;
    admin.create_event(&device, "lost").await;
    server.execute("UPDATE consumers SET lapsed_at = now() WHERE tenant = $1", &[]).await;
    let handshake = admin.handshake(consuming("queue")).await;
    let state = &handshake["ext"]["com.platform.consumer"];
    assert_eq!((&state["recovered"], state["missed"]["to"].is_i64()), (&json!(false), true), "{handshake}");
    let session = admin.resume(handshake["clientId"].as_str().unwrap());
    admin.create_event(&device, "next").await;
    let (received, _) = connect(&session, 0).await;
    assert_eq!(kinds(&received), ["next"]);
    // The connect shows that the client has the reply to its handshake.
    until("the gap is acknowledged", async || {
        let row = server.rows("SELECT missed_to IS NULL FROM consumers WHERE tenant = $1", &[]).await;
        row[0].get(0)
    })
    .await;
}
