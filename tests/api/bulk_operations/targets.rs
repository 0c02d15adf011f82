//! The devices of a bulk operation (K-03, K-10; I-11).

use super::*;

/// Runs a bulk operation for a group to its end and returns the devices that got an operation.
async fn told_by(server: &TestServer, group: &str) -> Vec<String> {
    completed(&server.admin(), &plan(&server.admin(), &bulk_of(group, 0.0)).await).await;
    devices(server).await
}

#[tokio::test]
async fn devices_of_a_static_group_and_of_its_subgroups_each_once_by_id() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let mut agents = Vec::new();
    for name in ["a", "b", "c", "d"] {
        agents.push(create_agent(&admin, name).await);
    }
    let asset = id_of(&admin.create("/inventory/managedObjects", &json!({"name": "a mere thing"})).await);
    let deepest = group_of(&admin, &[&agents[0], &agents[3]]).await;
    let below = group_of(&admin, &[&deepest, &agents[1]]).await;
    // One agent is in several of the groups, and the order differs from that of the ids.
    let group = group_of(&admin, &[&agents[3], &agents[2], &below, &deepest, &asset]).await;

    assert_eq!(told_by(&server, &group).await, agents);
}

#[tokio::test]
async fn child_of_a_device_is_not_a_group_member() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let (agent, asset, child) = (
        create_agent(&admin, "agent").await,
        create_agent(&admin, "asset of the agent").await,
        create_agent(&admin, "child of the agent").await,
    );
    put_into(&admin, &agent, &asset).await;
    let path = format!("/inventory/managedObjects/{agent}/childDevices");
    admin.create(&path, &json!({"managedObject": {"id": child}})).await;
    let group = group_of(&admin, &[&agent]).await;

    assert_eq!(told_by(&server, &group).await, [agent]);
}

#[tokio::test]
async fn devices_that_the_query_of_a_dynamic_group_finds() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let (first, second) = (create_agent(&admin, "pump 1").await, create_agent(&admin, "pump 2").await);
    create_agent(&admin, "motor").await;
    // The group also contains an object that is not a device.
    admin.create("/inventory/managedObjects", &json!({"name": "pump 3"})).await;
    let query = json!("$filter=name eq 'pump*' $orderby=name desc");

    assert_eq!(told_by(&server, &admin.create_dynamic_group(query).await).await, [first, second]);
}

#[tokio::test]
async fn dynamic_group_without_a_query_that_can_be_read_is_refused() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for query in [
        json!("name eq"),
        json!(""),
        json!(5),
        json!({}),
        json!("(("),
        json!("=type ne 'x'"),
        json!("not has($type)"),
        json!("$orderby=name"),
    ] {
        let answer = admin
            .post(BULK, &bulk_of(&admin.create_dynamic_group(query.clone()).await, 0.0))
            .await
            .expect(422);
        assert!(answer.message().contains("plat_DeviceQueryString"), "{query}: {}", answer.text);
    }
}

#[tokio::test]
async fn device_is_not_a_group() {
    let (_server, admin, device) = TestServer::shared().await.with_agent("pump").await;

    assert_eq!(admin.post(BULK, &bulk_of(&device, 0.0)).await.status, 422);
}

#[tokio::test]
async fn empty_group_completes_at_once() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let group = group_of(&admin, &[]).await;

    let bulk = admin.create(BULK, &bulk_of(&group, 5.0)).await;

    assert_eq!((&bulk["status"], &bulk["progress"]["all"]), (&json!("COMPLETED"), &json!(0)));
    assert_eq!(admin.read(bulk["self"].as_str().unwrap()).await, bulk);
}

#[tokio::test]
async fn group_is_evaluated_at_the_start_and_counted_at_post() {
    let (server, admin, group) = with_fleet(3).await;
    let link = plan(&admin, &later_of(&group)).await;
    assert_eq!(admin.read(&link).await["progress"]["all"], 3);
    server.execute("DELETE FROM links WHERE tenant = $1 AND child = 1001", &[]).await;

    let started = admin.put(&link, &json!({"startDate": "2024-03-10T02:30:00Z"})).await;

    assert_eq!((started.status, &started.json()["progress"]["all"]), (200, &json!(2)));
    completed(&admin, &link).await;
    assert_eq!(devices(&server).await, ["1002", "1003"]);
}

