//! The space on held polls, and pings (B-21).

use super::*;

#[tokio::test]
async fn held_poll_gets_spaces_before_its_body() {
    let server =
        TestServer::start_with(|settings| settings.limits.keep_alive = Duration::from_millis(100)).await;
    let admin = server.admin();
    let device = admin.create_device("pump").await;
    let session = admin.listen("/alarms/*").await;

    let mut held = session.hold().await;
    let spaces = [held.piece().await, held.piece().await, held.piece().await];
    admin.raise_alarm(&device, "hot").await;
    let mut body = String::new();
    while let Some(piece) = held.piece().await {
        body.push_str(&piece);
    }

    for space in spaces {
        assert_eq!(space.as_deref(), Some(" "));
    }
    let answer: Vec<serde_json::Value> = serde_json::from_str(&body).unwrap();
    assert_eq!(answer.len(), 2, "{body}");
}

#[tokio::test]
async fn spaces_do_not_keep_a_session_alive_whose_peer_is_gone() {
    let server = TestServer::start_with(|settings| {
        settings.limits.keep_alive = Duration::from_millis(50);
        settings.limits.session_interval = Duration::from_millis(300);
    })
    .await;
    let session = server.admin().session().await;

    let mut held = session.hold().await;
    held.piece().await;
    held.abort();
    tokio::time::sleep(Duration::from_millis(900)).await;

    assert!(!session.is_known().await);
}

#[tokio::test]
async fn websocket_gets_pings() {
    let server =
        TestServer::start_with(|settings| settings.limits.socket_ping = Duration::from_millis(100)).await;
    let (mut socket, _) = Socket::session(&server.admin()).await;

    for _ in 0..3 {
        socket.ping().await;
    }
}

#[tokio::test]
async fn websocket_that_ignores_pings_is_closed() {
    let server =
        TestServer::start_with(|settings| settings.limits.socket_ping = Duration::from_millis(100)).await;
    let authorization = server.admin().authorization().unwrap();
    let mut connection = RawConnection::open(server.address()).await;

    connection
        .send(format!(
            "GET {REALTIME} HTTP/1.1\r\nHost: a\r\nAuthorization: {authorization}\r\nConnection: Upgrade\r\n\
             Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        ))
        .await;
    let came = connection.read_to_end().await;

    assert!(came.starts_with("HTTP/1.1 101 ") && came.ends_with("not heard of"), "{came:?}");
}

#[tokio::test]
async fn head_of_a_held_poll_comes_with_its_response_when_no_space_was_due() {
    let server =
        TestServer::start_with(|settings| settings.limits.keep_alive = Duration::from_secs(600)).await;
    let admin = server.admin();
    let device = admin.create_device("pump").await;
    let session = admin.listen("/alarms/*").await;
    let mut connection = RawConnection::open(server.address()).await;
    let authorization = format!("Authorization: {}", admin.authorization().unwrap());
    let body = serde_json::json!([session.message("/meta/connect", serde_json::json!({}))]).to_string();
    let line = format!("POST {REALTIME} HTTP/1.1");
    connection.request(&[&line, "Host: x", &authorization, "Accept: application/json"], &body).await;

    let early = tokio::time::timeout(Duration::from_millis(900), connection.read_at_most(1)).await;
    admin.raise_alarm(&device, "hot").await;
    let answer = connection.read_until("/meta/connect").await;

    assert!(early.is_err(), "something came before there was anything to tell");
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.contains("hot"), "{answer}");
}
