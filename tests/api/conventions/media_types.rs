//! Accept, Content-Type and versions (docs/rules.md#bodies-and-media-types; C-08, C-09).

use super::*;

#[tokio::test]
async fn post_without_accept_returns_location_and_an_empty_body() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let body = json!({"name": "pump"});
    let answer = RawConnection::without_accept(&admin, "POST", "/inventory/managedObjects", &body).await;

    assert_eq!((answer.status, answer.text.as_str()), (201, ""));
    let created = admin.read(answer.header("Location").unwrap()).await;
    assert_eq!(created["name"], "pump");
    assert_eq!(created["self"], answer.header("Location").unwrap());
}

#[tokio::test]
async fn put_without_accept_returns_an_empty_body() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let path = format!("/inventory/managedObjects/{}", admin.create_device("pump").await);

    let answer = RawConnection::without_accept(&admin, "PUT", &path, &json!({"name": "motor"})).await;

    assert_eq!((answer.status, answer.text.as_str()), (200, ""));
    assert_eq!(admin.read(&path).await["name"], "motor");
}

#[tokio::test]
async fn get_without_accept_returns_its_body() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;

    let path = format!("/inventory/managedObjects/{device}");
    let answer = RawConnection::without_accept(&admin, "GET", &path, &json!({})).await;

    assert_eq!((answer.status, answer.json()["id"].clone()), (200, json!(device)));
    let media_type = answer.header("Content-Type").unwrap();
    assert!(media_type.starts_with(&format!("{MEDIA}managedObject+json")), "{media_type}");
    assert!(media_type.contains("ver=0.9"), "{media_type}");
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
}

#[tokio::test]
async fn other_version_than_0_9_is_not_acceptable() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let accept = format!("{MEDIA}alarmCollection+json;ver=1.0");

    let answer = admin.request("GET", "/alarm/alarms").header("Accept", &accept).send().await.expect(406);

    assert!(answer.error().contains('/'), "{}", answer.text);
}

#[tokio::test]
async fn refused_accept_on_post_stores_nothing() {
    let (server, admin) = TestServer::start().await.with_admin();
    let accept = format!("{MEDIA}managedObject+json;ver=2.0");

    let request = admin.request("POST", "/inventory/managedObjects").header("Accept", &accept);
    request.json(&json!({"name": "pump"})).send().await.expect(406);

    assert_eq!(server.database().count("managed_objects").await, 0);
}

#[tokio::test]
async fn content_type_of_the_resource_plain_json_and_none_are_taken() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;

    for content_type in [
        None,
        Some("application/json".to_owned()),
        Some("application/json; charset=utf-8".to_owned()),
        Some(format!("{MEDIA}alarm+json")),
        Some(format!("{MEDIA}ALARM+json; charset=UTF-8 ; ver=0.9;")),
    ] {
        let request = admin.request("POST", "/alarm/alarms").body(alarm_of(&device, "hot").to_string());
        let request = match &content_type {
            Some(content_type) => request.header("Content-Type", content_type),
            None => request,
        };
        request.send().await.expect(201);
    }
}

#[tokio::test]
async fn content_type_of_another_resource_or_none_of_json_is_415() {
    let (server, admin, device) = TestServer::start().await.with_device("pump").await;
    let event = format!("{MEDIA}event+json");

    for content_type in [&event, "text/plain", "application/xml", "application/x-www-form-urlencoded"] {
        let request = admin.request("POST", "/alarm/alarms").header("Content-Type", content_type);
        request.body(alarm_of(&device, "hot").to_string()).send().await.expect(415);
    }
    assert_eq!(server.database().count("alarms").await, 0);
}

#[tokio::test]
async fn body_that_is_coded_is_415_everywhere() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for (path, content_type) in [
        ("/inventory/managedObjects", "application/json"),
        ("/inventory/binaries", "multipart/form-data; boundary=x"),
        ("/notification/realtime", "application/json"),
        ("/s", "text/plain"),
        ("/v1/oauth/accesstokens", "application/json"),
    ] {
        for coding in ["gzip", "identity, br", "x"] {
            let request = admin.request("POST", path).header("Content-Type", content_type);
            let answer = request.header("Content-Encoding", coding).body("\x1f\u{8b}").send().await;
            assert_eq!(answer.status, 415, "{path} {coding}: {}", answer.text);
        }
    }
    let plain = admin.request("POST", "/inventory/managedObjects").header("Content-Encoding", "identity");
    assert_eq!(plain.json(&json!({"name": "pump"})).send().await.status, 201);
}

#[tokio::test]
async fn unknown_headers_and_query_members_are_ignored() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let request = admin.request("GET", "/alarm/alarms?colour=red&dateFrm=x").header("X-Colour", "red");
    request.send().await.expect(200);
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
