//! Malformed and hostile bodies: always a clear 4xx, never a 500.

use super::*;

async fn post(caller: &Caller, path: &str, body: impl Into<Vec<u8>>) -> Response {
    let request = caller.request("POST", path).accepting_json();
    request.header("Content-Type", "application/json").body(body).send().await
}

fn nested(depth: usize) -> String {
    // The body itself is the first level.
    format!("{{\"plat_A\":{}1{}}}", "[".repeat(depth - 1), "]".repeat(depth - 1))
}

#[tokio::test]
async fn body_that_is_not_a_json_object_is_400() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for body in [
        &b"{"[..],
        b"}",
        b"[",
        b"[1]",
        b"null",
        b"true",
        b"5",
        b"\"text\"",
        b"{\"a\":}",
        b"{\"a\" 1}",
        b"{a:1}",
        b"{\"a\":1}{\"b\":2}",
        b"{\"a\":1,}",
        b"{\"a\":01}",
        b"{\"a\":+1}",
        b"{\"a\":NaN}",
        b"{\"a\":Infinity}",
        b"{\"a\":\"\\x41\"}",
        b"{\"a\":\"line\nbreak\"}",
        b"{\"a\":\"\xff\xfe\"}",
        b"\xef\xbb\xbf{",
        b"<alarm/>",
        b"\0",
    ] {
        for path in [OBJECTS, "/alarm/alarms"] {
            let answer = post(&admin, path, body).await;
            let shown = String::from_utf8_lossy(body);
            assert_eq!(answer.status, 400, "{path} {shown:?}: {}", answer.text);
            assert_eq!(answer.error(), "undefined/validationError", "{path} {shown:?}");
        }
    }
}

#[tokio::test]
async fn nesting_of_100_levels_is_stored_and_101_are_refused() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let (deepest, deeper) =
        (post(&admin, OBJECTS, nested(100)).await, post(&admin, OBJECTS, nested(101)).await);

    assert_eq!(deepest.status, 201, "{}", deepest.text);
    let stored = admin.get(deepest.header("Location").unwrap()).await;
    assert!(stored.text.contains(&"[".repeat(99)), "{}", stored.text);
    assert!((400..500).contains(&deeper.status), "{}: {}", deeper.status, deeper.text);
}

#[tokio::test]
async fn nesting_of_a_million_levels_is_refused() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for body in ["[".repeat(1_000_000), "{\"a\":".repeat(1_000_000), nested(1_000_000)] {
        let answer = post(&admin, OBJECTS, body).await;
        assert!((400..500).contains(&answer.status), "{}: {}", answer.status, answer.text);
    }
    assert_eq!(admin.get(OBJECTS).await.status, 200, "the server lives");
}

#[tokio::test]
async fn nul_and_half_surrogates_in_strings_are_refused() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;

    for text in ["a\\u0000b", "\\u0000", "\\ud800", "\\udc00\\ud800", "\\ud83dx"] {
        let alarm = alarm_of(&device, "hot").to_string().replace("Too hot", text);
        for (path, body) in [
            ("/alarm/alarms", alarm),
            (OBJECTS, format!("{{\"name\":\"{text}\"}}")),
            (OBJECTS, format!("{{\"type\":\"{text}\"}}")),
            (OBJECTS, format!("{{\"plat_A\":{{\"deep\":[\"{text}\"]}}}}")),
            (OBJECTS, format!("{{\"{text}\":1}}")),
            (OBJECTS, format!("{{\"plat_A\":{{\"{text}\":1}}}}")),
        ] {
            let answer = post(&admin, path, body.clone()).await;
            assert!([400, 422].contains(&answer.status), "{path} {body}: {} {}", answer.status, answer.text);
        }
    }
}

#[tokio::test]
async fn nul_in_parameters_and_paths_is_not_a_server_error() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for path in [
        "/inventory/managedObjects?type=a%00b",
        "/inventory/managedObjects?fragmentType=%00",
        "/inventory/managedObjects?ids=%00",
        "/inventory/managedObjects?owner=%00",
        "/alarm/alarms?type=%00",
        "/alarm/alarms?source=%00",
        "/alarm/alarms?type=%ff%fe",
        "/alarm/alarms/%00",
        "/alarm/alarms/%ff",
    ] {
        let answer = admin.get(path).await;
        assert!(answer.status < 500, "{path}: {} {}", answer.status, answer.text);
    }
}

