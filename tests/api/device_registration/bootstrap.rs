//! Only the bootstrap user may request device credentials, and it may do nothing else (N-09).

use super::*;

#[tokio::test]
async fn everybody_without_the_bootstrap_role_is_403() {
    let server = with_accepted("sn-1").await;
    let other = admit(&server, "sn-2").await;

    for caller in [
        server.admin(),
        server.caller("management/admin", crate::harness::ADMIN_PASSWORD),
        server.user_with("writer", &["ROLE_DEVICE_CONTROL_ADMIN", "ROLE_DEVICE_CONTROL_READ"]).await,
        device(&server, "sn-2", &other),
    ] {
        caller.post(CREDENTIALS, &json!({"id": "sn-1"})).await.expect_error(403, "security/Forbidden");
    }
    assert_eq!(server.stranger().post(CREDENTIALS, &json!({"id": "sn-1"})).await.status, 401);
    assert_eq!(server.admin().read(&request_of("sn-1")).await["status"], "ACCEPTED");
}

#[tokio::test]
async fn bootstrap_user_may_neither_see_nor_accept_requests() {
    let server = with_request("sn-1").await;
    let bootstrap = bootstrap(&server);

    for answer in [
        bootstrap.get(REQUESTS).await,
        bootstrap.get(&request_of("sn-1")).await,
        bootstrap.post(REQUESTS, &json!({"id": "sn-2"})).await,
        bootstrap.put(&request_of("sn-1"), &json!({"status": "ACCEPTED"})).await,
        bootstrap.delete(&request_of("sn-1")).await,
        bootstrap.get(CREDENTIALS).await,
        bootstrap.get("/devicecontrol").await,
        bootstrap.get("/inventory/managedObjects").await,
        bootstrap.get("/user/currentUser").await,
    ] {
        assert_eq!(answer.status, 403, "{}", answer.text);
    }
}

#[tokio::test]
async fn role_comes_before_the_body() {
    let (server, admin) = TestServer::start().await.with_admin();

    assert_eq!(admin.post(CREDENTIALS, &json!({})).await.status, 403);
    assert_eq!(bootstrap(&server).post(CREDENTIALS, &json!({})).await.status, 422);
}

#[tokio::test]
async fn credentials_can_only_be_posted() {
    let (_server, admin) = TestServer::start().await.with_admin();

    for method in ["GET", "PUT", "DELETE"] {
        let answer = admin.request(method, CREDENTIALS).send().await;
        assert_eq!((answer.status, answer.header("Allow")), (405, Some("POST")), "{method}");
    }
}
