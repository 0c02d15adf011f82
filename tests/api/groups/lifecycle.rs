//! Creating, reading, changing and deleting (U-01, U-02).

use super::*;

#[tokio::test]
async fn group_is_created_with_a_number_for_an_id() {
    let (server, admin) = TestServer::shared().await.with_admin();

    let body =
        json!({"name": "Night shift", "description": "d", "devicePermissions": {"1": ["ALARM:*:READ"]}});
    let answer = admin.post(GROUPS, &body).await.expect(201);

    let link = server.link(&format!("{GROUPS}/13"));
    assert_eq!(answer.header("Location"), Some(&*link));
    let expected = json!({"id": 13, "self": "<group>", "name": "Night shift", "description": "d",
        "roles": {"self": "<group>/roles", "references": []}, "users": {"self": "<group>/users", "references": []},
        "devicePermissions": {"1": ["ALARM:*:READ"]}, "applications": []});
    assert_eq!(redacted(&answer.json(), &[(&link, "<group>")]), expected);
    assert_eq!(admin.read(&link).await, answer.json());
    assert_eq!(admin.read("/user/<tenant>/groupByName/Night%20shift").await, answer.json());
}

#[tokio::test]
async fn group_shows_its_roles_and_members_and_a_collection_does_not() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let link = server.link(&format!("{GROUPS}/1"));

    let group = admin.read(&link).await;
    let page = admin.request("GET", &format!("{GROUPS}?pageSize=1&withTotalPages=true")).send().await;

    assert_eq!(group["roles"]["references"].as_array().unwrap().len(), 48);
    assert_eq!(group["roles"]["references"][0]["self"], format!("{link}/roles/ROLE_ACCOUNT_ADMIN"));
    let user = json!({"id": "admin", "userName": "admin", "self": server.link("/user/<tenant>/users/admin")});
    assert_eq!(group["users"]["references"], json!([{"self": format!("{link}/users/admin"), "user": user}]));
    page.expect_media("groupCollection");
    let page = page.json();
    assert_eq!(
        (&page["groups"][0]["id"], &page["groups"][0]["roles"]["references"]),
        (&json!(1), &json!([]))
    );
    assert_eq!(page["groups"][0]["users"], json!({"self": format!("{link}/users"), "references": []}));
    assert_eq!(page["statistics"], json!({"totalPages": 12, "pageSize": 1, "currentPage": 1}));
}

#[tokio::test]
async fn following_next_sees_each_group_once_by_ascending_id() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let pages = admin.pages(&format!("{GROUPS}/?pageSize=5")).await;

    let groups = pages.iter().flat_map(|page| page["groups"].as_array().unwrap());
    let seen: Vec<_> = groups.map(|group| group["id"].as_i64().unwrap()).collect();
    assert_eq!(seen, (1..=12).collect::<Vec<i64>>());
}

#[tokio::test]
async fn number_of_a_deleted_group_is_not_given_again() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let first = admin.create(GROUPS, &json!({"name": "a"})).await;
    assert_eq!(admin.delete(first["self"].as_str().unwrap()).await.status, 204);

    let second = admin.create(GROUPS, &json!({"name": "a"})).await;

    assert_eq!((&first["id"], &second["id"]), (&json!(13), &json!(14)));
    assert_eq!(admin.get(first["self"].as_str().unwrap()).await.status, 404);
}

#[tokio::test]
async fn put_changes_name_description_and_device_permissions() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let group = admin.create(GROUPS, &json!({"name": "a", "description": "d"})).await;
    let link = group["self"].as_str().unwrap();

    let renamed = admin.put(link, &json!({"name": "b", "id": 99, "roles": [], "users": 7})).await;
    let cleared = admin.put(link, &json!({"description": null, "devicePermissions": {"1": ["*:*:*"]}})).await;

    assert_eq!((renamed.status, cleared.status), (200, 200), "{} {}", renamed.text, cleared.text);
    assert_eq!((&renamed.json()["name"], &renamed.json()["description"]), (&json!("b"), &json!("d")));
    let cleared = cleared.json();
    assert_eq!((&cleared["name"], cleared.get("description")), (&json!("b"), None));
    assert_eq!(cleared["devicePermissions"], json!({"1": ["*:*:*"]}));
}

