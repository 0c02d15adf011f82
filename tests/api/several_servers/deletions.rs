//! Deletions, links and files of events: transactions outside of the group commit also send their notifications.

use super::*;

fn deleted(ids: &[String]) -> Vec<String> {
    ids.iter().map(|id| format!("DELETE {id}")).collect()
}

#[tokio::test]
async fn deletion_of_one_measurement_and_of_many_reach_both() {
    let pair = Pair::listening("/measurements/*").await;
    let [a, b] = &pair.callers;
    let device = a.create_device("meter").await;
    let mut measurements = Vec::new();
    for value in 1..=3 {
        let body = json!({"source": {"id": device}, "type": "t", "time": "2026-01-01T00:00:00Z",
            "plat_T": {"T": {"value": value}}});
        measurements.push(id(&a.create("/measurement/measurements", &body).await));
    }
    for session in &pair.sessions {
        session.receive(3).await;
    }

    b.delete(&format!("/measurement/measurements/{}", measurements[0])).await.expect(204);
    pair.both_receive(&deleted(&measurements[..1])).await;
    b.delete(&format!("/measurement/measurements?source={device}")).await.expect(204);
    for session in &pair.sessions {
        let mut gone = super::received(session, 2).await;
        gone.sort();
        assert_eq!(gone, deleted(&measurements[1..]));
        assert!(notifications(&session.glance().await).is_empty());
    }
}

#[tokio::test]
async fn deletion_of_many_events_reaches_both() {
    let pair = Pair::listening("/events/*").await;
    let [a, b] = &pair.callers;
    let device = a.create_device("door").await;
    let event = id(&a.create_event(&device, "opened").await);
    b.delete(&format!("/event/events?source={device}")).await.expect(204);
    pair.both_receive(&["CREATE", "DELETE"].map(|action| format!("{action} {event}"))).await;
}

#[tokio::test]
async fn files_of_events_reach_both() {
    let pair = Pair::listening("/events/*").await;
    let [a, b] = &pair.callers;
    let device = a.create_device("camera").await;
    let event = id(&a.create_event(&device, "picture").await);
    let path = format!("/event/events/{event}/binaries");
    b.request("POST", &path).body("hello").send().await.expect(201);
    a.request("PUT", &path).body("hello again").send().await.expect(201);
    b.delete(&path).await.expect(204);
    let actions = ["CREATE", "UPDATE", "UPDATE", "UPDATE"];
    pair.both_receive(&actions.map(|action| format!("{action} {event}"))).await;
}

#[tokio::test]
async fn children_that_are_created_and_removed_reach_both() {
    let pair = Pair::listening("/managedobjects/*").await;
    let [a, b] = &pair.callers;
    let parent = a.create_device("parent").await;
    let path = format!("{OBJECTS}/{parent}/childDevices");
    let create = b
        .request("POST", &path)
        .header("Content-Type", "application/vnd.example.platform.managedObject+json")
        .accepting_json()
        .body(r#"{"name": "child"}"#);
    let child = id(&create.send().await.expect(201).json());
    a.delete(&format!("{path}/{child}")).await.expect(204);
    let expected = [("CREATE", &parent), ("CREATE", &child), ("UPDATE", &parent), ("UPDATE", &parent)];
    let told = expected.map(|(action, id)| format!("{action} {id}"));
    for session in &pair.sessions {
        let notified = session.receive(4).await;
        let shown = notified.iter().map(|one| {
            format!("{} {}", one["data"]["realtimeAction"].as_str().unwrap(), id(&one["data"]["data"]))
        });
        assert_eq!(shown.collect::<Vec<_>>(), told);
        let children =
            |at: usize| notified[at]["data"]["data"]["childDevices"]["references"].as_array().unwrap().len();
        assert_eq!([children(0), children(2), children(3)], [0, 1, 0]);
        let parents = notified[1]["data"]["data"]["deviceParents"]["references"].as_array().unwrap();
        assert_eq!(parents[0]["managedObject"]["id"], json!(parent));
        assert!(notifications(&session.glance().await).is_empty());
    }
}

#[tokio::test]
async fn cascade_reaches_both() {
    let pair = Pair::listening("/managedobjects/*").await;
    let [a, b] = &pair.callers;
    let (parent, child) = (a.create_device("parent").await, b.create_device("child").await);
    let path = format!("{OBJECTS}/{parent}/childDevices");
    b.post(&path, &json!({"managedObject": {"id": child}})).await.expect(201);
    for session in &pair.sessions {
        session.receive(3).await;
    }
    b.delete(&format!("{OBJECTS}/{parent}?cascade=true")).await.expect(204);
    pair.both_receive(&deleted(&[parent, child])).await;
}

#[tokio::test]
async fn deletion_that_the_database_rejects_at_its_commit_is_not_published() {
    let pair = Pair::listening("/events/*").await;
    let [a, b] = &pair.callers;
    let device = a.create_device("door").await;
    let event = id(&a.create_event(&device, "opened").await);
    let path = format!("/event/events/{event}");
    let database = pair.servers[0].shared_database();
    // At that point the transaction has already sent its notification.
    database
        .run_script(
            "CREATE FUNCTION refuse_commit() RETURNS trigger LANGUAGE plpgsql AS $$ \
             BEGIN RAISE EXCEPTION 'no' USING ERRCODE = 'serialization_failure'; END $$; \
             CREATE CONSTRAINT TRIGGER refuse_commit AFTER DELETE ON events \
             DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse_commit();",
        )
        .await;
    assert_ne!(b.delete(&path).await.status, 204);
    assert_eq!(a.get(&path).await.status, 200);
    database.run_script("DROP TRIGGER refuse_commit ON events").await;

    let later = id(&b.create_event(&device, "closed").await);

    pair.both_receive(&[event, later].map(|event| format!("CREATE {event}"))).await;
}
