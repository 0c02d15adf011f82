//! Tests when operations are created, and which notifications report them (K-01, K-02, K-06, K-10; B-04, B-06).

use time::OffsetDateTime;

use super::*;

#[tokio::test]
async fn no_operation_is_created_before_its_turn() {
    let (server, admin, group) = with_fleet(6).await;
    let begun = OffsetDateTime::now_utc();

    completed(&admin, &plan(&admin, &bulk_of(&group, 0.25)).await).await;

    for (turn, created) in operations(&server).await.iter().enumerate() {
        let after = (created.at - begun).as_seconds_f64();
        assert!(after >= 0.25 * turn as f64, "{turn}: {after}");
    }
    assert_each_has_one(&server, 6).await;
}

#[tokio::test]
async fn ramp_of_zero_creates_all_at_once_and_a_tiny_one_several_at_a_time() {
    for ramp in [0.0, 1e-9, 0.0005] {
        let (server, admin) = TestServer::shared().await.with_admin();
        let group = fleet(&server, 1500).await;

        let done = completed(&admin, &plan(&admin, &bulk_of(&group, ramp)).await).await;

        assert_eq!((&done["status"], &done["progress"]["pending"]), (&json!("COMPLETED"), &json!(1500)));
        assert_each_has_one(&server, 1500).await;
    }
}

#[tokio::test]
async fn total_duration_is_that_of_the_ramp() {
    let (server, admin, group) = with_fleet(500).await;

    completed(&admin, &plan(&admin, &bulk_of(&group, 0.01)).await).await;

    let created = operations(&server).await;
    let took = (created[499].at - created[0].at).as_seconds_f64();
    // The ramp is never shorter, except by the lateness of the first step. A busy machine makes it longer.
    assert!(took > 4.99 - 1.0, "{took}");
    assert_each_has_one(&server, 500).await;
}

#[tokio::test]
async fn it_is_active_until_the_last_operation_is_created() {
    let (server, admin, group) = with_fleet(4).await;
    let link = plan(&admin, &bulk_of(&group, 0.4)).await;

    under_way(&server, 2).await;
    let bulk = admin.read(&link).await;

    let pending = bulk["progress"]["pending"].as_i64().unwrap();
    assert!(bulk["status"] == "ACTIVE" && (2..4).contains(&pending) || pending == 4, "{bulk}");
    assert_eq!(bulk["progress"]["all"], 4);
    assert_eq!(completed(&admin, &link).await["status"], "COMPLETED");
}

#[tokio::test]
async fn start_in_the_future_waits_for_its_time() {
    let (server, admin) =
        TestServer::start_with(|settings| settings.limits.bulk_lease = Duration::from_secs(1))
            .await
            .with_admin();
    let group = fleet(&server, 3).await;
    // The first start is after the end of the lease, so that no server holds the operation until then; the second is
    // within it.
    for seconds in [3, 0] {
        let start =
            OffsetDateTime::now_utc() + time::Duration::seconds(seconds) + time::Duration::milliseconds(500);
        let mut body = bulk_of(&group, 0.0);
        body["startDate"] = shown(start);

        let link = plan(&admin, &body).await;
        let bulk = completed(&admin, &link).await;

        let id = bulk["id"].as_str();
        let created = operations(&server).await;
        let first = created.iter().find(|created| Some(&*created.bulk_operation) == id).unwrap();
        assert!(first.at >= start - time::Duration::milliseconds(2), "{} before {start}", first.at);
        assert_eq!(bulk["progress"]["pending"], 3);
    }
}

#[tokio::test]
async fn start_in_a_far_future_is_held_by_nobody() {
    let (server, admin, group) = with_fleet(3).await;

    admin.create(BULK, &super::later_of(&group)).await;

    let statement = "SELECT leased_until < now(), fence FROM bulk_operations WHERE tenant = $1";
    let row = &server.rows(statement, &[]).await[0];
    assert_eq!((row.get::<_, bool>(0), row.get::<_, i64>(1)), (true, 1));
    assert_eq!(server.count("bulk_operation_targets").await, 0);
}

