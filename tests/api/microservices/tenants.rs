//! The applications in the representation of a tenant, and their deletion with the tenant (Z-01, Z-02).

use super::*;

/// The names in a list of references.
fn names(references: &Value) -> Vec<&str> {
    let references = references["references"].as_array().unwrap();
    references.iter().map(|one| one["application"]["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn current_tenant_lists_its_subscriptions() {
    let (_server, admin) = TestServer::start().await.with_admin();
    let id = create_application(&admin, &external("link")).await;
    create_application(&admin, &external("unused")).await;
    subscribe(&admin, "main", &id).await;

    let applications = admin.read("/tenant/currentTenant").await["applications"].clone();

    let listed = admin.read(&of_tenant("main")).await["references"].clone();
    assert_eq!(applications, json!({"references": listed}));
    assert_eq!(names(&applications), ["link"]);
    assert_eq!(applications["references"][0]["application"]["externalUrl"], "https://example.com/");
    assert!(!applications.to_string().contains("link-key"), "{applications}");
}

#[tokio::test]
async fn tenant_lists_its_subscriptions_and_its_own_applications_of_the_market() {
    let (server, admin) = TestServer::start().await.with_admin();
    let boss = create_reseller(&server, "t7").await;
    let foreign = create_application(&admin, &external("foreign")).await;
    create_application(&boss, &microservice("offered")).await;
    create_application(&boss, &external("hidden")).await;
    subscribe(&management(&server), "t7", &foreign).await;

    let tenant = management(&server).read("/tenant/tenants/t7").await;

    let base = server.base();
    assert_eq!(names(&tenant["applications"]), ["foreign"]);
    assert_eq!(tenant["applications"]["self"], format!("{base}/tenant/tenants/t7/applications"));
    assert_eq!(names(&tenant["ownedApplications"]), ["offered"], "others see only what is on the market");
    assert_eq!(tenant["ownedApplications"]["self"], format!("{base}/application/applicationsByOwner/t7"));
    create_application(&management(&server), &external("own")).await;
    let own = management(&server).read("/tenant/tenants/management").await;
    assert!(names(&own["ownedApplications"]).contains(&"own"), "its own are seen whole: {own}");
    let changed = management(&server).put("/tenant/tenants/t7", &json!({"company": "x"})).await.json();
    assert_eq!(names(&changed["applications"]), ["foreign"]);
}

#[tokio::test]
async fn tenants_in_a_collection_list_no_applications() {
    let (server, admin) = TestServer::start().await.with_admin();
    let id = create_application(&admin, &external("link")).await;
    subscribe(&admin, "main", &id).await;

    let tenants = management(&server).read("/tenant/tenants?pageSize=2000").await["tenants"].clone();

    let main = tenants.as_array().unwrap().iter().find(|tenant| tenant["id"] == "main").unwrap();
    let link = format!("{}/tenant/tenants/main/applications", server.base());
    assert_eq!(main["applications"], json!({"self": link, "references": []}));
    assert_eq!(main["ownedApplications"]["references"], json!([]));
}

#[tokio::test]
async fn tenant_with_thousands_of_applications_lists_2000_and_links_to_the_rest() {
    let (server, admin) = TestServer::start().await.with_admin();
    let create = "INSERT INTO applications (tenant, id, name, type, availability, key_hash, sealed_key, \
        required_roles, roles, created_at) SELECT 'main', n, 'a' || n, 'EXTERNAL', 'PRIVATE', 'k' || n, 'x', '{}', \
        '{}', now() FROM generate_series(1, 2003) n";
    server.database().execute(create, &[]).await;
    let subscribe = "INSERT INTO subscriptions (tenant, application, created_at) \
        SELECT 'main', id, now() FROM applications WHERE tenant = 'main'";
    server.database().execute(subscribe, &[]).await;

    let applications = admin.read("/tenant/currentTenant").await["applications"].clone();

    assert_eq!(applications["references"].as_array().unwrap().len(), 2000);
    let rest = admin.read(applications["next"].as_str().unwrap()).await;
    assert_eq!(names(&rest), ["a2001", "a2002", "a2003"]);
}

#[tokio::test]
async fn tenant_that_is_deleted_takes_its_users_out_of_other_tenants() {
    let (server, admin) = TestServer::start().await.with_admin();
    let boss = create_reseller(&server, "t7").await;
    let mut body = microservice("pump");
    body["requiredRoles"] = json!(["ROLE_INVENTORY_READ"]);
    body["roles"] = json!(["ROLE_PUMP_READ"]);
    let id = create_application(&boss, &body).await;
    subscribe(&admin, "main", &id).await;
    let bootstrap = bootstrap(&server, &boss, &id).await;
    let service = service_in(&server, &bootstrap, "main").await;
    assert_eq!(service.get("/inventory/managedObjects").await.status, 200);
    let holder = server.user_with("holder", &["ROLE_PUMP_READ", "ROLE_USER_MANAGEMENT_OWN_READ"]).await;
    assert_eq!(effective_roles(&holder).await.len(), 2);

    assert_eq!(management(&server).delete("/tenant/tenants/t7").await.status, 204);

    until_answered(&service, "/inventory/managedObjects", 401).await;
    until("a role that is withdrawn", async || effective_roles(&holder).await.len() == 1).await;
    assert_eq!(admin.read(&of_tenant("main")).await["references"], json!([]));
}

#[tokio::test]
async fn tenant_that_is_deleted_subscribes_to_nothing_any_more() {
    let server = TestServer::start().await;
    create_reseller(&server, "t7").await;
    let (_, bootstrap) = serve(&server, "pump", json!({}), &["t7", "main"]).await;

    assert_eq!(management(&server).delete("/tenant/tenants/t7").await.status, 204);

    let users = service_users(&bootstrap).await;
    assert_eq!((users.len(), &users[0]["tenant"]), (1, &json!("main")));
    create_reseller(&server, "t7").await;
    assert_eq!(management(&server).read(&of_tenant("t7")).await["references"], json!([]));
}
