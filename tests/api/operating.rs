//! Health, metrics, and the behaviour while the database is unavailable.

use crate::harness::prelude::*;

#[tokio::test]
async fn health_needs_no_credentials() {
    let server = TestServer::shared().await;

    for path in ["/health/live", "/health/ready"] {
        assert_eq!(server.stranger().get(path).await.status, 200, "{path}");
    }
}

#[tokio::test]
async fn head_of_health_and_metrics_equals_get_without_the_body() {
    let server = TestServer::shared().await;

    for path in ["/health/live", "/health/ready", "/metrics"] {
        let answer = server.stranger().request("HEAD", path).send().await;
        assert_eq!((answer.status, &*answer.text), (200, ""), "{path}");
        let get = server.stranger().get(path).await;
        assert_eq!(answer.header("Content-Type"), get.header("Content-Type"), "{path}");
    }
}

#[tokio::test]
async fn head_of_readiness_says_that_the_database_is_away() {
    let (postgres, server, _) = on_private_postgres().await;

    postgres.stop();

    eventually("unreadiness", async || {
        let answer = server.stranger().request("HEAD", "/health/ready").send().await;
        (answer.status == 503).then(|| assert_eq!(answer.text, ""))
    })
    .await;
}

#[tokio::test]
async fn metrics_are_in_the_format_of_prometheus_and_name_no_tenant_or_device() {
    let (server, admin, device, session) =
        TestServer::shared().await.with_listener("pump", "/alarms/*").await;
    admin.raise_alarm(&device, "hot").await;
    session.receive(1).await;
    let _held = session.hold().await;

    let answer = server.stranger().get("/metrics").await.expect(200);

    assert!(answer.header("Content-Type").unwrap().starts_with("text/plain"));
    for name in [
        "platform_http_request_seconds_count",
        "platform_http_requests_total",
        "platform_device_actors",
        "platform_sessions_open",
        "platform_long_polls_parked",
        "platform_notifications_published_total",
        "platform_notifications_delivered_total",
        "platform_writer_batch_rows_count",
        "platform_writer_commit_seconds_count",
        "platform_database_connection_wait_seconds_count",
    ] {
        assert!(
            answer.text.lines().any(|line| line.starts_with(name)),
            "{name} is missing in\n{}",
            answer.text
        );
    }
    assert!(!answer.text.contains(&device), "{}", answer.text);
    for line in answer.text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let (_, value) = line.rsplit_once(' ').unwrap();
        assert!(value.parse::<f64>().is_ok(), "{line}");
    }
}

#[tokio::test]
async fn routes_in_metrics_are_patterns() {
    let (server, admin) = TestServer::shared().await.with_admin();
    admin.get("/alarm/alarms/4711").await;

    let text = server.stranger().get("/metrics").await.text;

    assert!(text.contains("/alarm/alarms/{id}") && !text.contains("/alarm/alarms/4711"), "{text}");
}

#[tokio::test]
async fn routes_and_statuses_that_nobody_caused_are_not_in_metrics() {
    let database = TestDatabase::create().await;
    let directory = scratch();
    // The metrics of the test process contain those of all its servers, so this test runs a process of its own.
    let command = Program::command_on(&database, directory.path());
    let program = Program::serve_with(command);
    let stranger = Caller::new(program.base(), None);
    stranger.get("/alarm/alarms").await;

    let text = stranger.get("/metrics").await.text;

    let listed: Vec<_> =
        text.lines().filter(|line| line.starts_with("platform_http_requests_total")).collect();
    let [only] = listed.as_slice() else { panic!("{listed:#?}") };
    assert!(only.contains("/alarm/alarms\"") && only.contains("4xx"), "{only}");
}

/// A server on a PostgreSQL that the test stops, and a device in it.
async fn on_private_postgres() -> (PrivatePostgres, TestServer, String) {
    let postgres = PrivatePostgres::start();
    let server = TestServer::start_on(&TestDatabase::at(postgres.url(), postgres.directory()), |_| {}).await;
    let device = server.admin().create_device("pump").await;
    (postgres, server, device)
}

