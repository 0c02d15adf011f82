//! `DELETE /devicecontrol/bulkoperations/<id>` (K-07).

use super::*;

#[tokio::test]
async fn deleted_one_is_hidden_from_the_list_unless_asked_for_and_still_found_by_id() {
    let (_server, admin, group) = with_fleet(2).await;
    let (link, other) = (plan(&admin, &later_of(&group)).await, admin.create(BULK, &later_of(&group)).await);

    let answer = admin.delete(&link).await;

    assert_eq!((answer.status, &*answer.text), (204, ""));
    let deleted = admin.read(&link).await;
    assert_eq!(deleted["status"], "DELETED");
    for filter in ["", "?withDeleted=false"] {
        assert_eq!(admin.read(&format!("{BULK}{filter}")).await["bulkOperations"], json!([other]));
    }
    let all = admin.read(&format!("{BULK}?withDeleted=true&withTotalPages=true&pageSize=1")).await;
    assert_eq!((&all["bulkOperations"], &all["statistics"]["totalPages"]), (&json!([deleted]), &json!(2)));
    assert!(all["next"].as_str().unwrap().contains("withDeleted=true"));
    assert_eq!(admin.get(&format!("{BULK}?withDeleted=maybe")).await.status, 422);
}

#[tokio::test]
async fn one_under_way_creates_no_more_and_what_it_created_stays() {
    let (server, admin, group) = with_fleet(50).await;
    let link = plan(&admin, &bulk_of(&group, 0.5)).await;
    under_way(&server, 2).await;

    assert_eq!(admin.delete(&link).await.status, 204);
    let created = server.count("operations").await;

    // Another bulk operation takes longer than the time until the deleted one would have continued.
    let one = group_of(&admin, &["1050", "1049", "1048", "1047"]).await;
    completed(&admin, &plan(&admin, &bulk_of(&one, 0.3)).await).await;
    assert_eq!(server.count("operations").await, created + 4);
    assert!((2..50).contains(&created));
    let deleted = admin.read(&link).await;
    assert_eq!((&deleted["status"], &deleted["progress"]["pending"]), (&json!("DELETED"), &json!(created)));
    assert_eq!(server.count("bulk_operation_targets").await, 0);
}

#[tokio::test]
async fn completed_one_can_be_deleted_which_only_hides_it() {
    let (_server, admin, group) = with_fleet(2).await;
    let link = plan(&admin, &bulk_of(&group, 0.0)).await;
    completed(&admin, &link).await;

    assert_eq!(admin.delete(&link).await.status, 204);

    assert_eq!(admin.read(BULK).await["bulkOperations"], json!([]));
    assert_eq!(admin.read(&link).await["progress"]["pending"], 2);
}

#[tokio::test]
async fn deleting_twice_is_deleting_once() {
    let (_server, admin, group) = with_fleet(2).await;
    let link = plan(&admin, &later_of(&group)).await;

    assert_eq!([admin.delete(&link).await.status, admin.delete(&link).await.status], [204, 204]);
}
