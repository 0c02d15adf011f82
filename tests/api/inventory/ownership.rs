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
async fn reading_and_writing_need_the_role_or_the_object() {
    let (server, admin, owner) = TestServer::shared().await.with_owner().await;
    let reader = server.user_with("reader", &["ROLE_INVENTORY_READ", "ROLE_INVENTORY_CREATE"]).await;
    let administrator = server.user_with("administrator", &["ROLE_INVENTORY_ADMIN"]).await;
    let nobody = server.user_with("nobody", &[]).await;
    let own = owner.create(OBJECTS, &json!({"name": "pump"})).await;
    let foreign = admin.create(OBJECTS, &json!({"name": "pump", "plat_IsDevice": {}})).await;
    let global = admin.create(OBJECTS, &json!({"name": "plan", "plat_Global": {}})).await;
    let (named, empty) = (r#"{"name":"motor"}"#, "{}");

    check_rows(
        [
            ("owner changes", (&owner, "PUT", &own, named, 200)),
            ("owner reads", (&owner, "GET", &own, "", 200)),
            ("owner deletes", (&owner, "DELETE", &own, "", 204)),
            ("reader changes", (&reader, "PUT", &foreign, named, 403)),
            ("reader changes nothing", (&reader, "PUT", &foreign, empty, 403)),
            ("reader deletes", (&reader, "DELETE", &foreign, "", 403)),
            ("administrator reads", (&administrator, "GET", &foreign, "", 403)),
            ("administrator changes", (&administrator, "PUT", &foreign, named, 200)),
            ("nobody changes what is global", (&nobody, "PUT", &global, r#"{"a":1}"#, 403)),
        ],
        async |(caller, method, object, body, status)| {
            let request = caller.request(method, object["self"].as_str().unwrap());
            request.body(body).send().await.expect(status);
        },
    )
    .await;
    assert_eq!(nobody.read(global["self"].as_str().unwrap()).await, global);
}

#[tokio::test]
async fn collection_without_the_read_role_holds_own_and_global_objects() {
    let (_server, admin, owner) = TestServer::shared().await.with_owner().await;
    admin.create(OBJECTS, &json!({"name": "hidden"})).await;
    admin.create(OBJECTS, &json!({"name": "global", "plat_Global": {}})).await;
    owner.create(OBJECTS, &json!({"name": "own"})).await;

    let page = owner.read(OBJECTS).await;

    assert_eq!(member_texts(&page, "managedObjects", "name"), ["global", "own"]);
}

#[tokio::test]
async fn total_pages_are_null_without_the_read_role() {
    let (_server, admin, owner) = TestServer::shared().await.with_owner().await;
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
    let (_server, _, owner) = TestServer::shared().await.with_owner().await;
    let device = owner.create_device("pump").await;

    let raised = owner.post("/alarm/alarms", &alarm_of(&device, "hot")).await;
    let changed = owner.put(raised.header("Location").unwrap(), &json!({"status": "CLEARED"})).await;

    assert_eq!((raised.status, changed.status), (201, 200), "{} {}", raised.text, changed.text);
}

#[tokio::test]
async fn former_owner_may_not_write_any_more() {
    let (_server, admin, owner) = TestServer::shared().await.with_owner().await;
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