#[tokio::test]
async fn group_that_is_emptied_or_grows_during_the_ramp_changes_nothing() {
    let (server, admin, group) = with_fleet(8).await;
    let link = plan(&admin, &bulk_of(&group, 0.1)).await;
    under_way(&server, 2).await;

    put_into(&admin, &group, &create_agent(&admin, "late").await).await;
    server.execute("DELETE FROM links WHERE tenant = $1 AND kind = 'childAssets'", &[]).await;
    server.execute("DELETE FROM managed_objects WHERE tenant = $1 AND id = 1000", &[]).await;

    let done = completed(&admin, &link).await;
    assert_eq!(
        done["progress"],
        json!({"pending": 8, "failed": 0, "executing": 0, "successful": 0, "all": 8})
    );
    super::assert_each_has_one(&server, 8).await;
}

#[tokio::test]
async fn group_that_is_gone_at_the_start_has_no_devices() {
    let server =
        TestServer::start_with(|settings| settings.limits.bulk_lease = std::time::Duration::from_secs(1))
            .await;
    let admin = server.admin();
    let group = fleet(&server, 3).await;
    let link = plan(&admin, &later_of(&group)).await;
    assert_eq!(admin.delete(&format!("/inventory/managedObjects/{group}")).await.status, 204);

    server.database().execute("UPDATE bulk_operations SET due_at = now()", &[]).await;

    let done = completed(&admin, &link).await;
    assert_eq!((&done["status"], &done["progress"]["all"]), (&json!("COMPLETED"), &json!(0)));
}

#[tokio::test]
async fn device_without_an_agent_is_counted_as_failed() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let (agent, alone) = (create_agent(&admin, "agent").await, admin.create_device("alone").await);
    let child = admin.create_device("child").await;
    let path = format!("/inventory/managedObjects/{agent}/childDevices");
    admin.create(&path, &json!({"managedObject": {"id": child}})).await;
    let group = group_of(&admin, &[&agent, &alone, &child]).await;

    let done = completed(&admin, &plan(&admin, &bulk_of(&group, 0.0)).await).await;

    assert_eq!(
        done["progress"],
        json!({"pending": 2, "failed": 1, "executing": 0, "successful": 0, "all": 3})
    );
    let failed: Vec<_> =
        operations(&server).await.into_iter().filter(|created| created.status == "FAILED").collect();
    assert_eq!((failed.len(), &failed[0].device), (1, &alone));
}

#[tokio::test]
async fn device_that_is_deleted_before_its_turn_is_counted_as_failed() {
    let (server, admin, group) = with_fleet(6).await;
    let link = plan(&admin, &bulk_of(&group, 0.3)).await;
    under_way(&server, 1).await;

    for device in ["1005", "1006"] {
        assert_eq!(admin.delete(&format!("/inventory/managedObjects/{device}")).await.status, 204);
    }

    let done = completed(&admin, &link).await;
    assert_eq!(done["status"], "COMPLETED");
    assert_eq!(
        done["progress"],
        json!({"pending": 4, "failed": 2, "executing": 0, "successful": 0, "all": 6})
    );
}

#[tokio::test]
async fn device_that_moves_to_another_agent_during_the_ramp_is_served_there() {
    let (server, admin, group) = with_fleet(4).await;
    let (child, other) = (admin.create_device("child").await, create_agent(&admin, "other agent").await);
    put_into(&admin, &group, &child).await;
    let old = "/inventory/managedObjects/1001/childDevices";
    admin.create(old, &json!({"managedObject": {"id": child}})).await;
    let link = plan(&admin, &bulk_of(&group, 0.3)).await;
    under_way(&server, 1).await;

    let session = admin.session().await.on("/notification/operations");
    assert_eq!(session.subscribe(&format!("/{other}")).await["successful"], true);
    assert_eq!(admin.delete(&format!("{old}/{child}")).await.status, 204);
    let new = format!("/inventory/managedObjects/{other}/childDevices");
    admin.create(&new, &json!({"managedObject": {"id": child}})).await;

    completed(&admin, &link).await;
    assert_eq!(session.receive(1).await[0]["data"]["deviceId"], json!(child));
}
