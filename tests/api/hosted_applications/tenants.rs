//! Who is served: tenants that own the application or subscribe to it.

use serde_json::json;

use super::{create, host};
use crate::harness::{
    ADMIN_PASSWORD, TestDatabase, TestServer, eventually, service_archive, upload, web_archive,
};

#[tokio::test]
async fn credentials_are_needed_for_every_file() {
    let server = TestServer::start().await;
    host(&server.admin(), "web", &[("a.txt", "a")]).await;

    for path in ["/apps/web", "/apps/web/", "/apps/web/a.txt", "/apps/nothing/", "/apps"] {
        let answer = server.stranger().get(path).await;
        assert_eq!((answer.status, &*answer.error()), (401, "security/Unauthorized"), "{path}");
        assert_eq!(answer.header("WWW-Authenticate"), Some("Basic realm=\"Platform\""), "{path}");
    }
    let wrong = server.caller("admin", "wrong-password");
    assert_eq!(wrong.get("/apps/web/a.txt").await.status, 401);
}

#[tokio::test]
async fn every_user_of_the_tenant_is_served_without_any_role() {
    let server = TestServer::start().await;
    host(&server.admin(), "web", &[("a.txt", "a")]).await;

    let bare = server.user_with("bare", &[]).await;

    assert_eq!(bare.get("/apps/web/a.txt").await.text, "a");
}

#[tokio::test]
async fn application_of_another_tenant_is_404_and_one_of_the_market_403_until_it_is_subscribed_to() {
    let database = TestDatabase::create().await;
    database.insert_tenant("plant7", "plant7.example.com").await;
    let server = TestServer::start_on(&database, |_| {}).await;
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
    eventually("the subscription ends", async || {
        (other.get("/apps/market/a.txt").await.status == 403).then_some(())
    })
    .await;
}

#[tokio::test]
async fn microservice_is_not_served_as_files() {
    let server = TestServer::start().await;
    let admin = server.admin();
    let body = json!({"name": "pump", "key": "pump-key", "type": "MICROSERVICE"});
    let service = admin.create("/application/applications", &body).await;
    let archive = service_archive("{}");
    assert_eq!(upload(&admin, service["id"].as_str().unwrap(), &archive).await.status, 204);

    assert_eq!(admin.get("/apps/pump/platform.json").await.status, 404);
}
