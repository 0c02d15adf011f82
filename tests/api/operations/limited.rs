//! The collection for callers without the role (P-07, U-12).

use super::*;

#[tokio::test]
async fn permission_on_a_device_shows_its_operations_and_those_below() {
    let (server, admin, agent) = TestServer::shared().await.with_agent("gateway").await;
    let child = create_below(&admin, &agent, "sensor").await;
    let other = create_agent(&admin, "other").await;
    let own = [queue(&admin, &agent).await, queue(&admin, &child).await];
    let foreign = queue(&admin, &other).await;
    let joe = server.user_permitted("joe", &agent, &["OPERATION:*:READ"]).await;

    let expected = own.each_ref().map(|operation| id_of(operation).to_owned());
    for parameters in
        ["", "status=PENDING", &format!("agentId={agent}"), &format!("agentId={agent}&status=PENDING")]
    {
        assert_eq!(found(&joe, parameters).await, expected, "{parameters}");
    }
    assert_eq!(found(&joe, &format!("agentId={agent}&deviceId={child}")).await, expected[1..]);
    assert_eq!(found(&joe, &format!("deviceId={other}")).await, [""; 0]);
    assert_eq!(joe.get(&path_of(&own[1])).await.status, 200);
    assert_eq!(joe.get(&path_of(&foreign)).await.status, 403);
    assert_eq!(joe.put(&path_of(&own[1]), &json!({"status": "EXECUTING"})).await.status, 403, "READ alone");
    let page = joe.read(&format!("{OPERATIONS}?withTotalPages=true")).await;
    assert_eq!(page["statistics"]["totalPages"], Value::Null, "{page}");
}

#[tokio::test]
async fn permission_for_a_fragment_shows_operations_that_hold_it() {
    let (server, admin, agent) = TestServer::shared().await.with_agent("gateway").await;
    let restart = queue(&admin, &agent).await;
    let command = admin.create(OPERATIONS, &json!({"deviceId": agent, "plat_Command": {"text": "ls"}})).await;
    let joe = server.user_permitted("joe", &agent, &["OPERATION:plat_Command:*"]).await;

    assert_eq!(found(&joe, "").await, [id_of(&command)]);
    assert_eq!(joe.get(&path_of(&restart)).await.status, 403);
    assert_eq!(joe.put(&path_of(&restart), &json!({"status": "EXECUTING"})).await.status, 403);
    assert_eq!(joe.put(&path_of(&command), &json!({"status": "EXECUTING"})).await.status, 200);
    assert_eq!(joe.post(OPERATIONS, &json!({"deviceId": agent, "plat_Restart": {}})).await.status, 403);
    assert_eq!(joe.post(OPERATIONS, &json!({"deviceId": agent, "plat_Command": {}})).await.status, 201);
}
