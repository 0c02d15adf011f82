//! Accept, Content-Type and versions (docs/rules.md#bodies-and-media-types; C-08, C-09).

use super::*;
use crate::harness::operations::OPERATIONS;

#[tokio::test]
async fn nothing_that_is_written_without_accept_is_returned() {
    let (server, admin, agent) = TestServer::shared().await.with_agent("gateway").await;
    let id_of = |thing: &Value| thing["id"].as_str().unwrap().to_owned();
    let event = format!("/event/events/{}", id_of(&admin.create_event(&agent, "t").await));
    let operation = admin.create(OPERATIONS, &json!({"deviceId": agent})).await;
    let operation = format!("{OPERATIONS}/{}", id_of(&operation));
    let (object, names) = (format!("{OBJECTS}/{agent}"), format!("/identity/globalIds/{agent}/externalIds"));
    let record = json!({"type": "Door", "activity": "opened", "text": "x", "time": "2024-03-10T03:00:00Z",
        "severity": "information", "source": {"id": "1"}});
    let measured = measurement_of(&agent, "2024-03-10T03:00:00Z", 1);
    let user = json!({"userName": "joe", "password": "secret-1"});

    // Each row ends with a member that is stored.
    check_rows(
        [
            ("managed object", ("POST", OBJECTS, json!({"name": "pump"}), "name")),
            ("change of a managed object", ("PUT", &*object, json!({"name": "motor"}), "name")),
            ("external id", ("POST", &*names, json!({"type": "a", "externalId": "b"}), "externalId")),
            ("audit record", ("POST", "/audit/auditRecords", record, "activity")),
            ("measurement", ("POST", MEASUREMENTS, measured.clone(), "type")),
            ("measurements", ("POST", MEASUREMENTS, json!({"measurements": [measured]}), "none")),
            ("operation", ("POST", OPERATIONS, json!({"deviceId": agent}), "deviceId")),
            ("change of an operation", ("PUT", &*operation, json!({"status": "EXECUTING"}), "status")),
            ("change of an event", ("PUT", &*event, json!({"text": "x"}), "text")),
            ("user", ("POST", "/user/<tenant>/users", user, "userName")),
            ("change of a user", ("PUT", "/user/<tenant>/users/joe", json!({"lastName": "D"}), "lastName")),
            (
                "request of a device",
                ("POST", "/devicecontrol/newDeviceRequests", json!({"id": "sn-1"}), "id"),
            ),
        ],
        async |(method, path, body, member)| {
            let answer = RawConnection::without_accept(&admin, method, path, &body).await;
            let status = if method == "POST" { 201 } else { 200 };
            assert_eq!((answer.status, &*answer.text), (status, ""));
            let stored = if method == "POST" { answer.header("Location") } else { Some(path) };
            let Some(link) = stored else {
                assert_eq!(member, "none", "only many measurements have no location");
                return;
            };
            let sent = body.get(member).expect("the row names a member of its body");
            assert_eq!(&admin.read(link).await[member], sent, "{link}");
        },
    )
    .await;
    assert_eq!(server.count("measurements").await, 2);
    let pending = admin.read(&format!("{OPERATIONS}?status=PENDING")).await;
    assert_eq!(ids(&pending, "operations").len(), 1, "the other operation was changed");
}

#[tokio::test]
async fn get_without_accept_returns_its_body() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;

    let path = format!("{OBJECTS}/{device}");
    let answer = RawConnection::without_accept(&admin, "GET", &path, &json!({})).await;

    assert_eq!((answer.status, answer.json()["id"].clone()), (200, json!(device)));
    answer.expect_media("managedObject");
    assert!(answer.header("Content-Type").unwrap().contains("ver=0.9"));
}

#[tokio::test]
async fn every_resource_is_given_as_its_own_media_type() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let alarm = admin.raise_alarm(&device, "hot").await["id"].as_str().unwrap().to_owned();

    for (path, name) in [
        ("/inventory/managedObjects".to_owned(), "managedObjectCollection"),
        (format!("/inventory/managedObjects/{device}"), "managedObject"),
        ("/alarm/alarms".to_owned(), "alarmCollection"),
        (format!("/alarm/alarms/{alarm}"), "alarm"),
    ] {
        let wanted = format!("{MEDIA}{name}+json");
        let answer = admin.request("GET", &path).header("Accept", &wanted).send().await.expect(200);
        let given = answer.header("Content-Type").unwrap();
        assert_eq!(given.split(';').next(), Some(&*wanted), "{path}");
    }
}

