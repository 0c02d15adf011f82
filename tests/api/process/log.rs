//! The content of the log, and how far clients without credentials can fill it.

use std::net::SocketAddr;
use std::sync::Arc;

use super::*;

struct Logging {
    program: Program,
    admin: Caller,
    /// Dropped after the program.
    _kept: (tempfile::TempDir, Arc<TestDatabase>),
}

/// Starts a program on its own database with this log filter.
async fn logging(filter: &str) -> Logging {
    let (database, directory) = (TestDatabase::create().await, scratch());
    let mut command = Program::command_on(&database, directory.path());
    command.env("PLATFORM_LOG", filter);
    let program = Program::serve_with(command);
    let admin = Caller::new(program.base(), Some(("admin", "admin-secret")));
    Logging { program, admin, _kept: (directory, database) }
}

/// The value of a metric, 0 while it is not listed.
async fn metric(program: &Program, name: &str) -> u64 {
    let text = Caller::new(program.base(), None).get("/metrics").await.text;
    let value = text.lines().find_map(|line| line.strip_prefix(name));
    value.map_or(0, |value| value.trim().parse().unwrap())
}

#[tokio::test]
async fn malformed_requests_of_strangers_are_counted_and_not_logged() {
    let Logging { program, admin, _kept } = logging("info").await;
    let address: SocketAddr = program.base().strip_prefix("http://").unwrap().parse().unwrap();

    for _ in 0..100 {
        let mut stranger = RawConnection::open(address).await;
        stranger.send("X\0\r\n\r\n").await;
        assert!(stranger.read_to_end().await.starts_with("HTTP/1.1 400"));
    }

    let counted = "platform_http_faulty_connections_total{cause=\"malformed\"}";
    // A connection is counted when it is over, a moment after its last byte.
    until("the count", async || metric(&program, counted).await == 100).await;
    assert_eq!(admin.get("/alarm/alarms").await.status, 200);
    let log = program.log();
    assert!(!log.contains("actix_http") && log.lines().count() < 50, "{log}");
}

#[tokio::test]
async fn malformed_requests_are_in_the_debug_log_with_their_flaw() {
    let Logging { program, admin: _, _kept } = logging("debug").await;
    let address: SocketAddr = program.base().strip_prefix("http://").unwrap().parse().unwrap();

    let mut stranger = RawConnection::open(address).await;
    stranger.send("GET /?secret=K\u{fc}che HTTP/1.1\r\nHost: x\r\n\r\n").await;
    assert!(stranger.read_to_end().await.starts_with("HTTP/1.1 400"));

    program.line_with("flaw=Target client=127.0.0.1").await;
    assert!(!program.log().contains("secret="), "{}", program.log());
}

#[tokio::test]
async fn debug_log_has_requests_and_neither_passwords_nor_their_hashes() {
    let Logging { program, admin, _kept } = logging("debug").await;

    let user = json!({"userName": "mia", "password": "mias-own-secret"});
    assert_eq!(admin.post("/user/main/users", &user).await.status, 201);
    admin.create("/inventory/managedObjects", &json!({"name": "a pump of mias"})).await;
    assert_eq!(admin.get("/alarm/alarms").await.status, 200);

    for (method, path) in [("POST", "/user/main/users"), ("GET", "/alarm/alarms")] {
        program.line_with(&format!("method={method} path=\"{path}\"")).await;
    }
    let log = program.log();
    for secret in ["mias-own-secret", "$argon2", "a pump of mias", "parameters"] {
        assert!(!log.contains(secret), "{secret} is in the log:\n{log}");
    }
}

#[tokio::test]
async fn later_start_logs_no_notices_of_the_database() {
    let Logging { program, admin, _kept } = logging("info").await;

    assert_eq!(admin.get("/alarm/alarms").await.status, 200);

    assert!(!program.log().contains("NOTICE"), "{}", program.log());
}

