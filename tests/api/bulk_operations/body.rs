//! Bodies of requests and responses (K-01, K-02, K-05, K-06, K-09; C-08, C-13, E-01, M-02, X-22).

use super::*;

#[tokio::test]
async fn post_returns_201_with_the_bulk_operation_and_get_shows_the_same() {
    let (server, admin, device) = TestServer::shared().await.with_agent("pump").await;
    let group = group_of(&admin, &[&device]).await;
    let mut body = later_of(&group);
    body["creationRamp"] = json!(1.5);

    let answer = admin.post(BULK, &body).await.expect(201);

    let bulk = answer.json();
    let id = bulk["id"].as_str().expect("a text");
    let expected = json!({
        "self": format!("{}{BULK}/{id}", server.base()),
        "id": id,
        "groupId": group,
        "startDate": "3024-03-10T02:30:00.000Z",
        "creationRamp": 1.5,
        "operationPrototype": {"plat_Restart": {"delay": 5}},
        "status": "ACTIVE",
        "progress": {"pending": 0, "failed": 0, "executing": 0, "successful": 0, "all": 1},
    });
    assert_eq!(bulk, expected);
    assert_eq!(answer.header("Location"), expected["self"].as_str());
    assert_eq!(admin.read(&format!("{BULK}/{id}")).await, expected);
    let listed = admin.read(BULK).await;
    assert_eq!(
        (&listed["bulkOperations"], &listed["statistics"]["pageSize"]),
        (&json!([expected]), &json!(5))
    );
}

#[tokio::test]
async fn types_of_body_and_response_are_those_of_the_document() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let group = group_of(&admin, &[]).await;
    let (one, many) =
        (format!("{MEDIA}bulkOperation+json;ver=0.9"), format!("{MEDIA}bulkOperationCollection+json"));
    let body = later_of(&group).to_string();

    let request = admin.request("POST", BULK).header("Content-Type", &one).header("Accept", &one);
    let answer = request.body(&*body).send().await.expect(201);

    answer.expect_media("bulkOperation");
    let listed = admin.request("GET", BULK).header("Accept", &many).send().await;
    assert!(listed.header("Content-Type").unwrap().starts_with(&many));
    let other = format!("{MEDIA}operation+json");
    admin.request("POST", BULK).header("Content-Type", &other).body(&*body).send().await.expect(415);
}

#[tokio::test]
async fn all_that_is_missing_is_listed() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let answer =
        admin.post(BULK, &json!({"startDate": null})).await.expect_error(422, "undefined/validationError");

    let message = "Following mandatory fields should be included: \
        startDate,creationRamp,operationPrototype,groupId or failedParentId";
    assert_eq!(answer.message(), message);
}

#[tokio::test]
async fn wrong_values_are_refused_by_name_and_nothing_is_stored() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let group = group_of(&admin, &[]).await;

    for (member, value) in [
        ("creationRamp", json!(-1)),
        ("creationRamp", json!("5")),
        ("creationRamp", json!(1e10)),
        ("creationRamp", json!([])),
        ("startDate", json!("tomorrow")),
        ("startDate", json!("2024-03-10")),
        ("startDate", json!(5)),
        ("operationPrototype", json!("restart")),
        ("operationPrototype", json!([])),
        ("groupId", json!("4711")),
        ("groupId", json!("pumps")),
        ("groupId", json!({})),
        ("failedParentId", json!("1")),
    ] {
        let mut body = bulk_of(&group, 0.0);
        body[member] = value.clone();
        let answer = admin.post(BULK, &body).await.expect(422);
        assert!(answer.message().contains(member), "{member} {value}: {}", answer.text);
    }
    admin.request("POST", BULK).header("Content-Type", "application/json").body("{").send().await.expect(400);
    assert_eq!(server.count("bulk_operations").await, 0);
}

#[tokio::test]
async fn start_date_without_a_zone_is_utc_and_one_with_a_zone_is_shown_in_utc() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let group = group_of(&admin, &[]).await;

    for (given, shown) in [
        ("3024-03-10T02:30:00", "3024-03-10T02:30:00.000Z"),
        ("3024-03-10T02:30:00.5", "3024-03-10T02:30:00.500Z"),
        ("3024-03-10T02:30:00+01:00", "3024-03-10T01:30:00.000Z"),
    ] {
        let mut body = bulk_of(&group, 0.0);
        body["startDate"] = json!(given);
        assert_eq!(admin.create(BULK, &body).await["startDate"], shown, "{given}");
    }
}

#[tokio::test]
async fn what_the_server_sets_is_ignored_and_ids_may_be_numbers() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let group = group_of(&admin, &[]).await;
    let mut body = later_of(&group);
    body["groupId"] = json!(group.parse::<i64>().unwrap());
    body["id"] = json!(4711);
    body["status"] = json!("DELETED");
    body["progress"] = json!({"all": 9});
    body["generalStatus"] = json!("SCHEDULED");
    body["operationPrototype"] =
        json!({"plat_Restart": {}, "deviceId": "7", "status": "FAILED", "id": "7", "note": null});

    let bulk = admin.create(BULK, &body).await;

    assert_ne!(bulk["id"], 4711);
    assert_eq!((&bulk["status"], &bulk["groupId"]), (&json!("ACTIVE"), &json!(group)));
    assert_eq!(bulk["operationPrototype"], json!({"plat_Restart": {}}));
    assert_eq!(bulk.get("generalStatus"), None);
}

#[tokio::test]
async fn ids_are_small_numbers_that_rise() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let group = group_of(&admin, &[]).await;

    let mut ids = Vec::new();
    for _ in 0..3 {
        let bulk = admin.create(BULK, &later_of(&group)).await;
        ids.push(bulk["id"].as_str().unwrap().parse::<u64>().unwrap());
    }

    assert!(ids.is_sorted_by(|a, b| a < b) && ids[2] < 1000, "{ids:?}");
}

