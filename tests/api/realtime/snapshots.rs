//! Subscriptions that begin with a list (B-36).

use super::*;

/// Returns the subscription to a channel with a list.
pub(crate) fn snapshot(channel: &str, list: &str, query: &str) -> Value {
    json!({"subscription": channel, "ext": {"com.platform.snapshot": {list: query}}})
}

/// Subscribes to a channel with a list.
pub(crate) async fn subscribe(session: &Session, channel: &str, list: &str, query: &str) -> Value {
    session.ask("/meta/subscribe", snapshot(channel, list, query)).await
}

fn action(notification: &Value) -> &str {
    notification["data"]["realtimeAction"].as_str().expect("an action")
}

/// Returns the objects of a list, and the content of the marker behind it. The list must be all that came.
fn listed(received: &[Value]) -> (Vec<Value>, Value) {
    let (marker, pieces) = received.split_last().expect("a marker");
    assert_eq!(action(marker), "SNAPSHOT_END", "{received:?}");
    let objects = pieces.iter().flat_map(|piece| {
        assert_eq!((action(piece), &piece["channel"]), ("SNAPSHOT", &marker["channel"]), "{piece}");
        piece["data"]["data"].as_array().expect("objects").clone()
    });
    (objects.collect(), marker["data"]["data"].clone())
}

/// Connects until the marker has come.
async fn receive_list(session: &Session) -> Vec<Value> {
    let mut received = Vec::new();
    while received.last().is_none_or(|last| action(last) != "SNAPSHOT_END") {
        received.extend(session.receive(1).await);
    }
    received
}

#[tokio::test]
async fn each_list_comes_as_by_get_and_its_changes_follow() {
    let (_server, admin, agent) = TestServer::shared().await.with_agent("agent").await;
    for n in 0..3 {
        admin.raise_alarm(&agent, &format!("hot{n}")).await;
        admin.create_event(&agent, &format!("opened{n}")).await;
        admin.create("/devicecontrol/operations", &json!({"deviceId": agent, "plat_Restart": {}})).await;
    }
    let operation = json!({"deviceId": agent, "plat_Restart": {}});
    let (alarm, event) = (alarm_of(&agent, "later"), event_of(&agent, "later"));
    for (word, list, path, query, body) in [
        ("alarms", "alarms", "/alarm/alarms", "status=ACTIVE&pageSize=2000", alarm),
        ("events", "events", "/event/events", "pageSize=2000&revert=true", event),
        ("operations", "operations", "/devicecontrol/operations", "status=PENDING", operation),
        (
            "managedobjects",
            "managedObjects",
            "/inventory/managedObjects",
            "type=none",
            json!({"name": "later"}),
        ),
        ("managedobjects", "managedObjects", "/inventory/managedObjects", "", json!({"name": "latest"})),
    ] {
        let expected = admin.read(&format!("{path}?{query}")).await[list].as_array().expect(list).clone();
        let session = admin.session().await;
        let reply = subscribe(&session, &format!("/{word}/*"), list, query).await;
        assert_eq!(reply["successful"], true, "{reply}");

        let received = session.receive(1).await;
        let (objects, marker) = listed(&received);
        assert_eq!(objects, expected, "{list}");
        assert_eq!(marker, json!({"count": expected.len(), "complete": true}), "{list}");
        assert_eq!(received[0]["channel"], format!("/{word}/snapshot"));
        let created = admin.create(path, &body).await;
        let received = session.receive(1).await;
        assert_eq!(
            (action(&received[0]), &received[0]["data"]["data"]["id"]),
            ("CREATE", &created["id"]),
            "{received:?}"
        );
    }
}

#[tokio::test]
async fn list_that_the_page_size_cuts_is_not_complete_and_comes_in_pieces() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    for n in 0..120 {
        admin.create_event(&device, &format!("opened{n}")).await;
    }
    for (size, pieces, complete) in [(119, 2, false), (120, 2, true), (7, 1, false)] {
        let session = admin.session().await;
        let reply = subscribe(&session, "/events/*", "events", &format!("pageSize={size}")).await;
        assert_eq!(reply["successful"], true, "{reply}");
        let received = receive_list(&session).await;
        assert_eq!((received.len(), listed(&received).0.len()), (pieces + 1, size));
        assert_eq!(listed(&received).1, json!({"count": size, "complete": complete}));
    }
}

