//! Rows of one request are stored, published and fed to modules in row order, although they share a commit (S-03a).

use std::ops::Range;

use super::acting_device::{device_user, find};
use super::*;
use crate::harness::modules::{deploy, set_status};

const JSON: &str = "application/json";
/// Every processing mode (M-01).
const MODES: [&str; 4] = ["PERSISTENT", "TRANSIENT", "QUIESCENT", "CEP"];

/// Starts a server with several threads of each kind, because different devices then have different writers.
async fn server() -> TestServer {
    let server = TestServer::start_with(|settings| {
        settings.actor_threads = 3;
        settings.job_connections = 8;
    })
    .await;
    register(&server.admin(), "custom", &custom_templates()).await;
    server
}

/// Row 900 makes a measurement and row 901 an event, each of a source the row names, with a number.
fn custom_templates() -> String {
    let head = r#"{"source":{"id":"%%"},"time":"2024-03-10T02:30:00Z","type":"t","#;
    let template = |id: u32, path: &str, kind: &str, member: &str| {
        let body = format!("{head}{member}}}").replace('"', "\"\"");
        format!("10,{id},POST,{path},{JSON},,%%,UNSIGNED {kind},\"{body}\"\n")
    };
    template(900, MEASUREMENTS, "NUMBER", r#""c":{"E":{"value":%%}}"#)
        + &template(901, "/event/events", "STRING", r#""text":"%%""#)
}

/// Sends rows in a processing mode; all of them are taken.
async fn send_in(caller: &Caller, mode: &str, x_id: Option<&str>, rows: &str) {
    let mut request = request(caller, rows).header("X-Platform-Processing-Mode", mode);
    if let Some(x_id) = x_id {
        request = request.header("X-Id", x_id);
    }
    assert_eq!(text_of(request.send().await), "", "{mode}");
}

/// Returns the numbers in notifications: the value of a measurement, the text of an event.
fn numbers(told: &[Value]) -> Vec<i64> {
    let number = |told: &Value| {
        let data = &told["data"]["data"];
        let value = data["c"]["E"]["value"].as_i64();
        value.or_else(|| data["text"].as_str()?.parse().ok()).unwrap_or_else(|| panic!("{told}"))
    };
    told.iter().map(number).collect()
}

/// Rows for each number.
fn rows(numbers: Range<i64>, row: impl Fn(i64) -> String) -> String {
    numbers.map(|number| row(number) + "\n").collect()
}

/// Asserts that the numbers are exactly these, in order; otherwise shows the first difference.
fn assert_in_order(numbers: &[i64], expected: Range<i64>, what: &str) {
    let wrong = numbers.iter().zip(expected.clone()).find(|(number, expected)| *number != expected);
    assert_eq!((wrong, numbers.len()), (None, expected.count()), "{what}: {numbers:?}");
}

#[tokio::test]
async fn events_that_are_not_stored_are_published_in_row_order() {
    let (server, admin) = server().await.with_admin();
    let device = device_user(&server, "sn-1").await;
    send(&device, "100").await;
    let session = admin.listen("/events/*").await;

    for request in 0..20 {
        send_in(&device, "TRANSIENT", None, &rows(0..10, |n| format!("400,t,{n}"))).await;
        assert_in_order(&numbers(&session.receive(10).await), 0..10, &format!("request {request}"));
    }
}

#[tokio::test]
async fn measurements_that_are_not_stored_are_published_in_row_order_when_their_source_is_new() {
    let (server, admin) = server().await.with_admin();
    let session = admin.listen("/measurements/*").await;

    for n in 0..10 {
        let device = device_user(&server, &format!("sn-{n}")).await;
        send(&device, "100").await;
        send_in(&device, "TRANSIENT", None, &rows(0..10, |n| format!("200,c,E,{n}"))).await;
        assert_in_order(&numbers(&session.receive(10).await), 0..10, &format!("device {n}"));
    }
}

#[tokio::test]
async fn thousands_of_measurements_are_stored_and_published_in_row_order() {
    let (server, admin) = server().await.with_admin();
    let device = device_user(&server, "sn-1").await;
    send(&device, "100").await;
    let source = find(&server, "sn-1").await.unwrap();
    let session = admin.listen(&format!("/measurements/{source}")).await;

    let body = rows(0..3000, |n| format!("200,c,E,{n},,2024-03-10T02:30:00Z"));
    let (_, told) = tokio::join!(send_in(&device, "PERSISTENT", None, &body), session.receive(3000));
    assert_in_order(&numbers(&told), 0..3000, "told");

    let ids = "SELECT readings[1]::bigint FROM measurements ORDER BY id";
    let stored: Vec<i64> = server.database().query(ids, &[]).await.iter().map(|row| row.get(0)).collect();
    assert_in_order(&stored, 0..3000, "stored");
}

/// Returns the numbers in everything that rows 900 and 901 stored, by id.
async fn stored_numbers(server: &TestServer) -> Vec<i64> {
    let by_id = "SELECT n FROM (
        SELECT id, readings[1]::bigint AS n FROM measurements UNION ALL SELECT id, text::bigint FROM events
        ) AS stored ORDER BY id";
    server.database().query(by_id, &[]).await.iter().map(|row| row.get(0)).collect()
}

#[tokio::test]
async fn rows_about_several_devices_are_stored_and_published_in_row_order() {
    for mode in ["PERSISTENT", "TRANSIENT"] {
        let (server, admin) = server().await.with_admin();
        let mut devices = Vec::new();
        for n in 0..7 {
            devices.push(admin.create_device(&format!("pump {n}")).await);
        }
        let session = admin.listen("/measurements/*").await;
        session.subscribe("/events/*").await;
        let row = |n: i64| format!("{},{},{n}", 900 + n % 2, devices[n as usize % 7]);

        for request in 0..5 {
            let (from, to) = (request * 100, (request + 1) * 100);
            send_in(&admin, mode, Some("custom"), &rows(from..to, row)).await;
            assert_in_order(&numbers(&session.receive(100).await), from..to, mode);
        }

        if mode == "PERSISTENT" {
            assert_in_order(&stored_numbers(&server).await, 0..500, "stored");
        }
    }
}

#[tokio::test]
async fn rows_by_ownership_and_by_permission_keep_their_order() {
    let (server, admin) = server().await.with_admin();
    let device = device_user(&server, "sn-1").await;
    let other = admin.create_device("pump").await;
    let permissions = json!({&other: ["EVENT:*:*", "MEASUREMENT:*:*"]}).to_string();
    let update = "UPDATE users SET device_permissions = $1::text::json WHERE name = 'device_sn-1'";
    server.database().execute(update, &[&permissions]).await;
    send(&device, "100").await;
    let own = find(&server, "sn-1").await.unwrap();
    let session = admin.listen("/measurements/*").await;
    session.subscribe("/events/*").await;
    let row = |n: i64| format!("{},{},{n}", 900 + n % 2, if n % 3 == 0 { &other } else { &own });

    for request in 0..5 {
        let (from, to) = (request * 50, (request + 1) * 50);
        send_in(&device, "PERSISTENT", Some("custom"), &rows(from..to, row)).await;
        assert_in_order(&numbers(&session.receive(50).await), from..to, "by permission");
    }

    assert_in_order(&stored_numbers(&server).await, 0..250, "stored");
}

#[tokio::test]
async fn row_that_is_refused_holds_none_behind_it_back() {
    let (_server, admin, device) = server().await.with_device("pump").await;
    let session = admin.listen("/events/*").await;

    for mode in ["PERSISTENT", "TRANSIENT"] {
        let row = |n: i64| match n % 3 {
            0 => format!("901,{device},{n}"),
            1 => format!("901,4711,{n}"),
            _ => "901".to_owned(),
        };
        let request = request(&admin, &rows(0..30, row)).header("X-Id", "custom");
        let answer = text_of(request.header("X-Platform-Processing-Mode", mode).send().await);

        assert_eq!((answer.lines().count(), answer.matches("50,").count()), (20, 10), "{answer}");
        let expected: Vec<i64> = (0..30).step_by(3).collect();
        assert_eq!(numbers(&session.receive(10).await), expected, "{mode}");
    }
}

#[tokio::test]
async fn module_that_subtracts_neighbours_is_fed_in_row_order_in_every_mode() {
    let (server, admin) = server().await.with_admin();
    let consumption = "module consumption;
        @Name('used') select last(getNumber(m, 'c.E.value')) - first(getNumber(m, 'c.E.value')) as used,
            m.measurement.source.value as source
        from MeasurementCreated(measurement.type = 'c').win:length(2) m
        having count(*) = 2;";
    let module = deploy(&admin, consumption).await;
    let session = admin.listen("/consumption/used").await;

    for mode in MODES {
        // The window is empty at the beginning of each part.
        for status in ["NOT_DEPLOYED", "DEPLOYED"] {
            set_status(&admin, &module, status).await;
        }
        let device = device_user(&server, mode).await;
        send(&device, "100").await;
        send_in(&device, mode, None, &rows(0..20, |n| format!("200,c,E,{}", n * 10))).await;

        let told = session.receive(19).await;
        let used: Vec<&Value> = told.iter().map(|told| &told["data"]["used"]).collect();
        assert!(used.iter().all(|used| used.as_f64() == Some(10.0)), "{mode}: {used:?}");
    }
}

/// The distance between the numbers of two rounds.
const ROUND: i64 = 10_000;

#[tokio::test]
async fn committed_write_is_published_though_the_client_is_gone() {
    let (server, admin) = server().await.with_admin();
    let device = device_user(&server, "sn-1").await;
    send(&device, "100").await;
    let session = admin.listen("/measurements/*").await;
    let authorization = format!("Authorization: {}", device.authorization().unwrap());
    let head = ["POST /s HTTP/1.1", "Host: x", &authorization];

    let mut told = Vec::new();
    for round in 1..=3 {
        let mut connection = RawConnection::open(server.address()).await;
        connection.request(&head, &rows(0..3000, |n| format!("200,c,E,{}", round * ROUND + n))).await;
        let begun = told.len();
        while told.len() < begun + 100 {
            told.extend(session.receive(1).await);
        }
        connection.reset();
        // When everything in progress has ended, as many rows are published as are stored.
        let stored = async || server.count("measurements").await as usize;
        told.extend(settled(&session, told.len(), stored).await);
    }

    // On a busy machine, rows of a round may still be stored during the next one.
    for round in 1..=3 {
        let of_round = numbers(&told).into_iter().filter(|n| n / ROUND == round);
        let of_round: Vec<i64> = of_round.map(|n| n % ROUND).collect();
        assert_in_order(&of_round, 0..of_round.len() as i64, &format!("round {round}"));
    }
}

/// Returns the notifications once there are as many as stored rows, and no more rows are stored.
async fn settled(session: &Session, mut count: usize, stored: impl AsyncFn() -> usize) -> Vec<Value> {
    let mut told = Vec::new();
    until("as many notifications as measurements", async || {
        let before = stored().await;
        let more = notifications(&session.glance().await).to_vec();
        count += more.len();
        told.extend(more);
        count == before && stored().await == before
    })
    .await;
    told
}
