//! `failedParentId`: devices where an earlier one failed (K-03, K-04).

use super::*;

#[tokio::test]
async fn devices_whose_operation_of_the_parent_failed() {
    let (server, admin, group) = with_fleet(4).await;
    let parent = completed(&admin, &plan(&admin, &bulk_of(&group, 0.0)).await).await;
    // This bulk operation has failed for every device.
    completed(&admin, &plan(&admin, &bulk_of(&group, 0.0)).await).await;
    let failed = "UPDATE operations SET status = 'FAILED' \
        WHERE tenant = $1 AND (device IN (1002, 1004) OR bulk_operation::text <> $2)";
    server.execute(failed, &[&parent["id"].as_str().unwrap()]).await;
    let mut body = without(&bulk_of(&group, 0.0), &["groupId"]);
    body["failedParentId"] = parent["id"].clone();

    let child = admin.create(BULK, &body).await;

    assert_eq!((&child["groupId"], &child["failedParentId"]), (&json!(group), &body["failedParentId"]));
    assert_eq!(child["progress"]["all"], 2);
    completed(&admin, child["self"].as_str().unwrap()).await;
    let created = operations(&server).await;
    let of_child = created.iter().filter(|created| Some(&*created.bulk_operation) == child["id"].as_str());
    assert_eq!(of_child.map(|created| &*created.device).collect::<Vec<_>>(), ["1002", "1004"]);
}

#[tokio::test]
async fn parent_without_failures_leaves_nothing_to_do() {
    let (_server, admin, group) = with_fleet(2).await;
    let parent = completed(&admin, &plan(&admin, &bulk_of(&group, 0.0)).await).await;
    let mut body = without(&bulk_of(&group, 0.0), &["groupId"]);
    // The parent may also be given as a number.
    body["failedParentId"] = json!(parent["id"].as_str().unwrap().parse::<i64>().unwrap());

    let child = admin.create(BULK, &body).await;

    assert_eq!((&child["status"], &child["progress"]["all"]), (&json!("COMPLETED"), &json!(0)));
}

#[tokio::test]
async fn unknown_parent_is_refused() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let mut body = without(&bulk_of("1", 0.0), &["groupId"]);

    for parent in [json!("4711"), json!(4711), json!("x"), json!({}), json!(0)] {
        body["failedParentId"] = parent.clone();
        let answer = admin.post(BULK, &body).await;
        assert_eq!(answer.status, 422, "{parent}");
        assert!(answer.message().contains("failedParentId"), "{}", answer.text);
    }
}

#[tokio::test]
async fn group_and_parent_together_are_refused() {
    let (_server, admin, group) = with_fleet(2).await;
    let parent = completed(&admin, &plan(&admin, &bulk_of(&group, 0.0)).await).await;
    let mut body = bulk_of(&group, 0.0);
    body["failedParentId"] = parent["id"].clone();

    assert_eq!(admin.post(BULK, &body).await.status, 422);
    let neither = without(&bulk_of(&group, 0.0), &["groupId"]);
    assert_eq!(admin.post(BULK, &neither).await.status, 422);
}
