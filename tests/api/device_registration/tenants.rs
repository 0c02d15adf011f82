//! Requests of several tenants (N-06, N-07), and tenants that are not served.

use super::*;

/// A server with a tenant `t7`, and that tenant's administrator.
async fn two_tenants() -> (TestServer, Caller) {
    let server = TestServer::start_with_tenant("t7", "plant7.example.com").await;
    let admin = server.caller("t7/admin", ADMIN_PASSWORD);
    (server, admin)
}

async fn accept_as(caller: &Caller, id: &str) {
    assert_eq!(caller.put(&request_of(id), &json!({"status": "ACCEPTED"})).await.status, 200);
}

async fn set_status(server: &TestServer, tenant: &str, status: &str) {
    let management = server.caller("management/admin", ADMIN_PASSWORD);
    management.put(&format!("/tenant/tenants/{tenant}"), &json!({"status": status})).await.expect(200);
}

#[tokio::test]
async fn id_that_another_tenant_registered_is_409() {
    let (server, other) = two_tenants().await;
    register(&server, "sn-1").await;

    let answer =
        other.post(REQUESTS, &json!({"id": "sn-1"})).await.expect_error(409, "devicecontrol/Duplicate");

    assert!(!answer.text.contains("main"), "{}", answer.text);
}

#[tokio::test]
async fn requests_of_another_tenant_look_absent() {
    let (server, other) = two_tenants().await;
    register(&server, "sn-1").await;

    let absent = |answer: Response, id: &str| (answer.status, answer.text.replace(id, "<id>"));
    let accepted = json!({"status": "ACCEPTED"});
    for (of_other, unknown) in [
        (other.get(&request_of("sn-1")).await, other.get(&request_of("sn-9")).await),
        (other.put(&request_of("sn-1"), &accepted).await, other.put(&request_of("sn-9"), &accepted).await),
        (other.delete(&request_of("sn-1")).await, other.delete(&request_of("sn-9")).await),
    ] {
        assert_eq!(absent(of_other, "sn-1"), absent(unknown, "sn-9"));
    }
    assert_eq!(other.read(REQUESTS).await["newDeviceRequests"], json!([]));
    assert_eq!(server.admin().read(&request_of("sn-1")).await["status"], "WAITING_FOR_CONNECTION");
}

#[tokio::test]
async fn bootstrap_user_of_the_installation_serves_devices_of_all_tenants() {
    let (server, other) = two_tenants().await;
    register(&server, "sn-1").await;
    accept(&server, "sn-1").await;
    other.create(REQUESTS, &json!({"id": "sn-7"})).await;
    accept_as(&other, "sn-7").await;

    let (of_main, of_t7) = (poll(&server, "sn-1").await.json(), poll(&server, "sn-7").await.json());

    assert_eq!((&of_main["tenantId"], &of_t7["tenantId"]), (&json!("main"), &json!("t7")));
    let secret = of_t7["password"].as_str().unwrap();
    let device = server.caller("t7/device_sn-7", secret);
    assert_eq!(device.read("/tenant/currentTenant").await["name"], "t7");
    assert_eq!(server.caller("main/device_sn-7", secret).get("/tenant/currentTenant").await.status, 401);
}

#[tokio::test]
async fn bootstrap_user_of_a_tenant_serves_its_own_devices_alone() {
    let (server, other) = two_tenants().await;
    register(&server, "sn-1").await;
    accept(&server, "sn-1").await;
    other.create(REQUESTS, &json!({"id": "sn-7"})).await;
    accept_as(&other, "sn-7").await;
    let own = "INSERT INTO users (tenant, name, password_hash, enabled, roles, created_at) \
        SELECT 't7', name, password_hash, enabled, roles, created_at FROM users WHERE name = 'devicebootstrap'";
    server.database().execute(own, &[]).await;
    let bootstrap = server.caller("t7/devicebootstrap", BOOTSTRAP_PASSWORD);

    let foreign = bootstrap.post(CREDENTIALS, &json!({"id": "sn-1"})).await;
    let unknown = bootstrap.post(CREDENTIALS, &json!({"id": "sn-9"})).await;
    let own = bootstrap.post(CREDENTIALS, &json!({"id": "sn-7"})).await;

    assert_eq!((foreign.status, unknown.status, own.status), (404, 404, 201));
    assert_eq!(foreign.text.replace("sn-1", "<id>"), unknown.text.replace("sn-9", "<id>"));
    assert_eq!(own.json()["tenantId"], "t7");
}

#[tokio::test]
async fn poll_for_a_suspended_tenant_is_404_and_changes_nothing() {
    let (server, other) = two_tenants().await;
    for id in ["waiting", "accepted", "answered"] {
        other.create(REQUESTS, &json!({"id": id})).await;
    }
    accept_as(&other, "accepted").await;
    accept_as(&other, "answered").await;
    let secret = super::password(&poll(&server, "answered").await);
    set_status(&server, "t7", "SUSPENDED").await;

    for id in ["waiting", "accepted", "answered"] {
        let answer = poll(&server, id).await.expect(404);
        assert_eq!(answer.message(), format!("There is no newDeviceRequest for device id {id}."));
    }
    let device = server.caller("t7/device_answered", &secret);
    assert_eq!(device.get("/tenant/currentTenant").await.status, 403);

    set_status(&server, "t7", "ACTIVE").await;
    let waiting = eventually("the tenant", async || {
        Some(other.get(&request_of("waiting")).await).filter(|answer| answer.status == 200)
    });
    assert_eq!(waiting.await.json()["status"], "WAITING_FOR_CONNECTION");
    assert_eq!(poll(&server, "accepted").await.status, 201);
    assert_eq!(super::password(&poll(&server, "answered").await), secret, "it never came in");
}

#[tokio::test]
async fn deleted_tenant_takes_its_requests_along() {
    let (server, other) = two_tenants().await;
    other.create(REQUESTS, &json!({"id": "sn-1"})).await;
    accept_as(&other, "sn-1").await;
    assert_eq!(poll(&server, "sn-1").await.status, 201);

    let management = server.caller("management/admin", ADMIN_PASSWORD);
    assert_eq!(management.delete("/tenant/tenants/t7").await.status, 204);

    assert_eq!(poll(&server, "sn-1").await.status, 404);
    register(&server, "sn-1").await;
}
