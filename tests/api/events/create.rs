//! New events.

use super::*;

#[tokio::test]
async fn new_event_has_every_member_of_the_documents() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let device = json!({"name": "door", "type": "acme_Door", "plat_IsDevice": {}});
    let device = admin.create("/inventory/managedObjects", &device).await["id"].as_str().unwrap().to_owned();
    let mut body = event_of(&device, "opened");
    body["plat_Detail"] = json!({"by": "joe", "numbers": [1, 2.50]});

    let answer = admin.post(EVENTS, &body).await;

    let event = answer.json();
    let id = event["id"].as_str().unwrap();
    let shown = redacted(&event, &[(server.base(), "<base>"), (id, "<event>"), (&device, "<device>")]);
    let link = "<base>/inventory/managedObjects/<device>";
    let expected = json!({
        "self": "<base>/event/events/<event>",
        "id": "<event>",
        "creationTime": "<time>",
        "type": "opened",
        "time": "2024-03-10T02:30:00.000+01:00",
        "text": "It happened",
        "source": {"id": "<device>", "self": link, "name": "door", "type": "acme_Door"},
        "plat_Detail": {"by": "joe", "numbers": [1, 2.50]},
    });
    assert_eq!((answer.status, answer.header("Location")), (201, event["self"].as_str()));
    assert_eq!(shown, expected);
    assert_eq!(admin.read(event["self"].as_str().unwrap()).await, event);
    assert_eq!(admin.read(EVENTS).await["events"], json!([event]));
}

#[tokio::test]
async fn fragments_come_back_byte_for_byte() {
    let (_server, admin, device) = TestServer::shared().await.with_device("door").await;
    let fragment = r#""plat_X":{"b":1.50,"a":[1e2,"\u00e4"],"b2":123456789012345678901234567890}"#;
    let head = event_of(&device, "t").to_string();
    let body = format!("{},{fragment}}}", &head[..head.len() - 1]);

    let created = admin.request("POST", EVENTS).accepting_json().body(body).send().await.expect(201);

    let stored = admin.get(created.header("Location").unwrap()).await;
    assert!(stored.text.contains(fragment), "{}", stored.text);
}

#[tokio::test]
async fn source_without_name_and_type_is_shown_without_them() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let device = admin.create("/inventory/managedObjects", &json!({})).await;
    let id = device["id"].as_str().unwrap();

    let event = admin.create_event(id, "t").await;

    assert_eq!(event["source"], json!({"id": id, "self": device["self"]}));
}

#[tokio::test]
async fn event_is_returned_in_its_media_type_if_accepted() {
    let (server, admin, device) = TestServer::shared().await.with_device("door").await;
    let body = event_of(&device, "t");
    let media_type = format!("{MEDIA}event+json");

    let request = admin.request("POST", EVENTS).header("Content-Type", &media_type);
    let answer = request.header("Accept", &media_type).body(body.to_string()).send().await;
    let silent = RawConnection::without_accept(&admin, "POST", EVENTS, &body).await;
    let wrong = admin.request("POST", EVENTS).header("Content-Type", "text/xml").body("<a/>").send().await;

    assert_eq!((answer.status, silent.status, wrong.status), (201, 201, 415));
    assert!(answer.header("Content-Type").unwrap().starts_with(&media_type));
    assert_eq!(silent.text, "");
    assert!(silent.header("Location").unwrap().starts_with(&format!("{}{EVENTS}/", server.base())));
    let list = admin.request("GET", EVENTS).send().await;
    list.expect_media("eventCollection");
}

#[tokio::test]
async fn missing_members_are_422_and_listed_at_once() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let answer =
        admin.post(EVENTS, &json!({"plat_X": {}})).await.expect_error(422, "undefined/validationError");

    assert_eq!(answer.message(), "Following mandatory fields should be included: type,time,text,source");
}

#[tokio::test]
async fn hostile_bodies_are_refused_and_named() {
    let (server, admin, device) = TestServer::shared().await.with_device("door").await;

    for (member, value, named) in [
        ("type", json!(5), "'type'"),
        ("type", json!("x".repeat(1025)), "'type'"),
        ("text", json!({}), "'text'"),
        ("text", json!("x".repeat((64 << 10) + 1)), "'text'"),
        ("text", json!("a\u{0}b"), "NUL"),
        ("time", json!("yesterday"), "'time'"),
        ("time", json!("2024-03-10T02:30:00"), "'time'"),
        ("time", json!(1), "'time'"),
        ("source", json!("208"), "'source'"),
        ("source", json!({"id": {}}), "'source"),
        ("source", json!({"id": "no id"}), "'source'"),
        ("source", json!({"id": "4711"}), "4711"),
        ("source", json!({"id": 9_223_372_036_854_775_808_u64}), "'source'"),
        ("$where", json!(1), "fragment name"),
        ("a.b", json!(1), "fragment name"),
    ] {
        let mut body = event_of(&device, "t");
        body[member] = value;
        admin.post(EVENTS, &body).await.expect_message(422, named);
    }
    for (body, status) in [("", 422), ("{", 400), ("[]", 400), ("{\"a\":1e999}", 422)] {
        admin.request("POST", EVENTS).body(body).send().await.expect(status);
    }
    assert_eq!(server.count("events").await, 0);
}

#[tokio::test]
async fn members_of_the_server_are_ignored() {
    let (_server, admin, device) = TestServer::shared().await.with_device("door").await;
    let mut body = event_of(&device, "t");
    let more = json!({"id": "1", "self": "x", "creationTime": "x", "plat_IsBinary": {"length": 7},
        "plat_IsIncompleteBinary": {"range": "0-1/*"}, "plat_Gone": null});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());

    let event = admin.create(EVENTS, &body).await;

    assert_ne!(event["id"], "1");
    for absent in ["plat_IsBinary", "plat_IsIncompleteBinary", "plat_Gone"] {
        assert_eq!(event.get(absent), None, "{event}");
    }
}

#[tokio::test]
async fn times_from_the_year_1_to_9999_and_offsets_to_14_hours_are_kept() {
    let (_server, admin, device) = TestServer::shared().await.with_device("door").await;

    for (sent, shown) in [
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"),
        ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
        ("2024-03-10T02:30:00+14:00", "2024-03-10T02:30:00.000+14:00"),
        ("2024-03-10T02:30:00-0930", "2024-03-10T02:30:00.000-09:30"),
    ] {
        let mut body = event_of(&device, "t");
        body["time"] = json!(sent);
        let event: Value = admin.create(EVENTS, &body).await;
        assert_eq!(event["time"], shown);
        assert_eq!(admin.read(event["self"].as_str().unwrap()).await["time"], shown);
    }
}

#[tokio::test]
async fn bad_event_in_a_crowd_fails_alone() {
    let (server, admin, device) = TestServer::shared().await.with_device("door").await;

    let sending: Vec<_> = (0..60)
        .map(|n| {
            let (admin, device) = (admin.clone(), device.clone());
            let source = if n % 3 == 0 { "4711".to_owned() } else { device };
            tokio::spawn(async move { admin.post(EVENTS, &event_of(&source, &format!("t{n}"))).await.status })
        })
        .collect();

    for (n, sent) in sending.into_iter().enumerate() {
        assert_eq!(sent.await.unwrap(), if n % 3 == 0 { 422 } else { 201 });
    }
    assert_eq!(server.count("events").await, 40);
}
