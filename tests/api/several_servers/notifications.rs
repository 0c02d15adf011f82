//! Sessions at every server are notified of the writes of every server.

use super::*;

#[tokio::test]
async fn alarms_of_each_server_reach_the_sessions_of_both() {
    let pair = Pair::listening("/alarms/*").await;
    let device = pair.callers[0].create_device("pump").await;
    let mut expected = Vec::new();
    for n in 0..10 {
        let alarm = pair.callers[n % 2].raise_alarm(&device, &format!("hot{n}")).await;
        expected.push(format!("CREATE {}", id(&alarm)));
        pair.callers[(n + 1) % 2]
            .put(&format!("/alarm/alarms/{}", id(&alarm)), &json!({"status": "CLEARED"}))
            .await
            .expect(200);
        expected.push(format!("UPDATE {}", id(&alarm)));
    }
    pair.both_receive(&expected).await;
}

#[tokio::test]
async fn session_at_a_server_that_writes_nothing_receives_writes_of_the_other() {
    let [a, b] = TestServer::start_two().await;
    let session = a.admin().listen("/alarms/*").await;
    let device = b.admin().create_device("pump").await;
    let mut expected = Vec::new();
    for n in 0..20 {
        expected.push(format!("CREATE {}", id(&b.admin().raise_alarm(&device, &format!("hot{n}")).await)));
    }
    assert_eq!(received(&session, 20).await, expected);
}

#[tokio::test]
async fn events_and_their_changes_reach_both() {
    let pair = Pair::listening("/events/*").await;
    let [a, b] = &pair.callers;
    let device = a.create_device("door").await;
    let event = id(&a.create_event(&device, "opened").await);
    b.put(&format!("/event/events/{event}"), &json!({"text": "by b"})).await.expect(200);
    a.delete(&format!("/event/events/{event}")).await.expect(204);
    pair.both_receive(&["CREATE", "UPDATE", "DELETE"].map(|action| format!("{action} {event}"))).await;
}

#[tokio::test]
async fn measurements_stored_or_not_reach_both() {
    let pair = Pair::listening("/measurements/*").await;
    let [a, b] = &pair.callers;
    let device = a.create_device("meter").await;
    let measurement = |value: i64| {
        json!({"source": {"id": device}, "type": "t", "time": "2026-01-01T00:00:00Z",
        "plat_T": {"T": {"value": value}}})
    };
    let stored = id(&a.create("/measurement/measurements", &measurement(1)).await);
    for caller in [a, b] {
        let transient = caller
            .request("POST", "/measurement/measurements")
            .header("X-Platform-Processing-Mode", "TRANSIENT")
            .json(&measurement(2));
        transient.send().await.expect(201);
    }
    let other = id(&b.create("/measurement/measurements", &measurement(3)).await);
    let expected =
        [format!("CREATE {stored}"), "CREATE none".into(), "CREATE none".into(), format!("CREATE {other}")];
    pair.both_receive(&expected).await;
}

#[tokio::test]
async fn large_notifications_are_whole() {
    let pair = Pair::listening("/events/*").await;
    let device = pair.callers[0].create_device("camera").await;
    let text = "é€𝄞".repeat(3000);
    let body = json!({"source": {"id": device}, "type": "t", "time": "2026-01-01T00:00:00Z", "text": "x",
        "plat_Big": text});
    pair.callers[0].create("/event/events", &body).await;
    for session in &pair.sessions {
        let [received] = &session.receive(1).await[..] else { panic!("one notification") };
        assert_eq!(received["data"]["data"]["plat_Big"], text);
    }
}

#[tokio::test]
async fn two_clients_change_one_object_through_two_servers_and_no_session_sees_it_go_back() {
    let pair = Pair::listening("/managedobjects/*").await;
    let device = pair.callers[0].create_device("pump").await;
    for session in &pair.sessions {
        session.receive(1).await;
    }
    let path = format!("/inventory/managedObjects/{device}");
    let change = async |caller: &Caller, name: &str| {
        for n in 1..=40 {
            caller.put(&path, &json!({name: n})).await.expect(200);
        }
    };
    tokio::join!(change(&pair.callers[0], "plat_A"), change(&pair.callers[1], "plat_B"));

    for session in &pair.sessions {
        let (mut last, mut count) = ((0, 0), 0);
        for notification in session.receive(80).await {
            let object = &notification["data"]["data"];
            let now = (object["plat_A"].as_i64().unwrap_or(0), object["plat_B"].as_i64().unwrap_or(0));
            assert!(now.0 >= last.0 && now.1 >= last.1, "{now:?} after {last:?}");
            assert_eq!(now.0 + now.1, last.0 + last.1 + 1, "{now:?} after {last:?}");
            (last, count) = (now, count + 1);
        }
        assert_eq!((last, count), ((40, 40), 80));
    }
}

#[tokio::test]
async fn deletions_and_links_reach_both() {
    let pair = Pair::listening("/managedobjects/*").await;
    let [a, b] = &pair.callers;
    let (parent, child) = (a.create_device("parent").await, b.create_device("child").await);
    let path = format!("/inventory/managedObjects/{parent}/childDevices");
    b.post(&path, &json!({"managedObject": {"id": child}})).await.expect(201);
    a.delete(&format!("/inventory/managedObjects/{child}")).await.expect(204);
    let expected = [("CREATE", &parent), ("CREATE", &child), ("UPDATE", &parent), ("DELETE", &child)];
    pair.both_receive(&expected.map(|(action, id)| format!("{action} {id}"))).await;
}

#[tokio::test]
async fn lone_server_that_stopped_orderly_leaves_nothing_behind() {
    let [a, b] = TestServer::start_two().await;
    let (database, device) = (a.shared_database(), a.admin().create_device("pump").await);
    let session = a.admin().listen("/alarms/*").await;
    let other = b.admin().listen("/alarms/*").await;
    b.admin().raise_alarm(&device, "hot").await;
    session.receive(1).await;
    other.receive(1).await;
    b.stop().await;
    assert_eq!(database.count("publication_listeners").await, 1);
    a.admin().raise_alarm(&device, "cold").await;
    session.receive(1).await;
}
