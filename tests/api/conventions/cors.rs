//! Tests which pages of other sites may read responses (C-16 to C-16b).

use super::*;

const PAGE: &str = "https://app.example.org";
const ORIGIN_OPTION: &str = "/tenant/options/access.control/allow.origin";

/// Returns the CORS headers: origin and credentials.
fn allowed(answer: &Response) -> (Option<&str>, Option<&str>) {
    (answer.header("Access-Control-Allow-Origin"), answer.header("Access-Control-Allow-Credentials"))
}

async fn get_from(caller: &Caller, origin: &str, path: &str) -> Response {
    caller.request("GET", path).header("Origin", origin).send().await
}

async fn preflight(server: &TestServer, path: &str, origin: &str) -> Response {
    let request = server.stranger().request("OPTIONS", path).header("Origin", origin);
    let request = request.header("Access-Control-Request-Method", "PUT");
    request.header("Access-Control-Request-Headers", "authorization,content-type").send().await
}

/// Sets the option and waits until it has an effect.
async fn allow_origins(server: &TestServer, value: &str) {
    server.admin().put(ORIGIN_OPTION, &json!({"value": value})).await.expect(200);
}

#[tokio::test]
async fn preflight_of_a_known_path_gets_a_response_without_credentials() {
    let server = TestServer::shared().await;

    for (path, methods) in [
        ("/alarm/alarms", "GET,POST,PUT,DELETE"),
        ("/inventory/managedObjects/4711", "GET,PUT,DELETE"),
        ("/tenant/options/a/b/editable", "PUT"),
        (REALTIME, "GET,POST"),
        ("/health/live", "GET,HEAD"),
        ("//alarm/alarms/", "GET,POST,PUT,DELETE"),
    ] {
        let answer = preflight(&server, path, PAGE).await;
        assert_eq!((answer.status, &*answer.text), (200, ""), "{path}");
        assert_eq!(answer.header("Access-Control-Allow-Methods"), Some(methods), "{path}");
        assert_eq!(allowed(&answer), (Some(PAGE), Some("true")), "{path}");
        // A browser must not remember this preflight (C-16b).
        assert_eq!(answer.header("Access-Control-Max-Age"), Some("0"), "{path}");
        let headers = answer.header("Access-Control-Allow-Headers").unwrap().to_lowercase();
        for name in ["authorization", "content-type", "accept", "x-http-method", "x-platform-processing-mode"]
        {
            assert!(headers.split(", ").any(|allowed| allowed == name), "{name}: {headers}");
        }
    }
}

#[tokio::test]
async fn preflight_of_an_unknown_path_and_other_options_requests_need_credentials() {
    let (server, admin) = TestServer::shared().await.with_admin();

    let unknown = preflight(&server, "/unknown", PAGE).await;
    let no_origin =
        server.stranger().request("OPTIONS", "/alarm/alarms").header("Access-Control-Request-Method", "GET");
    let no_method = server.stranger().request("OPTIONS", "/alarm/alarms").header("Origin", PAGE);
    let known = admin.request("OPTIONS", "/alarm/alarms");

    assert_eq!(unknown.status, 401);
    assert_eq!((no_origin.send().await.status, no_method.send().await.status), (401, 401));
    assert_eq!(known.send().await.status, 405);
}

#[tokio::test]
async fn every_site_may_read_unless_the_tenant_says_otherwise() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let found = get_from(&admin, PAGE, "/alarm/alarms").await;
    let created = admin.request("POST", "/inventory/managedObjects").header("Origin", PAGE);
    let created = created.json(&json!({})).send().await;

    assert_eq!(allowed(&found), (Some("*"), None));
    assert_eq!(allowed(&created), (Some(PAGE), Some("true")), "its body needed a preflight");
    for answer in [&found, &created] {
        assert_eq!(answer.header("Vary"), Some("Origin"));
        let exposed = answer.header("Access-Control-Expose-Headers").unwrap();
        for name in
            ["Location", "Content-Disposition", "Content-Range", "ETag", "Retry-After", "X-Request-Id"]
        {
            assert!(exposed.split(", ").any(|shown| shown == name), "{name}: {exposed}");
        }
    }
    assert_eq!((found.status, created.status), (200, 201));
}

#[tokio::test]
async fn errors_may_be_read_too() {
    let (server, admin) = TestServer::shared().await.with_admin();

    for (caller, path, status) in [
        (&server.stranger(), "/alarm/alarms", 401),
        (&admin, "/alarm/alarms/4711", 404),
        (&admin, "/unknown", 404),
        (&admin, "/alarm/alarms?pageSize=0", 422),
    ] {
        let answer = get_from(caller, PAGE, path).await;
        assert_eq!((answer.status, allowed(&answer)), (status, (Some("*"), None)), "{path}");
        assert!(!answer.error().is_empty());
    }
}

