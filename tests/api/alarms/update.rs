//! PUT of an alarm and its audit record (docs/rules.md#alarms; ).

use super::*;

async fn put(caller: &Caller, alarm: &Value, change: Value) -> crate::harness::Response {
    caller.put(alarm["self"].as_str().unwrap(), &change).await
}

#[tokio::test]
async fn put_changes_text_status_severity_and_fragments_and_ignores_the_rest() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let other = admin.create_device("motor").await;
    let alarm = admin.raise_alarm(&device, "hot").await;

    let change = json!({
        "text": "Cooler", "status": "ACKNOWLEDGED", "severity": "MINOR", "plat_Detail": {"x": 1},
        "type": "cold", "time": "not a time", "source": {"id": other}, "count": 7, "id": "1", "self": "x",
        "creationTime": "x", "firstOccurrenceTime": "x", "history": "x",
    });
    let answer = put(&admin, &alarm, change).await;

    let mut expected = alarm.clone();
    for (member, value) in [
        ("text", json!("Cooler")),
        ("status", json!("ACKNOWLEDGED")),
        ("severity", json!("MINOR")),
        ("plat_Detail", json!({"x": 1})),
    ] {
        expected[member] = value;
    }
    assert_eq!((answer.status, answer.json()), (200, expected.clone()));
    assert_eq!(admin.read(alarm["self"].as_str().unwrap()).await, expected);
}

#[tokio::test]
async fn change_writes_one_audit_record() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let mut body = alarm_of(&admin.create_device("pump").await, "hot");
    body["plat_Old"] = json!({"x": 1});
    let alarm = admin.create("/alarm/alarms", &body).await;

    let change = json!({"status": "ACKNOWLEDGED", "severity": "CRITICAL", "plat_Old": null, "plat_New": [1]});
    put(&admin, &alarm, change).await;

    let records = server.audit_records(alarm["id"].as_str().unwrap()).await;
    let changes = json!([
        {"attribute": "status", "type": "String", "previousValue": "ACTIVE", "newValue": "ACKNOWLEDGED",
         "changeType": "REPLACED"},
        {"attribute": "severity", "type": "String", "previousValue": "MAJOR", "newValue": "CRITICAL",
         "changeType": "REPLACED"},
        {"attribute": "plat_Old", "type": "Object", "previousValue": {"x": 1}, "newValue": null,
         "changeType": "REMOVED"},
        {"attribute": "plat_New", "type": "Object", "previousValue": null, "newValue": [1], "changeType": "ADDED"},
    ]);
    let record = json!({"type": "Alarm", "activity": "Alarm updated", "user": "admin", "severity": "critical",
        "changes": changes});
    assert_eq!(records, [record]);
}

#[tokio::test]
async fn audit_record_names_the_user_who_changed() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let alarm = admin.raise_alarm(&admin.create_device("pump").await, "hot").await;
    let joe = server.user_with("joe", &["ROLE_ALARM_ADMIN"]).await;

    put(&joe, &alarm, json!({"text": "Cooler"})).await;
    put(&admin, &alarm, json!({"text": "Cold"})).await;

    let records = server.audit_records(alarm["id"].as_str().unwrap()).await;
    let users: Vec<_> = records.iter().map(|record| record["user"].as_str().unwrap()).collect();
    assert_eq!(users, ["joe", "admin"]);
}

#[tokio::test]
async fn identical_put_changes_nothing() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let mut body = alarm_of(&device, "hot");
    body["plat_Detail"] = json!({"a": 1, "b": 2.0});
    let alarm = admin.create("/alarm/alarms", &body).await;
    let session = admin.listen("/alarms/*").await;

    let as_read = put(&admin, &alarm, alarm.clone()).await;
    let reordered =
        put(&admin, &alarm, json!({"plat_Detail": {"b": 2.0, "a": 1}, "plat_Unknown": null})).await;
    let empty = put(&admin, &alarm, json!({})).await;
    put(&admin, &alarm, json!({"text": "Cooler"})).await;

    for answer in [as_read, reordered, empty] {
        assert_eq!((answer.status, answer.json()), (200, alarm.clone()));
    }
    assert_eq!(server.count("audit_records").await, 1, "of the last change only");
    let told = session.receive(1).await;
    assert_eq!((told.len(), &told[0]["data"]["data"]["text"]), (1, &json!("Cooler")));
}