#[tokio::test]
async fn operations_hold_the_prototype_the_device_and_the_bulk_operation() {
    let (_server, admin, device) = TestServer::shared().await.with_agent("pump").await;
    let group = group_of(&admin, &[&device]).await;
    let mut body = bulk_of(&group, 0.0);
    body["operationPrototype"] =
        json!({"plat_Restart": {"delay": 1.50}, "description": "again", "deviceId": "7"});

    let bulk = completed(&admin, &plan(&admin, &body).await).await;

    let found = admin
        .read(&format!("/devicecontrol/operations?bulkOperationId={}", bulk["id"].as_str().unwrap()))
        .await;
    let [operation] = found["operations"].as_array().unwrap().as_slice() else { panic!("{found}") };
    assert_eq!((&operation["deviceId"], &operation["status"]), (&json!(device), &json!("PENDING")));
    assert_eq!(operation["bulkOperationId"], bulk["id"]);
    assert_eq!(
        (&operation["plat_Restart"], &operation["description"]),
        (&json!({"delay": 1.5}), &json!("again"))
    );
}

#[tokio::test]
async fn agents_and_subscribers_of_the_device_are_notified_of_each() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let (agent, child) = (create_agent(&admin, "agent").await, admin.create_device("child").await);
    let path = format!("/inventory/managedObjects/{agent}/childDevices");
    admin.create(&path, &json!({"managedObject": {"id": child}})).await;
    let group = group_of(&admin, &[&agent, &child]).await;
    let session = admin.session().await.on("/notification/operations");
    assert_eq!(session.subscribe(&format!("/{agent}")).await["successful"], true);
    let listener = admin.listen(&format!("/operations/{child}")).await;

    let bulk = completed(&admin, &plan(&admin, &bulk_of(&group, 0.1)).await).await;

    let handed = session.receive(2).await;
    for (message, device) in handed.iter().zip([&agent, &child]) {
        assert_eq!(message["channel"], format!("/{agent}"));
        assert_eq!(
            (&message["data"]["deviceId"], &message["data"]["bulkOperationId"]),
            (&json!(device), &bulk["id"])
        );
        assert!(message["data"].get("deviceExternalIDs").is_some(), "{message}");
    }
    let told = &listener.receive(1).await[0];
    assert_eq!(told["data"]["realtimeAction"], "CREATE");
    assert_eq!(told["data"]["data"]["id"], handed[1]["data"]["id"]);
    assert!(told["data"]["data"]["self"].as_str().unwrap().starts_with(server.base()));
}

#[tokio::test]
async fn large_one_does_not_hold_up_the_others() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let large = fleet(&server, 5_000).await;
    let small = group_of(&admin, &["1001", "1002", "1003"]).await;
    let links = [
        plan(&admin, &bulk_of(&large, 0.0)).await,
        plan(&admin, &bulk_of(&large, 0.0)).await,
        plan(&admin, &bulk_of(&large, 0.0)).await,
        plan(&admin, &bulk_of(&large, 0.0)).await,
    ];

    completed(&admin, &plan(&admin, &bulk_of(&small, 0.05)).await).await;

    let mut active = 0;
    for link in &links {
        active += usize::from(admin.read(link).await["status"] == "ACTIVE");
    }
    assert!(active > 0, "the large ones were finished too soon to be tested");
    for link in &links {
        assert_eq!(completed(&admin, link).await["progress"]["pending"], 5_000);
    }
}

#[tokio::test]
async fn device_may_have_operations_of_several_bulk_operations_at_once() {
    let (server, admin, group) = with_fleet(20).await;
    let links = [plan(&admin, &bulk_of(&group, 0.01)).await, plan(&admin, &bulk_of(&group, 0.01)).await];

    for link in &links {
        assert_eq!(completed(&admin, link).await["progress"]["pending"], 20);
    }
    assert_eq!(devices(&server).await.len(), 40);
}

#[tokio::test]
async fn notifications_of_a_device_keep_their_order_beside_its_own_operations() {
    let (_server, admin, device) = TestServer::shared().await.with_agent("pump").await;
    let group = group_of(&admin, &[&device]).await;
    let session = admin.listen(&format!("/operations/{device}")).await;

    let posts = tokio::spawn({
        let (admin, device) = (admin.clone(), device.clone());
        async move {
            for _ in 0..30 {
                let body = json!({"deviceId": device, "plat_Restart": {}});
                admin.create("/devicecontrol/operations", &body).await;
            }
        }
    });
    for _ in 0..10 {
        completed(&admin, &plan(&admin, &bulk_of(&group, 0.0)).await).await;
    }
    crate::harness::within(super::LONG, "the other operations", posts).await.unwrap();

    let told = session.receive(40).await;
    let ids: Vec<i64> = told.iter().map(|told| id_of(&told["data"]["data"]).parse().unwrap()).collect();
    assert!(ids.is_sorted(), "{ids:?}");
}
