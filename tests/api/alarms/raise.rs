//! New alarms.

use super::*;

fn whole_alarm(more: Value) -> Value {
    let mut alarm = json!({
        "self": "<base>/alarm/alarms/<alarm>",
        "id": "<alarm>",
        "creationTime": "<time>",
        "type": "hot",
        "time": "2024-03-10T02:30:00.000+01:00",
        "text": "Too hot",
        "source": {"id": "<device>", "self": "<base>/inventory/managedObjects/<device>", "name": "pump"},
        "status": "ACTIVE",
        "severity": "MAJOR",
        "count": 1,
        "firstOccurrenceTime": "2024-03-10T02:30:00.000+01:00",
        "history": {"auditRecords": [], "self": "<base>/audit/auditRecords"},
    });
    alarm.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    alarm
}

#[tokio::test]
async fn new_alarm_has_every_member_of_the_documents() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let mut body = alarm_of(&device, "hot");
    body["plat_Detail"] = json!({"celsius": 91.5, "sensors": [1, 2]});

    let answer = admin.post("/alarm/alarms", &body).await;

    let alarm = answer.json();
    let id = alarm["id"].as_str().unwrap();
    let shown = redacted(&alarm, &[(server.base(), "<base>"), (id, "<alarm>"), (&device, "<device>")]);
    assert_eq!((answer.status, answer.header("Location")), (201, alarm["self"].as_str()));
    assert_eq!(shown, whole_alarm(json!({"plat_Detail": {"celsius": 91.5, "sensors": [1, 2]}})));
    assert_eq!(admin.read(alarm["self"].as_str().unwrap()).await, alarm);
    assert_eq!(admin.read("/alarm/alarms").await["alarms"], json!([alarm]));
}

#[tokio::test]
async fn source_without_a_name_is_shown_without_one() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let device = admin.create("/inventory/managedObjects", &json!({})).await;
    let id = device["id"].as_str().unwrap();

    let alarm = admin.raise_alarm(id, "hot").await;

    assert_eq!(alarm["source"], json!({"id": id, "self": device["self"]}));
}

#[tokio::test]
async fn new_name_of_the_source_is_shown() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let alarm = admin.raise_alarm(&device, "hot").await;

    admin.put(&format!("/inventory/managedObjects/{device}"), &json!({"name": "motor"})).await;

    assert_eq!(admin.read(alarm["self"].as_str().unwrap()).await["source"]["name"], "motor");
    assert_eq!(admin.raise_alarm(&device, "hot").await["source"]["name"], "motor");
    assert_eq!(admin.read("/alarm/alarms").await["alarms"][0]["source"]["name"], "motor");
}

#[tokio::test]
async fn id_of_the_source_may_be_a_number() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let mut body = alarm_of(&device, "hot");
    body["source"] = json!({"id": device.parse::<u64>().unwrap(), "name": "ignored", "self": "ignored"});

    let alarm = admin.create("/alarm/alarms", &body).await;

    assert_eq!((&alarm["source"]["id"], &alarm["source"]["name"]), (&json!(device), &json!("pump")));
}

#[tokio::test]
async fn status_and_severity_are_taken_in_upper_case_only() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;

    for (member, good, bad) in [
        ("status", ["ACTIVE", "ACKNOWLEDGED", "CLEARED"].as_slice(), ["active", "Cleared", ""]),
        ("severity", &["CRITICAL", "MAJOR", "MINOR", "WARNING"], ["major", "FATAL", ""]),
    ] {
        for word in good {
            let mut body = alarm_of(&device, &format!("{member} {word}"));
            body[member] = json!(word);
            assert_eq!(admin.create("/alarm/alarms", &body).await[member], *word);
        }
        for word in bad {
            let mut body = alarm_of(&device, "bad");
            body[member] = json!(word);
            let answer = admin.post("/alarm/alarms", &body).await;
            assert_eq!(answer.status, 422, "{member} {word:?}: {}", answer.text);
            assert!(answer.message().contains(member), "{}", answer.message());
        }
    }
}

#[tokio::test]
async fn server_members_in_a_body_are_ignored() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let mut body = alarm_of(&device, "hot");
    for (member, value) in [
        ("id", json!("7")),
        ("self", json!("http://evil")),
        ("creationTime", json!("2000-01-01T00:00:00Z")),
        ("count", json!(99)),
        ("firstOccurrenceTime", json!("2000-01-01T00:00:00Z")),
        ("history", json!({"auditRecords": [1]})),
    ] {
        body[member] = value;
    }

    let alarm = admin.create("/alarm/alarms", &body).await;

    let id = alarm["id"].as_str().unwrap();
    let shown = redacted(&alarm, &[(server.base(), "<base>"), (id, "<alarm>"), (&device, "<device>")]);
    assert_eq!(shown, whole_alarm(json!({})));
}

#[tokio::test]
async fn new_alarm_is_published_as_create_with_the_whole_alarm() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let session = admin.listen(&format!("/alarms/{device}")).await;

    let alarm = admin.raise_alarm(&device, "hot").await;

    let told = session.receive(1).await;
    let data = json!({"realtimeAction": "CREATE", "data": alarm});
    assert_eq!(told, [json!({"channel": format!("/alarms/{device}"), "id": told[0]["id"], "data": data})]);
    assert!(told[0]["id"].as_str().unwrap().parse::<u64>().is_ok(), "{}", told[0]["id"]);
}

#[tokio::test]
async fn rejected_alarm_is_neither_stored_nor_published() {
    let (server, admin, device, session) =
        TestServer::shared().await.with_listener("pump", "/alarms/*").await;

    for body in [json!({"type": "bad"}), alarm_of("4711", "bad"), json!({"severity": "BAD"})] {
        assert_eq!(admin.post("/alarm/alarms", &body).await.status, 422, "{body}");
    }
    admin.raise_alarm(&device, "good").await;

    assert_eq!(server.count("alarms").await, 1);
    let told = session.receive(1).await;
    assert_eq!((told.len(), &told[0]["data"]["data"]["type"]), (1, &json!("good")));
}