#[tokio::test]
async fn change_is_published_as_update_with_the_whole_alarm() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let alarm = admin.raise_alarm(&device, "hot").await;
    let session = admin.listen(&format!("/alarms/{device}")).await;

    let changed = put(&admin, &alarm, json!({"status": "CLEARED"})).await.json();

    let told = session.receive(1).await;
    assert_eq!(told[0]["data"], json!({"realtimeAction": "UPDATE", "data": changed}));
}

#[tokio::test]
async fn cleared_alarm_is_opened_again_while_no_other_is_open() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let alarm = admin.raise_alarm(&device, "hot").await;
    put(&admin, &alarm, json!({"status": "CLEARED"})).await;

    let reopened = put(&admin, &alarm, json!({"status": "ACTIVE"})).await;

    assert_eq!((reopened.status, reopened.json()["status"].clone()), (200, json!("ACTIVE")));
    let again = admin.raise_alarm(&device, "hot").await;
    assert_eq!((&again["id"], &again["count"]), (&alarm["id"], &json!(2)));
}

#[tokio::test]
async fn cleared_alarm_is_not_opened_again_beside_an_open_one() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let first = admin.raise_alarm(&device, "hot").await;
    put(&admin, &first, json!({"status": "CLEARED"})).await;
    let second = admin.raise_alarm(&device, "hot").await;

    for status in ["ACTIVE", "ACKNOWLEDGED"] {
        put(&admin, &first, json!({"status": status})).await.expect_error(409, "alarm/Update Conflict");
    }
    assert_eq!(admin.read(first["self"].as_str().unwrap()).await["status"], "CLEARED");
    assert_eq!(server.audit_records(first["id"].as_str().unwrap()).await.len(), 1);
    let again = admin.raise_alarm(&device, "hot").await;
    assert_eq!((&again["id"], &again["count"]), (&second["id"], &json!(2)));
}

#[tokio::test]
async fn wrong_values_are_422_and_change_nothing() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let alarm = admin.raise_alarm(&admin.create_device("pump").await, "hot").await;

    for change in [
        json!({"status": "cleared"}),
        json!({"status": "CLEARED", "severity": "BAD"}),
        json!({"text": 5}),
        json!({"text": "ok", "a.b": 1}),
    ] {
        put(&admin, &alarm, change.clone()).await.expect(422);
    }
    assert_eq!(admin.read(alarm["self"].as_str().unwrap()).await, alarm);
}

#[tokio::test]
async fn parallel_changes_of_different_members_all_stay_with_one_record_each() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let alarm = admin.raise_alarm(&admin.create_device("pump").await, "hot").await;

    let changes: Vec<_> = (0..10)
        .map(|n| {
            let (admin, alarm) = (admin.clone(), alarm.clone());
            tokio::spawn(async move { put(&admin, &alarm, json!({format!("plat_{n}"): n})).await.status })
        })
        .collect();
    for change in changes {
        assert_eq!(change.await.unwrap(), 200);
    }

    let stored = admin.read(alarm["self"].as_str().unwrap()).await;
    for n in 0..10 {
        assert_eq!(stored[format!("plat_{n}")], n);
    }
    assert_eq!(server.audit_records(alarm["id"].as_str().unwrap()).await.len(), 10);
}

#[tokio::test]
async fn change_and_repetition_at_once_both_stay() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let alarm = admin.raise_alarm(&device, "hot").await;

    let posts: Vec<_> = (0..10)
        .map(|n| {
            let (admin, device, alarm) = (admin.clone(), device.clone(), alarm.clone());
            tokio::spawn(async move {
                match n % 2 {
                    0 => admin.raise_alarm(&device, "hot").await,
                    _ => put(&admin, &alarm, json!({"text": format!("text {n}")})).await.json(),
                }
            })
        })
        .collect();
    for post in posts {
        assert_eq!(post.await.unwrap()["id"], alarm["id"]);
    }

    let stored = admin.read(alarm["self"].as_str().unwrap()).await;
    assert_eq!(stored["count"], 6);
    assert!(stored["text"].as_str().unwrap().starts_with("text "), "{stored}");
}
