//! Tests that an application is served only for tenants that own it or subscribe to it.

use super::*;

#[tokio::test]
async fn files_are_served_without_credentials_by_the_tenant_of_the_host() {
    let (server, plant) = with_plant().await;
    host(&server.admin(), "web", &[("a.txt", "of main")]).await;
    host(&plant, "plant-web", &[("a.txt", "of plant7")]).await;
    let visitor = server.stranger();
    let at = async |of_host: &'static str, path: &'static str| {
        let answer = get_with(&visitor, path, &[("Host", of_host)]).await;
        (answer.status, answer.text)
    };

    assert_eq!(at("plant7.example.com", "/apps/plant-web/a.txt").await, (200, "of plant7".into()));
    assert_eq!(at("plant7.example.com", "/apps/web/a.txt").await.0, 404);
    assert_eq!(
        at("shared.example.com", "/apps/web/a.txt").await,
        (200, "of main".into()),
        "the default tenant"
    );
    assert_eq!(at("shared.example.com", "/apps/plant-web/a.txt").await.0, 404);
    assert_eq!(at("plant7.other.com", "/apps/web/a.txt").await.0, 403, "an id is no host name");
    let with_credentials = get_with(&plant, "/apps/plant-web/a.txt", &[("Host", "shared.example.com")]).await;
    assert_eq!(with_credentials.text, "of plant7");
}

#[tokio::test]
async fn wrong_credentials_are_refused_and_so_is_everything_else_without_any() {
    let (server, admin) = TestServer::start().await.with_admin();
    host(&admin, "web", &[("a.txt", "a")]).await;

    let wrong = server.caller("admin", "wrong-password");
    assert_eq!(wrong.get("/apps/web/a.txt").await.status, 401);
    for (method, path) in [("GET", "/apps"), ("POST", "/apps/web/a.txt"), ("DELETE", "/apps/web")] {
        assert_eq!(server.stranger().request(method, path).send().await.status, 401, "{method} {path}");
    }
    assert_eq!(server.stranger().get("/apps/nothing/").await.status, 404);
}

#[tokio::test]
async fn nothing_of_a_suspended_tenant_is_served() {
    let (server, plant) = with_plant().await;
    host(&plant, "web", &[("a.txt", "a")]).await;
    let visitor = server.stranger();
    let get = async || get_with(&visitor, "/apps/web/a.txt", &[("Host", "plant7.example.com")]).await.status;
    assert_eq!(get().await, 200);
    let management = server.caller("management/admin", ADMIN_PASSWORD);

    for (status, expected) in [("SUSPENDED", 403), ("ACTIVE", 200)] {
        let change = json!({"status": status});
        assert_eq!(management.put("/tenant/tenants/plant7", &change).await.status, 200);
        assert_eq!(get().await, expected, "{status}");
    }
}

#[tokio::test]
async fn every_user_of_the_tenant_is_served_without_any_role() {
    let (server, admin) = TestServer::start().await.with_admin();
    host(&admin, "web", &[("a.txt", "a")]).await;

    let bare = server.user_with("bare", &[]).await;

    assert_eq!(bare.get("/apps/web/a.txt").await.text, "a");
}

#[tokio::test]
async fn application_of_another_tenant_is_404_and_one_of_the_market_403_until_it_is_subscribed_to() {
    let server = TestServer::start_with_tenant("plant7", "plant7.example.com").await;
    let (admin, other) = (server.admin(), server.caller("plant7/admin", ADMIN_PASSWORD));
    host(&admin, "private", &[("a.txt", "a")]).await;
    let market = create(&admin, "market", "MARKET").await;
    upload(&admin, &market, &web_archive(&[("a.txt", "market")])).await;

    assert_eq!(other.get("/apps/private/a.txt").await.status, 404);
    assert_eq!(other.get("/apps/market/a.txt").await.status, 403);

    let operator = server.caller("management/admin", ADMIN_PASSWORD);
    let path = "/tenant/tenants/plant7/applications";
    operator.create(path, &json!({"application": {"id": market}})).await;
    assert_eq!(other.get("/apps/market/a.txt").await.text, "market");

    assert_eq!(operator.delete(&format!("{path}/{market}")).await.status, 204);
    until("the subscription ends", async || other.get("/apps/market/a.txt").await.status == 403).await;
}

#[tokio::test]
async fn microservice_is_not_served_as_files() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let body = json!({"name": "pump", "key": "pump-key", "type": "MICROSERVICE"});
    let service = admin.create("/application/applications", &body).await;
    let archive = service_archive("{}");
    assert_eq!(upload(&admin, service["id"].as_str().unwrap(), &archive).await.status, 204);

    assert_eq!(admin.get("/apps/pump/platform.json").await.status, 404);
}