#[tokio::test]
async fn list_of_a_channel_of_one_object_has_only_this_object() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let other = admin.create_device("other").await;
    let own = admin.raise_alarm(&device, "hot").await;
    admin.raise_alarm(&other, "hot").await;
    for query in ["".to_owned(), format!("source={device}&status=ACTIVE")] {
        let (session, channel) = (admin.session().await, format!("/alarms/{device}"));
        assert_eq!(subscribe(&session, &channel, "alarms", &query).await["successful"], true);
        let received = receive_list(&session).await;
        assert_eq!(
            listed(&received).0,
            [admin.read(&format!("/alarm/alarms/{}", own["id"].as_str().unwrap())).await]
        );
        assert_eq!(received[0]["channel"], channel);
    }
    let session = admin.session().await;
    let reply = subscribe(&session, &format!("/managedobjects/{device}"), "managedObjects", "").await;
    assert_eq!(reply["successful"], true, "{reply}");
    assert_eq!(listed(&receive_list(&session).await).0[0]["id"], device.as_str());
}

#[tokio::test]
async fn sockets_and_clients_that_acknowledge_receive_the_list_too() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let alarm = admin.raise_alarm(&device, "hot").await;
    let (mut socket, client) = Socket::session(&admin).await;
    let mut message = snapshot("/alarms/*", "alarms", "");
    message.as_object_mut().unwrap().extend(
        json!({"id": 9, "channel": "/meta/subscribe", "clientId": client}).as_object().unwrap().clone(),
    );
    assert_eq!(socket.ask(message).await["successful"], true);
    let received = socket.messages(2).await;
    assert_eq!(listed(&received).0[0]["id"], alarm["id"]);

    let session = admin.session_with(json!({"ext": {"ack": true}})).await;
    assert_eq!(subscribe(&session, "/alarms/*", "alarms", "").await["successful"], true);
    for _ in 0..2 {
        // Nothing is acknowledged, so the list comes again.
        let answer = session.connect_with(json!({"ext": {"ack": -1}})).await;
        assert_eq!(listed(notifications(&answer)).0[0]["id"], alarm["id"]);
    }
}

#[tokio::test]
async fn subscription_that_cannot_begin_with_its_list_is_denied_and_says_why() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let session = admin.session().await;
    let one = format!("/alarms/{device}");
    let cases: [(&str, Value, &[&str]); 12] = [
        ("/alarms/*", json!({"alarms": "status=BROKEN"}), &["422::", "status", "BROKEN", "ACTIVE"]),
        ("/alarms/*", json!({"alarms": "pageSize=0"}), &["422::", "pageSize", "0"]),
        ("/events/*", json!({"events": "dateFrom=yesterday"}), &["422::", "dateFrom", "yesterday"]),
        ("/managedobjects/*", json!({"managedObjects": "query=$filter=("}), &["422::"]),
        ("/alarms/*", json!({"audits": ""}), &["400::", "audits", "'operations'"]),
        ("/alarms/*", json!({"alarms": 7}), &["400::", "7", "as text"]),
        ("/alarms/*", json!("alarms"), &["400::", "alarms", "'managedObjects'"]),
        ("/events/*", json!({"alarms": ""}), &["400::", "'alarms'", "'/events/*'", "/alarms/*"]),
        ("/measurements/*", json!({"events": ""}), &["400::", "'/measurements/*'", "/events/*"]),
        ("/alarmsWithChildren/1", json!({"alarms": ""}), &["400::", "'/alarmsWithChildren/1'"]),
        (&one, json!({"alarms": "source=1"}), &["422::", "source", "1", &device]),
        (&one, json!({"alarms": "withSourceDevices=true"}), &["422::", &one]),
    ];
    for (channel, extension, parts) in &cases {
        let message = json!({"subscription": channel, "ext": {"com.platform.snapshot": extension}});
        let reply = session.ask("/meta/subscribe", message).await;
        let error = reply["error"].as_str().unwrap_or_default();
        assert_eq!(reply["successful"], false, "{extension}: {reply}");
        assert!(parts.iter().all(|part| error.contains(part)), "{channel} {extension}: {error}");
    }
    let both =
        json!({"subscription": ["/alarms/*", "/events/*"], "ext": {"com.platform.snapshot": {"alarms": ""}}});
    assert!(session.ask("/meta/subscribe", both).await["error"].as_str().unwrap().starts_with("400::"));
    let weak = server.user_with("reader", &["ROLE_EVENT_READ"]).await;
    let denied = subscribe(&weak.session().await, "/alarms/*", "alarms", "").await;
    assert_eq!(denied["error"], "403::subscribe_denied", "{denied}");

    admin.raise_alarm(&device, "hot").await;
    assert!(notifications(&session.glance().await).is_empty(), "no denied subscription is in effect");
    assert_eq!(subscribe(&session, "/alarms/*", "alarms", "").await["successful"], true);
    assert_eq!(listed(&receive_list(&session).await).0.len(), 1);
}

