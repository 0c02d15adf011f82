//! Reading by long polls: order, acknowledgement, waiting, moving the position.

use super::*;

#[tokio::test]
async fn notifications_come_in_order_until_they_are_acknowledged() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    admin.raise_alarm(&device, "before").await;
    consumer(&admin, "reader", &EVERYTHING).await;
    for kind in ["one", "two", "three"] {
        admin.create_event(&device, kind).await;
    }

    let first = batch(&admin, "reader", "maxCount=2").await;
    assert_eq!((types(&first), &first["remaining"]), (vec!["one".to_owned(), "two".to_owned()], &json!(1)));
    assert_eq!(sent(&first)[0]["channel"], format!("/events/{device}"));
    assert_eq!(sent(&first)[0]["data"]["realtimeAction"], "CREATE");
    let [at, next] = positions(&first)[..] else { panic!("two: {first}") };
    assert_eq!((next, &first["position"]), (at + 1, &json!(next)));

    assert_eq!(batch(&admin, "reader", "maxCount=2").await, first, "nothing was acknowledged");
    let rest = batch(&admin, "reader", &format!("acknowledge={at}")).await;
    assert_eq!(
        (types(&rest), positions(&rest)),
        (vec!["two".to_owned(), "three".to_owned()], vec![next, next + 1])
    );
    let none = batch(&admin, "reader", &format!("acknowledge={}", next + 1)).await;
    assert_eq!(none, json!({"position": next + 1, "recovered": true, "remaining": 0, "notifications": []}));
    let again = batch(&admin, "reader", &format!("acknowledge={at}")).await;
    assert_eq!(again, none, "an acknowledgement never moves back");
}

#[tokio::test]
async fn invalid_parameters_are_rejected() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    consumer(&admin, "reader", &["/alarms/*"]).await;
    let rows = [
        ("maxCount=0", "1 to 1000"),
        ("maxCount=1001", "1 to 1000"),
        ("wait=51", "0 to 50"),
        ("wait=-1", "0 to 50"),
        ("acknowledge=-1", "the position of a notification"),
        ("acknowledge=x", "the position of a notification"),
        ("acknowledge=1", "at most 0, the newest position"),
        ("acknowledge=9223372036854775807", "at most 0"),
    ];
    for (query, part) in rows {
        let refused = admin.get(&format!("{CONSUMERS}/reader/notifications?{query}")).await;
        assert!(refused.message().contains(part), "{query}: {}", refused.message());
        refused.expect(422);
    }
    admin.get(&format!("{CONSUMERS}/other/notifications")).await.expect(404);
}

#[tokio::test]
async fn poll_waits_for_the_next_matching_notification() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    consumer(&admin, "reader", &["/alarms/*"]).await;
    let waiting = tokio::spawn({
        let admin = admin.clone();
        async move { batch(&admin, "reader", "wait=30").await }
    });
    until("the poll is held", async || shown(&admin, "reader").await["reader"]["way"] == "LONG_POLL").await;
    // An event wakes the reader, which has no use for it.
    admin.create_event(&device, "other").await;
    admin.raise_alarm(&device, "leak").await;

    let batch = soon("the response to the poll", waiting).await.unwrap();

    assert_eq!(types(&batch), ["leak"]);
    assert_eq!(batch["remaining"], 0);
}

#[tokio::test]
async fn newer_reader_takes_over_and_the_older_one_learns_of_it() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    consumer(&admin, "reader", &["/alarms/*"]).await;
    let path = format!("{CONSUMERS}/reader/notifications?wait=40");
    let older = tokio::spawn({
        let (admin, path) = (admin.clone(), path.clone());
        async move { admin.get(&path).await }
    });
    until("the poll is held", async || !shown(&admin, "reader").await["reader"].is_null()).await;
    let newer = tokio::spawn({
        let (admin, path) = (admin.clone(), path);
        async move { admin.get(&path).await }
    });

    let superseded = soon("the response to the older poll", older).await.unwrap();
    superseded.expect_error(409, "notification/Update Conflict");
    admin.raise_alarm(&device, "leak").await;
    assert_eq!(types(&soon("the newer poll", newer).await.unwrap().expect(200).json()), ["leak"]);
}

