//! Clients that read slowly or not at all: their own session suffers, nobody else (B-12).

use super::*;

/// The size of a text; a few hundred of them exceed what the operating system buffers for a connection.
const TEXT_BYTES: usize = 60_000;

async fn raise_large(caller: &Caller, device: &str, count: usize) {
    for n in 0..count {
        let mut alarm = alarm_of(device, &format!("type {n}"));
        alarm["text"] = json!("x".repeat(TEXT_BYTES));
        let request = caller.request("POST", "/alarm/alarms").json(&alarm);
        within(Duration::from_secs(10), "a write beside a slow reader", request.send()).await.expect(201);
    }
}

/// Sends a connect by a connection that takes only a little at a time; `more` is merged into it.
async fn poll_narrowly(server: &TestServer, session: &Session, more: Value) -> RawConnection {
    let mut connection = RawConnection::open_narrow(server.address()).await;
    let authorization = format!("Authorization: {}", server.admin().authorization().unwrap());
    let line = format!("POST {REALTIME} HTTP/1.1");
    let body = json!([session.message("/meta/connect", more)]).to_string();
    connection.request(&[&line, "Host: x", &authorization, "Accept: application/json"], &body).await;
    connection
}

#[tokio::test]
async fn websocket_that_does_not_read_overflows_without_harming_others() {
    let (_server, admin, device) = TestServer::start_with(|settings| settings.limits.queued_bytes = 1 << 20)
        .await
        .with_device("pump")
        .await;
    let (_slow, client) = Socket::listen(&admin, "/alarms/*").await;
    let (mut healthy, _) = Socket::listen(&admin, "/alarms/*").await;
    let reading = tokio::spawn(async move { healthy.messages(300).await });

    raise_large(&admin, &device, 300).await;

    let told = within(Duration::from_secs(30), "all notifications", reading).await.unwrap();
    let types: Vec<_> = told.iter().map(|n| n["data"]["data"]["type"].as_str().unwrap()).collect();
    assert_eq!(types, (0..300).map(|n| format!("type {n}")).collect::<Vec<_>>());
    assert!(!admin.resume(&client).is_known().await, "the session of the slow reader ended");
}

#[tokio::test]
async fn long_poll_that_does_not_read_delays_nobody() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let slow = admin.listen("/alarms/*").await;
    raise_large(&admin, &device, 100).await;
    let other = admin.listen("/alarms/*").await;
    let mut connection = poll_narrowly(&server, &slow, json!({})).await;

    // The client reads one byte now and then, of six million.
    for n in 0..20 {
        assert_eq!(connection.read_at_most(1).await.len(), 1);
        let kind = format!("beside {n}");
        admin.raise_alarm(&device, &kind).await;
        let told = within(Duration::from_secs(10), "a delivery beside a slow reader", other.receive(1)).await;
        assert_eq!(told[0]["data"]["data"]["type"], kind.as_str());
    }
}

#[tokio::test]
async fn batch_that_a_slow_client_did_not_finish_is_sent_again_under_the_extension() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let session = admin.session_with(json!({"ext": {"ack": true}})).await;
    session.subscribe("/alarms/*").await;
    raise_large(&admin, &device, 100).await;
    let mut connection = poll_narrowly(&server, &session, json!({"ext": {"ack": -1}})).await;
    connection.read_until("type 0").await;
    drop(connection);

    let answer = session.connect_with(json!({"ext": {"ack": -1}})).await;

    assert_eq!(notifications(&answer).len(), 100);
}

#[tokio::test]
async fn session_lives_as_long_as_its_client_reads_and_its_interval_after_that() {
    let (server, admin, device, session) =
        TestServer::shared().await.with_listener("pump", "/alarms/*").await;
    // This is more than the operating system buffers for a connection.
    raise_large(&admin, &device, 120).await;
    let mut connection = poll_narrowly(&server, &session, json!({})).await;

    connection.read_until("type 0").await;
    tokio::time::sleep(Duration::from_secs(13)).await;
    let mut last = Vec::new();
    while !String::from_utf8_lossy(&last).contains("/meta/connect") {
        let piece = connection.read_at_most(64 << 10).await;
        assert!(!piece.is_empty(), "the connection ended before the reply to the connect");
        last.extend(piece);
        last.drain(..last.len().saturating_sub(200));
    }

    assert!(session.is_known().await);
}

#[tokio::test]
async fn request_that_is_sent_a_byte_at_a_time_is_understood() {
    let (server, admin) = TestServer::start().await.with_admin();
    let authorization = format!("Authorization: {}", admin.authorization().unwrap());
    let body = r#"{"name":"slow"}"#;
    let head = ["POST /inventory/managedObjects HTTP/1.1", "Host: x", &authorization].join("\r\n");
    let text = format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let mut connection = RawConnection::open(server.address()).await;

    for byte in text.as_bytes() {
        connection.send([*byte]).await;
        tokio::task::yield_now().await;
    }

    let answer = connection.read_until("\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    until("the object", async || server.count("managed_objects").await == 1).await;
}
