//! Tests who may read and write alarms (docs/rules.md#alarms).

use super::*;

#[tokio::test]
async fn read_role_reads_and_does_not_write() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let alarm = admin.raise_alarm(&device, "hot").await;
    let link = alarm["self"].as_str().unwrap();
    let reader = server.user_with("reader", &["ROLE_ALARM_READ"]).await;

    assert_eq!(reader.get("/alarm/alarms").await.status, 200);
    assert_eq!(reader.get(link).await.status, 200);
    assert_eq!(reader.post("/alarm/alarms", &alarm_of(&device, "hot")).await.status, 403);
    assert_eq!(reader.put(link, &json!({"status": "CLEARED"})).await.status, 403);
    assert_eq!(admin.read(link).await, alarm);
}

#[tokio::test]
async fn admin_role_writes_and_does_not_read() {
    let (server, _admin, device) = TestServer::shared().await.with_device("pump").await;
    let administrator = server.user_with("administrator", &["ROLE_ALARM_ADMIN"]).await;

    let raised = administrator.post("/alarm/alarms", &alarm_of(&device, "hot")).await;

    let link = raised.header("Location").unwrap();
    assert_eq!(raised.status, 201, "{}", raised.text);
    assert_eq!(administrator.put(link, &json!({"status": "CLEARED"})).await.status, 200);
    assert_eq!(administrator.get("/alarm/alarms").await.status, 403);
    assert_eq!(administrator.get(link).await.status, 403);
}

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
