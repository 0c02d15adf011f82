//! The rights to create, read and change a consumer.

use super::*;

#[tokio::test]
async fn each_channel_needs_the_right_of_a_subscription() {
    let (server, _, device) = TestServer::shared().await.with_device("pump").await;
    let user = server.user_with("reader", &["ROLE_ALARM_READ"]).await;
    let body = |channels: Value| json!({"name": "mine", "channels": channels});
    let refused = user.post(CONSUMERS, &body(json!(["/alarms/*", "/events/*"]))).await;
    refused.expect_error(403, "security/Forbidden").expect_message(403, "/events/*");
    let refused = user.post(CONSUMERS, &body(json!([format!("/events/{device}")]))).await;
    refused.expect_message(403, "ROLE_EVENT_READ");
    user.post(CONSUMERS, &body(json!(["/alarms/*"]))).await.expect(201);
}

#[tokio::test]
async fn right_that_is_lost_ends_the_delivery_and_not_the_position() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let user = server.user_with("reader", &["ROLE_ALARM_READ"]).await;
    consumer(&user, "mine", &["/alarms/*"]).await;
    let waiting = tokio::spawn({
        let user = user.clone();
        async move { user.get(&format!("{CONSUMERS}/mine/notifications?wait=40")).await }
    });
    until("the poll is held", async || !shown(&user, "mine").await["reader"].is_null()).await;
    let path = "/user/<tenant>/users/reader/roles/ROLE_ALARM_READ";
    admin.delete(path).await.expect(204);
    let ended = soon("the response to the poll", waiting).await.unwrap().expect(200).json();
    assert!(sent(&ended).is_empty());
    admin.raise_alarm(&device, "leak").await;
    user.get(&format!("{CONSUMERS}/mine/notifications")).await.expect_message(403, "/alarms/*");

    let role = json!({"role": {"self": "/user/roles/ROLE_ALARM_READ"}});
    admin.post("/user/<tenant>/users/reader/roles", &role).await.expect(201);
    assert_eq!(types(&batch(&user, "mine", "wait=5").await), ["leak"]);
}

#[tokio::test]
async fn consumers_of_others_are_read_by_nobody_and_managed_by_administrators() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let owner = server.user_with("owner", &["ROLE_ALARM_READ"]).await;
    let other = server.user_with("other", &["ROLE_ALARM_READ"]).await;
    consumer(&owner, "owned", &["/alarms/*"]).await;
    let path = format!("{CONSUMERS}/owned");

    other.get(&path).await.expect(404);
    other.put(&path, &json!({"position": "now"})).await.expect(404);
    other.delete(&path).await.expect(404);
    assert!(other.read(CONSUMERS).await["consumers"].as_array().unwrap().is_empty());
    for caller in [&other, &admin] {
        caller.get(&format!("{path}/notifications")).await.expect(404);
        caller.get(&format!("{path}/events")).await.expect(404);
    }
    assert_eq!(admin.read(CONSUMERS).await["consumers"][0]["owner"], "owner");
    admin.put(&path, &json!({"position": "now"})).await.expect(200);
    admin.delete(&path).await.expect(204);
}

#[tokio::test]
async fn consumers_are_deleted_with_their_owner() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let owner = server.user_with("owner", &["ROLE_ALARM_READ"]).await;
    consumer(&owner, "owned", &["/alarms/*"]).await;
    admin.delete("/user/<tenant>/users/owner").await.expect(204);
    admin.get(&format!("{CONSUMERS}/owned")).await.expect(404);
    until("the journal ends", async || {
        let rows = server.rows("SELECT is_written FROM journals WHERE tenant = $1", &[]).await;
        !rows[0].get::<_, bool>(0)
    })
    .await;
}

#[tokio::test]
async fn other_tenants_do_not_see_a_consumer() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    consumer(&admin, "mine", &["/alarms/*"]).await;
    let (_other, stranger) = TestServer::shared().await.with_admin();
    stranger.get(&format!("{CONSUMERS}/mine")).await.expect(404);
    stranger.get(&format!("{CONSUMERS}/mine/notifications")).await.expect(404);
    consumer(&stranger, "mine", &["/alarms/*"]).await;
}
