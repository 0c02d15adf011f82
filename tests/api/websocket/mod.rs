//! Bayeux over WebSocket: upgrade, authentication, frames (B-19).

mod sessions;

use tokio_tungstenite::tungstenite;

use crate::harness::prelude::*;

fn authentication(token: &str) -> Value {
    json!({"ext": {"com.platform.authn": {"token": token, "tfa": "123456", "xsrfToken": "x"}}})
}

#[tokio::test]
async fn handshake_over_a_websocket_with_credentials_succeeds() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let mut socket = Socket::open(&admin, REALTIME).await;

    let reply = socket.ask(handshake(json!({}))).await;

    let expected = json!({
        "id": 1,
        "channel": "/meta/handshake",
        "version": "1.0",
        "minimumVersion": "1.0",
        "supportedConnectionTypes": ["websocket"],
        "successful": true,
        "advice": {"interval": 0, "timeout": 5_400_000, "reconnect": "retry"},
    });
    assert_eq!(without(&reply, &["clientId"]), expected);
}

#[tokio::test]
async fn all_paths_are_upgraded() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for path in [
        "/notification/realtime",
        "/notification/operations",
        "/cep/realtime",
        "/devicecontrol/notifications",
        "/notification/realtime/",
    ] {
        let mut socket = Socket::open(&admin, path).await;
        assert_eq!(socket.ask(handshake(json!({}))).await["successful"], true, "{path}");
    }
}

#[tokio::test]
async fn token_in_the_handshake_authenticates_a_socket_without_credentials() {
    let (server, admin, device) = TestServer::start().await.with_device("pump").await;
    let basic = admin.authorization().unwrap();
    let bare = basic.replace("Basic ", "");
    let with_tenant = server.caller("main/admin", ADMIN_PASSWORD).authorization().unwrap();

    for (n, token) in [basic, bare, with_tenant].into_iter().enumerate() {
        let mut socket = Socket::open(&server.stranger(), REALTIME).await;
        let reply = socket.ask(handshake(authentication(&token))).await;
        let client = reply["clientId"].as_str().unwrap_or_else(|| panic!("{token}: {reply}"));
        assert_eq!(socket.ask(subscribe(client, "/alarms/*")).await["successful"], true);
        let alarm = admin.raise_alarm(&device, &format!("type {n}")).await;
        assert_eq!(socket.message().await["data"]["data"], alarm);
    }
}

#[tokio::test]
async fn token_names_its_own_tenant() {
    let (server, admin) = TestServer::start_with_tenant("t7", "plant7.example.com").await.with_admin();
    let other = server.caller("t7/admin", ADMIN_PASSWORD);
    let mut socket = Socket::open(&server.stranger(), REALTIME).await;

    let reply = socket.ask(handshake(authentication(&other.authorization().unwrap()))).await;

    let client = reply["clientId"].as_str().unwrap();
    assert!(other.resume(client).is_known().await);
    assert!(!admin.resume(client).is_known().await);
}

#[tokio::test]
async fn handshake_without_credentials_is_denied() {
    let server = TestServer::start().await;
    let wrong = server.caller("admin", "wrong-secret").authorization().unwrap();

    for more in
        [json!({}), json!({"ext": {}}), authentication(""), authentication("!!!"), authentication(&wrong)]
    {
        let mut socket = Socket::open(&server.stranger(), REALTIME).await;
        let reply = socket.ask(handshake(more.clone())).await;
        let expected = json!({
            "id": 1,
            "channel": "/meta/handshake",
            "successful": false,
            "error": "403::Handshake denied",
            "advice": {"reconnect": "none"},
        });
        assert_eq!(reply, expected, "{more}");
    }
}

#[tokio::test]
async fn socket_without_credentials_continues_with_a_session_by_its_client_id() {
    let (server, admin, device, session) =
        TestServer::shared().await.with_listener("pump", "/alarms/*").await;
    admin.raise_alarm(&device, "meanwhile").await;
    let mut socket = Socket::open(&server.stranger(), REALTIME).await;

    socket.send(json!([connect(&session.client)]).to_string()).await;
    let meanwhile = socket.message().await;
    let subscribed = socket.ask(subscribe(&session.client, "/events/*")).await;
    let created = admin.create_event(&device, "started").await;

    assert_eq!(meanwhile["data"]["data"]["type"], "meanwhile");
    assert_eq!(subscribed["successful"], true, "by the rights of the session's user: {subscribed}");
    assert_eq!(socket.message().await["data"]["data"]["id"], created["id"]);
}

#[tokio::test]
async fn session_is_not_resumed_by_its_client_id_when_its_user_is_disabled() {
    let (server, admin) = TestServer::start().await.with_admin();
    let joe = server.user_with("joe", &["ROLE_ALARM_READ"]).await;
    let session = joe.listen("/alarms/*").await;
    let mut socket = Socket::open(&server.stranger(), REALTIME).await;
    admin.put("/user/main/users/joe", &json!({"enabled": false})).await;

    let reply = socket.ask(session.message("/meta/connect", json!({}))).await;

    assert_eq!(reply["error"], "402::Unknown client");
}

