//! Delivery over WebSocket, and sessions that change their transport (B-18, B-19).

use super::*;

fn kind(message: &Value) -> &str {
    message["data"]["data"]["type"].as_str().unwrap_or_else(|| panic!("no notification: {message}"))
}

#[tokio::test]
async fn notifications_go_out_at_once_without_a_connect() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let (mut socket, _) = Socket::listen(&admin, &format!("/alarms/{device}")).await;

    let alarm = admin.raise_alarm(&device, "hot").await;

    let message = socket.message().await;
    let data = json!({"realtimeAction": "CREATE", "data": alarm});
    assert_eq!(message, json!({"channel": format!("/alarms/{device}"), "id": message["id"], "data": data}));
}

#[tokio::test]
async fn pending_connect_is_only_the_heartbeat() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let (mut socket, client) = Socket::listen(&admin, "/alarms/*").await;

    let mut first = connect(&client);
    first["advice"] = json!({"timeout": 2000});
    socket.send(json!([first]).to_string()).await;
    admin.raise_alarm(&device, "hot").await;
    let (notification, heartbeat) = (socket.message().await, socket.message().await);

    assert_eq!(kind(&notification), "hot");
    let advice = json!({"interval": 0, "timeout": 5_400_000, "reconnect": "retry"});
    let expected = json!({"id": 3, "channel": "/meta/connect", "clientId": client, "successful": true,
        "advice": advice});
    assert_eq!(heartbeat, expected);
}

#[tokio::test]
async fn hundreds_of_notifications_come_in_order() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let (mut socket, _) = Socket::listen(&admin, "/alarms/*").await;

    let posting = tokio::spawn(async move {
        for _ in 0..300 {
            admin.raise_alarm(&device, "hot").await;
        }
    });
    let told = socket.messages(300).await;

    soon("the end of posting", posting).await.unwrap();
    let counts: Vec<_> =
        told.iter().map(|message| message["data"]["data"]["count"].as_u64().unwrap()).collect();
    assert_eq!(counts, (1..=300).collect::<Vec<_>>());
}

#[tokio::test]
async fn session_that_began_by_post_continues_over_a_websocket() {
    let (_server, admin, device, session) =
        TestServer::shared().await.with_listener("pump", "/alarms/*").await;
    admin.raise_alarm(&device, "before").await;
    let mut socket = Socket::open(&admin, REALTIME).await;

    socket.send(json!([connect(&session.client)]).to_string()).await;
    let before = socket.message().await;
    admin.raise_alarm(&device, "after").await;
    let after = socket.message().await;

    assert_eq!((kind(&before), kind(&after)), ("before", "after"));
}

#[tokio::test]
async fn new_socket_with_the_old_client_id_gets_what_came_meanwhile() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let (socket, client) = Socket::listen(&admin, "/alarms/*").await;
    drop(socket);
    admin.raise_alarm(&device, "meanwhile").await;
    let mut socket = Socket::open(&admin, REALTIME).await;

    socket.send(json!([connect(&client)]).to_string()).await;

    assert_eq!(kind(&socket.message().await), "meanwhile");
}

#[tokio::test]
async fn newer_socket_takes_over_from_an_open_one() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let (mut old, client) = Socket::listen(&admin, "/alarms/*").await;
    let mut new = Socket::open(&admin, REALTIME).await;

    assert_eq!(new.ask(subscribe(&client, "/events/*")).await["successful"], true);
    admin.raise_alarm(&device, "hot").await;

    assert_eq!(kind(&new.message().await), "hot");
    old.closed().await;
}

#[tokio::test]
async fn session_that_began_over_a_websocket_continues_by_long_polling() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let (socket, client) = Socket::listen(&admin, "/alarms/*").await;
    drop(socket);
    let session = admin.resume(&client);

    let held = session.hold().await;
    admin.raise_alarm(&device, "hot").await;

    assert_eq!(notifications(&held.answer().await).len(), 1);
}

#[tokio::test]
async fn long_poll_beside_an_open_socket_gets_its_notifications() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let (mut socket, client) = Socket::listen(&admin, "/alarms/*").await;
    let session = admin.resume(&client);

    let held = session.hold_with(json!({"advice": {"timeout": 1000}})).await;
    admin.raise_alarm(&device, "hot").await;

    // The notification arrives on exactly one of the two ways.
    let answer = held.answer().await;
    match notifications(&answer) {
        [one] => assert_eq!(kind(one), "hot"),
        [] => assert_eq!(kind(&socket.message().await), "hot"),
        more => panic!("{more:?}"),
    }
}