#[tokio::test]
async fn numbers_out_of_range_are_422() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let digits = "9".repeat(5000);

    for number in ["1e400", "-1e400", "1e99999999999", &digits] {
        let answer = post(&admin, OBJECTS, format!("{{\"plat_A\":{{\"x\":{number}}}}}")).await;
        assert_eq!(answer.status, 422, "{}: {}", number.len(), answer.text);
    }
}

#[tokio::test]
async fn tiny_numbers_do_not_grow_into_thousands_of_digits() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for number in ["1e-16000", "1e-400", "0e-16000", "1e-99999999999"] {
        let body = format!("{{\"plat_A\":[{}]}}", vec![number; 100].join(","));
        let answer = post(&admin, OBJECTS, body).await;
        assert!([201, 422].contains(&answer.status), "{number}: {} {}", answer.status, answer.text);
        if let Some(location) = answer.header("Location") {
            let size = admin.get(location).await.text.len();
            assert!(size < 50_000, "100 numbers {number} became {size} bytes");
        }
    }
}

#[tokio::test]
async fn body_over_the_limit_is_413_whether_announced_or_not() {
    let (server, admin) =
        TestServer::start_with(|settings| settings.limits.body_bytes = 10_000).await.with_admin();
    let body = |bytes: usize| format!("{{\"plat_A\":\"{}\"}}", "x".repeat(bytes - 13));

    let fitting = post(&admin, OBJECTS, body(10_000)).await;
    let announced = post(&admin, OBJECTS, body(10_001)).await;
    let mut connection = crate::harness::RawConnection::open(server.address()).await;
    let authorization = format!("Authorization: {}", admin.authorization().unwrap());
    let head =
        ["POST /inventory/managedObjects HTTP/1.1", "Host: x", &authorization, "Transfer-Encoding: chunked"];
    connection.send(format!("{}\r\n\r\n2711\r\n{}\r\n0\r\n\r\n", head.join("\r\n"), body(10_001))).await;
    let chunked = connection.read_until("\r\n").await;

    assert_eq!((fitting.status, announced.status), (201, 413), "{}", announced.text);
    assert!(chunked.starts_with("HTTP/1.1 413"), "{chunked}");
    assert_eq!(server.count("managed_objects").await, 1);
}

#[tokio::test]
async fn thousands_of_members_are_stored_or_refused() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for count in [1000, 4000, 100_000] {
        let members: Vec<String> = (0..count).map(|n| format!("\"plat_{n}\":{n}")).collect();
        let answer = post(&admin, OBJECTS, format!("{{{}}}", members.join(","))).await;
        assert!([201, 400, 413, 422].contains(&answer.status), "{count}: {}", answer.status);
        assert!(count > 1000 || answer.status == 201, "{count}: {}", answer.text);
    }
}

#[tokio::test]
async fn member_sent_twice_is_not_a_server_error() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let answer = post(&admin, OBJECTS, r#"{"name":"a","name":"b","plat_A":1,"plat_A":{"x":1,"x":2}}"#).await;

    assert!([201, 400, 422].contains(&answer.status), "{}", answer.text);
    if let Some(location) = answer.header("Location") {
        assert_eq!(admin.read(location).await["name"], "b");
    }
}

#[tokio::test]
async fn oversized_texts_are_422_and_named() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    // The text is random enough not to be compressed below the size limit of an index entry.
    let long: String = (0..100_000_u32)
        .map(|n| char::from(b'a' + (n.wrapping_mul(2_654_435_761) >> 24) as u8 % 26))
        .collect();

    let mut alarm = alarm_of(&device, &long);
    let of_type = admin.post("/alarm/alarms", &alarm).await;
    alarm = alarm_of(&device, "hot");
    alarm["text"] = json!(long);
    let of_text = admin.post("/alarm/alarms", &alarm).await;
    let object = admin.post(OBJECTS, &json!({"type": long})).await;
    let fragment = post(&admin, OBJECTS, format!("{{\"{long}\":1}}")).await;

    for (name, answer) in [("type", of_type), ("text", of_text), ("type", object), ("fragment", fragment)] {
        assert_eq!(answer.status, 422, "{name}: {}", answer.text);
        assert!(
            answer.message().contains(name) && answer.message().len() < 1000,
            "{name}: {}",
            answer.message()
        );
    }
}

#[tokio::test]
async fn wrong_types_of_members_are_422() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let path = format!("{OBJECTS}/{device}");

    for body in [json!({"name": 5}), json!({"name": ["a"]}), json!({"type": {}}), json!({"type": true})] {
        for (method, path) in [("POST", OBJECTS), ("PUT", &*path)] {
            admin.request(method, path).json(&body).send().await.expect(422);
        }
    }
    for source in
        [json!(5), json!({}), json!({"id": {}}), json!({"id": "abc"}), json!({"id": -1}), json!({"id": 1.5})]
    {
        let mut alarm = alarm_of(&device, "hot");
        alarm["source"] = source.clone();
        admin.post("/alarm/alarms", &alarm).await.expect(422);
    }
}