#[tokio::test]
async fn held_poll_may_be_read_too() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let session = admin.session().await;
    let message = session.message("/meta/connect", json!({"connectionType": "long-polling"}));

    let request = admin.request("POST", REALTIME).accepting_json().header("Origin", PAGE);
    let response = request.json(&json!([message])).head().await;

    let header = |name: &str| response.headers().get(name).map(|value| value.to_str().unwrap());
    assert_eq!(header("Access-Control-Allow-Origin"), Some(PAGE));
    assert_eq!(header("Access-Control-Allow-Credentials"), Some("true"));
    assert_eq!(header("Transfer-Encoding"), Some("chunked"), "it is held");
}

#[tokio::test]
async fn request_of_no_page_gets_no_headers_for_browsers() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let answer = admin.get("/alarm/alarms").await;

    assert_eq!(allowed(&answer), (None, None));
    assert_eq!(answer.header("Vary"), None);
}

#[tokio::test]
async fn only_listed_sites_may_read_and_named_ones_with_credentials() {
    let (server, admin) = TestServer::start().await.with_admin();
    allow_origins(&server, "https://app.example.org, http://*.example.net").await;
    until("the new option", async || {
        allowed(&get_from(&admin, "https://evil.org", "/alarm/alarms").await).0.is_none()
    })
    .await;

    for (origin, expected) in [
        (PAGE, (Some(PAGE), Some("true"))),
        ("http://a.example.net", (Some("http://a.example.net"), None)),
        ("http://a.b.example.net", (None, None)),
        ("https://a.example.net", (None, None)),
        ("https://app.example.org.evil.org", (None, None)),
        ("null", (None, None)),
        ("", (None, None)),
        ("\u{e4}", (None, None)),
    ] {
        let answer = get_from(&admin, origin, "/alarm/alarms").await;
        assert_eq!((answer.status, allowed(&answer)), (200, expected), "{origin}");
        assert_eq!(answer.header("Vary"), Some("Origin"), "{origin}");
        let answer = preflight(&server, "/alarm/alarms", origin).await;
        // A page that the option allows may use credentials of its own.
        let (origin_allowed, max_age) = (expected.0, if expected.1.is_some() { "600" } else { "0" });
        let expected = (origin_allowed, origin_allowed.map(|_| "true"));
        assert_eq!((answer.status, allowed(&answer)), (200, expected), "{origin}");
        if origin_allowed.is_some() {
            assert_eq!(answer.header("Access-Control-Max-Age"), Some(max_age), "{origin}");
        }
    }
}

#[tokio::test]
async fn option_of_the_tenant_of_the_host_decides() {
    let database = TestDatabase::create().await;
    database.insert_tenant("t7", "plant7.example.com").await;
    let option = "INSERT INTO options (tenant, category, key, value) VALUES ('t7', 'access.control', 'allow.origin', \
        $1)";
    database.execute(option, &[&PAGE]).await;
    let server = TestServer::start_on(&database, |_| {}).await;
    let caller = server.caller("main/admin", ADMIN_PASSWORD);

    for (host, expected) in [
        ("plant7.example.com", (Some(PAGE), Some("true"))),
        ("PLANT7.example.com:8080", (Some(PAGE), Some("true"))),
        ("other.example.com", (Some("*"), None)),
        ("t7.example.com", (Some("*"), None)),
    ] {
        let request = caller.request("GET", "/alarm/alarms").header("Origin", PAGE).header("Host", host);
        let answer = request.send().await;
        assert_eq!((answer.status, allowed(&answer)), (200, expected), "{host}");
    }
}

#[tokio::test]
async fn change_of_the_option_is_felt_at_all_servers_and_ends_no_session() {
    let server = TestServer::start().await;
    let other = TestServer::start_on(&server.shared_database(), |_| {}).await;
    let session = other.admin().listen("/alarms/*").await;
    let callers = [server.admin(), other.admin()];
    for caller in &callers {
        assert_eq!(allowed(&get_from(caller, PAGE, "/alarm/alarms").await), (Some("*"), None));
    }

    allow_origins(&server, "https://app.example.org").await;

    for caller in &callers {
        until("the new option", async || {
            let answer = get_from(caller, PAGE, "/alarm/alarms").await;
            allowed(&answer) == (Some(PAGE), Some("true"))
        })
        .await;
    }
    assert!(session.is_known().await);
    assert_eq!(server.admin().delete(ORIGIN_OPTION).await.status, 204);
    until("the predefined option", async || {
        let answer = get_from(&callers[1], PAGE, "/alarm/alarms").await;
        allowed(&answer) == (Some("*"), None)
    })
    .await;
}

