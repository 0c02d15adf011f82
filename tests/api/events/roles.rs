//! Tests who may read and write events (docs/rules.md#events; U-12).

use super::*;

#[tokio::test]
async fn owner_of_the_source_writes_and_reads_one_and_not_all() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let owner = server.user_with("device_1", &["ROLE_INVENTORY_CREATE"]).await;
    let (own, other) = (owner.create_device("own").await, admin.create_device("other").await);
    let foreign = admin.create_event(&other, "t").await;

    let created = owner.post(EVENTS, &event_of(&own, "t")).await;

    let link = created.header("Location").unwrap();
    assert_eq!(created.status, 201, "{}", created.text);
    assert_eq!((owner.get(EVENTS).await.status, owner.get(link).await.status), (403, 200));
    assert_eq!(owner.put(link, &json!({"text": "x"})).await.status, 200);
    assert_eq!(owner.delete(link).await.status, 204);
    let foreign = foreign["self"].as_str().unwrap();
    assert_eq!(owner.post(EVENTS, &event_of(&other, "t")).await.status, 403);
    assert_eq!(owner.put(foreign, &json!({"text": "x"})).await.status, 403);
    assert_eq!(owner.delete(foreign).await.status, 403);
    assert_eq!(server.count("events").await, 1);
}

#[tokio::test]
async fn owner_of_a_gateway_writes_events_of_what_hangs_on_it() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let owner = server.user_with("device_1", &["ROLE_INVENTORY_CREATE"]).await;
    let (gateway, sensor) = (owner.create_device("gateway").await, admin.create_device("sensor").await);
    let path = format!("/inventory/managedObjects/{gateway}/childDevices");
    admin.create(&path, &json!({"managedObject": {"id": sensor}})).await;

    assert_eq!(owner.post(EVENTS, &event_of(&sensor, "t")).await.status, 201);
}

#[tokio::test]
async fn device_permissions_read_and_write_what_they_name() {
    let (server, admin) = TestServer::start().await.with_admin();
    let (device, other) = (admin.create_device("door").await, admin.create_device("other").await);
    let mut with = event_of(&device, "with");
    with["plat_X"] = json!({});
    let with = admin.create(EVENTS, &with).await;
    let (without, foreign) =
        (admin.create_event(&device, "without").await, admin.create_event(&other, "t").await);

    for (name, entry, reads, writes, read_with, written_with) in [
        ("reads", "EVENT:*:READ", 200, 403, 200, 403),
        ("writes", "EVENT:*:ADMIN", 403, 200, 403, 200),
        ("some", "EVENT:plat_X:*", 403, 403, 200, 200),
        ("all", "*:*:*", 200, 200, 200, 200),
        ("alarms", "ALARM:*:*", 403, 403, 403, 403),
    ] {
        let caller = server.user_permitted(name, &device, &[entry]).await;
        let may = async |event: &serde_json::Value| {
            let link = event["self"].as_str().unwrap();
            (caller.get(link).await.status, caller.put(link, &json!({"text": name})).await.status)
        };
        assert_eq!(may(&without).await, (reads, writes), "{entry}");
        assert_eq!(may(&with).await, (read_with, written_with), "{entry}");
        assert_eq!(may(&foreign).await, (403, 403), "{entry}");
        let mut new = event_of(&device, "new");
        let plain = caller.post(EVENTS, &new).await.status;
        new["plat_X"] = json!({});
        let fragment = caller.post(EVENTS, &new).await.status;
        let created = |status| if status == 200 { 201 } else { 403 };
        assert_eq!((plain, fragment), (created(writes), created(written_with)), "{entry}");
        server.database().execute("DELETE FROM events WHERE type = 'new'", &[]).await;
    }
}

#[tokio::test]
async fn list_of_a_limited_caller_holds_what_permissions_name() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let (group, device, other) = (
        admin.create_device("group").await,
        admin.create_device("door").await,
        admin.create_device("o").await,
    );
    let path = format!("/inventory/managedObjects/{group}/childAssets");
    admin.create(&path, &json!({"managedObject": {"id": device}})).await;
    for (source, kind) in [(&device, "a"), (&other, "b"), (&group, "c"), (&other, "d"), (&device, "e")] {
        admin.create_event(source, kind).await;
    }
    let caller = server.user_permitted("joe", &group, &["EVENT:*:READ"]).await;

    let page = caller.read(&format!("{EVENTS}?withTotalPages=true")).await;

    assert_eq!(member_texts(&page, "events", "type"), ["e", "c", "a"]);
    assert_eq!(page["statistics"]["totalPages"], json!(null));
    let page = caller.read(&format!("{EVENTS}?source={other}")).await;
    assert_eq!(page["events"], json!([]));
}