#[tokio::test]
async fn failed_request_has_a_line_with_the_id_of_its_response() {
    let Logging { program, admin, _kept } = logging("info").await;

    let refused = admin.request("GET", "/alarm/alarms?dateFrom=hidden-query").send().await.expect(422);
    let id = refused.header("X-Request-Id").unwrap().to_owned();
    let of_proxy =
        admin.request("GET", "/alarm/alarms/77").header("X-Request-Id", "of-the-proxy-1").send().await;
    assert_eq!(of_proxy.header("X-Request-Id"), Some("of-the-proxy-1"));
    let passed = admin.get("/alarm/alarms").await;
    let passed = passed.header("X-Request-Id").unwrap();

    for (id, told) in [(id.as_str(), "path=\"/alarm/alarms\" status=422"), ("of-the-proxy-1", "status=404")] {
        let line = program.line_with(id).await;
        assert!(
            line.contains(told) && line.contains("user=\"main/admin\"") && line.contains("client=127.0.0.1"),
            "{line}"
        );
    }
    let log = program.log();
    assert!(!log.contains("hidden-query") && !log.contains(passed), "{log}");
}

#[tokio::test]
async fn rights_that_rows_and_applications_change_are_logged() {
    let Logging { program, admin, _kept } = logging("info").await;
    let template = "10,901,POST,/user/main/users,application/json,,%%,STRING,\
        \"{\"\"userName\"\":\"\"%%\"\",\"\"password\"\":\"\"mias-own-secret\"\"}\"";
    let rows = async |body: &str| {
        let request =
            admin.request("POST", "/s").header("Content-Type", "text/plain").header("X-Id", "rights");
        request.body(body).send().await.expect(200)
    };
    rows(template).await;
    rows("901,mia").await;
    admin.get("/user/main/users/mia").await.expect(200);
    let service = json!({"name": "rules", "key": "rules-key", "type": "MICROSERVICE",
        "requiredRoles": ["ROLE_ALARM_READ"]});
    let service = admin.create("/application/applications", &service).await;
    let path = format!("/application/applications/{}", service["id"].as_str().unwrap());
    admin.put(&path, &json!({"requiredRoles": ["ROLE_ALARM_ADMIN"]})).await.expect(200);

    for told in ["activity=\"User created\" changed=\"mia\"", "activity=\"Application update\""] {
        let line = program.line_with(told).await;
        let whole = line.contains("rights changed") && line.contains("user=\"main/admin\"");
        assert!(whole && line.contains("client=\"127.0.0.1\""), "{line}");
    }
}

#[tokio::test]
async fn log_ins_that_fail_and_rights_that_change_are_logged() {
    let Logging { program, admin, _kept } = logging("info").await;

    for user in ["admin", "my-password-in-the-wrong-field"] {
        let guesser = Caller::new(program.base(), Some((user, "a-wrong-password")));
        assert_eq!(guesser.get("/alarm/alarms").await.status, 401);
    }
    let user = json!({"userName": "mia", "password": "mias-own-secret"});
    assert_eq!(admin.post("/user/main/users", &user).await.status, 201);
    let token = admin.create("/user/currentUser/tokens", &json!({})).await;

    assert!(program.line_with("log-in failed tenant=main user=\"admin\"").await.contains("source=127.0.0.1"));
    program.line_with("log-in failed tenant=main user=\"(unknown)\"").await;
    let line = program.line_with("rights changed").await;
    for told in
        ["user=\"main/admin\"", "client=\"127.0.0.1\"", "activity=\"User created\"", "changed=\"mia\""]
    {
        assert!(line.contains(told), "{told}: {line}");
    }
    let id = token["id"].as_str().unwrap();
    program.line_with(&format!("activity=\"Access token created\" changed=\"{id}\"")).await;
    let log = program.log();
    let token = token["accessToken"].as_str().unwrap();
    for secret in ["my-password", "a-wrong-password", "mias-own-secret", token] {
        assert!(!log.contains(secret), "{secret} is in the log:\n{log}");
    }
    assert_eq!(metric(&program, "platform_authentication_failures_total{kind=\"password\"}").await, 2);
}
