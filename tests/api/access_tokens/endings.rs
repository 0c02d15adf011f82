//! Tests that tokens become invalid when they expire (T-04), with their client and with their user, at every server
//! and on open connections.

use super::*;

const SHORT: Duration = Duration::from_secs(2);
const PING: Duration = Duration::from_millis(200);

/// Starts a server whose tokens are valid for two seconds.
async fn forgetful_server() -> TestServer {
    TestServer::start_with(|settings| settings.limits.access_token = SHORT).await
}

async fn ended(what: &str, bearer: &Caller) {
    until(what, async || bearer.get(OBJECTS).await.status == 401).await;
}

#[tokio::test]
async fn use_after_expiry_is_401() {
    let server = forgetful_server().await;
    let begun = Instant::now();
    let bearer = client(&server).await.bearer(&server).await;
    assert_eq!(bearer.get(OBJECTS).await.status, 200);

    ended("the end of the token", &bearer).await;

    assert!(begun.elapsed() >= SHORT, "{:?}", begun.elapsed());
    assert_eq!(bearer.get(OBJECTS).await.error(), "security/Unauthorized");
}

#[tokio::test]
async fn socket_closes_when_its_token_expires() {
    let server = forgetful_server().await;
    let begun = Instant::now();
    let bearer = client(&server).await.bearer(&server).await;
    let mut socket = Socket::open(&bearer, REALTIME).await;

    assert_eq!(socket.closed().await, Some(1008));
    assert!(begun.elapsed() >= SHORT, "{:?}", begun.elapsed());
}

#[tokio::test]
async fn connect_is_held_no_longer_than_its_token_is_good() {
    let server = forgetful_server().await;
    let session = client(&server).await.bearer(&server).await.listen("/alarms/*").await;

    let answer = session.connect().await;

    assert_eq!(reply(&answer)["successful"], true, "{answer:?}");
}

#[tokio::test]
async fn deleted_client_takes_its_tokens_along_at_every_server() {
    let one = TestServer::start().await;
    let other = TestServer::start_on(&one.shared_database(), |_| {}).await;
    let (gone, stays) = (client(&one).await, client(&one).await);
    let token = gone.token(&one).await;
    let bearers = [&one, &other].map(|server| server.stranger().with_token(&token));
    let other_bearer = stays.bearer(&one).await;
    for bearer in bearers.iter().chain([&other_bearer]) {
        assert_eq!(bearer.get(OBJECTS).await.status, 200);
    }

    assert_eq!(one.admin().delete(&format!("{CLIENTS}/{}", gone.id)).await.status, 204);

    for bearer in &bearers {
        ended("the end of the token", bearer).await;
    }
    assert_eq!(gone.ask(&other).await.status, 401);
    assert_eq!(other_bearer.get(OBJECTS).await.status, 200);
    assert_eq!(one.database().count("access_tokens").await, 1);
}

#[tokio::test]
async fn deleted_client_ends_what_its_tokens_hold_open() {
    let one = TestServer::start_with(|settings| settings.limits.socket_ping = PING).await;
    let other =
        TestServer::start_on(&one.shared_database(), |settings| settings.limits.socket_ping = PING).await;
    let client = client(&one).await;
    let (here, there) = (client.bearer(&one).await, client.bearer(&other).await);
    let session = here.listen("/alarms/*").await;
    let held = session.hold().await;
    let (mut listening, _) = Socket::listen(&there, "/alarms/*").await;
    let mut silent = Socket::open(&there, REALTIME).await;

    assert_eq!(one.admin().delete(&format!("{CLIENTS}/{}", client.id)).await.status, 204);

    let answer = held.answer().await;
    assert_eq!(reply(&answer)["successful"], false, "{answer:?}");
    let (listening, silent) = tokio::join!(listening.closed(), silent.closed());
    assert!([Some(1000), Some(1008)].contains(&listening), "{listening:?}");
    assert_eq!(silent, Some(1008));
}

#[tokio::test]
async fn end_of_a_client_leaves_other_users_alone() {
    let (server, admin) =
        TestServer::start_with(|settings| settings.limits.socket_ping = PING).await.with_admin();
    server.user_with("joe", &["ROLE_INVENTORY_READ"]).await;
    let of_joe = Client::create(&admin, json!({"user": "joe"})).await;
    let of_admin = client(&server).await.bearer(&server).await;
    let bearer = of_joe.bearer(&server).await;
    let mut socket = Socket::open(&of_admin, REALTIME).await;

    assert_eq!(admin.delete(&format!("{CLIENTS}/{}", of_joe.id)).await.status, 204);
    ended("the end of the token", &bearer).await;

    for _ in 0..3 {
        socket.ping().await;
    }
    assert_eq!(of_admin.get(OBJECTS).await.status, 200);
}

#[tokio::test]
async fn disabled_and_deleted_users_take_their_tokens_along() {
    let (server, admin) = TestServer::start().await.with_admin();
    for name in ["ann", "joe"] {
        let user = json!({"userName": name, "password": "secret-1"});
        admin.create("/user/main/users", &user).await;
    }
    let of_ann = Client::create(&admin, json!({"user": "ann"})).await;
    let of_joe = Client::create(&admin, json!({"user": "joe"})).await;
    let (ann, joe) = (of_ann.bearer(&server).await, of_joe.bearer(&server).await);
    assert_eq!((ann.get(OBJECTS).await.status, joe.get(OBJECTS).await.status), (200, 200));

    assert_eq!(admin.put("/user/main/users/ann", &json!({"enabled": false})).await.status, 200);
    assert_eq!(admin.delete("/user/main/users/joe").await.status, 204);

    ended("the end of ann", &ann).await;
    ended("the end of joe", &joe).await;
    assert_eq!(admin.get(&format!("{CLIENTS}/{}", of_joe.id)).await.status, 404);
    assert_eq!((of_joe.ask(&server).await.status, of_ann.ask(&server).await.status), (401, 401));
    // A disabled user can be enabled again, and its client still exists.
    assert_eq!(admin.put("/user/main/users/ann", &json!({"enabled": true})).await.status, 200);
    until("ann", async || ann.get(OBJECTS).await.status == 200).await;
}

#[tokio::test]
async fn suspended_tenant_is_403_for_tokens_too() {
    let server = TestServer::shared().await;
    let bearer = client_with(&server, "READ").await.bearer(&server).await;

    server.execute("UPDATE tenants SET status = 'SUSPENDED' WHERE id = $1", &[]).await;

    assert_eq!(bearer.get(OBJECTS).await.status, 403);
}

#[tokio::test]
async fn client_that_ended_while_the_database_was_away_counts_afterwards() {
    let server = TestServer::start_with(|settings| settings.limits.socket_ping = PING).await;
    let (gone, stays) = (client(&server).await, client(&server).await);
    let mut gone_socket = Socket::open(&gone.bearer(&server).await, REALTIME).await;
    let mut stays_socket = Socket::open(&stays.bearer(&server).await, REALTIME).await;

    server.database().execute("DELETE FROM token_clients WHERE id = $1", &[&gone.id]).await;
    let interruption = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
        WHERE datname = current_database() AND application_name LIKE 'platform %'";
    server.database().execute(interruption, &[]).await;

    {
        let mut closed = std::pin::pin!(gone_socket.closed());
        let code = loop {
            tokio::select! { code = &mut closed => break code, () = stays_socket.ping() => {} }
        };
        assert_eq!(code, Some(1008));
    }
    stays_socket.ping().await;
}
