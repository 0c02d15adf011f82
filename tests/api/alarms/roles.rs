//! Tests who may read and write alarms (docs/rules.md#alarms).

use super::*;

#[tokio::test]
async fn misspelt_role_of_the_channel_table_grants_nothing() {
    let server = TestServer::shared().await;
    let caller = server.user_with("joe", &["ROLE_ALARMS_READ"]).await;

    assert_eq!(caller.get("/alarm/alarms").await.status, 403);
}

#[tokio::test]
async fn caller_with_neither_role_nor_ownership_may_not_raise() {
    let (server, _admin, device) = TestServer::shared().await.with_device("pump").await;
    let nobody = server.user_with("nobody", &["ROLE_INVENTORY_READ"]).await;

    nobody.post("/alarm/alarms", &alarm_of(&device, "hot")).await.expect(403);

    assert_eq!(server.count("alarms").await, 0);
}
