//! Roles and owners (I-01, I-05, I-06).

use super::*;

#[tokio::test]
async fn create_role_or_admin_role_may_create() {
    let server = TestServer::shared().await;

    for (name, role, status) in [
        ("creator", "ROLE_INVENTORY_CREATE", 201),
        ("administrator", "ROLE_INVENTORY_ADMIN", 201),
        ("reader", "ROLE_INVENTORY_READ", 403),
    ] {
        let answer = server.user_with(name, &[role]).await.post(OBJECTS, &json!({})).await;
        assert_eq!(answer.status, status, "{role}: {}", answer.text);
        if status == 201 {
            assert_eq!(answer.json()["owner"], name);
        }
    }
}

#[tokio::test]
async fn owner_may_read_change_and_delete_without_any_other_role() {
    let (server, _, owner) = TestServer::shared().await.with_owner().await;
    let link = owner.create(OBJECTS, &json!({"name": "pump"})).await["self"].as_str().unwrap().to_owned();

    let changed = owner.put(&link, &json!({"name": "motor"})).await;
    let read = owner.get(&link).await;
    let deleted = owner.delete(&link).await;

    assert_eq!((changed.status, read.status, deleted.status), (200, 200, 204));
}

#[tokio::test]
async fn others_may_not_change_or_delete_without_the_admin_role() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let path = format!("{OBJECTS}/{}", admin.create_device("pump").await);
    let reader = server.user_with("reader", &["ROLE_INVENTORY_READ", "ROLE_INVENTORY_CREATE"]).await;
    let administrator = server.user_with("administrator", &["ROLE_INVENTORY_ADMIN"]).await;

    let put = reader.put(&path, &json!({"name": "motor"})).await;
    let empty_put = reader.put(&path, &json!({})).await;
    let delete = reader.delete(&path).await;
    let by_role = administrator.put(&path, &json!({"name": "motor"})).await;

    assert_eq!((put.status, empty_put.status, delete.status, by_role.status), (403, 403, 403, 200));
}

#[tokio::test]
async fn admin_role_alone_does_not_read() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let path = format!("{OBJECTS}/{}", admin.create_device("pump").await);
    let administrator = server.user_with("administrator", &["ROLE_INVENTORY_ADMIN"]).await;

    assert_eq!(administrator.get(&path).await.status, 403);
}

#[tokio::test]
async fn global_object_is_readable_for_everyone_in_the_tenant() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let object = admin.create(OBJECTS, &json!({"name": "plan", "plat_Global": {}})).await;
    let nobody = server.user_with("nobody", &[]).await;

    let answer = nobody.get(object["self"].as_str().unwrap()).await;

    assert_eq!((answer.status, answer.json()), (200, object.clone()));
    assert_eq!(nobody.put(object["self"].as_str().unwrap(), &json!({"a": 1})).await.status, 403);
}

#[tokio::test]
async fn collection_without_the_read_role_holds_own_and_global_objects() {
    let (server, admin, owner) = TestServer::shared().await.with_owner().await;
    admin.create(OBJECTS, &json!({"name": "hidden"})).await;
    admin.create(OBJECTS, &json!({"name": "global", "plat_Global": {}})).await;
    owner.create(OBJECTS, &json!({"name": "own"})).await;

    let page = owner.read(OBJECTS).await;

    assert_eq!(member_texts(&page, "managedObjects", "name"), ["global", "own"]);
}

#[tokio::test]
async fn total_pages_are_null_without_the_read_role() {
    let (server, admin, owner) = TestServer::shared().await.with_owner().await;
    admin.create(OBJECTS, &json!({"name": "hidden"})).await;

    let page = owner.read(&format!("{OBJECTS}?withTotalPages=true")).await;

    assert_eq!(page["statistics"], json!({"totalPages": null, "pageSize": 5, "currentPage": 1}));
}

#[tokio::test]
async fn owner_is_changed_by_the_admin_role_only() {
    let (server, admin, owner) = TestServer::shared().await.with_owner().await;
    let heir = server.user_with("heir", &[]).await;
    let link = owner.create(OBJECTS, &json!({})).await["self"].as_str().unwrap().to_owned();

    let by_owner = owner.put(&link, &json!({"owner": "heir"})).await;
    let unchanged = owner.put(&link, &json!({"owner": "owner", "name": "pump"})).await;
    let by_admin = admin.put(&link, &json!({"owner": "heir"})).await;

    assert_eq!((by_owner.status, unchanged.status), (403, 200), "{}", unchanged.text);
    assert_eq!((by_admin.status, by_admin.json()["owner"].clone()), (200, json!("heir")));
    assert_eq!((owner.get(&link).await.status, heir.get(&link).await.status), (403, 200));
}

#[tokio::test]
async fn owner_of_the_source_may_raise_and_change_alarms() {
    let (server, _, owner) = TestServer::shared().await.with_owner().await;
    let device = owner.create_device("pump").await;

    let raised = owner.post("/alarm/alarms", &alarm_of(&device, "hot")).await;
    let changed = owner.put(raised.header("Location").unwrap(), &json!({"status": "CLEARED"})).await;

    assert_eq!((raised.status, changed.status), (201, 200), "{} {}", raised.text, changed.text);
}

#[tokio::test]
async fn former_owner_may_not_write_any_more() {
    let (server, admin, owner) = TestServer::shared().await.with_owner().await;
    let device = owner.create_device("pump").await;
    owner.raise_alarm(&device, "hot").await;
    admin.put(&format!("{OBJECTS}/{device}"), &json!({"owner": "admin"})).await;

    owner.post("/alarm/alarms", &alarm_of(&device, "hot")).await.expect(403);
}

#[tokio::test]
async fn objects_of_another_tenant_are_absent() {
    let (server, admin, device) =
        TestServer::start_with_tenant("plant7", "plant7.example.com").await.with_device("pump").await;
    let alarm = admin.raise_alarm(&device, "hot").await;
    let stranger = server.caller("plant7/admin", crate::harness::ADMIN_PASSWORD);

    let path = format!("{OBJECTS}/{device}");
    for (method, path) in
        [("GET", &*path), ("PUT", &path), ("DELETE", &path), ("GET", alarm["self"].as_str().unwrap())]
    {
        stranger.request(method, path).body("{\"name\":\"mine\"}").send().await.expect(404);
    }
    let change = stranger.put(alarm["self"].as_str().unwrap(), &json!({"status": "CLEARED"})).await;
    let raise = stranger.post("/alarm/alarms", &alarm_of(&device, "hot")).await;
    assert_eq!((change.status, raise.status), (404, 422), "{}", raise.text);
    assert_eq!(stranger.read(OBJECTS).await["managedObjects"], json!([]));
    assert_eq!(stranger.read(&format!("{OBJECTS}?ids={device}")).await["managedObjects"], json!([]));
    assert_eq!(stranger.read(&format!("/alarm/alarms?source={device}")).await["alarms"], json!([]));
    assert_eq!(admin.read(alarm["self"].as_str().unwrap()).await, alarm, "nothing was changed");
}
