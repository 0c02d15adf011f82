//! Members and roles of groups (U-01, X-11).

use super::*;

#[tokio::test]
async fn member_is_taken_in_by_self_and_gets_the_roles_at_once() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let joe = server.user_with("joe", &[]).await;
    assert_eq!(joe.get("/alarm/alarms").await.status, 403);
    let path = format!("{GROUPS}/4/users");

    let link = server.link("/user/<tenant>/users/joe");
    let answer = admin.post(&path, &json!({"user": {"self": link}})).await.expect(201);

    let membership = server.link(&format!("{path}/joe"));
    assert_eq!(answer.header("Location"), Some(&*membership));
    assert_eq!((&answer.json()["self"], &answer.json()["user"]["self"]), (&json!(membership), &json!(link)));
    let user = admin.read(&link).await;
    assert_eq!(answer.json()["user"], user);
    let group = &user["groups"]["references"][0];
    assert_eq!((&group["self"], &group["group"]["name"]), (&json!(membership), &json!("readers")));
    until("the roles", async || joe.get("/alarm/alarms").await.status == 200).await;
}

#[tokio::test]
async fn member_taken_in_twice_is_201_without_a_change() {
    let (server, admin) = TestServer::shared().await.with_admin();
    server.user_with("joe", &[]).await;
    let path = format!("{GROUPS}/4/users");

    let first = admin.post(&path, &json!({"user": {"id": "joe"}})).await;
    let second = admin.post(&path, &json!({"user": {"id": "joe"}})).await;

    assert_eq!((first.status, second.status, first.json()), (201, 201, second.json()));
    assert_eq!(server.audit_records("joe").await.len(), 1);
}

#[tokio::test]
async fn removed_member_loses_the_roles_and_nobody_is_removed_twice() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let joe = server.user_with("joe", &[]).await;
    admin.create(&format!("{GROUPS}/4/users"), &json!({"user": {"id": "joe"}})).await;
    until("the role", async || joe.get("/alarm/alarms").await.status == 200).await;

    assert_eq!(admin.delete(&format!("{GROUPS}/4/users/joe")).await.status, 204);

    until("the loss", async || joe.get("/alarm/alarms").await.status == 403).await;
    for path in ["4/users/joe", "4/users/nobody", "99/users/joe"] {
        admin.delete(&format!("{GROUPS}/{path}")).await.expect_error(404, "user/Not Found");
    }
}

#[tokio::test]
async fn members_are_paged_by_name_device_users_among_them() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let members = "WITH made AS (INSERT INTO users (tenant, name, password_hash, enabled, roles, created_at) \
            SELECT $1, 'device_' || n, NULL, true, '{}', now() FROM generate_series(10, 30) n RETURNING name) \
        INSERT INTO group_members SELECT $1, 2, name FROM made";
    // The foreign key of a membership is checked at the end of the statement, when the users are there.
    server.execute(members, &[]).await;

    let (mut seen, mut link) = (Vec::new(), format!("{GROUPS}/2/users?pageSize=4&withTotalPages=true"));
    loop {
        let answer = admin.get(&link).await;
        answer.expect_media("userReferenceCollection");
        let page = answer.json();
        assert_eq!(page["statistics"]["totalPages"], 6);
        for reference in page["references"].as_array().unwrap() {
            seen.push(reference["user"]["userName"].as_str().unwrap().to_owned());
        }
        let Some(next) = page["next"].as_str() else { break };
        next.clone_into(&mut link);
    }

    assert_eq!(seen, (10..=30).map(|n| format!("device_{n}")).collect::<Vec<_>>());
    let empty = admin.read(&format!("{GROUPS}/3/users?withTotalPages=true")).await;
    assert_eq!((&empty["references"], &empty["statistics"]["totalPages"]), (&json!([]), &json!(0)));
}

#[tokio::test]
async fn groups_of_a_user_are_listed() {
    let (server, admin) = TestServer::shared().await.with_admin();
    server.user_with("joe", &[]).await;
    for id in [5, 3, 4] {
        admin.create(&format!("{GROUPS}/{id}/users"), &json!({"user": {"id": "joe"}})).await;
    }

    let answer = admin.get("/user/<tenant>/users/joe/groups?pageSize=2&withTotalPages=true").await;

    answer.expect_media("groupReferenceCollection");
    let page = answer.json();
    let ids: Vec<_> =
        page["references"].as_array().unwrap().iter().map(|of| of["group"]["id"].clone()).collect();
    assert_eq!(ids, [3, 4]);
    assert_eq!(page["statistics"], json!({"totalPages": 2, "pageSize": 2, "currentPage": 1}));
    let next = admin.read(page["next"].as_str().unwrap()).await;
    assert_eq!(next["references"][0]["group"]["name"], "CEP Manager");
}

#[tokio::test]
async fn role_of_a_group_counts_for_its_members_at_once_and_is_listed() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let joe = server.user_with("joe", &[]).await;
    let group = admin.create(GROUPS, &json!({"name": "g"})).await;
    let link = group["self"].as_str().unwrap();
    admin.create(&format!("{link}/users"), &json!({"user": {"id": "joe"}})).await;

    let assigned =
        admin.post(&format!("{link}/roles"), &json!({"role": {"name": "ROLE_ALARM_READ"}})).await.expect(201);

    let held = format!("{link}/roles/ROLE_ALARM_READ");
    assert_eq!(assigned.header("Location"), Some(&*held));
    until("the role", async || joe.get("/alarm/alarms").await.status == 200).await;
    let page = admin.read(&format!("{link}/roles")).await;
    assert_eq!(page["references"], json!([assigned.json()]));
    assert_eq!(admin.delete(&held).await.status, 204);
    until("the loss", async || joe.get("/alarm/alarms").await.status == 403).await;
    assert_eq!(admin.delete(&held).await.status, 404);
}

#[tokio::test]
async fn device_permissions_of_a_group_count_for_its_members() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let joe = server.user_with("joe", &[]).await;
    let object = format!("/inventory/managedObjects/{device}");
    assert_eq!(joe.get(&object).await.status, 403);
    let group = admin.create(GROUPS, &json!({"name": "g"})).await;
    let link = group["self"].as_str().unwrap();
    admin.create(&format!("{link}/users"), &json!({"user": {"id": "joe"}})).await;

    let permissions = json!({"devicePermissions": {&device: ["MANAGED_OBJECT:*:READ"]}});
    assert_eq!(admin.put(link, &permissions).await.status, 200);

    until("the permission", async || joe.get(&object).await.status == 200).await;
}
