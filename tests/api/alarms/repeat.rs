//! De-duplication (docs/rules.md#alarms; ).

use std::collections::BTreeSet;

use super::*;

async fn raise_at(caller: &Caller, device: &str, time: &str) -> Value {
    let mut alarm = alarm_of(device, "hot");
    alarm["time"] = json!(time);
    caller.create("/alarm/alarms", &alarm).await
}

#[tokio::test]
async fn second_alarm_of_same_source_and_type_increments_count() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let first = admin.raise_alarm(&device, "hot").await;
    let mut again = alarm_of(&device, "hot");
    for (member, value) in [
        ("time", json!("2024-03-10T05:00:00.000Z")),
        ("text", json!("Much too hot")),
        ("severity", json!("CRITICAL")),
        ("status", json!("ACKNOWLEDGED")),
        ("plat_Detail", json!(1)),
    ] {
        again[member] = value;
    }

    let answer = admin.post("/alarm/alarms", &again).await;

    let mut expected = first.clone();
    expected["count"] = json!(2);
    expected["time"] = json!("2024-03-10T05:00:00.000Z");
    assert_eq!((answer.status, answer.header("Location")), (201, first["self"].as_str()));
    assert_eq!(answer.json(), expected, "nothing but count and time changes");
    assert_eq!(admin.read("/alarm/alarms").await["alarms"], json!([expected]));
    assert_eq!(server.count("audit_records").await, 0);
}

#[tokio::test]
async fn older_time_does_not_move_time_back() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    raise_at(&admin, &device, "2024-03-10T02:30:00+01:00").await;

    // The repetition has a later local time, but an earlier instant.
    let again = raise_at(&admin, &device, "2024-03-10T03:00:00+09:00").await;

    assert_eq!((&again["count"], &again["time"]), (&json!(2), &json!("2024-03-10T02:30:00.000+01:00")));
    assert_eq!(again["firstOccurrenceTime"], "2024-03-10T02:30:00.000+01:00");
}

#[tokio::test]
async fn first_occurrence_time_stays_that_of_the_first_post() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let first = raise_at(&admin, &device, "2024-03-10T02:30:00+01:00").await;

    let again = raise_at(&admin, &device, "2024-03-11T02:30:00-05:00").await;

    assert_eq!(again["time"], "2024-03-11T02:30:00.000-05:00");
    assert_eq!(again["firstOccurrenceTime"], first["time"]);
}

#[tokio::test]
async fn acknowledged_alarm_counts_and_stays_acknowledged() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let first = admin.raise_alarm(&device, "hot").await;
    admin.put(first["self"].as_str().unwrap(), &json!({"status": "ACKNOWLEDGED"})).await;

    let again = admin.raise_alarm(&device, "hot").await;

    assert_eq!(again["id"], first["id"]);
    assert_eq!((&again["count"], &again["status"]), (&json!(2), &json!("ACKNOWLEDGED")));
}

#[tokio::test]
async fn alarm_after_a_cleared_one_is_new() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let first = admin.raise_alarm(&device, "hot").await;
    admin.put(first["self"].as_str().unwrap(), &json!({"status": "CLEARED"})).await;

    let second = admin.raise_alarm(&device, "hot").await;

    assert_ne!(second["id"], first["id"]);
    assert_eq!((&second["count"], &second["status"]), (&json!(1), &json!("ACTIVE")));
}

#[tokio::test]
async fn alarms_raised_as_cleared_do_not_count() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let mut cleared = alarm_of(&device, "hot");
    cleared["status"] = json!("CLEARED");

    let first = admin.create("/alarm/alarms", &cleared).await;
    let second = admin.create("/alarm/alarms", &cleared).await;

    assert_ne!(second["id"], first["id"]);
    assert_eq!((&first["count"], &second["count"]), (&json!(1), &json!(1)));
}

#[tokio::test]
async fn alarm_sent_as_cleared_counts_while_one_of_its_type_is_open() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let first = admin.raise_alarm(&device, "hot").await;
    let mut cleared = alarm_of(&device, "hot");
    cleared["status"] = json!("CLEARED");

    let again = admin.create("/alarm/alarms", &cleared).await;

    assert_eq!(
        (&again["id"], &again["count"], &again["status"]),
        (&first["id"], &json!(2), &json!("ACTIVE"))
    );
}

#[tokio::test]
async fn other_types_and_other_sources_do_not_count() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let (pump, motor) = (admin.create_device("pump").await, admin.create_device("motor").await);

    let mut ids = BTreeSet::new();
    for (device, kind) in [(&pump, "hot"), (&pump, "Hot"), (&pump, "hot "), (&motor, "hot")] {
        let alarm = admin.raise_alarm(device, kind).await;
        assert_eq!(alarm["count"], 1, "{kind:?}");
        ids.insert(alarm["id"].to_string());
    }

    assert_eq!(ids.len(), 4);
}

#[tokio::test]
async fn repetition_is_published_as_update_with_the_new_count() {
    let (_server, admin, device, session) =
        TestServer::shared().await.with_listener("pump", "/alarms/*").await;

    let first = admin.raise_alarm(&device, "hot").await;
    let second = admin.raise_alarm(&device, "hot").await;

    let told = session.receive(2).await;
    assert_eq!(told[0]["data"], json!({"realtimeAction": "CREATE", "data": first}));
    assert_eq!(told[1]["data"], json!({"realtimeAction": "UPDATE", "data": second}));
}

#[tokio::test]
async fn twenty_parallel_identical_alarms_are_one_with_count_20() {
    let (_server, admin, device) =
        TestServer::start_with(|settings| (settings.workers, settings.actor_threads) = (2, 2))
            .await
            .with_device("pump")
            .await;
    let session = admin.listen(&format!("/alarms/{device}")).await;

    let posts: Vec<_> = (0..20)
        .map(|_| {
            let (admin, device) = (admin.clone(), device.clone());
            tokio::spawn(async move { admin.raise_alarm(&device, "hot").await })
        })
        .collect();
    let mut counts = BTreeSet::new();
    for post in posts {
        counts.insert(post.await.unwrap()["count"].as_u64().unwrap());
    }

    assert_eq!(counts, (1..=20).collect());
    let list = admin.read("/alarm/alarms").await;
    assert_eq!((list["alarms"].as_array().unwrap().len(), &list["alarms"][0]["count"]), (1, &json!(20)));
    let told = session.receive(20).await;
    let told: Vec<_> = told
        .iter()
        .map(|n| {
            (n["data"]["realtimeAction"].as_str().unwrap(), n["data"]["data"]["count"].as_u64().unwrap())
        })
        .collect();
    let expected: Vec<_> =
        (1..=20).map(|count| (if count == 1 { "CREATE" } else { "UPDATE" }, count)).collect();
    assert_eq!(told, expected, "in the order of the counts");
}

#[tokio::test]
async fn server_that_was_restarted_continues_counting() {
    let (server, admin, device) = TestServer::start().await.with_device("pump").await;
    let first = admin.raise_alarm(&device, "hot").await;
    let database = server.shared_database();
    server.stop().await;
    let restarted = TestServer::start_on(&database, |_| {}).await;

    let again = restarted.admin().raise_alarm(&device, "hot").await;

    assert_eq!((&again["id"], &again["count"]), (&first["id"], &json!(2)));
}
