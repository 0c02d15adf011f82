//! Channels of families: an object and everything below it (B-19b).

use super::*;

/// Links `child` below `parent`.
async fn link(caller: &Caller, parent: &str, block: &str, child: &str) {
    let path = format!("/inventory/managedObjects/{parent}/{block}");
    caller.post(&path, &json!({"managedObject": {"id": child}})).await.expect(201);
}

/// A plant with a line as an asset, on it a pump as a device, in this a motor as a device, and a sticker as an
/// addition.
async fn plant(caller: &Caller) -> [String; 5] {
    let mut objects = Vec::new();
    for name in ["plant", "line", "pump", "motor", "sticker"] {
        objects.push(caller.create_device(name).await);
    }
    let objects: [String; 5] = objects.try_into().unwrap();
    let [plant, line, pump, motor, sticker] = &objects;
    link(caller, plant, "childAssets", line).await;
    link(caller, line, "childDevices", pump).await;
    link(caller, pump, "childDevices", motor).await;
    link(caller, plant, "childAdditions", sticker).await;
    objects
}

fn types(told: &[Value]) -> Vec<&str> {
    told.iter().map(|message| message["data"]["data"]["type"].as_str().unwrap()).collect()
}

/// Raises a last alarm, waits until the session receives it, and returns the types of all notifications before it.
async fn heard_until_last(caller: &Caller, session: &Session, device: &str) -> Vec<String> {
    caller.raise_alarm(device, "last").await;
    let mut heard = Vec::new();
    while heard.last().is_none_or(|last| last != "last") {
        heard.extend(types(&session.receive(1).await).into_iter().map(ToOwned::to_owned));
    }
    heard.pop();
    heard
}

#[tokio::test]
async fn alarms_of_all_descendants_are_delivered_on_the_channel_that_was_subscribed_to() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let [plant, line, pump, motor, sticker] = plant(&admin).await;
    let stranger = admin.create_device("stranger").await;
    let session = admin.listen(&format!("/alarmsWithChildren/{plant}")).await;

    let mut raised = Vec::new();
    for device in [&plant, &line, &pump, &motor] {
        raised.push((device.clone(), admin.raise_alarm(device, "hot").await));
    }
    // Neither another object nor an addition belongs to the family.
    admin.raise_alarm(&stranger, "unheard").await;
    admin.raise_alarm(&sticker, "unheard").await;
    raised.push((plant.clone(), admin.raise_alarm(&plant, "last").await));

    let told = session.receive(5).await;
    assert_eq!(told.len(), 5);
    for (device, alarm) in &raised {
        let of_device: Vec<_> = told.iter().filter(|message| message["data"]["data"] == *alarm).collect();
        assert_eq!(of_device.len(), 1, "{device}");
        assert_eq!(of_device[0]["channel"], format!("/alarmsWithChildren/{plant}"));
        assert_eq!(of_device[0]["data"]["realtimeAction"], "CREATE");
    }
}

#[tokio::test]
async fn events_of_all_descendants_are_delivered_as_alarms_are() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let [plant, line, pump, motor, _] = plant(&admin).await;
    let session = admin.listen(&format!("/eventsWithChildren/{plant}")).await;

    // The session is not notified of alarms, because it is subscribed to events.
    admin.raise_alarm(&motor, "unheard").await;
    let mut sent = Vec::new();
    for device in [&plant, &line, &pump, &motor] {
        let event =
            json!({"type": "t", "time": "2024-03-10T02:30:00Z", "text": "x", "source": {"id": device}});
        sent.push(admin.create("/event/events", &event).await);
    }
    admin.delete(sent[3]["self"].as_str().unwrap()).await;

    let told = session.receive(5).await;
    for event in &sent {
        let of_event: Vec<_> = told.iter().filter(|message| message["data"]["data"] == *event).collect();
        assert_eq!(of_event.len(), 1, "{told:?}");
        assert_eq!(of_event[0]["channel"], format!("/eventsWithChildren/{plant}"));
    }
    assert_eq!(told[4]["data"], json!({"realtimeAction": "DELETE", "data": sent[3]["id"]}));
}

#[tokio::test]
async fn only_families_above_the_source_receive_it() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let [plant, line, pump, motor, _] = plant(&admin).await;
    let below = admin.listen(&format!("/alarmsWithChildren/{motor}")).await;
    let beside = admin.listen(&format!("/alarmsWithChildren/{pump}")).await;

    admin.raise_alarm(&plant, "of plant").await;
    admin.raise_alarm(&line, "of line").await;
    admin.raise_alarm(&pump, "of pump").await;

    assert!(heard_until_last(&admin, &below, &motor).await.is_empty());
    let told = beside.receive(2).await;
    assert_eq!(types(&told), ["of pump", "last"]);
}

#[tokio::test]
async fn changes_and_deletions_are_delivered_too() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let [plant, _, _, motor, _] = plant(&admin).await;
    let session = admin.listen(&format!("/alarmsWithChildren/{plant}")).await;

    let alarm = admin.raise_alarm(&motor, "hot").await;
    admin.raise_alarm(&motor, "hot").await;
    admin.put(alarm["self"].as_str().unwrap(), &json!({"status": "ACKNOWLEDGED"})).await;
    admin.put(&format!("/alarm/alarms?source={motor}"), &json!({"status": "CLEARED"})).await.expect(200);
    admin.delete("/alarm/alarms").await;

    let told = session.receive(5).await;
    let actions: Vec<_> =
        told.iter().map(|message| message["data"]["realtimeAction"].as_str().unwrap()).collect();
    assert_eq!(actions, ["CREATE", "UPDATE", "UPDATE", "UPDATE", "DELETE"]);
    assert_eq!(told[3]["data"]["data"]["status"], "CLEARED");
    assert_eq!(told[4]["data"]["data"], alarm["id"]);
}