#[tokio::test]
async fn accept_is_understood_in_any_spelling() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for accept in [
        "*/*",
        "application/*",
        "application/json",
        "Application/JSON; charset=UTF-8",
        &format!("{MEDIA}alarmCollection+json"),
        &format!("{MEDIA}alarmCollection+json;"),
        &format!("{MEDIA}AlarmCollection+json; ver=0.9"),
        &format!("{MEDIA}alarmCollection+json;ver=0.9;charset=UTF-8"),
        &format!("{MEDIA}alarmCollection+json ; ver = 0.9 ; charset=utf-8 ;"),
        "text/html, application/json;q=0.5",
    ] {
        let answer = admin.request("GET", "/alarm/alarms").header("Accept", accept).send().await.expect(200);
        answer.json();
    }
    let other = format!("{MEDIA}alarmCollection+json;ver=1.0");
    let answer = admin.request("GET", "/alarm/alarms").header("Accept", &other).send().await.expect(406);
    assert!(answer.error().contains('/'), "{}", answer.text);
    let unknown = admin.request("GET", "/alarm/alarms?colour=red&dateFrm=x").header("X-Colour", "red");
    unknown.send().await.expect(200);
}

#[tokio::test]
async fn refused_accept_on_post_stores_nothing() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let accept = format!("{MEDIA}managedObject+json;ver=2.0");

    let request = admin.request("POST", "/inventory/managedObjects").header("Accept", &accept);
    request.json(&json!({"name": "pump"})).send().await.expect(406);

    assert_eq!(server.count("managed_objects").await, 0);
}

#[tokio::test]
async fn content_types_of_the_resource_are_taken_and_others_are_415() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let send = async |content_type: Option<&str>| {
        let request = admin.request("POST", "/alarm/alarms").body(alarm_of(&device, "hot").to_string());
        match content_type {
            Some(content_type) => request.header("Content-Type", content_type).send().await,
            None => request.send().await,
        }
    };

    for refused in
        [&*format!("{MEDIA}event+json"), "text/plain", "application/xml", "application/x-www-form-urlencoded"]
    {
        send(Some(refused)).await.expect(415);
    }
    assert_eq!(server.count("alarms").await, 0);
    for taken in [
        None,
        Some("application/json"),
        Some("application/json; charset=utf-8"),
        Some(&*format!("{MEDIA}alarm+json")),
        Some(&format!("{MEDIA}ALARM+json; charset=UTF-8 ; ver=0.9;")),
    ] {
        send(taken).await.expect(201);
    }
}

#[tokio::test]
async fn empty_accept_counts_as_absent() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let with_empty = async |method: &str, path: &str, body: &str| {
        let request =
            admin.request(method, path).header("Accept", " ").header("Content-Type", "application/json");
        request.body(body).send().await
    };

    let found = with_empty("GET", &format!("/inventory/managedObjects/{device}"), "").await.expect(200);
    let created = with_empty("POST", "/inventory/managedObjects", "{}").await.expect(201);
    let plain = with_empty("GET", "/openapi.json", "").await;

    assert_eq!((found.json()["id"].clone(), &*created.text), (json!(device), ""));
    assert_eq!(plain.status, 200);
}

#[tokio::test]
async fn byte_order_mark_before_json_is_skipped() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let post = async |path: &str, body: String| {
        let request = admin.request("POST", path).accepting_json().header("Content-Type", "application/json");
        request.body(format!("\u{feff}{body}")).send().await
    };

    let object = post("/inventory/managedObjects", r#"{"name":"motor"}"#.into()).await.expect(201);
    post("/alarm/alarms", alarm_of(&device, "hot").to_string()).await.expect(201);
    let handshake = r#"[{"channel":"/meta/handshake","version":"1.0"}]"#;
    let replies = post("/notification/realtime", handshake.into()).await.expect(200);
    let empty = post("/inventory/managedObjects", String::new()).await.expect(422);

    assert_eq!(
        (object.json()["name"].clone(), replies.json()[0]["successful"].clone()),
        (json!("motor"), json!(true))
    );
    assert_eq!(empty.message(), "Representation must not be null");
    post("/inventory/managedObjects", "\u{feff}{}".into()).await.expect(400);
}
