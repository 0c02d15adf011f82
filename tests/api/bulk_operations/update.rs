//! `PUT /devicecontrol/bulkoperations/<id>` (K-08).

use super::*;

#[tokio::test]
async fn one_that_has_not_started_is_updated_in_place() {
    let (server, admin, group) = with_fleet(3).await;
    let planned = admin.create(BULK, &later_of(&group)).await;
    let link = planned["self"].as_str().unwrap();
    let put = json!({"creationRamp": 0.5, "operationPrototype": {"plat_Command": {"text": "x"}}});

    let answer = admin.put(link, &put).await;

    let mut expected = planned.clone();
    expected["creationRamp"] = json!(0.5);
    expected["operationPrototype"] = json!({"plat_Command": {"text": "x"}});
    assert_eq!((answer.status, answer.json()), (200, expected.clone()));
    assert_eq!(admin.read(link).await, expected);
    assert_eq!(server.count("bulk_operations").await, 1);
    assert_eq!(server.count("operations").await, 0);
}

#[tokio::test]
async fn start_date_can_be_brought_forward_and_put_off() {
    let (server, admin, group) = with_fleet(3).await;
    let link = plan(&admin, &later_of(&group)).await;

    let put_off = admin.put(&link, &json!({"startDate": "3025-03-10T02:30:00"})).await.json();
    let forward = admin.put(&link, &json!({"startDate": "2024-03-10T02:30:00"})).await.json();

    assert_eq!(put_off["startDate"], "3025-03-10T02:30:00.000Z");
    assert_eq!(forward["id"], put_off["id"]);
    assert_eq!(completed(&admin, &link).await["startDate"], "2024-03-10T02:30:00.000Z");
    super::assert_each_has_one(&server, 3).await;
}

#[tokio::test]
async fn one_that_waits_in_this_process_can_be_put_off() {
    let (server, admin, group) = with_fleet(3).await;
    let mut soon = bulk_of(&group, 0.0);
    let in_two_seconds = time::OffsetDateTime::now_utc() + time::Duration::seconds(2);
    soon["startDate"] = shown(in_two_seconds);
    let link = plan(&admin, &soon).await;

    admin.put(&link, &json!({"startDate": "3024-03-10T02:30:00Z"})).await.expect(200);

    // The completion of another bulk operation shows that the original start time has passed.
    let other = group_of(&admin, &["1001"]).await;
    soon["groupId"] = json!(other);
    soon["startDate"] = shown(in_two_seconds + time::Duration::seconds(1));
    completed(&admin, &plan(&admin, &soon).await).await;
    assert_eq!(devices(&server).await, ["1001"]);
    assert_eq!(admin.read(&link).await["status"], "ACTIVE");
}

#[tokio::test]
async fn one_under_way_becomes_deleted_and_a_new_one_targets_all_devices_again() {
    let (server, admin, group) = with_fleet(30).await;
    // The ramp is so slow that the operation is far from its end when it is changed.
    let old = admin.create(BULK, &bulk_of(&group, 1.0)).await;
    under_way(&server, 2).await;

    let answer = admin.put(old["self"].as_str().unwrap(), &json!({"creationRamp": 0})).await;

    let new = answer.json();
    assert_eq!(answer.status, 200, "{}", answer.text);
    let number = |bulk: &Value| bulk["id"].as_str().unwrap().parse::<i64>().unwrap();
    assert!(number(&new) > number(&old));
    assert_eq!((&new["creationRamp"], &new["groupId"]), (&json!(0), &old["groupId"]));
    assert_eq!(
        (&new["startDate"], &new["operationPrototype"]),
        (&old["startDate"], &old["operationPrototype"])
    );
    assert_eq!(completed(&admin, new["self"].as_str().unwrap()).await["progress"]["pending"], 30);
    let old_now = admin.read(old["self"].as_str().unwrap()).await;
    assert_eq!(old_now["status"], "DELETED");
    let of_old = operations(&server).await;
    let of_old = of_old.iter().filter(|created| Some(&*created.bulk_operation) == old["id"].as_str()).count();
    assert_eq!(old_now["progress"]["pending"], json!(of_old));
    assert!((2..30).contains(&of_old), "{of_old}");
    let listed = admin.read(BULK).await;
    assert_eq!(listed["bulkOperations"].as_array().unwrap().len(), 1);
    assert_eq!(server.count("bulk_operation_targets").await, 0);
}

