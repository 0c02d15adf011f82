//! The journal: it has everything that sessions receive, once, without a gap in its positions.

use super::*;

/// Makes writes of every kind, one after the other.
async fn write_everything(admin: &Caller, device: &str) {
    let changed = |path: &str, body: Value| {
        let (admin, path) = (admin.clone(), path.to_owned());
        async move { admin.put(&path, &body).await.expect(200) }
    };
    let child = admin.create_device("child").await;
    let objects = "/inventory/managedObjects";
    changed(&format!("{objects}/{child}"), json!({"name": "renamed"})).await;
    let children = format!("{objects}/{device}/childDevices");
    admin.post(&children, &json!({"managedObject": {"id": child}})).await.expect(201);
    admin.delete(&format!("{children}/{child}")).await.expect(204);
    let asset = admin
        .request("POST", &format!("{objects}/{device}/childAssets"))
        .header("Content-Type", &format!("{MEDIA}managedObject+json"));
    asset.body(json!({"name": "asset"}).to_string()).send().await.expect(201);

    let alarm = admin.raise_alarm(device, "leak").await;
    admin.raise_alarm(device, "leak").await;
    changed(&format!("/alarm/alarms/{}", alarm["id"].as_str().unwrap()), json!({"status": "ACKNOWLEDGED"}))
        .await;
    admin.put(&format!("/alarm/alarms?source={device}"), &json!({"status": "CLEARED"})).await.expect(200);
    admin.delete(&format!("/alarm/alarms?source={device}")).await.expect(204);

    let event = admin.create_event(device, "opened").await;
    let path = format!("/event/events/{}", event["id"].as_str().unwrap());
    changed(&path, json!({"text": "opened twice"})).await;
    admin.delete(&path).await.expect(204);

    for value in 0..3 {
        admin.create(MEASUREMENTS, &measurement_of(device, "2026-01-01T00:00:00Z", value)).await;
    }
    admin.delete(&format!("/measurement/measurements?source={device}")).await.expect(204);

    changed(&format!("{objects}/{device}"), json!({"com_platform_model_Agent": {}})).await;
    let operation = json!({"deviceId": device, "plat_Restart": {}});
    let operation = admin.create("/devicecontrol/operations", &operation).await;
    let path = format!("/devicecontrol/operations/{}", operation["id"].as_str().unwrap());
    changed(&path, json!({"status": "EXECUTING"})).await;
    changed(&path, json!({"status": "SUCCESSFUL"})).await;
    admin.delete(&format!("/devicecontrol/operations?deviceId={device}")).await.expect(204);
    admin.delete(&format!("{objects}/{child}")).await.expect(204);
}

/// Returns the channel, action and data of notifications by channel. The order is that of each source.
fn by_channel(notifications: &[Value]) -> Vec<(String, Vec<Value>)> {
    let mut channels: Vec<(String, Vec<Value>)> = Vec::new();
    for notification in notifications {
        let channel = notification["channel"].as_str().unwrap();
        match channels.iter_mut().find(|(known, _)| known == channel) {
            Some((_, data)) => data.push(notification["data"].clone()),
            None => channels.push((channel.to_owned(), vec![notification["data"].clone()])),
        }
    }
    channels.sort_by(|(one, _), (other, _)| one.cmp(other));
    channels
}

#[tokio::test]
async fn consumer_receives_what_a_session_receives() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let session = admin.session().await;
    for channel in EVERYTHING {
        session.subscribe(channel).await;
    }
    consumer(&admin, "everything", &EVERYTHING).await;

    write_everything(&admin, &device).await;
    admin.create_event(&device, "last").await;

    let is_last = |notification: &Value| notification["data"]["data"]["type"] == "last";
    let mut by_session = Vec::new();
    while !by_session.iter().any(is_last) {
        by_session.extend(session.receive(1).await);
    }
    let by_consumer = read(&admin, "everything", by_session.len()).await;
    let begin = by_consumer[0]["position"].as_i64().unwrap();
    for (at, notification) in by_consumer.iter().enumerate() {
        assert_eq!(notification["position"], begin + at as i64, "positions have no gap");
    }
    assert_eq!(by_channel(&by_consumer), by_channel(&by_session));
}