#[tokio::test]
async fn session_lives_while_a_connect_is_held_over_its_socket_and_its_interval_after_that() {
    let interval = Duration::from_secs(1);
    let (_server, admin) =
        TestServer::start_with(|settings| settings.limits.session_interval = interval).await.with_admin();
    let (mut socket, client) = Socket::listen(&admin, "/alarms/*").await;
    socket.send(json!([connect(&client)]).to_string()).await;

    tokio::time::sleep(interval * 3).await;
    drop(socket);
    let known = admin.resume(&client).is_known().await;
    tokio::time::sleep(interval * 3).await;
    let answer = admin.resume(&client).glance().await;

    assert!(known, "the held connect kept the session, and the interval begins with its end");
    assert_eq!(reply(&answer)["error"], "402::Unknown client");
}

#[tokio::test]
async fn open_socket_does_not_keep_a_session_whose_client_connects_no_more() {
    let interval = Duration::from_secs(1);
    let (_server, admin) =
        TestServer::start_with(|settings| settings.limits.session_interval = interval).await.with_admin();
    let (mut socket, client) = Socket::listen(&admin, "/alarms/*").await;

    let code = socket.closed().await;

    assert_eq!(code, Some(1000));
    assert_eq!(reply(&admin.resume(&client).glance().await)["error"], "402::Unknown client");
}

#[tokio::test]
async fn handshakes_on_one_socket_leave_no_sessions_behind_that_live_or_double() {
    let interval = Duration::from_secs(1);
    let (_server, admin, device) =
        TestServer::start_with(|settings| settings.limits.session_interval = interval)
            .await
            .with_device("pump")
            .await;
    let (mut socket, first) = Socket::listen(&admin, "/alarms/*").await;
    let reply = socket.ask(handshake(json!({}))).await;
    let second = reply["clientId"].as_str().unwrap().to_owned();
    socket.ask(subscribe(&second, "/alarms/*")).await;
    socket.send(json!([connect(&second)]).to_string()).await;

    admin.raise_alarm(&device, "at once").await;
    tokio::time::sleep(interval * 3).await;
    admin.raise_alarm(&device, "later").await;
    admin.raise_alarm(&device, "last").await;

    let told = socket.messages(3).await;
    assert_eq!(told.iter().map(kind).collect::<Vec<_>>(), ["at once", "later", "last"]);
    assert!(!admin.resume(&first).is_known().await);
}

#[tokio::test]
async fn disconnect_of_one_session_releases_its_connect_and_leaves_the_socket_to_the_other() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let (leaving, staying) = (admin.listen("/alarms/*").await, admin.listen("/alarms/*").await);
    let mut socket = Socket::open(&admin, REALTIME).await;
    for session in [&leaving, &staying] {
        socket.send(json!([connect(&session.client)]).to_string()).await;
    }

    socket.send(json!([{"channel": "/meta/disconnect", "clientId": leaving.client}]).to_string()).await;
    let replies = socket.messages(2).await;
    admin.raise_alarm(&device, "hot").await;

    for (reply, channel) in replies.iter().zip(["/meta/connect", "/meta/disconnect"]) {
        assert_eq!(reply["channel"], channel, "a client may close its socket when nothing is outstanding");
        assert_eq!(
            (&reply["successful"], &reply["clientId"]),
            (&json!(true), &json!(leaving.client)),
            "{reply}"
        );
    }
    assert_eq!(kind(&socket.message().await), "hot");
}

#[tokio::test]
async fn socket_is_open_for_a_new_handshake_after_a_disconnect() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let (mut socket, client) = Socket::session(&admin).await;
    socket.ask(json!({"channel": "/meta/disconnect", "clientId": client})).await;

    let reply = socket.ask(handshake(json!({}))).await;

    assert_eq!(reply["successful"], true, "{reply}");
}

#[tokio::test]
async fn acknowledging_session_is_served_by_connect_replies_over_a_socket() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let mut socket = Socket::open(&admin, REALTIME).await;
    let reply = socket.ask(handshake(json!({"ext": {"ack": true}}))).await;
    assert_eq!(reply["ext"], json!({"ack": true}));
    let client = reply["clientId"].as_str().unwrap().to_owned();
    socket.ask(subscribe(&client, "/alarms/*")).await;
    let connect_with = |batch: i64| {
        let mut connect = connect(&client);
        connect["ext"] = json!({"ack": batch});
        json!([connect]).to_string()
    };

    socket.send(connect_with(-1)).await;
    admin.raise_alarm(&device, "first").await;
    let frame = socket.frame().await;
    assert_eq!(
        (kind(&frame[0]), &frame[1]["channel"], &frame[1]["ext"]),
        ("first", &json!("/meta/connect"), &json!({"ack": 1}))
    );
    admin.raise_alarm(&device, "second").await;

    // The client has not received the first batch, and reconnects with another socket.
    let mut socket = Socket::open(&admin, REALTIME).await;
    socket.send(connect_with(0)).await;
    let frame = socket.frame().await;
    assert_eq!([kind(&frame[0]), kind(&frame[1])], ["first", "second"]);
    assert_eq!(frame[2]["ext"], json!({"ack": 2}));
}

