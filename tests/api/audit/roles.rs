//! Tests who may read and write audit records (docs/rules.md#audit; U-12).

use super::*;

#[tokio::test]
async fn each_role_opens_its_own_methods_only() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let link = admin.create(RECORDS, &record_of("Door", "1")).await["self"].as_str().unwrap().to_owned();

    for (user, role, read, create, delete) in [
        ("nobody", "ROLE_ALARM_READ", 403, 403, 403),
        ("reader", "ROLE_AUDIT_READ", 200, 403, 403),
        ("writer", "ROLE_AUDIT_ADMIN", 403, 201, 204),
    ] {
        let caller = server.user_with(user, &[role]).await;
        assert_eq!(caller.get(&link).await.status, read, "{role}");
        assert_eq!(caller.get(RECORDS).await.status, read, "{role}");
        assert_eq!(caller.post(RECORDS, &record_of("Door", "1")).await.status, create, "{role}");
        assert_eq!(caller.delete(RECORDS).await.status, delete, "{role}");
    }
}

#[tokio::test]
async fn records_of_another_tenant_are_absent() {
    let (server, admin) = TestServer::start_with_tenant("plant7", "plant7.example.com").await.with_admin();
    let link = admin.create(RECORDS, &record_of("Door", "1")).await["self"].as_str().unwrap().to_owned();
    let stranger = server.caller("plant7/admin", crate::harness::ADMIN_PASSWORD);

    assert_eq!(stranger.get(&link).await.status, 404);
    assert_eq!(stranger.read(RECORDS).await["auditRecords"], json!([]));
}

#[tokio::test]
async fn device_permission_opens_the_records_of_that_object_only() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let (device, other) = (admin.create_device("pump").await, admin.create_device("other").await);
    let of_device = admin.create(RECORDS, &record_of("SmartRule", &device)).await;
    let of_other = admin.create(RECORDS, &record_of("SmartRule", &other)).await;
    // A user may be named like a device.
    let of_user = admin.create(RECORDS, &record_of("User", &device)).await;
    let caller = server.user_permitted("joe", &device, &["AUDIT:*:READ"]).await;

    let day = "dateFrom=2000-01-01&dateTo=3000-01-01";
    for query in [
        "".to_owned(),
        format!("?source={device}"),
        format!("?source={device}&withTotalPages=true"),
        format!("?{day}"),
        format!("?{day}&revert=true"),
        "?revert=true".into(),
    ] {
        let list = caller.read(&format!("{RECORDS}{query}")).await;
        assert_eq!(ids(&list, "auditRecords"), [of_device["id"].as_str().unwrap()], "{query}");
        let total = list["statistics"].get("totalPages");
        assert!(total.is_none_or(serde_json::Value::is_null), "{query}: {list}");
    }
    for query in
        [format!("?source={other}"), "?source=4711".into(), "?source=joe".into(), "?type=User".into()]
    {
        let list = caller.read(&format!("{RECORDS}{query}")).await;
        assert_eq!(list["auditRecords"], json!([]), "{query}");
    }
    for (record, status) in [(of_device, 200), (of_other, 403), (of_user, 403)] {
        assert_eq!(caller.get(record["self"].as_str().unwrap()).await.status, status, "{record}");
    }
    assert_eq!(caller.post(RECORDS, &record_of("SmartRule", &device)).await.status, 403);
    assert_eq!(caller.delete(&format!("{RECORDS}?source={device}")).await.status, 403);
}

#[tokio::test]
async fn owner_of_the_object_may_not_read_its_records() {
    let (_server, admin, owner) = TestServer::shared().await.with_owner().await;
    let device = owner.create_device("pump").await;
    let record = admin.create(RECORDS, &record_of("SmartRule", &device)).await;

    assert_eq!(owner.get(record["self"].as_str().unwrap()).await.status, 403);
    assert_eq!(owner.get(&format!("{RECORDS}?source={device}")).await.status, 403);
}

#[tokio::test]
async fn role_comes_before_the_body_and_the_parameters() {
    let server = TestServer::shared().await;
    let caller = server.user_with("joe", &["ROLE_AUDIT_READ"]).await;

    assert_eq!(caller.request("POST", RECORDS).body("{").send().await.status, 403);
    assert_eq!(caller.delete(&format!("{RECORDS}?dateFrom=x")).await.status, 403);
}

#[tokio::test]
async fn device_permission_to_administer_writes_and_deletes_records_of_that_object_only() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let (device, other) = (admin.create_device("pump").await, admin.create_device("other").await);
    let of_user = admin.create(RECORDS, &record_of("User", &device)).await;
    let of_other = admin.create(RECORDS, &record_of("Door", &other)).await;
    let caller = server.user_permitted("joe", &device, &["AUDIT:*:ADMIN"]).await;

    let created = caller.post(RECORDS, &record_of("Door", &device)).await.expect(201);

    for (kind, source) in [("Door", &*other), ("User", &*device), ("Door", "4711"), ("Door", "joe")] {
        assert_eq!(caller.post(RECORDS, &record_of(kind, source)).await.status, 403, "{kind} {source}");
    }
    for query in ["".to_owned(), format!("?source={other}"), "?source=4711".into(), "?type=Door".into()] {
        assert_eq!(caller.delete(&format!("{RECORDS}{query}")).await.status, 403, "{query}");
    }
    assert_eq!(caller.get(RECORDS).await.status, 403, "ADMIN does not imply READ");
    assert_eq!(caller.delete(&format!("{RECORDS}?source={device}")).await.status, 204);
    assert_eq!(admin.get(created.header("Location").unwrap()).await.status, 404);
    for left in [of_user, of_other] {
        assert_eq!(admin.get(left["self"].as_str().unwrap()).await.status, 200, "{left}");
    }
}

#[tokio::test]
async fn permission_on_a_group_shows_records_of_its_members_page_by_page() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let (group, device) = (admin.create_device("hall").await, admin.create_device("pump").await);
    let path = format!("/inventory/managedObjects/{group}/childAssets");
    admin.create(&path, &json!({"managedObject": {"id": device}})).await;
    let mut expected = Vec::new();
    for source in [&device, &group, &device] {
        let record = admin.create(RECORDS, &record_of("Door", source)).await;
        admin.create(RECORDS, &record_of("Door", "4711")).await;
        expected.push(record["id"].as_str().unwrap().to_owned());
    }
    let caller = server.user_permitted("joe", &group, &["AUDIT:*:READ"]).await;

    for query in ["pageSize=2", "pageSize=2&dateFrom=2000-01-01"] {
        let found = caller.ids_of_pages(&format!("{RECORDS}?{query}"), "auditRecords").await;
        assert_eq!(found, expected, "{query}");
    }
}