#[tokio::test]
async fn preflight_allows_the_headers_that_it_asks_for_except_those_of_the_connection() {
    let server = TestServer::shared().await;
    let asked = "x-platform-system-of-units, X-Device-Id,content-range, usexbasic,X-XSRF-TOKEN, cache-control, \
        if-none-match, tfatoken, cookie, Connection, te, transfer-encoding, host, bad name, ,range";

    let request = server.stranger().request("OPTIONS", "/inventory/managedObjects").header("Origin", PAGE);
    let request = request.header("Access-Control-Request-Method", "GET");
    let answer = request.header("Access-Control-Request-Headers", asked).send().await.expect(200);

    let headers = answer.header("Access-Control-Allow-Headers").unwrap();
    let names: Vec<&str> = headers.split(", ").collect();
    for name in [
        "x-platform-system-of-units",
        "x-device-id",
        "content-range",
        "usexbasic",
        "x-xsrf-token",
        "cache-control",
        "if-none-match",
        "tfatoken",
        "range",
        "authorization",
    ] {
        assert_eq!(names.iter().filter(|allowed| **allowed == name).count(), 1, "{name}: {headers}");
    }
    for name in ["cookie", "connection", "te", "transfer-encoding", "host", "bad name", "*", ""] {
        assert!(!names.contains(&name), "{name}: {headers}");
    }
    // Without `authorization` it lets nobody use credentials, so browsers may remember it.
    assert_eq!(allowed(&answer), (Some("*"), None));
    assert_eq!(answer.header("Access-Control-Max-Age"), Some("600"));
    let many: Vec<String> = (0..300).map(|n| format!("x-{n}")).collect();
    let request = server.stranger().request("OPTIONS", "/inventory/managedObjects").header("Origin", PAGE);
    let request = request.header("Access-Control-Request-Method", "GET");
    let answer = request.header("Access-Control-Request-Headers", &many.join(",")).send().await.expect(200);
    assert!(answer.header("Access-Control-Allow-Headers").unwrap().split(',').count() < 120);
}

#[tokio::test]
async fn page_that_brings_credentials_may_read_what_no_page_can_send_without_a_preflight() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let own = |origin| (Some(origin), Some("true"));
    let anybody = (Some("*"), None);

    for origin in [PAGE, "null"] {
        for (method, headers, expected) in [
            ("POST", vec![("Content-Type", "application/json")], own(origin)),
            ("POST", vec![("Content-Type", "text/plain"), ("X-HTTP-METHOD", "PUT")], own(origin)),
            ("PUT", vec![], own(origin)),
            ("DELETE", vec![], own(origin)),
            ("GET", vec![("X-Platform-Application-Key", "k")], own(origin)),
            ("GET", vec![("UseXBasic", "true")], own(origin)),
            ("GET", vec![("Content-Type", "application/json")], own(origin)),
            ("GET", vec![], anybody),
            // Proxies and browsers of some systems add these to requests that had no preflight.
            ("GET", vec![("X-Forwarded-For", "10.0.0.1"), ("X-Real-IP", "10.0.0.1")], anybody),
            ("GET", vec![("X-Requested-With", "com.example.app")], anybody),
            ("POST", vec![("Content-Type", "text/plain")], anybody),
            ("POST", vec![("Content-Type", "text/plain, application/json")], anybody),
            ("POST", vec![("Content-Type", "multipart/form-data;a")], anybody),
        ] {
            let mut request = admin.request(method, "/tenant/currentTenant").header("Origin", origin);
            for (name, value) in &headers {
                request = request.header(name, value);
            }
            let answer = request.send().await;
            assert_eq!(allowed(&answer), expected, "{origin} {method} {headers:?}");
        }
    }
}

#[tokio::test]
async fn script_gets_its_401_without_a_log_in_window_of_the_browser() {
    let server = TestServer::shared().await;
    let challenge = r#"Basic realm="Platform""#;

    for path in ["/alarm/alarms", REALTIME, "/unknown"] {
        for (headers, expected) in [
            (vec![], Some(challenge)),
            (vec![("Origin", PAGE)], Some(challenge)),
            (vec![("Sec-Fetch-Dest", "document")], Some(challenge)),
            (vec![("Sec-Fetch-Dest", "empty")], None),
            (vec![("X-Requested-With", "XMLHttpRequest")], None),
        ] {
            let mut request = server.caller("admin", "wrong-password").request("POST", path);
            for (name, value) in &headers {
                request = request.header(name, value);
            }
            let answer = request.json(&json!([])).send().await.expect(401);
            assert_eq!(answer.header("WWW-Authenticate"), expected, "{path} {headers:?}");
            assert_eq!(answer.error(), "security/Unauthorized");
        }
    }
}
