//! Notifications about events (B-02, B-03, B-06).

use super::*;

#[tokio::test]
async fn creation_change_and_deletion_are_published_in_order() {
    let (_server, admin, device) = TestServer::shared().await.with_device("door").await;
    let (exact, all) = (admin.listen(&format!("/events/{device}")).await, admin.listen("/events/*").await);

    let event = admin.create_event(&device, "t").await;
    let link = event["self"].as_str().unwrap();
    let changed = admin.put(link, &json!({"text": "new", "plat_X": {}})).await.json();
    assert_eq!(admin.delete(link).await.status, 204);

    for session in [exact, all] {
        let told = session.receive(3).await;
        for (n, (action, data)) in
            [("CREATE", &event), ("UPDATE", &changed), ("DELETE", &event["id"])].into_iter().enumerate()
        {
            assert_eq!(told[n]["channel"], format!("/events/{device}"));
            assert_eq!(told[n]["data"], json!({"realtimeAction": action, "data": data}));
        }
    }
}

#[tokio::test]
async fn change_that_changes_nothing_is_not_published() {
    let (_server, admin, device) = TestServer::shared().await.with_device("door").await;
    let event = admin.create_event(&device, "t").await;
    let link = event["self"].as_str().unwrap();
    let session = admin.listen(&format!("/events/{device}")).await;

    for body in [json!({}), json!({"text": "It happened"}), json!({"plat_X": null}), event.clone()] {
        let answer = admin.put(link, &body).await;
        assert_eq!((answer.status, answer.json()), (200, event.clone()));
    }
    admin.put(link, &json!({"text": "new"})).await;

    let told = session.receive(1).await;
    assert_eq!(told[0]["data"]["data"]["text"], "new");
}

#[tokio::test]
async fn events_of_another_source_are_not_published() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let (device, other) = (admin.create_device("door").await, admin.create_device("other").await);
    let session = admin.listen(&format!("/events/{device}")).await;

    admin.create_event(&other, "not mine").await;
    admin.create_event(&device, "mine").await;

    assert_eq!(session.receive(1).await[0]["data"]["data"]["type"], "mine");
}
