//! Two servers on one database: a change at one server updates the caches of the other.

use super::*;

const DEVICES: &str = "/inventory/managedObjects";

#[tokio::test]
async fn service_user_is_cut_off_at_every_server() {
    let first = TestServer::start().await;
    let second = TestServer::start_on(&first.shared_database(), |_| {}).await;
    let roles = json!({"requiredRoles": ["ROLE_INVENTORY_READ"]});
    let (id, bootstrap) = serve(&first, "pump", roles, &["main"]).await;
    let user = service_users(&bootstrap).await.remove(0);
    let services = [acting(&first, &user), acting(&second, &user)];
    for service in &services {
        assert_eq!(service.get(DEVICES).await.status, 200);
    }

    unsubscribe(&first.admin(), "main", &id).await;

    for service in &services {
        until_answered(service, DEVICES, 401).await;
    }
}

#[tokio::test]
async fn required_roles_reach_every_server_and_end_sessions() {
    let first = TestServer::start().await;
    let second = TestServer::start_on(&first.shared_database(), |_| {}).await;
    let roles = json!({"requiredRoles": ["ROLE_INVENTORY_READ", "ROLE_ALARM_READ"]});
    let (id, bootstrap) = serve(&first, "pump", roles, &["main"]).await;
    let user = service_users(&bootstrap).await.remove(0);
    let service = acting(&second, &user);
    let session = service.session().await;
    session.subscribe("/alarms/*").await;
    assert_eq!(service.get("/audit/auditRecords").await.status, 403);

    let change = json!({"requiredRoles": ["ROLE_AUDIT_READ"]});
    assert_eq!(first.admin().put(&format!("{APPLICATIONS}/{id}"), &change).await.status, 200);

    until_answered(&service, "/audit/auditRecords", 200).await;
    assert_eq!(effective_roles(&service).await, ["ROLE_AUDIT_READ"]);
    until("the end of the session", async || !session.is_known().await).await;
}

#[tokio::test]
async fn roles_of_a_microservice_are_taken_away_at_every_server() {
    let first = TestServer::start().await;
    let second = TestServer::start_on(&first.shared_database(), |_| {}).await;
    let (id, _) = serve(&first, "pump", json!({"roles": ["ROLE_PUMP_READ"]}), &["main"]).await;
    first.user_with("holder", &["ROLE_PUMP_READ", "ROLE_USER_MANAGEMENT_OWN_READ"]).await;
    let holder = second.caller("holder", ADMIN_PASSWORD);
    assert_eq!(effective_roles(&holder).await.len(), 2);

    unsubscribe(&first.admin(), "main", &id).await;

    until("a role that is withdrawn", async || effective_roles(&holder).await.len() == 1).await;
}
