//! Users of another tenant: out of reach, save for callers of tenant `management` (U-04).

use super::*;

async fn two_tenants() -> TestServer {
    TestServer::start_with_tenant("t7", "plant7.example.com").await
}

#[tokio::test]
async fn another_tenant_in_the_path_is_403_whether_it_exists_or_not() {
    let server = two_tenants().await;

    for tenant in ["t7", "management", "unknown", "T7", "%00"] {
        for path in ["users", "users/admin", "groups", "groups/1", "users/admin/roles", "groups/1/users"] {
            server.admin().get(&format!("/user/{tenant}/{path}")).await.expect(403);
        }
        let body = json!({"userName": "joe", "password": "secret-1"});
        server.admin().post(&format!("/user/{tenant}/users"), &body).await.expect(403);
        server.admin().delete(&format!("/user/{tenant}/users/admin")).await.expect(403);
    }
}

#[tokio::test]
async fn users_of_two_tenants_are_apart() {
    let server = two_tenants().await;
    let other = server.caller("t7/admin", ADMIN_PASSWORD);
    other.create("/user/t7/users", &json!({"userName": "joe", "password": "secret-1"})).await;

    assert_eq!(ids(&server.admin().read("/user/main/users").await, "users"), ["admin"]);
    assert_eq!(ids(&other.read("/user/t7/users").await, "users"), ["admin", "joe"]);
    let member = json!({"user": {"self": format!("{}/user/t7/users/joe", server.base())}});
    assert_eq!(server.admin().post("/user/main/groups/3/users", &member).await.status, 422);
    assert_eq!(server.admin().get("/user/main/users/joe").await.status, 404);
}

#[tokio::test]
async fn management_administers_users_and_groups_of_every_tenant() {
    let server = two_tenants().await;
    let management = server.caller("management/admin", ADMIN_PASSWORD);

    let user = management.create("/user/t7/users", &json!({"userName": "joe", "password": "secret-1"})).await;
    management.create("/user/t7/users/joe/roles", &json!({"role": {"id": "ROLE_ALARM_READ"}})).await;
    let member = json!({"user": {"self": user["self"]}});
    management.create("/user/t7/groups/3/users", &member).await;

    assert!(user["self"].as_str().unwrap().ends_with("/user/t7/users/joe"));
    assert_eq!(server.caller("t7/joe", "secret-1").get("/alarm/alarms").await.status, 200);
    let by: Vec<_> =
        server.database().audit_records("joe").await.into_iter().map(|of| of["user"].clone()).collect();
    assert_eq!(by, ["management/admin"; 3]);
    assert_eq!(
        management.delete("/user/t7/users/admin").await.status,
        403,
        "the last administrator there, too"
    );
}

#[tokio::test]
async fn unknown_tenant_is_404_for_management() {
    let server = two_tenants().await;
    let management = server.caller("management/admin", ADMIN_PASSWORD);

    for tenant in ["unknown", "UPPER", "%00", &"x".repeat(100)] {
        for path in ["users", "users/admin", "groups", "groups/1/users"] {
            management.get(&format!("/user/{tenant}/{path}")).await.expect_error(404, "tenants/Not Found");
        }
        let body = json!({"userName": "joe", "password": "secret-1"});
        assert_eq!(management.post(&format!("/user/{tenant}/users"), &body).await.status, 404);
    }
}

#[tokio::test]
async fn namesake_in_management_owns_no_users_elsewhere() {
    let server = two_tenants().await;
    let insert = "INSERT INTO users (tenant, name, password_hash, enabled, roles, owner, created_at) \
        SELECT t.tenant, t.name, password_hash, true, t.roles, t.owner, now() FROM users, \
            (VALUES ('management', 'boss', ARRAY['ROLE_USER_MANAGEMENT_CREATE'], NULL), ('t7', 'sub', '{}', 'boss')) \
            AS t (tenant, name, roles, owner) \
        WHERE users.tenant = 'main' AND users.name = 'admin'";
    server.database().execute(insert, &[]).await;
    let boss = server.caller("management/boss", ADMIN_PASSWORD);

    assert_eq!(boss.get("/user/t7/users/sub").await.status, 403);
    assert_eq!(boss.delete("/user/t7/users/sub").await.status, 403);
    assert_eq!(boss.get("/user/t7/users").await.status, 403);
}