#[tokio::test]
async fn session_that_listens_to_an_object_and_its_families_gets_a_copy_on_each_channel() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let [plant, line, _, motor, _] = plant(&admin).await;
    let session = admin.session().await;
    let own = format!("/alarms/{motor}");
    let families = [&motor, &line, &plant].map(|device| format!("/alarmsWithChildren/{device}"));
    for channel in ["/alarms/*", &own].into_iter().chain(families.iter().map(String::as_str)) {
        assert_eq!(session.subscribe(channel).await["successful"], true, "{channel}");
    }

    admin.raise_alarm(&motor, "first").await;
    admin.raise_alarm(&motor, "second").await;

    let told = session.receive(8).await;
    let mut expected = vec![own];
    expected.extend(families);
    expected.sort_unstable();
    for kind in ["first", "second"] {
        let of_kind = told.iter().filter(|message| message["data"]["data"]["type"] == kind);
        let mut channels: Vec<_> = of_kind.map(|message| message["channel"].as_str().unwrap()).collect();
        channels.sort_unstable();
        assert_eq!(channels, expected, "the channel of the object once, though a wildcard matches it, too");
    }
}

#[tokio::test]
async fn data_of_a_child_is_received_while_it_is_linked() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let (pump, motor) = (admin.create_device("pump").await, admin.create_device("motor").await);
    let session = admin.listen(&format!("/alarmsWithChildren/{pump}")).await;

    admin.raise_alarm(&motor, "before").await;
    link(&admin, &pump, "childDevices", &motor).await;
    admin.raise_alarm(&motor, "between").await;
    admin.delete(&format!("/inventory/managedObjects/{pump}/childDevices/{motor}")).await.expect(204);
    admin.raise_alarm(&motor, "after").await;

    assert_eq!(heard_until_last(&admin, &session, &pump).await, ["between"]);
}

#[tokio::test]
async fn order_of_a_device_stays_when_its_family_is_looked_up() {
    let (_server, admin) =
        TestServer::start_with(|settings| (settings.workers, settings.actor_threads) = (2, 2))
            .await
            .with_admin();
    let [plant, _, _, motor, _] = plant(&admin).await;
    let family = admin.listen(&format!("/alarmsWithChildren/{plant}")).await;
    let direct = admin.listen(&format!("/alarms/{motor}")).await;

    for _ in 0..40 {
        admin.raise_alarm(&motor, "hot").await;
    }

    for session in [family, direct] {
        let told = session.receive(40).await;
        let counts: Vec<_> =
            told.iter().map(|message| message["data"]["data"]["count"].as_u64().unwrap()).collect();
        assert_eq!(counts, (1..=40).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn unsubscribed_family_is_silent_and_the_object_itself_is_not() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let [plant, _, _, motor, _] = plant(&admin).await;
    let session = admin.session().await;
    session.subscribe(&format!("/alarmsWithChildren/{plant}")).await;
    session.subscribe(&format!("/alarms/{plant}")).await;

    session.unsubscribe(&format!("/alarmsWithChildren/{plant}")).await;
    admin.raise_alarm(&motor, "unheard").await;

    assert!(heard_until_last(&admin, &session, &plant).await.is_empty());
}

#[tokio::test]
async fn owner_is_notified_about_children_of_an_own_device() {
    let (_server, admin, owner) = TestServer::shared().await.with_owner().await;
    let pump = owner.create_device("pump").await;
    let motor = admin.create_device("motor").await;
    link(&admin, &pump, "childDevices", &motor).await;
    let session = owner.listen(&format!("/alarmsWithChildren/{pump}")).await;
    let refused =
        session.subscribe(&format!("/alarmsWithChildren/{}", admin.create_device("other").await)).await;

    admin.raise_alarm(&motor, "hot").await;

    assert_eq!(refused["error"], "403::subscribe_denied");
    assert_eq!(types(&session.receive(1).await), ["hot"]);
}

#[tokio::test]
async fn family_of_another_tenant_receives_nothing() {
    let server = TestServer::start_with_tenant("t2", "t2.example.com").await;
    let (main, other) = (server.admin(), server.caller("t2/admin", crate::harness::ADMIN_PASSWORD));
    let [plant, .., motor, _] = plant(&main).await;
    let own = other.create_device("pump").await;
    let session = other.session().await;
    session.subscribe(&format!("/alarmsWithChildren/{own}")).await;
    // The id is unknown in that tenant.
    session.subscribe(&format!("/alarmsWithChildren/{plant}")).await;

    main.raise_alarm(&motor, "unheard").await;
    main.raise_alarm(&plant, "unheard").await;

    assert!(heard_until_last(&other, &session, &own).await.is_empty());
}

#[tokio::test]
async fn link_made_at_another_server_is_known_within_a_second() {
    let [a, b] = TestServer::start_two().await;
    let (on_a, on_b) = (a.admin(), b.admin());
    let (pump, motor) = (on_a.create_device("pump").await, on_a.create_device("motor").await);
    let session = on_a.listen(&format!("/alarmsWithChildren/{pump}")).await;
    on_a.raise_alarm(&motor, "before").await;

    link(&on_b, &pump, "childDevices", &motor).await;

    until("an alarm of the child", async || {
        on_a.raise_alarm(&motor, "hot").await;
        !notifications(&session.glance().await).is_empty()
    })
    .await;
}
