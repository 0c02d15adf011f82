//! Error bodies, their names and messages (docs/rules.md#errors; E-01 to E-05, C-17).

use super::*;

fn shown(answer: &Response, server: &TestServer) -> (u16, Value) {
    (answer.status, redacted(&answer.json(), &[(server.base(), "<base>")]))
}

fn body(error: &str, message: &str) -> Value {
    json!({"error": error, "message": message, "info": "<base>/docs/errors#error_reporting"})
}

#[tokio::test]
async fn unknown_managed_object_is_404_with_the_documents_words() {
    let (server, admin) = TestServer::shared().await.with_admin();

    let answer = admin.get("/inventory/managedObjects/4711").await;

    let message = "Finding device data from database failed : No managedObject for id '4711'!";
    assert_eq!(shown(&answer, &server), (404, body("inventory/Not Found", message)));
    let media_type = answer.header("Content-Type").unwrap();
    assert!(media_type.starts_with(&format!("{MEDIA}error+json")), "{media_type}");
}

#[tokio::test]
async fn unknown_alarm_is_404_with_the_documents_words() {
    let (server, admin) = TestServer::shared().await.with_admin();

    let answer = admin.get("/alarm/alarms/4711").await;

    let message = "Finding alarm from database failed : No alarm for gid '4711'!";
    assert_eq!(shown(&answer, &server), (404, body("alarm/Not Found", message)));
}

#[tokio::test]
async fn id_that_is_not_a_number_names_nothing() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for id in ["pump", "null", "-1", "0", "1e3", "99999999999999999999999999", "%00", "1%2F2", "%F0%9F%94%A5"]
    {
        for path in ["/inventory/managedObjects", "/alarm/alarms"] {
            admin.get(&format!("{path}/{id}")).await.expect(404);
        }
    }
}

#[tokio::test]
async fn missing_members_are_listed_with_commas_and_without_blanks() {
    let (server, admin) = TestServer::shared().await.with_admin();

    let answer = admin.post("/alarm/alarms", &json!({"text": "Too hot"})).await;

    let message = "Following mandatory fields should be included: type,time,severity,source";
    assert_eq!(shown(&answer, &server), (422, body("undefined/validationError", message)));
}

#[tokio::test]
async fn missing_body_is_422() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let alarm = admin.raise_alarm(&device, "hot").await;

    for (method, path) in [
        ("POST", "/inventory/managedObjects".to_owned()),
        ("PUT", format!("/inventory/managedObjects/{device}")),
        ("POST", "/alarm/alarms".to_owned()),
        ("PUT", format!("/alarm/alarms/{}", alarm["id"].as_str().unwrap())),
    ] {
        let answer = admin.request(method, &path).accepting_json().send().await;
        let expected = body("undefined/validationError", "Representation must not be null");
        assert_eq!(shown(&answer, &server), (422, expected), "{method} {path}");
    }
}

#[tokio::test]
async fn malformed_json_is_400() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let request = admin.request("POST", "/alarm/alarms").header("Content-Type", "application/json");
    request.body(r#"{"type": "hot", }"#).send().await.expect_error(400, "undefined/validationError");
}

#[tokio::test]
async fn wrong_value_is_422_and_named() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;

    for (member, value) in [
        ("severity", json!("BAD")),
        ("status", json!("OPEN")),
        ("time", json!("yesterday")),
        ("text", json!(5)),
        ("type", json!({})),
        ("source", json!("4711")),
    ] {
        let mut alarm = alarm_of(&device, "hot");
        alarm[member] = value;
        let answer = admin.post("/alarm/alarms", &alarm).await.expect_error(422, "undefined/validationError");
        assert!(answer.message().contains(member), "{member}: {}", answer.message());
    }
}

#[tokio::test]
async fn unknown_source_of_an_alarm_is_422_and_named() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let answer = admin
        .post("/alarm/alarms", &alarm_of("4711", "hot"))
        .await
        .expect_error(422, "undefined/validationError");

    assert!(answer.message().contains("4711"), "{}", answer.message());
}

#[tokio::test]
async fn missing_role_is_403() {
    let server = TestServer::shared().await;
    let caller = server.user_with("joe", &["ROLE_INVENTORY_READ"]).await;

    let answer = caller.get("/alarm/alarms").await;

    assert_eq!(shown(&answer, &server), (403, body("security/Forbidden", "Access is denied")));
}

#[tokio::test]
async fn missing_credentials_are_401_and_asked_for() {
    let server = TestServer::shared().await;

    let answer = server.stranger().get("/alarm/alarms").await;

    let expected = body("security/Unauthorized", "Invalid credentials! : Bad credentials");
    assert_eq!(shown(&answer, &server), (401, expected));
    assert_eq!(answer.header("WWW-Authenticate"), Some(r#"Basic realm="Platform""#));
}

#[tokio::test]
async fn unknown_path_is_404() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for path in ["/alarm/alarm", "/inventory/managedObjects/1/unknown", "/alarms", "/notification/other"] {
        admin.get(path).await.expect_error(404, "general/Not Found");
    }
}

#[tokio::test]
async fn unknown_method_of_a_known_path_is_405_with_the_known_ones() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for (method, path, allowed) in [
        ("PATCH", "/alarm/alarms", ["GET", "POST"].as_slice()),
        ("POST", "/alarm/alarms/1", &["GET", "PUT"]),
        ("DELETE", "/alarm/alarms/1", &["GET", "PUT"]),
        ("PUT", "/inventory/managedObjects", &["GET", "POST"]),
        ("POST", "/inventory/managedObjects/1", &["DELETE", "GET", "PUT"]),
        ("PUT", "/notification/realtime", &["POST"]),
    ] {
        let answer = admin.request(method, path).send().await.expect(405);
        let allow = answer.header("Allow").unwrap_or_default();
        let named: Vec<&str> = allow.split(',').map(str::trim).collect();
        assert!(allowed.iter().all(|method| named.contains(method)), "{method} {path}: {allow}");
        assert!(!named.contains(&method), "{method} {path}: {allow}");
    }
}

#[tokio::test]
async fn details_are_given_in_debug_mode_only() {
    let plain = TestServer::shared().await;
    let debugging = TestServer::start_with(|settings| settings.debug_errors = true).await;

    let (brief, full) =
        (plain.admin().get("/alarm/alarms/1").await, debugging.admin().get("/alarm/alarms/1").await);

    assert!(brief.json().get("details").is_none(), "{}", brief.text);
    let details = &full.json()["details"];
    for member in ["expectionClass", "exceptionMessage", "expectionStackTrace"] {
        assert!(details[member].is_string(), "{member}: {}", full.text);
    }
}

#[tokio::test]
async fn info_link_of_an_error_leads_to_a_page_for_everybody() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let error = admin.get("/alarm/alarms/4711").await.json();
    let info = error["info"].as_str().unwrap();
    let (link, place) = info.split_once('#').unwrap();

    let page = server.stranger().get(link).await.expect(200);

    assert!(page.header("Content-Type").unwrap().starts_with("text/html"));
    assert!(page.text.contains(&format!("id=\"{place}\"")), "{}", page.text);
    for status in [400, 401, 403, 404, 405, 406, 409, 413, 415, 422, 429, 500, 503] {
        assert!(page.text.contains(&format!("<td>{status}</td>")), "{status}");
    }
    assert!(page.header("Content-Security-Policy").unwrap().starts_with("default-src 'none'"));
}
