//! Sub-users: ROLE_USER_MANAGEMENT_CREATE applies to users that one owns, and grants no more than one has (U-04).

use super::*;

/// A user `boss` that may create sub-users, and has these roles besides.
async fn boss(server: &TestServer, roles: &[&str]) -> Caller {
    server.user_with("boss", &[&["ROLE_USER_MANAGEMENT_CREATE"], roles].concat()).await
}

#[tokio::test]
async fn created_user_is_a_sub_user_of_its_creator() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let boss = boss(&server, &[]).await;

    let sub = create(&boss, "sub").await;

    assert_eq!(sub["owner"], "boss");
    assert_eq!(create(&admin, "other").await.get("owner"), None, "an administrator owns nobody");
    let foreign = json!({"userName": "x", "password": "secret-1", "owner": "admin"});
    assert_eq!(boss.post(USERS, &foreign).await.status, 403);
}

#[tokio::test]
async fn owner_sees_changes_and_deletes_own_sub_users_only() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let boss = boss(&server, &[]).await;
    create(&boss, "sub").await;
    create(&admin, "other").await;

    assert_eq!(ids(&boss.read(USERS).await, "users"), ["sub"]);
    assert_eq!(boss.read(&format!("{USERS}?withTotalPages=true")).await["statistics"]["totalPages"], 1);
    assert_eq!(boss.read(&format!("{USERS}?owner=admin")).await["users"], json!([]));
    for (name, status) in [("sub", 200), ("other", 403), ("boss", 403), ("nobody", 404)] {
        for path in ["", "/roles", "/groups"] {
            boss.get(&format!("{USERS}/{name}{path}")).await.expect(status);
        }
        boss.put(&format!("{USERS}/{name}"), &json!({"firstName": "X"})).await.expect(status);
    }
    assert_eq!(boss.delete(&format!("{USERS}/other")).await.status, 403);
    assert_eq!(boss.delete(&format!("{USERS}/sub")).await.status, 204);
}

#[tokio::test]
async fn sub_user_is_not_given_away_but_its_owner_may_be_repeated() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let boss = boss(&server, &[]).await;
    create(&boss, "sub").await;
    let path = format!("{USERS}/sub");

    assert_eq!(boss.put(&path, &json!({"owner": "admin"})).await.status, 403);
    assert_eq!(boss.put(&path, &json!({"owner": null})).await.status, 403);
    assert_eq!(boss.put(&path, &json!({"owner": "boss"})).await.status, 200);
    assert_eq!(admin.put(&path, &json!({"owner": "admin"})).await.status, 200);
    assert_eq!(boss.get(&path).await.status, 403);
}

#[tokio::test]
async fn owner_assigns_only_roles_it_has() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let boss = boss(&server, &["ROLE_ALARM_READ"]).await;
    create(&boss, "sub").await;
    create(&admin, "other").await;
    let assign = async |user: &str, role: &str| {
        boss.post(&format!("{USERS}/{user}/roles"), &json!({"role": {"id": role}})).await.status
    };

    assert_eq!(assign("sub", "ROLE_ALARM_READ").await, 201);
    assert_eq!(assign("sub", "ROLE_ALARM_ADMIN").await, 403);
    assert_eq!(assign("sub", "ROLE_USER_MANAGEMENT_ADMIN").await, 403);
    assert_eq!(assign("other", "ROLE_ALARM_READ").await, 403);
    assert_eq!(assign("boss", "ROLE_ALARM_READ").await, 403);
    assert_eq!(boss.delete(&format!("{USERS}/sub/roles/ROLE_ALARM_READ")).await.status, 204);
}

#[tokio::test]
async fn owner_takes_sub_users_into_groups_that_hold_nothing_it_lacks() {
    let server = TestServer::shared().await;
    let boss = boss(&server, &["ROLE_ALARM_READ"]).await;
    create(&boss, "sub").await;
    create(&server.admin(), "other").await;
    let admin = server.admin();
    let group = async |name: &str, role: &str, permissions: serde_json::Value| {
        let group = json!({"name": name, "devicePermissions": permissions});
        let id = admin.create("/user/<tenant>/groups", &group).await["id"].to_string();
        admin.create(&format!("/user/<tenant>/groups/{id}/roles"), &json!({"role": {"id": role}})).await;
        format!("/user/<tenant>/groups/{id}/users")
    };
    let harmless = group("harmless", "ROLE_ALARM_READ", json!({})).await;
    let mighty = group("mighty", "ROLE_ALARM_ADMIN", json!({})).await;
    let permitting = group("permitting", "ROLE_ALARM_READ", json!({"1": ["EVENT:*:READ"]})).await;

    for (path, user, status) in [
        (&*harmless, "sub", 201),
        (&harmless, "other", 403),
        (&mighty, "sub", 403),
        (&permitting, "sub", 403),
        ("/user/<tenant>/groups/1/users", "sub", 403),
    ] {
        boss.post(path, &json!({"user": {"id": user}})).await.expect(status);
    }
    assert_eq!(boss.delete(&format!("{harmless}/sub")).await.status, 204);
    assert_eq!(boss.get("/user/<tenant>/groups").await.status, 200, "groups may be looked at");
    assert_eq!(boss.post("/user/<tenant>/groups", &json!({"name": "own"})).await.status, 403);
}