#[tokio::test]
async fn list_that_is_larger_than_the_queue_is_denied_and_the_session_stays() {
    let (_server, admin, device) = TestServer::start_with(|settings| settings.limits.queued_bytes = 64 << 10)
        .await
        .with_device("pump")
        .await;
    for n in 0..4 {
        let mut event = event_of(&device, &format!("opened{n}"));
        event["plat_Big"] = json!("x".repeat(30_000));
        admin.create("/event/events", &event).await;
    }
    let session = admin.session().await;
    let reply = subscribe(&session, "/events/*", "events", "").await;
    let error = reply["error"].as_str().expect("an error");
    assert!(error.starts_with("413::") && error.contains("65536") && error.contains("pageSize"), "{error}");

    let reply = subscribe(&session, "/events/*", "events", "pageSize=1").await;
    assert_eq!(reply["successful"], true, "{reply}");
    let received = receive_list(&session).await;
    assert_eq!(listed(&received).1, json!({"count": 1, "complete": false}));
}

#[tokio::test]
async fn reader_that_fetches_neither_list_nor_changes_ends_as_any_slow_reader() {
    let (_server, admin, device) =
        TestServer::start_with(|settings| settings.limits.queued_notifications = 20)
            .await
            .with_device("pump")
            .await;
    let session = admin.session().await;
    assert_eq!(subscribe(&session, "/events/*", "events", "").await["successful"], true);
    for n in 0..30 {
        admin.create_event(&device, &format!("opened{n}")).await;
    }
    assert!(!session.is_known().await, "the session ended with 402");
}

#[tokio::test]
async fn list_of_a_subscribed_channel_comes_again_and_the_subscription_outlives_a_denied_one() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let session = admin.listen("/alarms/*").await;
    let alarm = admin.raise_alarm(&device, "hot").await;
    assert_eq!(session.receive(1).await[0]["data"]["data"]["id"], alarm["id"]);
    assert_eq!(subscribe(&session, "/alarms/*", "alarms", "status=BROKEN").await["successful"], false);
    for _ in 0..2 {
        assert_eq!(subscribe(&session, "/alarms/*", "alarms", "").await["successful"], true);
        assert_eq!(listed(&receive_list(&session).await).0[0]["id"], alarm["id"]);
    }
    let later = admin.raise_alarm(&device, "later").await;
    assert_eq!(session.receive(1).await[0]["data"]["data"]["id"], later["id"]);
    assert_eq!(session.unsubscribe("/alarms/*").await["successful"], true);
    admin.raise_alarm(&device, "latest").await;
    assert!(notifications(&session.glance().await).is_empty());
}

#[tokio::test]
async fn filter_applies_to_the_changes_and_not_to_the_list() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    admin.raise_alarm(&device, "before").await;
    let session = admin.session().await;
    let mut both = snapshot("/alarms/*", "alarms", "status=ACTIVE");
    both["ext"]["com.platform.filter"] = json!("type eq 'wanted'");
    let reply = session.ask("/meta/subscribe", both).await;
    assert_eq!(reply["successful"], true, "{reply}");

    let (objects, _) = listed(&receive_list(&session).await);
    assert_eq!((objects.len(), &objects[0]["type"]), (1, &json!("before")));
    for kind in ["unwanted", "wanted"] {
        admin.raise_alarm(&device, kind).await;
    }
    let received = session.receive(1).await;
    assert_eq!((received.len(), &received[0]["data"]["data"]["type"]), (1, &json!("wanted")));
}

#[tokio::test]
async fn filter_of_a_channel_changes_with_its_list_and_stays_if_that_is_denied() {
    let server = TestServer::start_with(|settings| settings.limits.queued_bytes = 64 << 10).await;
    let (_server, admin, device) = server.with_device("pump").await;
    for n in 0..3 {
        let mut alarm = alarm_of(&device, &format!("large{n}"));
        alarm["plat_Big"] = json!("x".repeat(30_000));
        admin.create(ALARMS, &alarm).await;
    }
    let session = admin.session().await;
    let filter = |kind: &str| json!(format!("type eq '{kind}'"));
    let first = json!({"subscription": "/alarms/*", "ext": {"com.platform.filter": filter("first")}});
    assert_eq!(session.ask("/meta/subscribe", first).await["successful"], true);
    let with_list = async |query: &str| {
        let mut both = snapshot("/alarms/*", "alarms", query);
        both["ext"]["com.platform.filter"] = filter("second");
        session.ask("/meta/subscribe", both).await["successful"].clone()
    };
    let next = async || {
        for kind in ["first", "second"] {
            admin.raise_alarm(&device, kind).await;
        }
        let received = session.receive(1).await;
        assert_eq!(received.len(), 1, "{received:?}");
        received[0]["data"]["data"]["type"].clone()
    };

    assert_eq!(with_list("pageSize=2000").await, false);
    assert_eq!(next().await, "first");

    assert_eq!(with_list("pageSize=1").await, true);
    listed(&receive_list(&session).await);
    assert_eq!(next().await, "second");
}
