//! Notifications about operations: to subscribers of a device and to agents (B-01 to B-04, B-06, O-01).

use super::*;

#[tokio::test]
async fn creation_and_change_are_published_on_the_channel_of_the_device() {
    let (_server, admin, agent) = TestServer::shared().await.with_agent("gateway").await;
    let path = format!("/identity/globalIds/{agent}/externalIds");
    admin.create(&path, &json!({"type": "plat_Serial", "externalId": "s-1"})).await;
    let (one, all) =
        (admin.listen(&format!("/operations/{agent}")).await, admin.listen("/operations/*").await);

    let operation = queue(&admin, &agent).await;
    let changed = change(&admin, &operation, json!({"status": "EXECUTING"})).await;

    for session in [one, all] {
        let told = session.receive(2).await;
        assert_eq!(told[0]["channel"], format!("/operations/{agent}"));
        assert_eq!(told[0]["data"], json!({"realtimeAction": "CREATE", "data": operation}));
        assert_eq!(told[1]["data"], json!({"realtimeAction": "UPDATE", "data": changed}));
    }
}

#[tokio::test]
async fn agent_is_given_the_operation_itself_with_what_the_device_is_known_by() {
    let (server, admin, agent) = TestServer::shared().await.with_agent("gateway").await;
    let child = create_below(&admin, &agent, "sensor").await;
    for (kind, value) in [("plat_Serial", "s-1"), ("acme_Tag", "t-1")] {
        let path = format!("/identity/globalIds/{child}/externalIds");
        admin.create(&path, &json!({"type": kind, "externalId": value})).await;
    }
    let session = listen_as(&admin, &agent).await;

    let operation = queue(&admin, &child).await;

    let told = session.receive(1).await;
    let mut expected = operation.clone();
    expected["deviceName"] = json!("sensor");
    expected["deviceExternalIDs"] = json!({
        "self": format!("{}/identity/globalIds/{child}/externalIds", server.base()),
        "externalIds": [{"type": "acme_Tag", "externalId": "t-1"}, {"type": "plat_Serial", "externalId": "s-1"}],
    });
    assert!(told[0]["id"].is_string());
    assert_eq!(without(&told[0], &["id"]), json!({"channel": format!("/{agent}"), "data": expected}));
}

#[tokio::test]
async fn agent_is_notified_of_new_operations_only() {
    let (_server, admin, agent) = TestServer::shared().await.with_agent("gateway").await;
    let session = listen_as(&admin, &agent).await;

    let first = queue(&admin, &agent).await;
    change(&admin, &first, json!({"status": "EXECUTING"})).await;
    change(&admin, &first, json!({"status": "PENDING"})).await;
    assert_eq!(admin.delete(&format!("{OPERATIONS}?deviceId={agent}")).await.status, 204);
    let second = queue(&admin, &agent).await;

    let told = session.receive(2).await;
    let told: Vec<_> = told.iter().map(|told| id_of(&told["data"])).collect();
    assert_eq!(told, [id_of(&first), id_of(&second)]);
}

#[tokio::test]
async fn nearest_agent_is_notified_and_none_above_it() {
    let (_server, admin, outer) = TestServer::shared().await.with_agent("outer").await;
    let inner = create_agent(&admin, "inner").await;
    place_below(&admin, &outer, &inner).await;
    let leaf = create_below(&admin, &inner, "leaf").await;
    let (outside, inside) = (listen_as(&admin, &outer).await, listen_as(&admin, &inner).await);

    let of_leaf = queue(&admin, &leaf).await;
    let of_inner = queue(&admin, &inner).await;
    let of_outer = queue(&admin, &outer).await;

    let told = inside.receive(2).await;
    assert_eq!([id_of(&told[0]["data"]), id_of(&told[1]["data"])], [id_of(&of_leaf), id_of(&of_inner)]);
    assert_eq!(id_of(&outside.receive(1).await[0]["data"]), id_of(&of_outer), "the first that it hears of");
}

#[tokio::test]
async fn every_agent_of_several_parents_is_notified_once() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let agents = [create_agent(&admin, "a").await, create_agent(&admin, "b").await];
    let middle = create_below(&admin, &agents[0], "middle").await;
    let device = create_below(&admin, &agents[1], "sensor").await;
    // The device is below the first agent on two paths; the agent is notified only once.
    place_below(&admin, &agents[0], &device).await;
    place_below(&admin, &middle, &device).await;
    let sessions = [listen_as(&admin, &agents[0]).await, listen_as(&admin, &agents[1]).await];
    let both = listen_as(&admin, &agents[0]).await;
    both.subscribe(&format!("/{}", agents[1])).await;

    let first = queue(&admin, &device).await;
    let second = queue(&admin, &device).await;

    for session in &sessions {
        let told = session.receive(2).await;
        assert_eq!([id_of(&told[0]["data"]), id_of(&told[1]["data"])], [id_of(&first), id_of(&second)]);
    }
    let told = both.receive(4).await;
    let mut channels: Vec<_> = told[..2].iter().map(|told| told["channel"].as_str().unwrap()).collect();
    channels.sort_unstable();
    let mut expected = agents.each_ref().map(|agent| format!("/{agent}"));
    expected.sort_unstable();
    assert_eq!(channels, expected, "one message per channel");
}

#[tokio::test]
async fn agent_that_unsubscribes_is_no_longer_notified() {
    let (_server, admin, agent) = TestServer::shared().await.with_agent("gateway").await;
    let (stays, leaves) = (listen_as(&admin, &agent).await, listen_as(&admin, &agent).await);
    leaves.unsubscribe(&format!("/{agent}")).await;

    queue(&admin, &agent).await;

    stays.receive(1).await;
    assert!(notifications(&leaves.glance().await).is_empty());
}

#[tokio::test]
async fn owner_listens_to_the_own_agent_without_the_role() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let owner = server.user_with("device_1", &["ROLE_INVENTORY_CREATE"]).await;
    let agent = create_agent(&owner, "gateway").await;
    let foreign = create_agent(&admin, "other").await;
    let session = listen_as(&owner, &agent).await;

    queue(&admin, &agent).await;

    assert_eq!(session.receive(1).await[0]["data"]["deviceId"], agent);
    let refused = owner.session().await.on(AGENTS).subscribe(&format!("/{foreign}")).await;
    assert_eq!(refused["error"], "403::subscribe_denied");
}
