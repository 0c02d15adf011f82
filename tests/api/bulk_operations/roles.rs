//! Tests who may read and write bulk operations (docs/rules.md#bulk-operations).

use super::*;

#[tokio::test]
async fn reading_and_writing_need_a_role_each_and_none_implies_the_other() {
    let (server, admin, group) = with_fleet(1).await;
    let link = plan(&admin, &later_of(&group)).await;
    let reader = server.user_with("reader", &["ROLE_BULK_OPERATION_READ"]).await;
    let writer = server.user_with("writer", &["ROLE_BULK_OPERATION_ADMIN"]).await;
    let other = server.user_with("other", &["ROLE_DEVICE_CONTROL_READ", "ROLE_DEVICE_CONTROL_ADMIN"]).await;

    for (caller, reads, writes) in [(&reader, true, false), (&writer, false, true), (&other, false, false)] {
        let status = |allowed: bool, status: u16| if allowed { status } else { 403 };
        assert_eq!(caller.get(BULK).await.status, status(reads, 200));
        assert_eq!(caller.get(&link).await.status, status(reads, 200));
        assert_eq!(caller.post(BULK, &later_of(&group)).await.status, status(writes, 201));
        assert_eq!(caller.put(&link, &json!({"creationRamp": 1})).await.status, status(writes, 200));
        assert_eq!(caller.delete(&link).await.status, status(writes, 204));
    }
    assert_eq!(server.stranger().get(BULK).await.status, 401);
}
