//! Deletion of one and of many (G-01, B-06).

use super::*;

async fn populated() -> (TestServer, Caller, String, String) {
    let (server, admin) = TestServer::shared().await.with_admin();
    let (pump, motor) = (admin.create_device("pump").await, admin.create_device("motor").await);
    for (device, type_, hour, fragment) in
        [(&pump, "a", 1, "env"), (&pump, "b", 2, "power"), (&motor, "c", 3, "env"), (&motor, "d", 4, "power")]
    {
        let members = json!({fragment: {"t": {"value": 1}}});
        let time = format!("2024-03-10T0{hour}:00:00Z");
        admin.create(MEASUREMENTS, &measurement_with(device, type_, &time, &members)).await;
    }
    (server, admin, pump, motor)
}

async fn left(caller: &Caller) -> String {
    member_texts(&caller.read(MEASUREMENTS).await, "measurements", "type").concat()
}

#[tokio::test]
async fn deletion_of_one_is_published_and_it_is_unknown_afterwards() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let measured = measure(&admin, &device, "2024-03-10T00:00:00Z", 1).await;
    let (link, id) = (measured["self"].as_str().unwrap(), &measured["id"]);
    let session = admin.listen(&format!("/measurements/{device}")).await;

    let answer = admin.delete(link).await;

    assert_eq!((answer.status, &*answer.text), (204, ""));
    assert_eq!(admin.get(link).await.status, 404);
    assert_eq!(admin.delete(link).await.status, 404);
    let told = session.receive(1).await;
    assert_eq!(told[0]["data"], json!({"realtimeAction": "DELETE", "data": id}));
}

#[tokio::test]
async fn filters_of_the_list_say_what_is_deleted() {
    for (query, expected) in [
        ("type=a", "bcd"),
        ("fragmentType=env", "bd"),
        ("valueFragmentType=env&valueFragmentSeries=t", "bd"),
        ("valueFragmentType=env&valueFragmentSeries=x", "abcd"),
        ("valueFragmentSeries=t&type=a", "bcd"),
        ("valueFragmentSeries=x", "abcd"),
        ("dateFrom=2024-03-10T02:00:00Z&dateTo=2024-03-10T03:00:00Z", "ad"),
        ("source=pump", "cd"),
        ("source=motor&dateTo=2024-03-10T03:00:00Z", "abd"),
        ("source=4711", "abcd"),
        ("source=x", "abcd"),
        ("", ""),
    ] {
        let (_server, admin, pump, motor) = populated().await;
        let query = query.replace("pump", &pump).replace("motor", &motor);
        assert_eq!(admin.delete(&format!("{MEASUREMENTS}?{query}")).await.status, 204);
        assert_eq!(left(&admin).await, expected, "{query}");
    }
}

#[tokio::test]
async fn wrong_filter_deletes_nothing() {
    let (_server, admin, ..) = populated().await;

    for query in ["dateFrom=yesterday", "valueFragmentSerie=t", "device=1", "revert=x"] {
        assert_eq!(admin.delete(&format!("{MEASUREMENTS}?{query}")).await.status, 422, "{query}");
    }
    assert_eq!(left(&admin).await, "abcd");
}

#[tokio::test]
async fn quiescent_deletion_is_not_published_and_transient_deletes_nothing() {
    let (_server, admin, pump, _) = populated().await;
    let session = admin.listen(&format!("/measurements/{pump}")).await;
    let delete = async |query: &str, mode: &str| {
        let request = admin.request("DELETE", &format!("{MEASUREMENTS}{query}"));
        request.header("X-Platform-Processing-Mode", mode).send().await.status
    };
    let id = admin.read(&format!("{MEASUREMENTS}?type=a")).await["measurements"][0]["id"].clone();
    let one = format!("/{}", id.as_str().unwrap());

    for mode in ["TRANSIENT", "CEP"] {
        assert_eq!((delete("", mode).await, delete(&one, mode).await), (204, 204), "{mode}");
        assert_eq!(left(&admin).await, "abcd", "{mode}");
    }
    assert_eq!((delete(&one, "QUIESCENT").await, delete("?type=b", "QUIESCENT").await), (204, 204));
    assert_eq!(left(&admin).await, "cd");
    assert_eq!(delete("", "SOMEHOW").await, 422);
    let last = measure(&admin, &pump, "2024-03-10T00:00:00Z", 1).await;
    assert_eq!(session.receive(1).await[0]["data"]["data"]["id"], last["id"], "the deletions are not told");
}

#[tokio::test]
async fn deletion_of_many_is_published_up_to_a_thousand() {
    let (server, admin, device) =
        TestServer::start_with(|settings| settings.limits.queued_notifications = 5000)
            .await
            .with_device("pump")
            .await;
    let many: Vec<Value> = (0..1500)
        .map(|n| measurement_of(&device, &format!("2024-03-10T00:{:02}:{:02}Z", n / 60, n % 60), n))
        .collect();
    assert_eq!(admin.post(MEASUREMENTS, &json!({"measurements": many})).await.status, 201);
    let session = admin.listen("/measurements/*").await;

    assert_eq!(admin.delete(&format!("{MEASUREMENTS}?source={device}")).await.status, 204);

    assert_eq!(server.count("measurements").await, 0);
    measure(&admin, &device, "2024-03-10T00:00:00Z", 1).await;
    let mut told = Vec::new();
    while told.iter().all(|told: &Value| told["data"]["realtimeAction"] != "CREATE") {
        told.extend_from_slice(notifications(&session.connect().await));
    }
    assert_eq!(told.len(), 1001);
}

#[tokio::test]
async fn series_that_were_deleted_stay_known_by_name() {
    let (_server, admin, pump, _) = populated().await;
    let path = format!("/inventory/managedObjects/{pump}/supportedSeries");
    let before = admin.read(&path).await;

    admin.delete(MEASUREMENTS).await;

    assert_eq!(admin.read(&path).await, before);
    assert_eq!(admin.read(&super::series_of(&pump, "")).await["values"], json!({}));
}