#[tokio::test]
async fn consumer_is_set_back_and_forth() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    consumer(&admin, "reader", &["/events/*"]).await;
    for kind in ["one", "two"] {
        admin.create_event(&device, kind).await;
    }
    let between = admin.read("/inventory/managedObjects?pageSize=1").await;
    drop(between);
    tokio::time::sleep(Duration::from_millis(20)).await;
    let middle = time::OffsetDateTime::now_utc();
    let middle = middle.format(&time::format_description::well_known::Rfc3339).unwrap();
    tokio::time::sleep(Duration::from_millis(20)).await;
    admin.create_event(&device, "three").await;
    let received = read(&admin, "reader", 3).await;
    let first = received[0]["position"].as_i64().unwrap();
    let newest = first + 2;

    let path = format!("{CONSUMERS}/reader");
    let seek = async |position: Value| {
        let moved =
            admin.request("PUT", &path).accepting_json().json(&json!({"position": position})).send().await;
        let position = moved.expect(200).json()["position"].as_i64().unwrap();
        (position, types(&batch(&admin, "reader", "").await))
    };
    let all = || ["one", "two", "three"].map(ToOwned::to_owned).to_vec();
    assert_eq!(seek(json!("now")).await, (newest, vec![]));
    assert_eq!(seek(json!(first - 1)).await, (first - 1, all()));
    assert_eq!(seek(json!(first)).await, (first, all()[1..].to_vec()));
    assert_eq!(seek(json!(newest)).await, (newest, vec![]));
    assert_eq!(seek(json!("earliest")).await, (first - 1, all()));
    assert_eq!(seek(json!(middle)).await, (first + 1, all()[2..].to_vec()));
    let refused = admin.put(&path, &json!({"position": newest + 1})).await.expect(422);
    assert!(refused.message().contains(&format!("to {newest}")), "{}", refused.message());
    admin.put(&path, &json!({"position": "yesterday"})).await.expect_message(422, "earliest");

    admin.put(&path, &json!({"position": "earliest"})).await.expect(200);
    admin.put(&path, &json!({"acknowledged": first + 1})).await.expect(200);
    assert_eq!(types(&batch(&admin, "reader", "").await), ["three"]);
    admin.put(&path, &json!({"acknowledged": first})).await.expect(200);
    assert_eq!(shown(&admin, "reader").await["position"], first + 1, "an acknowledgement never moves back");
}

#[tokio::test]
async fn new_consumer_starts_where_it_asks_to() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    consumer(&admin, "first", &["/events/*"]).await;
    admin.create_event(&device, "one").await;
    admin.create_event(&device, "two").await;
    for (name, start, expected) in [
        ("a", "earliest", vec!["one", "two"]),
        ("b", "now", vec![]),
        ("c", "2026-01-01T00:00:00Z", vec!["one", "two"]),
    ] {
        let body = json!({"name": name, "channels": ["/events/*"], "start": start});
        admin.create(CONSUMERS, &body).await;
        assert_eq!(types(&batch(&admin, name, "").await), expected, "{start}");
    }
}

#[tokio::test]
async fn reader_is_set_back_while_it_waits() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    consumer(&admin, "reader", &["/events/*"]).await;
    admin.create_event(&device, "one").await;
    let received = read(&admin, "reader", 1).await;
    let acknowledge = format!("wait=40&acknowledge={}", received[0]["position"]);
    let waiting = tokio::spawn({
        let admin = admin.clone();
        async move { batch(&admin, "reader", &acknowledge).await }
    });
    until("everything is acknowledged", async || {
        shown(&admin, "reader").await["backlog"]["notifications"] == 0
    })
    .await;
    admin.put(&format!("{CONSUMERS}/reader"), &json!({"position": "earliest"})).await.expect(200);

    let interrupted = soon("the response to the poll", waiting).await.unwrap();
    assert!(sent(&interrupted).len() <= 1);
    assert_eq!(types(&batch(&admin, "reader", "").await), ["one"]);
}

#[tokio::test]
async fn family_receives_what_happens_below() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let (plant, pump) = (admin.create_device("plant").await, admin.create_device("pump").await);
    let path = format!("/inventory/managedObjects/{plant}/childDevices");
    admin.post(&path, &json!({"managedObject": {"id": pump}})).await.expect(201);
    let stranger = admin.create_device("stranger").await;
    let family = format!("/alarmsWithChildren/{plant}");
    consumer(&admin, "family", &[&family, &format!("/alarms/{plant}")]).await;
    for (device, kind) in [(&pump, "below"), (&stranger, "elsewhere"), (&plant, "own")] {
        admin.raise_alarm(device, kind).await;
    }

    let batch = batch(&admin, "family", "").await;

    assert_eq!(types(&batch), ["below", "own"]);
    let channels: Vec<_> = sent(&batch).iter().map(|one| one["channel"].as_str().unwrap()).collect();
    assert_eq!(channels, [family, format!("/alarms/{plant}")]);
}
