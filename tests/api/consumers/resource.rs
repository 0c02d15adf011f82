//! The resource: what a client can create, read, change and delete.

use super::*;

#[tokio::test]
async fn consumer_is_created_read_listed_changed_and_deleted() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let body =
        json!({"name": "billing", "channels": ["/alarms/*", "/alarms/*", "/events/7"], "maxAge": 3600});
    let created = admin.create(CONSUMERS, &body).await;
    assert_eq!(created["channels"], json!(["/alarms/*", "/events/7"]), "a channel counts once");
    assert_eq!((&created["owner"], &created["state"]), (&json!("admin"), &json!("ACTIVE")));
    assert_eq!((&created["maxAge"], &created["maxBytes"]), (&json!(3600), &json!(64 << 20)));
    assert_eq!(created["backlog"], json!({"notifications": 0, "bytes": 0}));
    let path = format!("{CONSUMERS}/billing");
    let with_address = |link: &Value| link.as_str().unwrap().ends_with(&path);
    let read = admin.read(&path).await;
    assert!([&read, &created].iter().all(|one| with_address(&one["self"])), "{read}");
    assert_eq!(without(&read, &["self"]), without(&created, &["self"]));
    admin.post(CONSUMERS, &body).await.expect_error(409, "notification/Duplicate");

    consumer(&admin, "analytics", &["/events/*"]).await;
    let list = admin.read(CONSUMERS).await;
    let names: Vec<_> = list["consumers"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["analytics", "billing"]);

    let changed = admin.request("PUT", &path).accepting_json().json(&json!({"maxBytes": 65536})).send().await;
    assert_eq!(changed.expect(200).json()["maxBytes"], 65536);
    admin.delete(&path).await.expect(204);
    admin.get(&path).await.expect_error(404, "notification/Not Found");
    admin.delete(&path).await.expect(404);
}

#[tokio::test]
async fn invalid_bodies_are_rejected_with_what_is_allowed() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let with = |member: &str, value: Value| {
        let mut body = json!({"name": "n", "channels": ["/alarms/*"]});
        body[member] = value;
        body
    };
    let rows = [
        (json!({"channels": ["/alarms/*"]}), "name"),
        (json!({"name": "n"}), "channels"),
        (with("name", json!("")), "1 to 64 letters"),
        (with("name", json!("a/b")), "1 to 64 letters"),
        (with("name", json!(".hidden")), "beginning with a letter"),
        (with("name", json!("x".repeat(65))), "1 to 64 letters"),
        (with("name", json!(7)), "name"),
        (with("channels", json!([])), "1 to 100 channels"),
        (with("channels", json!("/alarms/*")), "an array"),
        (with("channels", json!(["/rules/output"])), "a channel of alarms"),
        (with("channels", json!(["/208"])), "a channel of alarms"),
        (with("channels", json!(["/alarms/x"])), "/alarms/x"),
        (with("start", json!("later")), "now, earliest, or a time"),
        (with("start", json!(7)), "now, earliest, or a time"),
        (with("maxAge", json!(59)), "60 to 604800 seconds"),
        (with("maxAge", json!("1d")), "60 to 604800 seconds"),
        (with("maxBytes", json!(1)), "65536 to 1073741824 bytes"),
        (with("filters", json!("severity eq 'MAJOR'")), "filters"),
    ];
    for (body, part) in rows {
        let refused = admin.post(CONSUMERS, &body).await.expect(422);
        assert!(refused.message().contains(part), "{body}: {}", refused.message());
    }
    assert!(admin.read(CONSUMERS).await["consumers"].as_array().unwrap().is_empty());
}

#[tokio::test]
async fn limits_of_the_tenant_bound_consumers_and_their_backlogs() {
    let server = TestServer::start_with(|settings| {
        settings.limits.tenant_consumers = 2;
        settings.limits.tenant_journal_bytes = 1 << 20;
        settings.limits.tenant_held_polls = Some(0);
    });
    let (_server, admin) = server.await.with_admin();
    let larger = json!({"name": "large", "channels": ["/alarms/*"], "maxBytes": 1 << 21});
    admin.post(CONSUMERS, &larger).await.expect_message(422, "1048576");
    let fitting = |name: &str| json!({"name": name, "channels": ["/alarms/*"], "maxBytes": 1 << 20});
    admin.create(CONSUMERS, &fitting("one")).await;
    admin.create(CONSUMERS, &fitting("two")).await;
    admin.post(CONSUMERS, &fitting("three")).await.expect_error(403, "tenants/Quota Exceeded");
    admin.put(&format!("{CONSUMERS}/one"), &json!({"maxBytes": 1 << 21})).await.expect(422);
    admin.delete(&format!("{CONSUMERS}/one")).await.expect(204);
    admin.create(CONSUMERS, &fitting("three")).await;
    batch(&admin, "two", "").await;
    let held = admin.get(&format!("{CONSUMERS}/two/notifications?wait=1")).await;
    held.expect_message(403, "heldPolls");
}

#[tokio::test]
async fn changes_of_consumers_are_audited() {
    let (server, admin) = TestServer::shared().await.with_admin();
    consumer(&admin, "audited", &["/alarms/*"]).await;
    let change = json!({"maxAge": 3600, "filter": "type eq 'a'"});
    admin.put(&format!("{CONSUMERS}/audited"), &change).await.expect(200);
    admin.put(&format!("{CONSUMERS}/audited"), &change).await.expect(200);
    admin.put(&format!("{CONSUMERS}/audited"), &json!({"position": "earliest"})).await.expect(200);
    admin.delete(&format!("{CONSUMERS}/audited")).await.expect(204);
    let records = server.audit_records("audited").await;
    let activities: Vec<_> = records.iter().map(|record| record["activity"].as_str().unwrap()).collect();
    assert_eq!(activities, ["Consumer created", "Consumer changed", "Consumer moved", "Consumer deleted"]);
    let changes = records[1]["changes"].as_array().unwrap().iter();
    let changes: Vec<_> = changes.map(|one| (&one["attribute"], &one["newValue"])).collect();
    assert_eq!(changes, [(&json!("maxAge"), &json!("3600")), (&json!("filter"), &json!("type eq 'a'"))]);
}