#[tokio::test]
async fn writes_that_are_not_stored_or_notify_nobody_are_not_in_the_journal() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    consumer(&admin, "reader", &EVERYTHING).await;
    for mode in ["TRANSIENT", "QUIESCENT", "CEP"] {
        let request = admin.request("POST", EVENTS).header("X-PLATFORM-PROCESSING-MODE", mode);
        request.json(&event_of(&device, mode)).send().await.expect(201);
    }
    admin.create_event(&device, "PERSISTENT").await;

    assert_eq!(types(&batch(&admin, "reader", "wait=5").await), ["PERSISTENT"]);
}

#[tokio::test]
async fn every_write_after_the_creation_is_delivered_while_others_write() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let writing = (0..8).map(|writer| {
        let (admin, device) = (admin.clone(), device.clone());
        tokio::spawn(async move {
            let mut acknowledged = Vec::new();
            for n in 0..60 {
                let (begun, kind) = (Instant::now(), format!("{writer}-{n}"));
                admin.create_event(&device, &kind).await;
                acknowledged.push((begun, kind));
            }
            acknowledged
        })
    });
    let writing: Vec<_> = writing.collect();
    until("some are written", async || server.count("events").await > 40).await;
    consumer(&admin, "late", &["/events/*"]).await;
    let created = Instant::now();
    let written: Vec<_> = join_all(writing).await.into_iter().flat_map(Result::unwrap).collect();
    admin.create_event(&device, "last").await;

    let (mut received, mut acknowledged): (Vec<Value>, String) = (Vec::new(), String::new());
    while received.last().is_none_or(|last| last["data"]["data"]["type"] != "last") {
        let batch = batch(&admin, "late", &format!("maxCount=50&wait=5{acknowledged}")).await;
        received.extend_from_slice(sent(&batch));
        acknowledged = format!("&acknowledge={}", batch["position"]);
    }

    let kinds: Vec<_> = received.iter().map(|one| one["data"]["data"]["type"].as_str().unwrap()).collect();
    let after = written.iter().filter(|(begun, _)| *begun > created);
    let missing: Vec<_> = after.filter(|(_, kind)| !kinds.contains(&kind.as_str())).collect();
    assert!(missing.is_empty(), "{missing:?} of {} are missing", written.len());
    let begin = received[0]["position"].as_i64().unwrap();
    assert!(
        received.iter().zip(begin..).all(|(one, position)| one["position"] == position),
        "no gap, none twice"
    );
}

#[tokio::test]
async fn journal_ends_with_the_last_consumer_and_positions_are_not_used_again() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    consumer(&admin, "one", &["/events/*"]).await;
    admin.create_event(&device, "a").await;
    let before = batch(&admin, "one", "wait=5").await["position"].as_i64().unwrap();
    admin.delete(&format!("{CONSUMERS}/one")).await.expect(204);
    let written = server.count("journal_notifications").await;
    for kind in ["b", "c"] {
        admin.create_event(&device, kind).await;
    }
    assert_eq!(server.count("journal_notifications").await, written, "nobody reads it");

    let body = json!({"name": "two", "channels": ["/events/*"], "start": "earliest"});
    admin.create(CONSUMERS, &body).await;
    admin.create_event(&device, "d").await;
    let batch = batch(&admin, "two", "wait=5").await;
    assert_eq!((types(&batch), positions(&batch)), (vec!["d".to_owned()], vec![before + 1]));
}

#[tokio::test]
async fn positions_that_the_journal_has_no_longer_are_reported() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    consumer(&admin, "reader", &["/events/*"]).await;
    for kind in ["one", "two", "three"] {
        admin.create_event(&device, kind).await;
    }
    let first = shown(&admin, "reader").await["newest"].as_i64().unwrap() - 2;
    let lost = "DELETE FROM journal_notifications WHERE tenant = $1 AND position IN ($2, $3)";
    assert_eq!(server.execute(lost, &[&first, &(first + 1)]).await, 2);

    let gap = batch(&admin, "reader", "").await;
    assert_eq!(gap["missed"], json!({"from": first, "to": first + 1}));
    let rest = batch(&admin, "reader", &format!("acknowledge={}", first + 1)).await;
    assert_eq!((types(&rest), &rest["recovered"]), (vec!["three".to_owned()], &json!(true)));
}
