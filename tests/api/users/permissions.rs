//! Tests which role each request needs (U-04), and device permissions of users (U-12).

use super::*;

#[tokio::test]
async fn reading_needs_the_read_role_and_writing_the_admin_role() {
    let server = TestServer::shared().await;
    server.user_with("joe", &[]).await;
    let reader = server.user_with("reader", &["ROLE_USER_MANAGEMENT_READ"]).await;
    let writer = server.user_with("writer", &["ROLE_USER_MANAGEMENT_ADMIN"]).await;
    let nobody = server.user_with("nobody", &["ROLE_ALARM_ADMIN"]).await;

    for path in [
        "users",
        "users/joe",
        "userByName/joe",
        "users/joe/roles",
        "users/joe/groups",
        "groups",
        "groups/1",
        "groupByName/admins",
        "groups/1/roles",
        "groups/1/users",
    ] {
        let path = format!("/user/<tenant>/{path}");
        let of = async |caller: &crate::harness::Caller| caller.get(&path).await.status;
        assert_eq!((of(&reader).await, of(&writer).await, of(&nobody).await), (200, 403, 403), "{path}");
    }
    for path in ["/user/roles", "/user/roles/ROLE_ALARM_READ"] {
        assert_eq!((reader.get(path).await.status, nobody.get(path).await.status), (200, 403), "{path}");
    }
    for (method, path, body, status) in [
        ("POST", "users", r#"{"userName":"new","password":"secret-1"}"#, 201),
        ("PUT", "users/joe", "{}", 200),
        ("POST", "users/joe/roles", r#"{"role":{"id":"ROLE_ALARM_READ"}}"#, 201),
        ("DELETE", "users/joe/roles/ROLE_ALARM_READ", "", 204),
        ("POST", "groups", r#"{"name":"new"}"#, 201),
        ("PUT", "groups/3", "{}", 200),
        ("POST", "groups/3/roles", r#"{"role":{"id":"ROLE_ACCOUNT_ADMIN"}}"#, 201),
        ("DELETE", "groups/3/roles/ROLE_ACCOUNT_ADMIN", "", 204),
        ("POST", "groups/3/users", r#"{"user":{"id":"joe"}}"#, 201),
        ("DELETE", "groups/3/users/joe", "", 204),
        ("DELETE", "groups/3", "", 204),
        ("DELETE", "users/joe", "", 204),
    ] {
        let path = format!("/user/<tenant>/{path}");
        for caller in [&reader, &nobody] {
            caller.request(method, &path).body(body).send().await.expect(403);
        }
        writer.request(method, &path).body(body).send().await.expect(status);
    }
}

#[tokio::test]
async fn role_and_existence_come_before_the_body() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let reader = server.user_with("reader", &["ROLE_USER_MANAGEMENT_READ"]).await;

    for (method, path, status) in [
        ("POST", USERS, 400),
        ("PUT", "/user/<tenant>/users/reader", 400),
        ("PUT", "/user/<tenant>/users/nobody", 404),
        ("POST", "/user/<tenant>/groups/99/users", 404),
    ] {
        let by_reader = reader.request(method, path).body("{").send().await;
        let malformed = admin.request(method, path).body("{").send().await;
        assert_eq!((by_reader.status, malformed.status), (403, status), "{method} {path}");
    }
}

#[tokio::test]
async fn device_permissions_are_stored_shown_and_count_at_once() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let joe = server.user_with("joe", &[]).await;
    let object = format!("/inventory/managedObjects/{device}");
    assert_eq!(joe.get(&object).await.status, 403);

    let permissions = json!({&device: ["MANAGED_OBJECT:*:READ", "ALARM:*:*"]});
    let answer = admin.put(&format!("{USERS}/joe"), &json!({"devicePermissions": permissions})).await;

    assert_eq!(
        (answer.status, answer.json()["devicePermissions"].clone()),
        (200, permissions),
        "{}",
        answer.text
    );
    until("the permission", async || joe.get(&object).await.status == 200).await;
    assert_eq!(joe.put(&object, &json!({"a": 1})).await.status, 403);
    let removed = admin.put(&format!("{USERS}/joe"), &json!({"devicePermissions": null})).await;
    assert_eq!(removed.json()["devicePermissions"], json!({}));
    until("the loss", async || joe.get(&object).await.status == 403).await;
}

#[tokio::test]
async fn malformed_device_permissions_are_422() {
    let (server, admin) = TestServer::shared().await.with_admin();
    server.user_with("joe", &[]).await;

    for wrong in [
        json!([]),
        json!({"1": "ALARM:*:READ"}),
        json!({"1": ["ALARM"]}),
        json!({"1": ["X:*:READ"]}),
        json!({"a": []}),
    ] {
        for path in [&*format!("{USERS}/joe"), "/user/<tenant>/groups/3"] {
            let answer = admin.put(path, &json!({"devicePermissions": wrong})).await.expect(422);
            assert!(answer.message().contains("devicePermissions"), "{}", answer.message());
        }
    }
}
