//! Tests who may read and write files of events (V-08, U-12).

use super::*;

/// Statuses of reading, replacing and adding a file.
async fn may(caller: &Caller, with_file: &str, without: &str) -> (u16, u16, u16) {
    (
        caller.request("GET", with_file).send().await.status,
        send(caller, "PUT", with_file, "new").await.status,
        chunk(caller, without, "0-4/*", "hello").await.status,
    )
}

#[tokio::test]
async fn role_ownership_and_permission_open_what_they_name() {
    let scene = Scene::set().await;
    send(&scene.admin, "POST", &scene.path, "hello").await;
    let owner = scene.server.user_with("owner", &["ROLE_INVENTORY_CREATE"]).await;
    let own = owner.create_device("own").await;
    let owned = async || format!("{}/binaries", super::path_of(&scene.admin.create_event(&own, "t").await));
    let foreign =
        async || format!("{}/binaries", super::path_of(&scene.admin.create_event(&scene.device, "t").await));
    let own_file = owned().await;
    send(&scene.admin, "POST", &own_file, "hello").await;

    let reader = scene.server.user_with("reader", &["ROLE_EVENT_READ"]).await;
    let writer = scene.server.user_with("writer", &["ROLE_EVENT_ADMIN"]).await;
    let nobody = scene.server.user_with("nobody", &[]).await;
    let permitted = scene.server.user_permitted("permitted", &scene.device, &["EVENT:*:*"]).await;

    assert_eq!(may(&reader, &scene.path, &foreign().await).await, (200, 403, 403));
    assert_eq!(may(&writer, &scene.path, &foreign().await).await, (403, 201, 200));
    assert_eq!(may(&nobody, &scene.path, &foreign().await).await, (403, 403, 403));
    assert_eq!(may(&owner, &own_file, &owned().await).await, (200, 201, 200));
    assert_eq!(may(&owner, &scene.path, &foreign().await).await, (403, 403, 403));
    assert_eq!(may(&permitted, &scene.path, &foreign().await).await, (200, 201, 200));
    assert_eq!(may(&permitted, &own_file, &owned().await).await, (403, 403, 403));
    assert_eq!(owner.delete(&scene.path).await.status, 403);
    assert_eq!(owner.delete(&own_file).await.status, 204);
}

#[tokio::test]
async fn rights_are_looked_at_before_what_is_sent() {
    let scene = Scene::set().await;
    let nobody = scene.server.user_with("nobody", &[]).await;

    assert_eq!(chunk(&scene.server.stranger(), &scene.path, "nonsense", "x").await.status, 401);
    assert_eq!(chunk(&nobody, &scene.path, "nonsense", "x").await.status, 403);
    assert_eq!(chunk(&scene.admin, &scene.path, "nonsense", "x").await.status, 422);
    assert_eq!(chunk(&scene.admin, "/event/events/4711/binaries", "0-0/1", "x").await.status, 404);
}

#[tokio::test]
async fn files_of_another_tenant_are_absent() {
    let scene = Scene::alone().await;
    send(&scene.admin, "POST", &scene.path, "hello").await;
    scene.server.database().insert_tenant("plant7", "plant7.example.com").await;
    let other = scene.server.caller("plant7/admin", crate::harness::ADMIN_PASSWORD);

    assert_eq!(other.get(&scene.path).await.status, 404);
    assert_eq!(send(&other, "PUT", &scene.path, "new").await.status, 404);
    assert_eq!(other.delete(&scene.path).await.status, 404);
    assert_eq!(scene.server.stranger().get(&scene.path).await.status, 401);
}
