//! Tests who may queue, read and change operations (docs/rules.md#operations; I-06).

use super::*;

#[tokio::test]
async fn admin_role_writes_and_does_not_read() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let agent = create_agent(&admin, "gateway").await;
    let writer = server.user_with("writer", &["ROLE_DEVICE_CONTROL_ADMIN"]).await;

    let operation = queue(&writer, &agent).await;

    assert_eq!(writer.put(&path_of(&operation), &json!({"status": "EXECUTING"})).await.status, 200);
    assert_eq!(writer.get(&path_of(&operation)).await.status, 403);
    assert_eq!(writer.get(OPERATIONS).await.status, 403);
    assert_eq!(writer.delete(OPERATIONS).await.status, 204);
}

#[tokio::test]
async fn read_role_reads_and_does_not_write() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let agent = create_agent(&admin, "gateway").await;
    let operation = queue(&admin, &agent).await;
    let reader = server.user_with("reader", &["ROLE_DEVICE_CONTROL_READ"]).await;

    assert_eq!(reader.read(&path_of(&operation)).await, operation);
    assert_eq!(found(&reader, &format!("agentId={agent}")).await, [id_of(&operation)]);
    assert_eq!(reader.post(OPERATIONS, &json!({"deviceId": agent})).await.status, 403);
    assert_eq!(reader.put(&path_of(&operation), &json!({"status": "EXECUTING"})).await.status, 403);
    assert_eq!(reader.delete(OPERATIONS).await.status, 403);
}

#[tokio::test]
async fn owner_of_an_agent_queues_and_changes_for_everything_below() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let roles = ["ROLE_INVENTORY_CREATE", "ROLE_DEVICE_CONTROL_READ"];
    let device_user = server.user_with("device_1", &roles).await;
    let agent = create_agent(&device_user, "gateway").await;
    let child = create_below(&admin, &agent, "sensor").await;
    let foreign = create_agent(&admin, "other").await;

    let operation = queue(&device_user, &child).await;

    device_user.put(&path_of(&operation), &json!({"status": "EXECUTING"})).await.expect(200);
    assert_eq!(device_user.post(OPERATIONS, &json!({"deviceId": foreign})).await.status, 403);
    let other = queue(&admin, &foreign).await;
    assert_eq!(device_user.put(&path_of(&other), &json!({"status": "FAILED"})).await.status, 403);
    assert_eq!(device_user.delete(OPERATIONS).await.status, 403, "deletion needs the role");
}

#[tokio::test]
async fn owner_of_an_agent_reads_its_operations_and_not_all() {
    let (server, _, owner) = TestServer::shared().await.with_owner().await;
    let agent = create_agent(&owner, "gateway").await;
    let operation = queue(&owner, &agent).await;

    assert_eq!(owner.get(&path_of(&operation)).await.status, 200);
    assert_eq!(owner.get(&format!("{OPERATIONS}?agentId={agent}")).await.status, 200);
    assert_eq!(owner.get(OPERATIONS).await.status, 403);
}

#[tokio::test]
async fn who_may_not_write_learns_nothing_of_agents() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let nobody = server.user_with("nobody", &[]).await;

    nobody.post(OPERATIONS, &json!({"deviceId": device})).await.expect_error(403, "security/Forbidden");
}