#[tokio::test]
async fn list_is_paged_by_id() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let group = group_of(&admin, &[]).await;
    for _ in 0..5 {
        admin.create(BULK, &later_of(&group)).await;
    }
    let ids = |page: &Value| -> Vec<u64> {
        let ids = page["bulkOperations"].as_array().unwrap().iter().map(|bulk| bulk["id"].as_str().unwrap());
        ids.map(|id| id.parse().unwrap()).collect()
    };

    let first = admin.read(&format!("{BULK}?pageSize=2&withTotalPages=true")).await;
    let second = admin.read(first["next"].as_str().unwrap()).await;
    let by_number = admin.read(&format!("{BULK}?pageSize=2&currentPage=3")).await;

    assert_eq!(first["statistics"]["totalPages"], 3);
    let all = [ids(&first), ids(&second), ids(&by_number)].concat();
    assert!(all.len() == 5 && all.is_sorted_by(|a, b| a < b), "{all:?}");
    assert_eq!(by_number.get("next"), None);
}

#[tokio::test]
async fn unknown_one_is_404() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for id in ["4711", "pumps", "0", "99999999999999999999"] {
        let link = format!("{BULK}/{id}");
        let answers = [admin.get(&link).await, admin.put(&link, &json!({})).await, admin.delete(&link).await];
        for answer in answers {
            assert_eq!((answer.status, answer.error()), (404, "devicecontrol/Not Found".into()), "{id}");
            let message =
                format!("Finding bulk operation from database failed : Cannot find document with ID {id}!");
            assert_eq!(answer.message(), message);
        }
    }
}

#[tokio::test]
async fn other_tenants_see_and_change_nothing() {
    let server = TestServer::start_with_tenant("t2", "t2.example.com").await;
    let (admin, other) = (server.admin(), server.caller("t2/admin", crate::harness::ADMIN_PASSWORD));
    let group = group_of(&admin, &[&create_agent(&admin, "pump").await]).await;
    let link = plan(&admin, &later_of(&group)).await;
    let id = admin.read(&link).await["id"].clone();

    assert_eq!(other.get(&link).await.status, 404);
    assert_eq!(other.put(&link, &json!({})).await.status, 404);
    assert_eq!(other.delete(&link).await.status, 404);
    assert_eq!(other.read(BULK).await["bulkOperations"], json!([]));
    assert_eq!(other.post(BULK, &later_of(&group)).await.status, 422);
    let mut repeated = without(&later_of(&group), &["groupId"]);
    repeated["failedParentId"] = id;
    assert_eq!(other.post(BULK, &repeated).await.status, 422);
    assert_eq!(admin.read(&link).await["status"], "ACTIVE");
}

#[tokio::test]
async fn transient_stores_nothing_and_starts_nothing() {
    let (server, admin, group) = with_fleet(3).await;
    let transient = |method: &str, path: &str, mode: &str| {
        admin.request(method, path).header("X-Platform-Processing-Mode", mode).accepting_json()
    };

    let answer = transient("POST", BULK, "TRANSIENT").json(&bulk_of(&group, 0.0)).send().await.expect(201);

    let bulk = answer.json();
    assert_eq!((bulk.get("id"), &bulk["progress"]["all"]), (None, &json!(3)));
    assert!(bulk["self"].as_str().unwrap().ends_with("/bulkoperations/null"));
    assert_eq!(transient("POST", BULK, "TRANSIENT").json(&bulk_of("7", 0.0)).send().await.status, 422);
    assert_eq!(transient("POST", BULK, "CEP").json(&bulk_of(&group, 0.0)).send().await.status, 422);
    assert_eq!(server.count("bulk_operations").await, 0);
    let link = plan(&admin, &later_of(&group)).await;
    let put = transient("PUT", &link, "TRANSIENT").json(&json!({"creationRamp": 9})).send().await;
    assert_eq!((put.status, &put.json()["creationRamp"]), (200, &json!(9)));
    assert_eq!(transient("DELETE", &link, "TRANSIENT").send().await.status, 204);
    let untouched = admin.read(&link).await;
    assert_eq!((&untouched["creationRamp"], &untouched["status"]), (&json!(0), &json!("ACTIVE")));
    assert_eq!(transient("POST", BULK, "QUIESCENT").json(&bulk_of(&group, 0.0)).send().await.status, 201);
    assert_eq!(server.count("bulk_operations").await, 2);
}

#[tokio::test]
async fn progress_counts_operations_by_their_status() {
    let (server, admin, group) = with_fleet(6).await;
    let link = plan(&admin, &bulk_of(&group, 0.0)).await;
    let done = completed(&admin, &link).await;
    let all_pending = json!({"pending": 6, "failed": 0, "executing": 0, "successful": 0, "all": 6});
    assert_eq!((&done["status"], &done["progress"]), (&json!("COMPLETED"), &all_pending));

    let statement = "UPDATE operations SET status = CASE device WHEN 1001 THEN 'SUCCESSFUL' WHEN 1002 THEN \
        'SUCCESSFUL' WHEN 1003 THEN 'EXECUTING' WHEN 1004 THEN 'FAILED' ELSE status END WHERE tenant = $1";
    server.execute(statement, &[]).await;

    let progress = json!({"pending": 2, "failed": 1, "executing": 1, "successful": 2, "all": 6});
    assert_eq!(admin.read(&link).await["progress"], progress);
    assert_eq!(admin.read(BULK).await["bulkOperations"][0]["progress"], progress);
}
