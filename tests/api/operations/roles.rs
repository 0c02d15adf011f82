//! Tests who may queue, read and change operations (docs/rules.md#operations; I-06).

use super::*;

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
    let (_server, _, owner) = TestServer::shared().await.with_owner().await;
    let agent = create_agent(&owner, "gateway").await;
    let operation = queue(&owner, &agent).await;

    assert_eq!(owner.get(&path_of(&operation)).await.status, 200);
    assert_eq!(owner.get(&format!("{OPERATIONS}?agentId={agent}")).await.status, 200);
    assert_eq!(owner.get(OPERATIONS).await.status, 403);
}

#[tokio::test]
async fn who_may_not_write_learns_nothing_of_agents() {
    let (server, _admin, device) = TestServer::shared().await.with_device("pump").await;
    let nobody = server.user_with("nobody", &[]).await;

    nobody.post(OPERATIONS, &json!({"deviceId": device})).await.expect_error(403, "security/Forbidden");
}
