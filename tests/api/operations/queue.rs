//! POST of an operation (O-01, O-04, O-10).

use super::*;

#[tokio::test]
async fn operation_for_an_agent_is_pending_with_what_was_given() {
    let (server, admin, agent) = TestServer::shared().await.with_agent("gateway").await;

    let body = json!({"deviceId": agent, "plat_Restart": {}, "description": "Restart", "n": 1.50});
    let answer = admin.post(OPERATIONS, &body).await.expect(201);

    let operation = answer.json();
    let link = format!("{}{}", server.base(), path_of(&operation));
    assert_eq!(answer.header("Location"), Some(&*link));
    assert_eq!(operation["self"], link);
    assert!(operation["creationTime"].as_str().unwrap().ends_with('Z'), "{operation}");
    let rest = json!({"deviceId": agent, "status": "PENDING", "plat_Restart": {}, "description": "Restart", "n": 1.5});
    assert_eq!(without(&operation, &["self", "id", "creationTime"]), rest);
    assert_eq!(admin.read(&path_of(&operation)).await, operation);
}

#[tokio::test]
async fn status_of_a_post_is_ignored_and_so_is_what_the_server_sets() {
    let (_server, admin, agent) = TestServer::shared().await.with_agent("gateway").await;

    let body = json!({"deviceId": agent, "status": "SUCCESSFUL", "failureReason": "none", "id": "0", "self": "x",
        "creationTime": "2001-01-01T00:00:00Z", "deviceName": "x", "deviceExternalIDs": {}, "bulkOperationId": "5"});
    let operation = admin.create(OPERATIONS, &body).await;

    assert_eq!(
        without(&operation, &["self", "id", "creationTime"]),
        json!({"deviceId": agent, "status": "PENDING"})
    );
    assert_ne!(operation["id"], "0");
    assert!(!operation["creationTime"].as_str().unwrap().starts_with("2001"));
}

#[tokio::test]
async fn delivery_type_is_a_fragment_like_any_other() {
    let (_server, admin, agent) = TestServer::shared().await.with_agent("gateway").await;

    let body = json!({"deviceId": agent, "deliveryType": "SMS", "delivery": {"status": "x", "log": []}});
    let operation = admin.create(OPERATIONS, &body).await;

    assert_eq!(operation["deliveryType"], "SMS");
    assert_eq!(operation["delivery"], json!({"status": "x", "log": []}));
}

#[tokio::test]
async fn device_id_is_taken_as_a_number_too() {
    let (_server, admin, agent) = TestServer::shared().await.with_agent("gateway").await;

    let operation = admin.create(OPERATIONS, &json!({"deviceId": agent.parse::<i64>().unwrap()})).await;

    assert_eq!(operation["deviceId"], agent);
}

#[tokio::test]
async fn device_anywhere_below_an_agent_takes_operations() {
    let (_server, admin, agent) = TestServer::shared().await.with_agent("gateway").await;
    let child = create_below(&admin, &agent, "bus").await;
    let grandchild = create_below(&admin, &child, "sensor").await;

    let operations = [queue(&admin, &child).await, queue(&admin, &grandchild).await];

    assert_eq!(
        found(&admin, &format!("agentId={agent}")).await,
        operations.each_ref().map(|o| id_of(o).to_owned())
    );
}

#[tokio::test]
async fn device_that_belongs_to_no_agent_is_refused_with_a_message_of_its_own() {
    let (server, admin, lonely) = TestServer::shared().await.with_device("pump").await;
    // An asset of an agent is not controlled by it.
    let agent = create_agent(&admin, "gateway").await;
    let path = format!("/inventory/managedObjects/{agent}/childAssets");
    let asset = admin.create_device("asset").await;
    admin.post(&path, &json!({"managedObject": {"id": asset}})).await;
    // The parent of an agent is not controlled by it either.
    let above = admin.create_device("above").await;
    place_below(&admin, &above, &agent).await;

    for device in [&lonely, &asset, &above] {
        let answer = admin.post(OPERATIONS, &json!({"deviceId": device})).await;
        assert_eq!((answer.status, &*answer.error()), (422, "undefined/validationError"), "{}", answer.text);
        assert!(answer.message().contains(device.as_str()), "{}", answer.text);
        assert!(answer.message().contains("neither an agent"), "{}", answer.text);
    }
    assert_eq!(server.count("operations").await, 0);
}

#[tokio::test]
async fn unknown_device_is_422_and_named() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for device in [json!("4711"), json!(4711), json!("none"), json!("-5"), json!("")] {
        let answer = admin.post(OPERATIONS, &json!({"deviceId": device})).await;
        assert_eq!((answer.status, &*answer.error()), (422, "undefined/validationError"), "{}", answer.text);
        assert!(answer.message().contains("deviceId"), "{}", answer.text);
        assert!(answer.message().contains(device.to_string().trim_matches('"')), "{}", answer.text);
    }
    let answer = admin.post(OPERATIONS, &json!({"plat_Restart": {}})).await;
    assert_eq!(answer.message(), "Following mandatory fields should be included: deviceId");
}

#[tokio::test]
async fn object_that_becomes_an_agent_takes_operations_from_then_on() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    assert_eq!(admin.post(OPERATIONS, &json!({"deviceId": device})).await.status, 422);

    let path = format!("/inventory/managedObjects/{device}");
    admin.put(&path, &json!({"com_platform_model_Agent": {}})).await;
    queue(&admin, &device).await;
    admin.put(&path, &json!({"com_platform_model_Agent": null})).await;

    assert_eq!(admin.post(OPERATIONS, &json!({"deviceId": device})).await.status, 422);
    assert_eq!(found(&admin, "").await.len(), 1, "what was queued stays");
}

#[tokio::test]
async fn device_of_another_tenant_is_unknown() {
    let (server, admin) = TestServer::start_with_tenant("plant7", "plant7.example.com").await.with_admin();
    let agent = create_agent(&admin, "gateway").await;
    let operation = queue(&admin, &agent).await;
    let other = server.caller("plant7/admin", crate::harness::ADMIN_PASSWORD);

    assert_eq!(other.post(OPERATIONS, &json!({"deviceId": agent})).await.status, 422);
    assert_eq!(other.get(&path_of(&operation)).await.status, 404);
    assert_eq!(other.put(&path_of(&operation), &json!({"status": "FAILED"})).await.status, 404);
    for parameters in ["", &format!("agentId={agent}"), &format!("deviceId={agent}&status=PENDING")] {
        assert_eq!(found(&other, parameters).await, [""; 0], "{parameters}");
    }
    assert_eq!(other.delete(OPERATIONS).await.status, 204);
    assert_eq!(found(&admin, "").await, [id_of(&operation)]);
}
