//! POST of many measurements (G-02).

use super::*;

#[tokio::test]
async fn collection_returns_the_created_objects_in_order() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let (pump, motor) = (admin.create_device("pump").await, admin.create_device("motor").await);
    let sent = json!({"measurements": [
        measurement_of(&pump, "2024-03-10T03:00:00Z", 1),
        measurement_of(&motor, "2024-03-10T01:00:00Z", 2),
        measurement_with(&pump, "x", "2024-03-10T02:00:00Z", &json!({"note": "text"})),
    ]});

    let answer = admin.post(MEASUREMENTS, &sent).await.expect(201);

    assert!(answer.header("Location").is_none());
    let created = answer.json();
    let members: Vec<&String> = created.as_object().unwrap().keys().collect();
    assert_eq!(members, ["measurements"], "neither self nor statistics");
    let values: Vec<&Value> =
        created["measurements"].as_array().unwrap().iter().map(|one| &one["env"]["t"]["value"]).collect();
    assert_eq!(values, [&json!(1), &json!(2), &Value::Null]);
    let mut created = ids(&created, "measurements");
    assert!(created.is_sorted_by_key(|id| id.parse::<i64>().unwrap()), "ids rise: {created:?}");
    let mut listed = ids(&admin.read(MEASUREMENTS).await, "measurements");
    listed.sort();
    created.sort();
    assert_eq!(listed, created);
}

#[tokio::test]
async fn unknown_source_in_the_middle_stores_nothing() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let time = "2024-03-10T03:00:00Z";
    let sent = json!({"measurements": [
        measurement_of(&device, time, 1), measurement_of("4711", time, 2), measurement_of(&device, time, 3),
    ]});

    admin.post(MEASUREMENTS, &sent).await.expect_message(422, "4711");
    assert_eq!(server.count("measurements").await, 0);
}

#[tokio::test]
async fn wrong_element_is_named_by_its_place_and_stores_nothing() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let good = measurement_of(&device, "2024-03-10T03:00:00Z", 1);

    for bad in [
        json!(1),
        json!({}),
        measurement_of(&device, "today", 1),
        measurement_with(&device, "t", "2024-03-10T03:00:00Z", &json!({"a": {"x": {"value": "1"}}})),
    ] {
        let answer = admin.post(MEASUREMENTS, &json!({"measurements": [good, bad, good]})).await;
        assert!((400..500).contains(&answer.status), "{bad}: {}", answer.text);
        assert!(answer.message().contains("measurements[1]"), "{}", answer.text);
    }
    assert_eq!(server.count("measurements").await, 0);
}

#[tokio::test]
async fn empty_collection_creates_nothing() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let answer = admin.post(MEASUREMENTS, &json!({"measurements": []})).await;

    assert_eq!((answer.status, answer.json()), (201, json!({"measurements": []})));
}

#[tokio::test]
async fn collection_of_thousands_is_stored_whole() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let many: Vec<Value> = (0..10_000).map(|n| measurement_of(&device, "2024-03-10T03:00:00Z", n)).collect();

    admin.request("POST", MEASUREMENTS).json(&json!({"measurements": many})).send().await.expect(201);

    let counted = admin.read(&format!("{MEASUREMENTS}?pageSize=1&withTotalPages=true")).await;
    assert_eq!(counted["statistics"]["totalPages"], 10_000);
}
