//! Tests who may read and write binaries (I-05).

use super::*;

#[tokio::test]
async fn create_role_or_admin_role_may_store() {
    let server = TestServer::shared().await;

    for (name, role, status) in [
        ("creator", "ROLE_INVENTORY_CREATE", 201),
        ("administrator", "ROLE_INVENTORY_ADMIN", 201),
        ("reader", "ROLE_INVENTORY_READ", 403),
    ] {
        let caller = server.user_with(name, &[role]).await;
        let answer = post(&caller, form(&[object_part(&named("a")), file_part(b"a")])).await;
        assert_eq!(answer.status, status, "{role}: {}", answer.text);
    }
}

#[tokio::test]
async fn owner_may_read_replace_and_delete_without_any_other_role() {
    let (_server, _, owner) = TestServer::shared().await.with_owner().await;
    let path = content_of(&upload(&owner, &named("a"), b"a").await);

    assert_eq!(download(&owner, &path).await, b"a");
    assert_eq!(owner.request("PUT", &path).body("b").send().await.status, 201);
    assert_eq!(owner.delete(&path).await.status, 204);
}

#[tokio::test]
async fn each_role_opens_its_own_methods_only() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let path = content_of(&upload(&admin, &named("a"), b"a").await);

    for (user, role, read, replace, delete) in [
        ("nobody", "ROLE_INVENTORY_CREATE", 403, 403, 403),
        ("reader", "ROLE_INVENTORY_READ", 200, 403, 403),
        ("writer", "ROLE_INVENTORY_ADMIN", 403, 201, 204),
    ] {
        let caller = server.user_with(user, &[role]).await;
        assert_eq!(caller.get(&path).await.status, read, "{role}");
        assert_eq!(caller.request("PUT", &path).body("b").send().await.status, replace, "{role}");
        assert_eq!(caller.delete(&path).await.status, delete, "{role}");
    }
    assert_no_leftovers(&server).await;
}

#[tokio::test]
async fn global_binary_is_readable_for_everyone_and_listed() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let global = upload(&admin, &json!({"name": "manual", "plat_Global": {}}), b"read me").await;
    upload(&admin, &named("hidden"), b"x").await;
    let nobody = server.user_with("nobody", &[]).await;

    assert_eq!(download(&nobody, &content_of(&global)).await, b"read me");
    assert_eq!(member_texts(&nobody.read(BINARIES).await, "managedObjects", "name"), ["manual"]);
    assert_eq!(nobody.delete(&content_of(&global)).await.status, 403);
}

#[tokio::test]
async fn device_permission_opens_the_binary_it_names() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let (mine, other) = (upload(&admin, &named("a"), b"a").await, upload(&admin, &named("b"), b"b").await);
    let caller = server
        .user_permitted("joe", mine["id"].as_str().unwrap(), &["MANAGED_OBJECT:plat_IsBinary:READ"])
        .await;

    assert_eq!(download(&caller, &content_of(&mine)).await, b"a");
    assert_eq!(caller.get(&content_of(&other)).await.status, 403);
    assert_eq!(caller.delete(&content_of(&mine)).await.status, 403);
}

#[tokio::test]
async fn role_comes_before_the_body() {
    let server = TestServer::shared().await;
    let reader = server.user_with("reader", &["ROLE_INVENTORY_READ"]).await;

    assert_eq!(reader.request("POST", BINARIES).body("{").send().await.status, 403);
    assert_eq!(server.stranger().request("POST", BINARIES).body("{").send().await.status, 401);
}
