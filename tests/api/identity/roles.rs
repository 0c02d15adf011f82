//! Tests who may read and write external ids (D-04, I-06, U-12).

use super::*;

#[tokio::test]
async fn each_role_opens_its_own_methods_only() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    name(&admin, &device, "a", "b").await;

    for (user, role, read, create, delete) in [
        ("reader", "ROLE_IDENTITY_READ", 200, 403, 403),
        ("nobody", "ROLE_INVENTORY_READ", 403, 403, 403),
        ("writer", "ROLE_IDENTITY_ADMIN", 403, 201, 204),
    ] {
        let caller = server.user_with(user, &[role]).await;
        assert_eq!(caller.get("/identity/externalIds/a/b").await.status, read, "{role}");
        assert_eq!(caller.get(&ids_of(&device)).await.status, read, "{role}");
        assert_eq!(caller.post(&ids_of(&device), &pair(user, "c")).await.status, create, "{role}");
        let deleted = caller.delete("/identity/externalIds/a/b").await;
        assert_eq!(deleted.status, delete, "{role}: {}", deleted.text);
    }
}

#[tokio::test]
async fn owner_may_do_everything_to_the_ids_of_an_own_object() {
    let (_server, _, owner) = TestServer::shared().await.with_owner().await;
    let device = owner.create_device("pump").await;

    let link = name(&owner, &device, "a", "b").await["self"].as_str().unwrap().to_owned();

    assert_eq!(owner.get(&link).await.status, 200);
    assert_eq!(owner.get(&ids_of(&device)).await.status, 200);
    assert_eq!(owner.delete(&link).await.status, 204);
}

#[tokio::test]
async fn id_of_an_object_that_must_not_be_seen_is_403_and_an_absent_one_404() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    name(&admin, &device, "a", "b").await;
    let caller = server.user_with("joe", &[]).await;

    for (path, status) in [
        ("/identity/externalIds/a/b", 403),
        ("/identity/externalIds/a/c", 404),
        (&*ids_of(&device), 403),
        (&*ids_of("4711"), 404),
    ] {
        assert_eq!(caller.get(path).await.status, status, "{path}");
    }
    assert_eq!(caller.post(&ids_of("4711"), &json!({})).await.status, 404);
}

#[tokio::test]
async fn role_comes_before_the_body() {
    let (server, _admin, device) = TestServer::shared().await.with_device("pump").await;
    let caller = server.user_with("joe", &["ROLE_IDENTITY_READ"]).await;

    caller.request("POST", &ids_of(&device)).body("{").send().await.expect(403);
}

#[tokio::test]
async fn device_permission_on_managed_objects_covers_reads_but_no_writes() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let (device, other) = (admin.create_device("pump").await, admin.create_device("other").await);
    name(&admin, &device, "a", "b").await;
    name(&admin, &other, "a", "c").await;
    let caller = server.user_permitted("joe", &device, &["MANAGED_OBJECT:*:*"]).await;

    assert_eq!(caller.get("/identity/externalIds/a/b").await.status, 200);
    assert_eq!(caller.get(&ids_of(&device)).await.status, 200);
    assert_eq!(caller.get("/identity/externalIds/a/c").await.status, 403);
    assert_eq!(caller.delete("/identity/externalIds/a/b").await.status, 403);
    assert_eq!(caller.post(&ids_of(&device), &pair("c", "d")).await.status, 403);
}
