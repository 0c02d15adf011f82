//! Clients that disconnect while a connect is held: no notification is lost, and others are not affected (B-12,
//! B-22).

use super::*;

/// A connect on a connection of its own, whose head has arrived.
async fn hold(server: &TestServer, caller: &Caller, session: &Session) -> RawConnection {
    let mut connection = RawConnection::open(server.address()).await;
    let authorization = format!("Authorization: {}", caller.authorization().unwrap());
    let body =
        json!([session.message("/meta/connect", json!({"connectionType": "long-polling"}))]).to_string();
    let line = format!("POST {REALTIME} HTTP/1.1");
    connection.request(&[&line, "Host: x", &authorization, "Accept: application/json"], &body).await;
    let head = connection.read_until("\r\n\r\n").await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    connection
}

/// Asserts that nothing is lost when a client that holds a poll leaves in this way.
async fn loses_nothing<Rest>(leave: impl AsyncFn(RawConnection) -> Rest) {
    let server = TestServer::start_with(|settings| (settings.workers, settings.actor_threads) = (2, 2)).await;
    let admin = server.admin();
    let device = admin.create_device("pump").await;
    let session = admin.listen("/alarms/*").await;

    let leave = async || {
        let connection = hold(&server, &admin, &session).await;
        let addresses = connection.addresses();
        let rest = leave(connection).await;
        until_the_server_knows(addresses).await;
        rest
    };
    session.loses_nothing(&device, leave).await;
}

#[tokio::test]
async fn aborted_long_poll_keeps_its_batch() {
    loses_nothing(async |connection| drop(connection)).await;
}

#[tokio::test]
async fn half_closed_long_poll_keeps_its_batch() {
    loses_nothing(async |mut connection: RawConnection| {
        connection.half_close().await;
        connection
    })
    .await;
}

#[tokio::test]
async fn reset_long_poll_keeps_its_batch() {
    loses_nothing(async |connection: RawConnection| connection.reset()).await;
}

#[tokio::test]
async fn session_of_a_vanished_client_ends_after_the_interval() {
    // A session that moves between two servers needs more time.
    let interval = Duration::from_millis(if runs_at_two_servers() { 2000 } else { 400 });
    let (server, admin) =
        TestServer::start_with(|settings| settings.limits.session_interval = interval).await.with_admin();
    let session = admin.listen("/alarms/*").await;

    hold(&server, &admin, &session).await.reset();
    tokio::time::sleep(interval * 3).await;

    assert_eq!(reply(&session.glance().await)["error"], "402::Unknown client");
}

#[tokio::test]
async fn client_that_comes_back_on_a_new_connection_continues() {
    let (server, admin, device, session) =
        TestServer::shared().await.with_listener("pump", "/alarms/*").await;
    let gone = hold(&server, &admin, &session).await;

    // The server cannot know yet that the old connection is gone.
    let held = session.hold().await;
    drop(gone);
    admin.raise_alarm(&device, "hot").await;

    assert_eq!(notifications(&held.answer().await).len(), 1);
}

#[tokio::test]
async fn connections_that_say_nothing_or_nonsense_harm_nobody() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let mut silent = Vec::new();
    for text in [
        "",
        "POST",
        "POST /notification/realtime HTTP/1.1\r\nContent-Length: 10\r\n",
        "\0\0\0",
        "GET / HTTP/9.9\r\n\r\n",
    ] {
        let mut connection = RawConnection::open(server.address()).await;
        connection.send(text).await;
        silent.push(connection);
    }

    for _ in 0..3 {
        assert_eq!(admin.get("/alarm/alarms").await.status, 200);
    }
}
