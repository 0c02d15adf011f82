//! Tests which callers may subscribe which tenants to which applications (Z-03).

use super::*;

/// A user of a tenant with exactly these roles.
async fn user_of(server: &TestServer, tenant: &str, name: &str, roles: &[&str]) -> Caller {
    let statement = "INSERT INTO users (tenant, name, password_hash, enabled, roles, created_at) \
        SELECT $1, $2, password_hash, true, $3, now() FROM users WHERE tenant = 'main' AND name = 'admin'";
    server.database().execute(statement, &[&tenant, &name, &roles]).await;
    server.caller(&format!("{tenant}/{name}"), ADMIN_PASSWORD)
}

#[tokio::test]
async fn management_subscribes_any_tenant_to_anything() {
    let (server, admin) = TestServer::start().await.with_admin();
    let reseller = create_reseller(&server, "shop").await;
    create_reseller_below(&server, &reseller, "t7").await;
    let private = create_application(&admin, &external("web")).await;

    for tenant in ["t7", "shop", "main", "management"] {
        subscribe(&management(&server), tenant, &private).await;
        unsubscribe(&management(&server), tenant, &private).await;
    }
}

#[tokio::test]
async fn parent_subscribes_its_tenants_to_what_it_owns_and_to_the_market() {
    let (server, admin) = TestServer::start().await.with_admin();
    let reseller = create_reseller(&server, "shop").await;
    let boss = create_reseller_below(&server, &reseller, "t7").await;
    let own = create_application(&reseller, &external("own")).await;
    let market = create_application(&admin, &microservice("market")).await;
    let foreign = create_application(&admin, &external("foreign")).await;
    let of_child = create_application(&boss, &external("child")).await;

    for application in [&own, &market] {
        subscribe(&reseller, "t7", application).await;
        unsubscribe(&reseller, "t7", application).await;
    }
    for application in [&foreign, &of_child] {
        let answer = reseller.post(&of_tenant("t7"), &reference(application)).await;
        assert_eq!(answer.status, 422, "it looks like one that does not exist: {}", answer.text);
    }
}

#[tokio::test]
async fn tenant_subscribes_itself_to_what_it_owns_and_to_the_market() {
    let (server, admin) = TestServer::start().await.with_admin();
    let boss = create_reseller(&server, "t7").await;
    let own = create_application(&boss, &external("own")).await;
    let market = create_application(&admin, &microservice("market")).await;
    let foreign = create_application(&admin, &external("foreign")).await;

    for application in [&own, &market] {
        subscribe(&boss, "t7", application).await;
        unsubscribe(&boss, "t7", application).await;
    }
    assert_eq!(boss.post(&of_tenant("t7"), &reference(&foreign)).await.status, 422);
}

#[tokio::test]
async fn tenant_keeps_what_it_was_subscribed_to_by_who_looks_after_it() {
    let (server, admin) = TestServer::start().await.with_admin();
    let boss = create_reseller(&server, "t7").await;
    let id = create_application(&admin, &external("web")).await;
    subscribe(&management(&server), "t7", &id).await;

    boss.delete(&format!("{}/{id}", of_tenant("t7"))).await.expect_error(403, "security/Forbidden");

    assert_eq!(boss.read(&of_tenant("t7")).await["references"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn other_tenants_need_the_roles_of_tenants_and_the_own_those_of_applications() {
    let (server, admin) = TestServer::start().await.with_admin();
    let reseller = create_reseller(&server, "shop").await;
    create_reseller_below(&server, &reseller, "t7").await;
    let id = create_application(&admin, &microservice("pump")).await;

    for (n, (role, below, own)) in [
        ("ROLE_TENANT_MANAGEMENT_ADMIN", [403, 201, 204], [403, 403, 403]),
        ("ROLE_TENANT_MANAGEMENT_UPDATE", [403, 201, 204], [403, 403, 403]),
        ("ROLE_TENANT_MANAGEMENT_READ", [200, 403, 403], [403, 403, 403]),
        ("ROLE_TENANT_MANAGEMENT_CREATE", [403, 403, 403], [403, 403, 403]),
        ("ROLE_APPLICATION_MANAGEMENT_ADMIN", [403, 403, 403], [403, 201, 204]),
        ("ROLE_APPLICATION_MANAGEMENT_READ", [403, 403, 403], [200, 403, 403]),
    ]
    .into_iter()
    .enumerate()
    {
        let caller = user_of(&server, "shop", &format!("user{n}"), &[role]).await;
        for (tenant, expected) in [("t7", below), ("shop", own)] {
            let path = of_tenant(tenant);
            let listed = caller.get(&path).await.status;
            let created = caller.post(&path, &reference(&id)).await.status;
            let deleted = caller.delete(&format!("{path}/{id}")).await.status;
            assert_eq!([listed, created, deleted], expected, "{role} on {tenant}");
        }
    }
}

#[tokio::test]
async fn management_looks_after_itself_by_the_roles_of_tenants() {
    let (server, admin) = TestServer::start().await.with_admin();
    let id = create_application(&admin, &external("web")).await;
    let manager = user_of(&server, "management", "manager", &["ROLE_TENANT_MANAGEMENT_UPDATE"]).await;
    let owner = user_of(&server, "management", "owner", &["ROLE_APPLICATION_MANAGEMENT_ADMIN"]).await;

    assert_eq!(owner.post(&of_tenant("management"), &reference(&id)).await.status, 422);
    subscribe(&manager, "management", &id).await;
}
