//! Roles that microservices define for users of their subscribers (U-03).

use super::*;

/// Returns a body that defines roles, one of which exists already.
fn defining() -> Value {
    json!({"roles": ["ROLE_PUMP_READ", "ROLE_PUMP_ADMIN", "ROLE_ALARM_READ"]})
}

/// Returns the names of the roles that the caller sees.
async fn roles_seen_by(caller: &Caller) -> Vec<String> {
    let page = caller.read("/user/roles?pageSize=2000").await;
    let roles = page["roles"].as_array().unwrap();
    roles.iter().map(|role| role["name"].as_str().unwrap().to_owned()).collect()
}

/// A user of tenant `main` that holds a role directly, and one that holds it by a group.
async fn holders(server: &TestServer, role: &str) -> [Caller; 2] {
    let admin = server.admin();
    for name in ["direct", "member"] {
        let user = json!({"userName": name, "password": ADMIN_PASSWORD});
        admin.create("/user/main/users", &user).await;
    }
    let role = json!({"role": {"id": role}});
    admin.create("/user/main/users/direct/roles", &role).await;
    let group = admin.create("/user/main/groups", &json!({"name": "crew"})).await["id"].to_string();
    admin.create(&format!("/user/main/groups/{group}/roles"), &role).await;
    admin.create(&format!("/user/main/groups/{group}/users"), &json!({"user": {"id": "member"}})).await;
    ["direct", "member"].map(|name| server.caller(name, ADMIN_PASSWORD))
}

/// Waits until none of these callers has a role any more.
async fn until_withdrawn(holders: &[Caller], role: &str) {
    for holder in holders {
        until("a role that is withdrawn", async || {
            !effective_roles(holder).await.iter().any(|held| held == role)
        })
        .await;
    }
}

#[tokio::test]
async fn roles_of_microservices_are_listed_for_subscribers_each_once() {
    let (server, admin) = TestServer::start().await.with_admin();
    let boss = create_reseller(&server, "t7").await;
    let platform = roles_seen_by(&boss).await;
    let (id, _) = serve(&server, "pump", defining(), &["t7"]).await;
    serve(&server, "valve", json!({"roles": ["ROLE_PUMP_READ"]}), &["t7"]).await;

    let mut expected = platform.clone();
    expected.extend(["ROLE_PUMP_ADMIN".to_owned(), "ROLE_PUMP_READ".to_owned()]);
    expected.sort();
    assert_eq!(roles_seen_by(&boss).await, expected);
    let count = boss.read("/user/roles?pageSize=1&withTotalPages=true").await;
    assert_eq!(count["statistics"]["totalPages"], expected.len());
    let link = format!("{}/user/roles/ROLE_PUMP_READ", server.base());
    let role = json!({"id": "ROLE_PUMP_READ", "name": "ROLE_PUMP_READ", "self": link});
    assert_eq!(boss.read("/user/roles/ROLE_PUMP_READ").await, role);
    assert_eq!(roles_seen_by(&admin).await, platform, "the owner does not subscribe");
    assert_eq!(admin.get("/user/roles/ROLE_PUMP_READ").await.status, 404);

    unsubscribe(&boss, "t7", &id).await;
    assert_eq!(boss.get("/user/roles/ROLE_PUMP_ADMIN").await.status, 404);
    assert_eq!(boss.get("/user/roles/ROLE_PUMP_READ").await.status, 200, "the other one defines it too");
}

#[tokio::test]
async fn only_microservices_define_roles() {
    let (_server, admin) = TestServer::start().await.with_admin();
    let mut body = external("link");
    body["roles"] = json!(["ROLE_LINK_READ"]);
    let id = create_application(&admin, &body).await;
    subscribe(&admin, "main", &id).await;

    assert_eq!(admin.get("/user/roles/ROLE_LINK_READ").await.status, 404);
}

#[tokio::test]
async fn roles_of_microservices_are_given_to_users_and_groups_of_subscribers() {
    let server = TestServer::start().await;
    serve(&server, "pump", defining(), &["main"]).await;

    let holders = holders(&server, "ROLE_PUMP_READ").await;

    for holder in &holders {
        assert!(effective_roles(holder).await.contains(&"ROLE_PUMP_READ".to_owned()));
    }
    let held = server.admin().read("/user/main/users/direct/roles").await;
    assert!(held.to_string().contains("ROLE_PUMP_READ"), "{held}");
    let admin = server.admin();
    assert_eq!(admin.delete("/user/main/users/direct/roles/ROLE_PUMP_READ").await.status, 204);
    until_withdrawn(&holders[..1], "ROLE_PUMP_READ").await;
}

