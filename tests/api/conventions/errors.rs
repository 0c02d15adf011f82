//! Error bodies, their names and messages (docs/rules.md#errors; E-01 to E-05, C-17).

use super::*;

fn shown(answer: &Response, server: &TestServer) -> (u16, Value) {
    (answer.status, redacted(&answer.json(), &[(server.base(), "<base>")]))
}

fn body(error: &str, message: &str) -> Value {
    json!({"error": error, "message": message, "info": "<base>/docs/errors#error_reporting"})
}

#[tokio::test]
async fn refusals_have_the_words_of_the_documents() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let alarm = admin.raise_alarm(&device, "hot").await;
    let (alarm, object) = (alarm["self"].as_str().unwrap(), format!("{OBJECTS}/{device}"));
    let joe = server.user_with("joe", &["ROLE_INVENTORY_READ"]).await;
    let stranger = server.stranger();
    let unknown_object = "Finding device data from database failed : No managedObject for id '4711'!";
    let unknown_alarm = "Finding alarm from database failed : No alarm for gid '4711'!";
    let missing = "Following mandatory fields should be included: type,time,severity,source";
    let absent = "Representation must not be null";
    let denied = "Access is denied";
    let (invalid, invalid_credentials) =
        ("undefined/validationError", "Invalid credentials! : Bad credentials");

    check_rows(
        [
            (
                "unknown managed object",
                (&admin, "GET /inventory/managedObjects/4711 ", 404, "inventory/Not Found", unknown_object),
            ),
            ("unknown alarm", (&admin, "GET /alarm/alarms/4711 ", 404, "alarm/Not Found", unknown_alarm)),
            ("missing members", (&admin, r#"POST /alarm/alarms {"text":"Too hot"}"#, 422, invalid, missing)),
            (
                "missing body of a new object",
                (&admin, "POST /inventory/managedObjects ", 422, invalid, absent),
            ),
            ("missing body of an object", (&admin, &*format!("PUT {object} "), 422, invalid, absent)),
            ("missing body of a new alarm", (&admin, "POST /alarm/alarms ", 422, invalid, absent)),
            ("missing body of an alarm", (&admin, &format!("PUT {alarm} "), 422, invalid, absent)),
            ("missing role", (&joe, "GET /alarm/alarms ", 403, "security/Forbidden", denied)),
            (
                "missing credentials",
                (&stranger, "GET /alarm/alarms ", 401, "security/Unauthorized", invalid_credentials),
            ),
        ],
        async |(caller, request, status, error, message)| {
            let [method, path, sent] = *request.splitn(3, ' ').collect::<Vec<_>>() else {
                panic!("{request}")
            };
            let answer = caller.request(method, path).accepting_json().body(sent).send().await;
            assert_eq!(shown(&answer, &server), (status, body(error, message)));
            let asked_for = answer.header("WWW-Authenticate");
            assert_eq!(asked_for, (status == 401).then_some(r#"Basic realm="Platform""#));
        },
    )
    .await;
    admin.get("/inventory/managedObjects/4711").await.expect_media("error");
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
async fn malformed_or_wrong_alarms_are_refused_and_the_flaw_named() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let with = |member: &str, value: Value| {
        let mut alarm = alarm_of(&device, "hot");
        alarm[member] = value;
        alarm.to_string()
    };

    check_rows(
        [
            ("malformed JSON", (r#"{"type": "hot", }"#.to_owned(), 400, "")),
            ("unknown source", (alarm_of("4711", "hot").to_string(), 422, "4711")),
            ("severity", (with("severity", json!("BAD")), 422, "severity")),
            ("status", (with("status", json!("OPEN")), 422, "status")),
            ("time", (with("time", json!("yesterday")), 422, "time")),
            ("text", (with("text", json!(5)), 422, "text")),
            ("type", (with("type", json!({})), 422, "type")),
            ("source", (with("source", json!("4711")), 422, "source")),
        ],
        async |(body, status, named)| {
            let request = admin.request("POST", "/alarm/alarms").header("Content-Type", "application/json");
            let answer = request.body(body).send().await.expect_error(status, "undefined/validationError");
            assert!(answer.message().contains(named), "{}", answer.message());
        },
    )
    .await;
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