#[tokio::test]
async fn completed_one_is_repeated_as_a_new_one() {
    let (server, admin, group) = with_fleet(2).await;
    let old = completed(&admin, &plan(&admin, &bulk_of(&group, 0.0)).await).await;

    let new = admin.put(old["self"].as_str().unwrap(), &json!({})).await.json();

    assert_ne!(new["id"], old["id"]);
    completed(&admin, new["self"].as_str().unwrap()).await;
    assert_eq!(devices(&server).await, ["1001", "1002", "1001", "1002"]);
    assert_eq!(admin.read(old["self"].as_str().unwrap()).await["status"], "DELETED");
}

#[tokio::test]
async fn completed_one_without_devices_is_repeated_as_a_new_one() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let group = group_of(&admin, &[]).await;
    let old = admin.create(BULK, &bulk_of(&group, 0.0)).await;

    let new =
        admin.put(old["self"].as_str().unwrap(), &json!({"startDate": "3024-03-10T02:30:00Z"})).await.json();

    assert_ne!(new["id"], old["id"]);
    assert_eq!(new["status"], "ACTIVE");
}

#[tokio::test]
async fn deleted_one_cannot_be_changed() {
    let (_server, admin, group) = with_fleet(2).await;
    let link = plan(&admin, &later_of(&group)).await;
    assert_eq!(admin.delete(&link).await.status, 204);

    admin.put(&link, &json!({"creationRamp": 1})).await.expect_error(409, "devicecontrol/Update Conflict");
    assert_eq!(admin.read(&link).await["creationRamp"], 0);
}

#[tokio::test]
async fn target_of_a_bulk_operation_cannot_be_changed() {
    let (_server, admin, group) = with_fleet(2).await;
    let other = group_of(&admin, &[]).await;
    let link = plan(&admin, &later_of(&group)).await;

    let answer =
        admin.put(&link, &json!({"groupId": other, "failedParentId": "4711", "status": "DELETED"})).await;

    assert_eq!(answer.status, 200);
    let bulk = admin.read(&link).await;
    assert_eq!((&bulk["groupId"], bulk.get("failedParentId")), (&json!(group), None));
    assert_eq!(bulk["status"], "ACTIVE");
}

#[tokio::test]
async fn wrong_values_are_refused_and_nothing_changes() {
    let (_server, admin, group) = with_fleet(2).await;
    let planned = admin.create(BULK, &later_of(&group)).await;
    let link = planned["self"].as_str().unwrap();

    for put in [
        json!({"creationRamp": -1}),
        json!({"startDate": "soon"}),
        json!({"operationPrototype": 5}),
        json!({"operationPrototype": {"$x": 5}}),
    ] {
        assert_eq!(admin.put(link, &put).await.status, 422, "{put}");
    }
    assert_eq!(admin.read(link).await, planned);
}

#[tokio::test]
async fn many_changes_at_once_leave_one_that_continues() {
    let (server, admin, group) = with_fleet(40).await;
    let link = plan(&admin, &bulk_of(&group, 0.05)).await;
    under_way(&server, 1).await;

    let changes = (0..8).map(|_| {
        let (admin, link) = (admin.clone(), link.clone());
        tokio::spawn(async move { admin.put(&link, &json!({"creationRamp": 0})).await.status })
    });
    let mut statuses = Vec::new();
    for change in changes.collect::<Vec<_>>() {
        statuses.push(crate::harness::soon("an answer", change).await.unwrap());
    }

    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409, 409, 409, 409, 409, 409, 409]);
    let listed = admin.read(BULK).await;
    let [new] = listed["bulkOperations"].as_array().unwrap().as_slice() else { panic!("{listed}") };
    assert_eq!(completed(&admin, new["self"].as_str().unwrap()).await["progress"]["pending"], 40);
}