#[tokio::test]
async fn roles_of_microservices_are_given_nowhere_else() {
    let server = TestServer::start().await;
    create_reseller(&server, "t7").await;
    serve(&server, "pump", defining(), &["t7"]).await;
    let admin = server.admin();
    admin.create("/user/main/users", &json!({"userName": "joe", "password": "secret-1"})).await;
    let group = admin.create("/user/main/groups", &json!({"name": "crew"})).await["id"].to_string();

    for path in ["/user/main/users/joe/roles".to_owned(), format!("/user/main/groups/{group}/roles")] {
        for role in ["ROLE_PUMP_READ", "ROLE_NOBODY_READ", "ROLE_SYSTEM", "ROLE_DEVICE_BOOTSTRAP"] {
            admin.post(&path, &json!({"role": {"id": role}})).await.expect_message(422, role);
        }
    }
}

#[tokio::test]
async fn sub_users_get_only_roles_their_owner_has() {
    let server = TestServer::start().await;
    serve(&server, "pump", defining(), &["main"]).await;
    let owner = server.user_with("owner", &["ROLE_USER_MANAGEMENT_CREATE", "ROLE_PUMP_READ"]).await;
    owner.create("/user/main/users", &json!({"userName": "sub", "password": "secret-1"})).await;

    let give = async |role: &str| {
        owner.post("/user/main/users/sub/roles", &json!({"role": {"id": role}})).await.status
    };
    assert_eq!(give("ROLE_PUMP_READ").await, 201);
    assert_eq!(give("ROLE_PUMP_ADMIN").await, 403);
}

#[tokio::test]
async fn unsubscribing_takes_the_roles_from_users_and_groups() {
    let (server, admin) = TestServer::start().await.with_admin();
    let (id, _) = serve(&server, "pump", defining(), &["main"]).await;
    let holders = holders(&server, "ROLE_PUMP_READ").await;
    admin.create("/user/main/users/direct/roles", &json!({"role": {"id": "ROLE_ALARM_READ"}})).await;

    unsubscribe(&admin, "main", &id).await;

    until_withdrawn(&holders, "ROLE_PUMP_READ").await;
    assert!(
        effective_roles(&holders[0]).await.contains(&"ROLE_ALARM_READ".to_owned()),
        "one of the platform"
    );
    subscribe(&admin, "main", &id).await;
    for holder in &holders {
        assert!(
            !effective_roles(holder).await.contains(&"ROLE_PUMP_READ".to_owned()),
            "it does not come back"
        );
    }
}

#[tokio::test]
async fn role_stays_as_long_as_another_microservice_defines_it() {
    let (server, admin) = TestServer::start().await.with_admin();
    let (pump, _) = serve(&server, "pump", defining(), &["main"]).await;
    let (valve, _) = serve(&server, "valve", json!({"roles": ["ROLE_PUMP_READ"]}), &["main"]).await;
    let holders = holders(&server, "ROLE_PUMP_READ").await;

    unsubscribe(&admin, "main", &pump).await;
    for holder in &holders {
        assert!(effective_roles(holder).await.contains(&"ROLE_PUMP_READ".to_owned()));
    }
    unsubscribe(&admin, "main", &valve).await;
    until_withdrawn(&holders, "ROLE_PUMP_READ").await;
}

#[tokio::test]
async fn role_that_is_defined_no_more_is_taken_away() {
    let (server, admin) = TestServer::start().await.with_admin();
    let (_, bootstrap) = serve(&server, "pump", defining(), &["main"]).await;
    let holders = holders(&server, "ROLE_PUMP_READ").await;

    assert_eq!(bootstrap.put(CURRENT, &json!({"roles": ["ROLE_PUMP_ADMIN"]})).await.status, 200);

    until_withdrawn(&holders, "ROLE_PUMP_READ").await;
    assert_eq!(admin.get("/user/roles/ROLE_PUMP_READ").await.status, 404);
}

#[tokio::test]
async fn role_goes_with_its_application() {
    let (server, admin) = TestServer::start().await.with_admin();
    let mut body = defining();
    body["availability"] = json!("PRIVATE");
    let (id, _) = serve(&server, "pump", body, &["main"]).await;
    let holders = holders(&server, "ROLE_PUMP_READ").await;

    assert_eq!(admin.delete(&format!("{APPLICATIONS}/{id}")).await.status, 204);

    until_withdrawn(&holders, "ROLE_PUMP_READ").await;
}
