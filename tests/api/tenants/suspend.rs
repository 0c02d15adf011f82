//! Suspended tenants are cut off at once (Z-01).

use super::*;

const T7: &str = "/tenant/tenants/t7";

async fn set_status(server: &TestServer, status: &str) {
    let answer = management(server).put(T7, &json!({"status": status})).await;
    assert_eq!((answer.status, &answer.json()["status"]), (200, &json!(status)), "{}", answer.text);
}

async fn answers(caller: &Caller, status: u16) {
    let what = format!("status {status}");
    until(&what, async || caller.get("/alarm/alarms").await.status == status).await;
}

#[tokio::test]
async fn every_request_of_a_suspended_tenant_is_403_until_it_is_active_again() {
    let (server, admin) = TestServer::start().await.with_admin();
    let boss = create_tenant(&server, "t7").await;
    answers(&boss, 200).await;

    set_status(&server, "SUSPENDED").await;

    answers(&boss, 403).await;
    for path in ["/tenant/currentTenant", "/inventory/managedObjects", "/unknown"] {
        assert_eq!(boss.get(path).await.status, 403, "{path}");
    }
    assert_eq!(admin.get("/alarm/alarms").await.status, 200, "others are served");
    set_status(&server, "ACTIVE").await;
    answers(&boss, 200).await;
}

#[tokio::test]
async fn held_poll_and_socket_of_a_suspended_tenant_end() {
    let (server, admin) = TestServer::start().await.with_admin();
    let boss = create_tenant(&server, "t7").await;
    let session = boss.listen("/alarms/*").await;
    let held = session.hold().await;
    let (mut socket, _) = Socket::listen(&boss, "/alarms/*").await;
    let other = admin.session().await;

    set_status(&server, "SUSPENDED").await;

    let answer = soon("the answer of the held poll", held.answer()).await;
    let ended: Value = reply(&answer);
    assert_eq!((&ended["successful"], &ended["error"]), (&json!(false), &json!("402::Unknown client")));
    socket.closed().await;
    assert!(other.is_known().await, "others are not concerned");
    answers(&boss, 403).await;
}

#[tokio::test]
async fn suspension_is_felt_at_other_servers() {
    let server = TestServer::start().await;
    let other = TestServer::start_on(&server.shared_database(), |_| {}).await;
    create_tenant(&server, "t7").await;
    let boss = other.caller("t7/boss", crate::harness::ADMIN_PASSWORD);
    let session = boss.listen("/alarms/*").await;
    let held = session.hold().await;

    set_status(&server, "SUSPENDED").await;

    let answer = soon("the answer of the held poll", held.answer()).await;
    assert_eq!(reply(&answer)["successful"], false);
    answers(&boss, 403).await;
}

#[tokio::test]
async fn management_cannot_be_suspended() {
    let server = TestServer::start().await;

    let path = "/tenant/tenants/management";
    let answer = management(&server).put(path, &json!({"status": "SUSPENDED"})).await;

    assert_eq!((answer.status, answer.error().as_str()), (403, "security/Forbidden"));
    assert!(answer.message().contains("management"), "{}", answer.message());
    assert_eq!(management(&server).read(path).await["status"], "ACTIVE");
}
