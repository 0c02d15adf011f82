//! Notifications on `/managedobjects/<id>` (B-02, B-03, B-06, I-15).

use super::*;

#[tokio::test]
async fn create_update_and_delete_are_published_in_order() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let session = admin.listen("/managedobjects/*").await;

    let created = admin.create(OBJECTS, &json!({"name": "pump"})).await;
    let link = created["self"].as_str().unwrap();
    let changed = admin.put(link, &json!({"name": "motor"})).await.json();
    admin.delete(link).await;

    let id = created["id"].as_str().unwrap();
    let told = session.receive(3).await;
    for (message, data) in told.iter().zip([
        json!({"realtimeAction": "CREATE", "data": created}),
        json!({"realtimeAction": "UPDATE", "data": changed}),
        json!({"realtimeAction": "DELETE", "data": id}),
    ]) {
        assert_eq!(message["channel"], format!("/managedobjects/{id}"));
        assert_eq!(redacted(&message["data"], &[]), redacted(&data, &[]));
    }
}

#[tokio::test]
async fn empty_put_notifies_nobody() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let path = format!("{OBJECTS}/{}", admin.create_device("pump").await);
    let session = admin.listen("/managedobjects/*").await;

    admin.put(&path, &json!({})).await;
    admin.put(&path, &json!({"name": "motor"})).await;

    let told = session.receive(1).await;
    assert_eq!((told.len(), &told[0]["data"]["data"]["name"]), (1, &json!("motor")));
}

#[tokio::test]
async fn changes_of_one_object_do_not_reach_subscribers_of_another() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let (mine, other) = (admin.create_device("mine").await, admin.create_device("other").await);
    let session = admin.listen(&format!("/managedobjects/{mine}")).await;

    admin.put(&format!("{OBJECTS}/{other}"), &json!({"plat_A": 1})).await;
    admin.put(&format!("{OBJECTS}/{mine}"), &json!({"plat_A": 2})).await;

    let told = session.receive(1).await;
    assert_eq!((told.len(), &told[0]["data"]["data"]["plat_A"]), (1, &json!(2)));
}

#[tokio::test]
async fn subscribers_of_another_tenant_receive_nothing() {
    let (server, admin) = TestServer::start_with_tenant("plant7", "plant7.example.com").await.with_admin();
    let stranger = server.caller("plant7/admin", crate::harness::ADMIN_PASSWORD);
    let session = stranger.listen("/managedobjects/*").await;

    admin.create(OBJECTS, &json!({"name": "theirs"})).await;
    stranger.create(OBJECTS, &json!({"name": "mine"})).await;

    let told = session.receive(1).await;
    assert_eq!((told.len(), &told[0]["data"]["data"]["name"]), (1, &json!("mine")));
}