#[tokio::test]
async fn socket_without_credentials_gets_402_for_a_client_id_nobody_has() {
    let server = TestServer::shared().await;
    let mut socket = Socket::open(&server.stranger(), REALTIME).await;

    for client in ["0123456789abcdef0123456789abcdef", "x", ""] {
        for channel in ["/meta/connect", "/meta/subscribe", "/meta/unsubscribe", "/meta/disconnect"] {
            let reply = socket.ask(json!({"channel": channel, "clientId": client})).await;
            assert_eq!(reply["error"], "402::Unknown client", "{channel}: {reply}");
        }
    }
}

#[tokio::test]
async fn socket_of_one_user_gets_402_for_the_session_of_another() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let joe = server.user_with("joe", &["ROLE_ALARM_READ"]).await;
    let session = admin.listen("/alarms/*").await;
    let mut socket = Socket::open(&joe, REALTIME).await;

    for channel in ["/meta/connect", "/meta/subscribe", "/meta/unsubscribe", "/meta/disconnect"] {
        let message = session.message(channel, json!({"subscription": "/events/*"}));
        let reply = socket.ask(message).await;
        assert_eq!(reply["error"], "402::Unknown client", "{channel}: {reply}");
    }
    assert!(session.is_known().await);
}

#[tokio::test]
async fn upgrade_with_wrong_credentials_is_401() {
    let server = TestServer::start().await;

    let refused = Socket::try_open(&server.caller("admin", "wrong-secret"), REALTIME).await;

    match refused {
        Err(tungstenite::Error::Http(response)) => assert_eq!(response.status(), 401),
        other => panic!("not refused: {other:?}"),
    }
}

#[tokio::test]
async fn get_without_upgrade_is_405() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let answer = admin.get(REALTIME).await.expect(405);

    assert!(answer.header("Allow").unwrap().contains("POST"));
}

#[tokio::test]
async fn socket_that_says_nothing_is_closed_with_1008() {
    let server = TestServer::shared().await;
    let mut socket = Socket::open(&server.stranger(), REALTIME).await;
    let begun = Instant::now();

    let code = socket.closed().await;

    assert_eq!(code, Some(1008));
    assert!(begun.elapsed() > Duration::from_secs(9), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn socket_that_brings_no_live_client_id_is_closed_with_1008() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let mut socket = Socket::open(&admin, REALTIME).await;
    socket.ask(json!({"channel": "/meta/connect", "clientId": "0123456789abcdef0123456789abcdef"})).await;
    socket.send("[]").await;

    assert_eq!(socket.closed().await, Some(1008));
}

#[tokio::test]
async fn socket_over_which_a_connect_is_held_stays_open() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let (mut socket, client) = Socket::listen(&admin, "/alarms/*").await;
    socket.send(json!([connect(&client)]).to_string()).await;

    tokio::time::sleep(Duration::from_secs(11)).await;
    let alarm = admin.raise_alarm(&device, "hot").await;

    assert_eq!(socket.message().await["data"]["data"], alarm);
}

#[tokio::test]
async fn single_message_and_empty_array_get_arrays() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let mut socket = Socket::open(&admin, REALTIME).await;

    socket.send("[]").await;
    let empty = socket.frame().await;
    socket.send(handshake(json!({})).to_string()).await;
    let single = socket.frame().await;

    assert!(empty.is_empty(), "{empty:?}");
    assert_eq!((single.len(), &single[0]["successful"]), (1, &json!(true)));
}

#[tokio::test]
async fn message_in_several_frames_is_joined() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let mut socket = Socket::open(&admin, REALTIME).await;

    socket.send_in_two(&json!([handshake(json!({"id": "\u{e4}\u{f6}\u{1f525}"}))]).to_string()).await;

    let replies = socket.frame().await;
    assert_eq!(
        (&replies[0]["id"], &replies[0]["successful"]),
        (&json!("\u{e4}\u{f6}\u{1f525}"), &json!(true))
    );
}

#[tokio::test]
async fn binary_frame_closes_the_socket_with_1003() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let (mut socket, _) = Socket::session(&admin).await;

    socket.send_binary(b"[]").await;

    assert_eq!(socket.closed().await, Some(1003));
}

#[tokio::test]
async fn unreadable_text_closes_the_socket_and_not_the_session() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for text in ["", "{", "[5]", "hello"] {
        let (mut socket, client) = Socket::listen(&admin, "/alarms/*").await;
        socket.send(text).await;
        let code = socket.closed().await;
        assert!([Some(1003), Some(1007), Some(1008)].contains(&code), "{text:?}: {code:?}");
        assert!(admin.resume(&client).is_known().await, "{text:?}");
    }
}

#[tokio::test]
async fn message_over_the_limit_closes_the_socket_with_1009() {
    let (_server, admin) =
        TestServer::start_with(|settings| settings.limits.bayeux_bytes = 2048).await.with_admin();
    let (mut socket, _) = Socket::session(&admin).await;

    socket.send(json!([{"channel": "x".repeat(4000)}]).to_string()).await;

    assert_eq!(socket.closed().await, Some(1009));
}
