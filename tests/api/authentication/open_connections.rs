//! Open connections end when their user loses access (B-18, U-16, Z-01).

use super::*;
use crate::harness::issuer::{RSA_2048, claims, now, tell, upload, withdraw};

const PING: Duration = Duration::from_millis(200);

/// Starts a server that pings its sockets, and checks their callers, frequently.
async fn quick_server() -> TestServer {
    TestServer::start_with(|settings| settings.limits.socket_ping = PING).await
}

async fn disable(server: &TestServer, user: &str) {
    server.database().execute("UPDATE users SET enabled = false WHERE name = $1", &[&user]).await;
    server.database().notify_user(user).await;
}

#[tokio::test]
async fn socket_without_a_session_closes_when_its_user_changes() {
    let server = quick_server().await;
    let joe = server.user_with("joe", &["ROLE_ALARM_READ"]).await;
    let mut fresh = Socket::open(&joe, REALTIME).await;

    // A socket that does not read does not respond to pings, so the server closes it.
    let (closed, ()) = tokio::join!(fresh.closed(), disable(&server, "joe"));

    assert_eq!(closed, Some(1008));
}

#[tokio::test]
async fn disabled_user_cannot_handshake_over_an_open_socket() {
    let server = TestServer::start().await;
    let joe = server.user_with("joe", &["ROLE_ALARM_READ"]).await;
    let mut socket = Socket::open(&joe, REALTIME).await;

    disable(&server, "joe").await;
    until("401", async || joe.get("/alarm/alarms").await.status == 401).await;
    socket.send(json!([handshake(json!({}))]).to_string()).await;

    assert_eq!(socket.closed().await, Some(1008));
}

#[tokio::test]
async fn socket_of_a_suspended_tenant_closes() {
    let server = quick_server().await;
    let (mut listening, _) = Socket::listen(&server.admin(), "/alarms/*").await;
    let mut silent = Socket::open(&server.admin(), REALTIME).await;

    server.database().execute("UPDATE tenants SET status = 'SUSPENDED' WHERE id = 'main'", &[]).await;
    tell(server.database(), "main").await;

    let (listening, silent) = tokio::join!(listening.closed(), silent.closed());
    assert!([Some(1000), Some(1008)].contains(&listening), "{listening:?}");
    assert_eq!(silent, Some(1008));
}

#[tokio::test]
async fn socket_of_another_user_stays_open() {
    let server = quick_server().await;
    let joe = server.user_with("joe", &["ROLE_ALARM_READ"]).await;
    let mut admins = Socket::open(&server.admin(), REALTIME).await;
    let mut joes = Socket::open(&joe, REALTIME).await;

    {
        let mut closed = std::pin::pin!(async { tokio::join!(joes.closed(), disable(&server, "joe")) });
        while tokio::select! { _ = &mut closed => false, () = admins.ping() => true } {}
    }

    assert_eq!(admins.ask(handshake(json!({}))).await["successful"], true);
}

#[tokio::test]
async fn change_that_was_missed_while_the_database_was_away_counts_afterwards() {
    let server = quick_server().await;
    let joe = server.user_with("joe", &["ROLE_ALARM_READ"]).await;
    let (mut admins, _) = Socket::session(&server.admin()).await;
    let (mut joes, _) = Socket::session(&joe).await;

    server.database().execute("UPDATE users SET enabled = false WHERE name = 'joe'", &[]).await;
    let interruption = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
        WHERE datname = current_database() AND application_name LIKE 'platform %'";
    server.database().execute(interruption, &[]).await;

    {
        let mut closed = std::pin::pin!(joes.closed());
        let code = loop {
            tokio::select! { code = &mut closed => break code, () = admins.ping() => {} }
        };
        assert_eq!(code, Some(1008));
    }
    assert_eq!(admins.ask(handshake(json!({}))).await["successful"], true);
}

#[tokio::test]
async fn socket_closes_when_its_token_expires() {
    let server = TestServer::start().await;
    upload(server.database(), "main", RSA_2048.name, RSA_2048.public).await;
    let begun = now();
    let token = || RSA_2048.sign(&RSA_2048.header(), &claims("main", "admin", 1.5));
    let opened = async || Socket::try_open(&server.stranger().with_token(&token()), REALTIME).await.ok();

    let mut socket = eventually("a socket", opened).await;

    assert_eq!(socket.closed().await, Some(1008));
    assert!(now() - begun >= 1.5);
}

#[tokio::test]
async fn socket_closes_when_the_key_of_its_token_is_withdrawn() {
    let database = TestDatabase::create().await;
    upload(&database, "main", RSA_2048.name, RSA_2048.public).await;
    let server = TestServer::start_on(&database, |settings| {
        settings.limits.socket_ping = PING;
    })
    .await;
    let admin = server.stranger().with_token(&RSA_2048.token_of("admin"));
    let mut socket = Socket::open(&admin, REALTIME).await;

    withdraw(server.database(), "main", RSA_2048.name).await;

    assert_eq!(socket.closed().await, Some(1008));
}

#[tokio::test]
async fn connect_is_held_no_longer_than_its_token_is_valid() {
    let database = TestDatabase::create().await;
    upload(&database, "main", RSA_2048.name, RSA_2048.public).await;
    let server = TestServer::start_on(&database, |_| {}).await;
    let token = RSA_2048.sign(&RSA_2048.header(), &claims("main", "admin", 2.0));
    let session = server.stranger().with_token(&token).listen("/alarms/*").await;

    let answer = session.connect().await;

    assert_eq!(reply(&answer)["successful"], true, "{answer:?}");
}

#[tokio::test]
async fn session_of_a_user_that_a_socket_had_before_ends_after_the_socket() {
    let database = TestDatabase::create().await;
    database.insert_tenant("t7", "plant7.example.com").await;
    let interval = Duration::from_millis(300);
    let server =
        TestServer::start_on(&database, |settings| settings.limits.session_interval = interval).await;
    let other = server.caller("t7/admin", ADMIN_PASSWORD);
    let (mut socket, client) = Socket::session(&server.admin()).await;
    let token = json!({"ext": {"com.platform.authn": {"token": other.authorization()}}});
    assert_eq!(socket.ask(handshake(token)).await["successful"], true);

    drop(socket);

    until("the end of the session", async || {
        // The check is a message, which keeps the session alive, so the test waits longer than the interval before it.
        tokio::time::sleep(2 * interval).await;
        !server.admin().resume(&client).is_known().await
    })
    .await;
}
