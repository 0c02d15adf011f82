//! Requests per second: requests and rows of the CSV protocol above the rate get 429; clients with sessions wait
//! instead.

use super::*;
use crate::harness::csv;

/// Creates a tenant whose administrator is cached by the server, so that its requests need no password check.
async fn known_tenant(server: &TestServer) -> Caller {
    let boss = create_tenant(server, "t7").await;
    boss.get(OWN).await.expect(200);
    boss
}

#[tokio::test]
async fn requests_over_the_rate_are_429_and_say_when_to_try_again() {
    let server = TestServer::start().await;
    let boss = known_tenant(&server).await;
    set(&server, "t7", json!({"requestsPerSecond": 1, "requestBurst": 3})).await;
    let begun = Instant::now();

    let mut statuses = Vec::new();
    for _ in 0..50 {
        statuses.push(boss.get(OBJECTS).await.status);
    }

    let admitted = statuses.iter().filter(|status| **status == 200).count();
    let most = 3 + begun.elapsed().as_secs() as usize + 1;
    assert_eq!(statuses[..3], [200, 200, 200]);
    assert!((3..=most).contains(&admitted), "{admitted} of at most {most}: {statuses:?}");
    assert!(statuses.iter().all(|status| [200, 429].contains(status)), "{statuses:?}");
    let refused = loop {
        let answer = boss.get(OBJECTS).await;
        if answer.status == 429 {
            break answer;
        }
    };
    assert_eq!(refused.header("Retry-After"), Some("1"));
    assert_eq!(refused.error(), "security/Too Many Requests");
    assert!(refused.message().contains("limit requestsPerSecond"), "{}", refused.text);
    assert_eq!(management(&server).get(OBJECTS).await.status, 200, "others have their own rate");
    set(&server, "t7", json!({"requestsPerSecond": null})).await;
    assert_eq!(boss.get(OBJECTS).await.status, 200);
}

#[tokio::test]
async fn every_row_of_the_csv_protocol_counts() {
    let server = TestServer::start().await;
    let boss = known_tenant(&server).await;
    set(&server, "t7", json!({"requestsPerSecond": 1, "requestBurst": 3})).await;

    let rows = vec!["401,"; 20].join("\n");
    let answer = csv::send(&boss, &rows).await;

    let refused = answer.lines().filter(|line| line.ends_with(",429")).count();
    assert!((15..=17).contains(&refused), "{answer}");
    assert!(answer.lines().last().unwrap().starts_with("50,20,"), "{answer}");
}

#[tokio::test]
async fn long_poll_over_the_rate_waits_and_keeps_its_session() {
    let server = TestServer::start().await;
    let boss = known_tenant(&server).await;
    let device = boss.create_device("pump").await;
    let session = boss.listen("/alarms/*").await;
    set(&server, "t7", json!({"requestsPerSecond": 1, "requestBurst": 1})).await;
    management(&server).get(OWN).await.expect(200);
    while boss.get(OBJECTS).await.status != 429 {}

    let begun = Instant::now();
    let held = session.hold().await;
    set(&server, "t7", json!({"requestsPerSecond": null})).await;
    boss.raise_alarm(&device, "smoke").await;
    let answer = held.answer().await;

    assert_eq!(notifications(&answer).len(), 1, "{answer:?}");
    assert!(begun.elapsed() < Duration::from_secs(20));
    assert!(session.is_known().await);
}

#[tokio::test]
async fn messages_of_a_web_socket_over_the_rate_wait() {
    let server = TestServer::start().await;
    let boss = known_tenant(&server).await;
    let (mut socket, client) = Socket::session(&boss).await;
    set(&server, "t7", json!({"requestsPerSecond": 2, "requestBurst": 1})).await;
    let begun = Instant::now();

    for _ in 0..5 {
        let reply = socket.ask(crate::harness::subscribe(&client, "/alarms/*")).await;
        assert_eq!(reply["successful"], true, "{reply}");
    }

    assert!(begun.elapsed() > Duration::from_millis(1500), "{:?}", begun.elapsed());
    assert!(boss.resume(&client).is_known().await);
}