#[tokio::test]
async fn batch_that_a_long_poll_lost_comes_at_once_with_the_connect_over_a_socket() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let session = admin.session_with(json!({"ext": {"ack": true}})).await;
    session.subscribe("/alarms/*").await;
    admin.raise_alarm(&device, "lost").await;
    session.glance().await;
    let mut socket = Socket::open(&admin, REALTIME).await;

    let mut connect = connect(&session.client);
    connect["ext"] = json!({"ack": 0});
    socket.send(json!([connect]).to_string()).await;

    assert_eq!(kind(&socket.frame().await[0]), "lost");
}

#[tokio::test]
async fn long_poll_takes_over_from_a_socket_whose_peer_is_gone_without_a_word() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    // Neither side reads or closes this socket any more.
    let (mut socket, client) = Socket::listen(&admin, "/alarms/*").await;
    socket.send(json!([connect(&client)]).to_string()).await;
    // Messages of a socket are processed in order, so after this reply the connect is held.
    socket.ask(subscribe(&client, "/events/*")).await;
    let session = admin.resume(&client);

    let held = session.hold().await;
    admin.raise_alarm(&device, "hot").await;

    let answer = held.answer().await;
    assert_eq!(kind(&notifications(&answer)[0]), "hot");
}

#[tokio::test]
async fn disconnect_over_a_websocket_ends_the_session() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let (mut socket, client) = Socket::session(&admin).await;

    let reply = socket.ask(json!({"id": 4, "channel": "/meta/disconnect", "clientId": client})).await;

    let expected = json!({"id": 4, "channel": "/meta/disconnect", "successful": true});
    assert_eq!(without(&reply, &["clientId"]), expected);
    assert!(!admin.resume(&client).is_known().await);
}

#[tokio::test]
async fn connect_among_other_messages_is_not_held() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let (mut socket, client) = Socket::session(&admin).await;

    let messages =
        json!([subscribe(&client, "/alarms/*"), connect(&client), subscribe(&client, "/events/*")]);
    socket.send(messages.to_string()).await;

    let replies = socket.messages(3).await;
    let shown: Vec<_> = replies.iter().map(|reply| (&reply["channel"], &reply["successful"])).collect();
    let channels = ["/meta/subscribe", "/meta/connect", "/meta/subscribe"].map(Value::from);
    assert_eq!(shown, channels.iter().map(|channel| (channel, &Value::Bool(true))).collect::<Vec<_>>());
}

#[tokio::test]
async fn several_sessions_share_one_socket() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let (alarms, objects) = (admin.listen("/alarms/*").await, admin.listen("/managedobjects/*").await);
    let mut socket = Socket::open(&admin, REALTIME).await;
    socket.send(json!([connect(&alarms.client), connect(&objects.client)]).to_string()).await;

    admin.raise_alarm(&device, "hot").await;
    admin.put(&format!("/inventory/managedObjects/{device}"), &json!({"name": "motor"})).await;

    let mut channels = Vec::new();
    while channels.len() < 2 {
        let message = socket.message().await;
        let channel = message["channel"].as_str().unwrap().to_owned();
        if !channel.starts_with("/meta/") {
            channels.push(channel);
        }
    }
    channels.sort_unstable();
    assert_eq!(channels, [format!("/alarms/{device}"), format!("/managedobjects/{device}")]);
}

#[tokio::test]
async fn password_change_closes_the_socket_or_ends_its_session() {
    let server = TestServer::start().await;
    let joe = server.user_with("joe", &["ROLE_ALARM_READ"]).await;
    let (mut socket, client) = Socket::listen(&joe, "/alarms/*").await;

    server.database().notify_user("joe").await;

    socket.closed().await;
    assert!(!joe.resume(&client).is_known().await);
}

#[tokio::test]
async fn socket_receives_what_its_filter_matches() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let (mut socket, client) = Socket::session(&admin).await;
    let mut message = subscribe(&client, "/alarms/*");
    message["ext"] = json!({"com.platform.filter": "type eq 'wanted'"});
    assert_eq!(socket.ask(message.clone()).await["successful"], true);
    message["ext"] = json!({"com.platform.filter": "type is 'wanted'"});
    let refused = socket.ask(message).await;
    assert!(refused["error"].as_str().unwrap().contains("at character 6: expected eq"), "{refused}");

    admin.raise_alarm(&device, "other").await;
    let alarm = admin.raise_alarm(&device, "wanted").await;

    let told = socket.message().await;
    assert_eq!(told["data"], json!({"realtimeAction": "CREATE", "data": alarm}));
}