#[tokio::test]
async fn owner_gives_only_device_permissions_it_has() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let boss = boss(&server, &["ROLE_EVENT_READ"]).await;
    let held = json!({"devicePermissions": {"7": ["ALARM:*:*"]}});
    assert_eq!(admin.put(&format!("{USERS}/boss"), &held).await.status, 200);
    let body = |name: &str, entry: &str| {
        let permissions = json!({"7": [entry]});
        json!({"userName": name, "password": "secret-1", "devicePermissions": permissions})
    };

    for (name, entry, status) in [
        ("a", "ALARM:*:READ", 201),
        ("b", "EVENT:x:READ", 201),
        ("c", "EVENT:*:ADMIN", 403),
        ("d", "*:*:*", 403),
    ] {
        // Cached data of the owner is dropped a moment after the change.
        let answer = crate::harness::eventually("the permissions of the owner", async || {
            let answer = boss.post(USERS, &body(name, entry)).await;
            (answer.status == status).then_some(answer)
        })
        .await;
        assert_eq!(answer.status, status, "{entry}: {}", answer.text);
    }
    boss.put(&format!("{USERS}/a"), &json!({"devicePermissions": {"8": ["ALARM:*:READ"]}})).await.expect(403);
}

#[tokio::test]
async fn sub_users_of_a_deleted_user_go_up_to_its_owner() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let boss = boss(&server, &[]).await;
    create(&boss, "middle").await;
    let lowest = json!({"userName": "lowest", "password": "secret-1", "owner": "middle"});
    admin.create(USERS, &lowest).await;

    assert_eq!(boss.delete(&format!("{USERS}/middle")).await.status, 204);
    assert_eq!(boss.read(&format!("{USERS}/lowest")).await["owner"], "boss");
    assert_eq!(admin.delete(&format!("{USERS}/boss")).await.status, 204);

    assert!(admin.read(&format!("{USERS}/lowest")).await.get("owner").is_none());
}

#[tokio::test]
async fn owner_does_not_set_the_password_of_a_sub_user_that_was_raised_above_it() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let boss = boss(&server, &[]).await;
    create(&boss, "sub").await;
    let path = format!("{USERS}/sub");
    let set = async || boss.put(&path, &json!({"password": "secret-2"})).await.status;

    let before = set().await;
    assign(&admin, "sub", "ROLE_TENANT_MANAGEMENT_ADMIN").await;
    let after = set().await;
    let name = boss.put(&path, &json!({"firstName": "Sub"})).await.status;

    assert_eq!((before, after, name), (200, 403, 200));
}

#[tokio::test]
async fn name_that_objects_are_owned_by_is_not_given_to_a_sub_user() {
    let server = TestServer::shared().await;
    let (admin, boss) = (server.admin(), boss(&server, &[]).await);
    let joe = server.user_with("joe", &["ROLE_INVENTORY_CREATE"]).await;
    let object = joe.create("/inventory/managedObjects", &json!({"name": "pump"})).await;
    assert_eq!(admin.delete(&format!("{USERS}/joe")).await.status, 204);
    let again = json!({"userName": "joe", "password": "secret-1"});

    let refused = boss.post(USERS, &again).await;
    let unrefused = boss.post(USERS, &json!({"userName": "jim", "password": "secret-1"})).await;

    assert_eq!((refused.status, &*refused.error()), (403, "security/Forbidden"));
    assert!(refused.message().contains("objects are owned by this name"), "{}", refused.text);
    assert_eq!(unrefused.status, 201);
    assert_eq!(admin.post(USERS, &again).await.status, 201, "an administrator knows what is given away");
    let link = object["self"].as_str().unwrap();
    let joe = server.caller("joe", "secret-1");
    assert_eq!(joe.get(link).await.status, 200);
}