#[tokio::test]
async fn everything_comes_back_within_five_seconds_of_the_database() {
    let (postgres, server, device) = on_private_postgres().await;
    let admin = server.admin();
    let session = admin.listen("/alarms/*").await;
    let held = session.hold().await;
    let (mut socket, _) = Socket::listen(&admin, "/alarms/*").await;

    postgres.stop();
    let begun = Instant::now();
    let refused = admin.post("/alarm/alarms", &alarm_of(&device, "hot")).await.expect(503);
    assert!(begun.elapsed() < Duration::from_secs(3), "at once, not after {:?}", begun.elapsed());
    assert!(refused.header("Retry-After").unwrap().parse::<u32>().is_ok());
    let ready = async || (server.stranger().get("/health/ready").await.status == 503).then_some(());
    eventually("unreadiness", ready).await;
    // The database is away long enough for several retries.
    tokio::time::sleep(Duration::from_secs(4)).await;
    postgres.start_again();

    let alarm = eventually_within(Duration::from_secs(5), "a write that succeeds", async || {
        let answer = admin.post("/alarm/alarms", &alarm_of(&device, "hot")).await;
        assert!([201, 503].contains(&answer.status), "{}", answer.text);
        (answer.status == 201).then(|| answer.json())
    })
    .await;
    let answer = held.answer().await;
    assert_eq!((notifications(&answer).len(), &answer[0]["data"]["data"]), (1, &alarm));
    assert_eq!(socket.message().await["data"]["data"], alarm);
    assert_eq!(alarm["count"], 1, "nothing that was refused is stored");
    let ready = async || server.stranger().get("/health/ready").await.status == 200;
    until_within(Duration::from_secs(5), "readiness", ready).await;
}

#[tokio::test]
async fn without_a_database_every_request_fails_at_once() {
    let (postgres, server, device) = on_private_postgres().await;
    let admin = server.admin();
    let alarm = admin.raise_alarm(&device, "hot").await;
    let session = admin.session().await;

    postgres.stop();
    let ready = async || server.stranger().get("/health/ready").await.status == 503;
    until("unreadiness", ready).await;

    let (path, link) = (format!("/inventory/managedObjects/{device}"), alarm["self"].as_str().unwrap());
    let change = json!({"name": "motor"});
    let unknown = server.caller("nobody", "wrong-secret");
    for (caller, method, path, body) in [
        (&admin, "POST", "/alarm/alarms", alarm_of(&device, "cold")),
        (&admin, "PUT", link, json!({"text": "Cooler"})),
        (&admin, "POST", "/inventory/managedObjects", change.clone()),
        (&admin, "PUT", &path, change),
        (&admin, "DELETE", &path, json!({})),
        (&admin, "GET", &path, json!({})),
        (&admin, "GET", "/alarm/alarms", json!({})),
        (&unknown, "GET", "/alarm/alarms", json!({})),
    ] {
        let request = caller.request(method, path).accepting_json().json(&body);
        let answer = within(Duration::from_secs(2), "an answer at once", request.send()).await.expect(503);
        assert!(answer.header("Retry-After").is_some(), "{method} {path}");
        assert!(
            !answer.text.contains("host=") && !answer.text.contains("socket"),
            "no causes: {}",
            answer.text
        );
    }
    assert_eq!(server.stranger().get("/health/live").await.status, 200);
    let glance = within(Duration::from_secs(2), "a connect", session.glance()).await;
    assert_eq!(notifications(&glance).len(), 0, "sessions live on");
}

#[tokio::test]
async fn hundred_writers_are_refused_at_once_while_the_database_is_away() {
    let (postgres, server, device) = on_private_postgres().await;
    let admin = server.admin();

    postgres.stop();
    let posts: Vec<_> = (0..100)
        .map(|n| {
            let (admin, body) = (admin.clone(), alarm_of(&device, &format!("type {n}")));
            tokio::spawn(async move { admin.post("/alarm/alarms", &body).await.status })
        })
        .collect();

    for post in posts {
        let status = within(Duration::from_secs(5), "a refusal", post).await.unwrap();
        assert_eq!(status, 503);
    }
}

#[tokio::test]
async fn short_restart_of_the_database_keeps_what_was_acknowledged() {
    let (postgres, server, device) = on_private_postgres().await;
    let admin = server.admin();
    let posting = {
        let (admin, device) = (admin.clone(), device.clone());
        tokio::spawn(async move {
            let mut acknowledged = Vec::new();
            for n in 0..400 {
                let answer = admin.post("/alarm/alarms", &alarm_of(&device, &format!("type {n}"))).await;
                assert!([201, 503].contains(&answer.status), "{}", answer.text);
                if answer.status == 201 {
                    acknowledged.push(answer.json()["id"].as_str().unwrap().to_owned());
                }
            }
            acknowledged
        })
    };
    until("some alarms", async || {
        let list = admin.get("/alarm/alarms?pageSize=20").await;
        list.status == 200 && list.json()["alarms"].as_array().unwrap().len() == 20
    })
    .await;

    postgres.stop();
    postgres.start_again();

    let mut acknowledged = within(Duration::from_secs(60), "the end of posting", posting).await.unwrap();
    let list = eventually("a list", async || {
        let answer = admin.get("/alarm/alarms?pageSize=2000").await;
        (answer.status == 200).then(|| answer.json())
    })
    .await;
    let mut stored = crate::harness::ids(&list, "alarms");
    stored.sort_unstable();
    acknowledged.sort_unstable();
    let lost: Vec<_> = acknowledged.iter().filter(|id| stored.binary_search(id).is_err()).collect();
    assert!(lost.is_empty(), "{lost:?}");
}
