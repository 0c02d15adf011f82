//! Tests who may call a microservice: every user of a tenant that owns it or subscribes to it.

use super::*;

const PATH: &str = "/service/rules/x";

/// A server with a second tenant, which does not use the microservice of `main` yet.
async fn with_other_tenant() -> (Behind, Caller) {
    let behind = Behind::of(TestServer::start_with_tenant("plant7", "plant7.example.com").await).await;
    let other = behind.server.caller("plant7/admin", ADMIN_PASSWORD);
    (behind, other)
}

/// Subscribes a tenant to the microservice.
pub(super) async fn subscribe(behind: &Behind, tenant: &str) {
    let management = behind.server.caller("management/admin", ADMIN_PASSWORD);
    let body = json!({"application": {"id": behind.application}});
    management.create(&format!("/tenant/tenants/{tenant}/applications"), &body).await;
}

async fn unsubscribe(behind: &Behind, tenant: &str) {
    let management = behind.server.caller("management/admin", ADMIN_PASSWORD);
    let path = format!("/tenant/tenants/{tenant}/applications/{}", behind.application);
    assert_eq!(management.delete(&path).await.status, 204);
}

#[tokio::test]
async fn strangers_are_401_and_wrong_passwords_too() {
    let behind = Behind::start().await;

    assert_eq!(behind.server.stranger().get(PATH).await.status, 401);
    assert_eq!(behind.server.stranger().request("OPTIONS", PATH).send().await.status, 401);
    assert_eq!(behind.server.caller("admin", "wrong-1").get(PATH).await.status, 401);
    assert_eq!(behind.server.stranger().get("/service/unknown").await.status, 401);
    behind.hears_nothing_of_what_was_before().await;
}

#[tokio::test]
async fn every_user_of_the_tenant_may_call_whatever_the_roles() {
    let behind = Behind::start().await;
    let bare = behind.server.user_with("bare", &[]).await;

    behind.heard(bare.request("GET", PATH)).await;
}

#[tokio::test]
async fn private_microservice_of_another_tenant_is_404_like_an_unknown_one() {
    let (behind, other) = with_other_tenant().await;

    let (private, unknown) = (other.get(PATH).await, other.get("/service/unknown/x").await);

    assert_eq!((private.status, unknown.status), (404, 404));
    assert_eq!(private.text.replace("rules", "unknown"), unknown.text, "nothing tells them apart");
    behind.hears_nothing_of_what_was_before().await;
}

#[tokio::test]
async fn microservice_of_the_market_is_403_for_who_does_not_subscribe() {
    let (behind, other) = with_other_tenant().await;
    let change = "UPDATE applications SET availability = 'MARKET' WHERE context_path = 'rules'";
    behind.server.database().execute(change, &[]).await;

    assert_eq!(other.get(PATH).await.status, 403);
    behind.hears_nothing_of_what_was_before().await;
}

#[tokio::test]
async fn subscriber_calls_until_its_subscription_ends_at_every_server() {
    let (behind, _) = with_other_tenant().await;
    let second = TestServer::start_on(&behind.server.shared_database(), |_| {}).await;
    let both = [&behind.server, &second].map(|server| server.caller("plant7/admin", ADMIN_PASSWORD));
    assert_eq!(both[1].get(PATH).await.status, 404);

    // Returns whether a call reaches the microservice, which does not respond, or is rejected.
    let reaches = async |other: &Caller| {
        let asked = async { RawConnection::accepted(behind.listener.accept().await.unwrap().0) };
        tokio::select! {
            answer = other.get(PATH) => {
                assert_eq!(answer.status, 404);
                false
            }
            _ = asked => true,
        }
    };

    subscribe(&behind, "plant7").await;
    for other in &both {
        until("the subscription", async || reaches(other).await).await;
    }

    unsubscribe(&behind, "plant7").await;
    assert_eq!(both[0].get(PATH).await.status, 404, "where it was ended it has ended at once");
    until("the end at the other server", async || !reaches(&both[1]).await).await;
}

#[tokio::test]
async fn applications_of_other_types_are_not_microservices() {
    let (_behind, admin) = Behind::start().await.with_admin();
    let hosted = json!({"name": "cockpit7", "key": "k7", "type": "HOSTED", "contextPath": "cockpit7",
        "resourcesUrl": "/"});
    admin.create("/application/applications", &hosted).await;

    assert_eq!(admin.get("/service/cockpit7/x").await.status, 404);
}

#[tokio::test]
async fn bootstrap_users_may_not_call() {
    let behind = Behind::in_turn().await;
    let path = format!("/application/applications/{}/bootstrapUser", behind.application);
    let user = behind.server.admin().read(&path).await;
    let name = format!("main/{}", user["name"].as_str().unwrap());
    let of_service = behind.server.caller(&name, user["password"].as_str().unwrap());
    let of_devices = behind.server.caller("management/devicebootstrap", crate::harness::BOOTSTRAP_PASSWORD);

    assert_eq!(of_service.get(PATH).await.status, 403);
    assert_eq!(of_devices.get(PATH).await.status, 403);
    behind.hears_nothing_of_what_was_before().await;
}

#[tokio::test]
async fn context_paths_that_nobody_has_are_404() {
    let (behind, admin) = Behind::in_turn().await.with_admin();

    for path in
        ["/service/Rules/x", "/service/rules%2Fx", "/service/%00/x", "/service/rules%00", "/service/%FF"]
    {
        assert_eq!(admin.get(path).await.status, 404, "{path}");
    }
    assert_eq!(admin.get(&format!("/service/{}/x", "a".repeat(3000))).await.status, 404);
    assert_eq!(admin.get("/service").await.status, 404);
    behind.hears_nothing_of_what_was_before().await;
}

#[tokio::test]
async fn rows_of_the_csv_protocol_may_not_call() {
    let (behind, admin) = Behind::start().await.with_admin();
    let rows = "10,100,GET,/service/rules/x,,,,,";
    admin.request("POST", "/s").header("X-Id", "mine").body(rows).send().await.expect(200);

    let answer = admin.request("POST", "/s").header("X-Id", "mine").body("100").send().await;

    assert!(answer.text.contains("403"), "{}", answer.text);
    behind.hears_nothing_of_what_was_before().await;
}

#[tokio::test]
async fn another_microservice_is_called_as_a_service_user_too() {
    let (behind, admin) = Behind::start().await.with_admin();
    let other = create_microservice(&admin, "other").await;
    let address = format!("http://{}", behind.address());
    route(behind.server.database(), &other, Some(&address)).await.unwrap();
    admin.create("/tenant/tenants/main/applications", &json!({"application": {"id": other}})).await;
    let path = format!("/application/applications/{other}/bootstrapUser");
    let user = admin.read(&path).await;
    let name = format!("main/{}", user["name"].as_str().unwrap());
    let bootstrap = behind.server.caller(&name, user["password"].as_str().unwrap());
    let users = bootstrap.read("/application/currentApplication/subscriptions").await;
    let user = &users["users"][0];
    let name = format!("main/{}", user["name"].as_str().unwrap());
    let service = behind.server.caller(&name, user["password"].as_str().unwrap());

    let head = behind.heard(service.request("GET", PATH)).await;

    assert_eq!(super::field(&head, "X-Platform-User"), Some("service_other"));
}
