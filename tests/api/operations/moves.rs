//! Operations of devices that move or go (O-06, I-10).

use super::*;

#[tokio::test]
async fn pending_operations_go_with_a_device_that_moves_to_another_agent() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let (old, new) = (create_agent(&admin, "old").await, create_agent(&admin, "new").await);
    let device = create_below(&admin, &old, "sensor").await;
    let operation = queue(&admin, &device).await;
    let (left, joined) = (listen_as(&admin, &old).await, listen_as(&admin, &new).await);

    take_off(&admin, &old, &device).await;
    place_below(&admin, &new, &device).await;

    for status in ["", "&status=PENDING"] {
        assert_eq!(found(&admin, &format!("agentId={new}{status}")).await, [id_of(&operation)]);
        assert_eq!(found(&admin, &format!("agentId={old}{status}")).await, [""; 0]);
    }
    let next = queue(&admin, &device).await;
    assert_eq!(id_of(&joined.receive(1).await[0]["data"]), id_of(&next));
    let for_old = queue(&admin, &old).await;
    assert_eq!(id_of(&left.receive(1).await[0]["data"]), id_of(&for_old), "the first that it hears of");
}

#[tokio::test]
async fn operation_of_a_device_that_lost_its_agent_can_still_be_finished() {
    let (_server, admin, agent) = TestServer::shared().await.with_agent("gateway").await;
    let device = create_below(&admin, &agent, "sensor").await;
    let operation = queue(&admin, &device).await;

    take_off(&admin, &agent, &device).await;

    assert_eq!(found(&admin, &format!("agentId={agent}")).await, [""; 0]);
    assert_eq!(found(&admin, &format!("deviceId={device}")).await, [id_of(&operation)]);
    assert_eq!(change(&admin, &operation, json!({"status": "FAILED"})).await["status"], "FAILED");
    assert_eq!(admin.post(OPERATIONS, &json!({"deviceId": device})).await.status, 422);
}

#[tokio::test]
async fn operations_go_with_their_device() {
    let (_server, admin, agent) = TestServer::shared().await.with_agent("gateway").await;
    let operation = queue(&admin, &agent).await;
    let kept = queue(&admin, &create_agent(&admin, "other").await).await;

    assert_eq!(admin.delete(&format!("/inventory/managedObjects/{agent}")).await.status, 204);

    assert_eq!(admin.get(&path_of(&operation)).await.status, 404);
    assert_eq!(admin.put(&path_of(&operation), &json!({"status": "FAILED"})).await.status, 404);
    assert_eq!(found(&admin, "").await, [id_of(&kept)]);
}

#[tokio::test]
async fn device_with_very_many_operations_is_deleted() {
    let (server, admin, agent) = TestServer::shared().await.with_agent("gateway").await;
    let fill = "INSERT INTO operations (tenant, id, device, status, created_at, fragments) \
        SELECT $1, nextval('operation_ids'), $2, 'SUCCESSFUL', now(), '{}' FROM generate_series(1, 100000)";
    server.execute(fill, &[&agent.parse::<i64>().unwrap()]).await;

    let path = format!("/inventory/managedObjects/{agent}");
    within(Duration::from_secs(60), "a device to be deleted", admin.delete(&path)).await.expect(204);

    assert_eq!(server.count("operations").await, 0);
}

#[tokio::test]
async fn operation_and_deletion_of_its_device_at_once_leave_nothing_behind() {
    let (server, admin) = TestServer::shared().await.with_admin();

    for _ in 0..10 {
        let agent = create_agent(&admin, "gateway").await;
        let posts: Vec<_> = (0..5)
            .map(|_| {
                let (admin, body) = (admin.clone(), json!({"deviceId": agent}));
                tokio::spawn(async move { admin.post(OPERATIONS, &body).await })
            })
            .collect();
        let deleted = admin.delete(&format!("/inventory/managedObjects/{agent}")).await;
        for post in posts {
            let answer = post.await.unwrap();
            assert!([201, 422].contains(&answer.status), "{}: {}", answer.status, answer.text);
        }
        assert_eq!(deleted.status, 204, "{}", deleted.text);
    }
    assert_eq!(server.count("operations").await, 0);
}