#[tokio::test]
async fn name_that_is_taken_is_409() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let created = admin.post(GROUPS, &json!({"name": "admins"})).await;
    let renamed = admin.put(&format!("{GROUPS}/3"), &json!({"name": "readers"})).await;

    assert_eq!((created.status, created.error()), (409, "user/Duplicate".into()));
    assert_eq!((renamed.status, renamed.error()), (409, "user/Duplicate".into()));
}

#[tokio::test]
async fn admins_and_devices_are_neither_deleted_nor_renamed() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for (id, name) in [(1, "admins"), (2, "devices")] {
        let path = format!("{GROUPS}/{id}");
        assert_eq!(admin.delete(&path).await.status, 403, "{name}");
        assert_eq!(admin.put(&path, &json!({"name": "other"})).await.status, 403, "{name}");
        let kept = admin.put(&path, &json!({"name": name, "description": "d"})).await;
        assert_eq!((kept.status, kept.json()["description"].clone()), (200, json!("d")), "{name}");
    }
}

#[tokio::test]
async fn wrong_groups_are_refused() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for (body, status) in [
        ("", 422),
        ("{", 400),
        ("{}", 422),
        (r#"{"name":""}"#, 422),
        (r#"{"name":" "}"#, 422),
        (r#"{"name":7}"#, 422),
        (r#"{"name":null}"#, 422),
        (r#"{"name":"a\u0000b"}"#, 422),
        (r#"{"name":"a","description":{}}"#, 422),
        (r#"{"name":"a","devicePermissions":[]}"#, 422),
        (&json!({"name": "x".repeat(255)}).to_string(), 422),
        (&json!({"name": "ä".repeat(254)}).to_string(), 201),
    ] {
        admin.request("POST", GROUPS).body(body).send().await.expect(status);
    }
}

#[tokio::test]
async fn unknown_groups_are_404() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for id in ["99", "0", "-1", "x", "%00", "99999999999999999999", "1.5"] {
        for path in ["", "/users", "/roles"] {
            admin.get(&format!("{GROUPS}/{id}{path}")).await.expect_error(404, "user/Not Found");
        }
        let path = format!("{GROUPS}/{id}");
        assert_eq!(admin.put(&path, &json!({})).await.status, 404, "{id}");
        assert_eq!(admin.delete(&path).await.status, 404, "{id}");
        let role = json!({"role": {"id": "ROLE_ALARM_READ"}});
        assert_eq!(admin.post(&format!("{path}/roles"), &role).await.status, 404, "{id}");
        let user = json!({"user": {"id": "admin"}});
        assert_eq!(admin.post(&format!("{path}/users"), &user).await.status, 404, "{id}");
    }
    for name in ["nobody", "Admins", "%00", "%FF"] {
        let answer = admin.get(&format!("/user/<tenant>/groupByName/{name}")).await;
        assert!([404, 422].contains(&answer.status), "{name}: {}", answer.text);
    }
}

#[tokio::test]
async fn deleted_group_gives_its_members_nothing_any_more() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let joe = server.user_with("joe", &[]).await;
    admin.create(&format!("{GROUPS}/4/users"), &json!({"user": {"id": "joe"}})).await;
    until("the role", async || joe.get("/alarm/alarms").await.status == 200).await;

    assert_eq!(admin.delete(&format!("{GROUPS}/4")).await.status, 204);

    until("the loss", async || joe.get("/alarm/alarms").await.status == 403).await;
    let user = admin.read("/user/<tenant>/users/joe").await;
    assert_eq!(user["groups"]["references"], json!([]));
}