#[tokio::test]
async fn every_message_of_a_request_counts() {
    let server = TestServer::start().await;
    let boss = known_tenant(&server).await;
    let session = boss.session().await;
    set(&server, "t7", json!({"requestsPerSecond": 1, "requestBurst": 3})).await;
    let many = vec![crate::harness::subscribe(&session.client, "/alarms/*"); 60];

    let first = boss.bayeux(REALTIME, &json!(many)).await;
    let second = boss.bayeux(REALTIME, &json!(many[..2])).await;

    assert_eq!((first.status, second.status), (200, 429), "sixty seconds are used up: {}", second.text);
    assert!(second.header("Retry-After").unwrap().parse::<u64>().unwrap() > 30, "{}", second.text);
    let mut polled = many.clone();
    polled[0] =
        json!({"channel": "/meta/connect", "clientId": session.client, "connectionType": "long-polling"});
    boss.bayeux(REALTIME, &json!(polled)).await.expect(429);
}

/// Returns a request that repeats a row for notifications.
fn rows_of(caller: &Caller, row: &str, count: usize) -> Request {
    let request = caller.request("POST", REALTIME).header("Content-Type", "text/plain");
    request.header("Accept", "text/plain").body(format!("{row}\n").repeat(count))
}

#[tokio::test]
async fn every_row_of_a_request_for_notifications_counts() {
    let server = TestServer::start().await;
    let boss = known_tenant(&server).await;
    set(&server, "t7", json!({"requestsPerSecond": 1, "requestBurst": 3})).await;
    let rows = |count| rows_of(&boss, "81,unknown,/alarms/*", count);

    let (first, second) = (rows(60).send().await, rows(2).send().await);

    assert_eq!((first.status, second.status), (200, 429), "sixty seconds are used up: {}", second.text);
    assert!(second.header("Retry-After").unwrap().parse::<u64>().unwrap() > 30, "{}", second.text);
}

#[tokio::test]
async fn row_that_polls_over_the_rate_waits_with_few_others() {
    let wait = Duration::from_millis(100);
    let server = TestServer::start_with(|settings| settings.limits.session_interval = 2 * wait).await;
    let boss = known_tenant(&server).await;
    set(&server, "t7", json!({"requestsPerSecond": 1, "requestBurst": 3})).await;
    rows_of(&boss, "84,unknown", 60).send().await.expect(200);

    for (row, count, status) in [
        ("83,unknown", 1, 200),
        ("83,unknown", 10, 200),
        ("83,unknown", 11, 429),
        ("80", 1, 429),
        ("82,83,83", 1, 429),
        ("84,83", 1, 429),
    ] {
        let begun = Instant::now();
        rows_of(&boss, row, count).send().await.expect(status);
        assert!(status == 429 || begun.elapsed() >= wait, "{row} waited {:?}", begun.elapsed());
    }
}

#[tokio::test]
async fn every_message_of_a_frame_counts() {
    let server = TestServer::start().await;
    let boss = known_tenant(&server).await;
    let (mut socket, client) = Socket::session(&boss).await;
    set(&server, "t7", json!({"requestsPerSecond": 2, "requestBurst": 1})).await;
    let begun = Instant::now();

    let many = vec![crate::harness::subscribe(&client, "/alarms/*"); 5];
    socket.send(json!(many).to_string()).await;
    let replies = socket.messages(5).await;

    assert!(replies.iter().all(|reply| reply["successful"] == true), "{replies:?}");

    assert!(begun.elapsed() > Duration::from_millis(1500), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn handshakes_over_the_rate_are_429() {
    let server = TestServer::start().await;
    let boss = known_tenant(&server).await;
    set(&server, "t7", json!({"requestsPerSecond": 1, "requestBurst": 1})).await;
    while boss.get(OBJECTS).await.status != 429 {}

    let handshake = json!([{"channel": "/meta/handshake", "version": "1.0"}]);
    let mut statuses = Vec::new();
    for _ in 0..10 {
        statuses.push(boss.bayeux(REALTIME, &handshake).await.status);
    }

    assert!(statuses.contains(&429), "{statuses:?}");
}