#[tokio::test]
async fn fragment_names_with_dollar_or_dot_are_422() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;

    for name in ["$where", "a.b", "."] {
        let mut alarm = alarm_of(&device, "hot");
        alarm[name] = json!(1);
        let (alarm, object) =
            (admin.post("/alarm/alarms", &alarm).await, admin.post(OBJECTS, &json!({name: 1})).await);
        assert_eq!((alarm.status, object.status), (422, 422), "{name}");
    }
}

#[tokio::test]
async fn text_that_looks_like_sql_is_only_text() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let text = "'; DROP TABLE alarms; -- \" $1 \\ %s {} \u{1F525} \u{202E}";
    let device =
        admin.create(OBJECTS, &json!({"name": text, "type": text, text.replace(['$', '.'], ""): text})).await;

    let alarm = admin.raise_alarm(device["id"].as_str().unwrap(), text).await;

    assert_eq!((&alarm["type"], &alarm["source"]["name"]), (&json!(text), &json!(text)));
    let encoded: String = text.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let found = admin.read(&format!("/alarm/alarms?type={encoded}")).await;
    assert_eq!(found["alarms"], json!([alarm]), "commas aside, a type is found by its text");
}

#[tokio::test]
async fn body_that_ends_early_is_dropped_with_its_connection() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let mut connection = crate::harness::RawConnection::open(server.address()).await;
    let authorization = format!("Authorization: {}", admin.authorization().unwrap());
    let head = ["POST /inventory/managedObjects HTTP/1.1", "Host: x", &authorization, "Content-Length: 100"];

    connection.send(format!("{}\r\n\r\n{{\"name\":\"pump\"}}", head.join("\r\n"))).await;
    connection.half_close().await;
    while !connection.read_at_most(1000).await.is_empty() {}

    assert_eq!(server.count("managed_objects").await, 0);
    assert_eq!(admin.get(OBJECTS).await.status, 200, "the server lives");
}

#[tokio::test]
async fn body_of_a_content_encoding_is_415_wherever_one_is_read() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let json = "application/json";
    let form = "multipart/form-data; boundary=b";
    let device = admin.create_device("pump").await;

    for (path, content_type) in [
        (OBJECTS, json),
        ("/alarm/alarms", json),
        ("/measurement/measurements", json),
        ("/notification/realtime", json),
        ("/notification/operations", json),
        ("/cep/realtime", "text/plain"),
        ("/s", "text/plain"),
        ("/inventory/binaries", form),
        ("/devicecontrol/bulkNewDeviceRequests", form),
    ] {
        for encoding in ["gzip", "br", "identity, br", "identity, GZIP", "x", "x y"] {
            let request = admin.request("POST", path).accepting_json().header("Content-Type", content_type);
            let answer = request.header("Content-Encoding", encoding).body("\x1f\u{8b}").send().await;
            assert_eq!(answer.status, 415, "{path} {encoding}: {}", answer.text);
            assert_eq!(answer.error(), "general/Unsupported Media Type", "{path}");
            assert!(answer.text.contains(encoding) && answer.text.contains("identity"), "{}", answer.text);
            assert_eq!(answer.header("Accept-Encoding"), Some("identity"), "{path}");
        }
    }
    for encoding in ["gzip", "identity, br", "x"] {
        let request = admin.request("POST", "/v1/oauth/accesstokens").header("Content-Type", json);
        request.header("Content-Encoding", encoding).body("\x1f\u{8b}").send().await.expect(415);
    }
    let event = admin.create_event(&device, "opened").await;
    let path = format!("/event/events/{}/binaries", event["id"].as_str().unwrap());
    let upload = admin.request("POST", &path).accepting_json().header("Content-Type", "text/plain");
    upload.header("Content-Encoding", "gzip").body("file").send().await.expect(415);
}

#[tokio::test]
async fn body_of_encoding_identity_is_taken() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for encoding in ["identity", "Identity", "", "identity, identity"] {
        for (path, body, status) in [(OBJECTS, "{}", 201), ("/notification/realtime", "[]", 200)] {
            let request = admin.request("POST", path).accepting_json();
            let request =
                request.header("Content-Type", "application/json").header("Content-Encoding", encoding);
            assert_eq!(request.body(body).send().await.status, status, "{path} {encoding:?}");
        }
    }
}
