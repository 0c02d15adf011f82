//! Sessions of CSV clients: who holds them, what they keep, and when they end (S-50, S-57 to S-59; B-12 to B-18, B-22).

use super::*;

/// A server with a device, a set that shows types, and a client that listens to alarms through it.
async fn listening(server: &TestServer) -> (Caller, String, RowClient) {
    let admin = server.admin();
    let device = admin.create_device("pump").await;
    register(&admin, "types", TYPES).await;
    let client = RowClient::listen(&admin, "types", "/alarms/*").await;
    (admin, device, client)
}

#[tokio::test]
async fn rows_are_recognized_by_the_x_id_or_by_the_content_type() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    register(&admin, "types", TYPES).await;

    for (header, value) in [
        ("X-Id", "types"),
        ("Content-Type", "text/plain"),
        ("Content-Type", "Text/Plain;charset=UTF-8"),
        ("Content-Type", "text/csv"),
    ] {
        let request = admin.request("POST", REALTIME).header("Accept", "*/*").header(header, value);
        let answer = request.body("80").send().await;
        assert_eq!(answer.header("Content-Type"), Some("text/plain;charset=UTF-8"), "{header} {value}");
        assert_eq!((answer.status, answer.text.len()), (200, 34), "{header} {value}: {}", answer.text);
    }
    let request = admin.request("POST", REALTIME).accepting_json().header("Content-Type", "application/json");
    assert_eq!(request.header("X-Id", "types").body("[]").send().await.text, "42,1,Malformed Request\n");
    let request = admin.request("POST", REALTIME).accepting_json();
    assert_eq!(request.body("80").send().await.status, 400, "without either it is no message");
}

#[tokio::test]
async fn all_paths_are_served_and_the_old_ones_say_so() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for (path, deprecated) in [
        ("/notification/realtime", None),
        ("/notification/operations", None),
        ("/cep/realtime", Some("true")),
        ("/cep/notifications", Some("true")),
        ("/devicecontrol/notifications", Some("true")),
        ("/devicecontrol/notifications/connect", Some("true")),
    ] {
        let answer = rows_to(&admin, path, None, "80").send().await;
        assert_eq!(answer.header("Deprecation"), deprecated, "{path}");
        assert_eq!(text_of(answer).len(), 34, "{path}");
    }
}

#[tokio::test]
async fn rows_are_executed_in_order_and_a_connect_among_them_is_not_held() {
    let server = TestServer::shared().await;
    let (admin, device, client) = listening(&server).await;

    let nothing = soon("an answer at once", client.send("83,<c>\n82,<c>,/events/*")).await;
    admin.raise_alarm(&device, "hot").await;
    let told = eventually("the alarm", async || {
        let answer = client.send("99\n83,<c>\n81,<c>,nonsense\n").await;
        answer.contains("hot").then_some(answer)
    })
    .await;

    assert_eq!(nothing, "86,5400000,0,retry\n");
    assert_eq!(
        told,
        "43,1,Invalid message identifier\n200,1,hot\n40,/meta/subscribe,403::subscribe_denied\n"
    );
    let mut gone = client.send("84,<c>\n84,<c>").await;
    if gone.contains("503::") {
        // A server that has just given up the session may not know yet that it has ended (B-16a).
        gone = eventually("the end of the session", async || {
            let answer = client.send("84,<c>").await;
            (!answer.contains("503::")).then_some(answer)
        })
        .await;
    }
    assert_eq!(gone, "40,/meta/disconnect,402::Unknown client\n86,,0,handshake\n");
}

#[tokio::test]
async fn newer_connect_is_held_and_the_older_released_empty() {
    let server = TestServer::shared().await;
    let (admin, device, client) = listening(&server).await;

    let older = client.hold().await;
    let newer = client.hold().await;
    let older = soon("the answer of the older connect", older.answer()).await;
    admin.raise_alarm(&device, "hot").await;

    assert_eq!((&*older, &*newer.answer().await), ("", "200,1,hot\n"));
}

#[tokio::test]
async fn disconnect_releases_the_held_connect_empty() {
    let server = TestServer::shared().await;
    let (_, _, client) = listening(&server).await;
    let held = client.hold().await;

    assert_eq!(client.send("84,<c>").await, "");

    assert_eq!(soon("the answer of the held connect", held.answer()).await, "");
}

#[tokio::test]
async fn held_connect_of_an_ended_session_gets_402() {
    let server = TestServer::start().await;
    let joe = server.user_with("joe", &["ROLE_ALARM_READ"]).await;
    let client = RowClient::start(&joe, REALTIME, None).await;
    client.subscribe("/alarms/*").await;
    let held = client.hold().await;

    server.database().notify_user("joe").await;

    let answer = soon("the answer of the held connect", held.answer()).await;
    assert_eq!(answer, "40,/meta/connect,402::Unknown client\n86,,0,handshake\n");
}

#[tokio::test]
async fn session_ends_an_interval_after_its_last_row() {
    let interval = Duration::from_secs(1);
    let server = TestServer::start_with(|settings| settings.limits.session_interval = interval).await;
    let (admin, device, client) = listening(&server).await;

    let held = client.hold().await;
    // The test is about time itself, so there is no event to wait for.
    tokio::time::sleep(interval * 2).await;
    admin.raise_alarm(&device, "hot").await;
    assert_eq!(held.answer().await, "200,1,hot\n", "not while a connect is held");
    tokio::time::sleep(interval * 2).await;

    assert_eq!(client.connect().await, "40,/meta/connect,402::Unknown client\n86,,0,handshake\n");
}

#[tokio::test]
async fn stopping_server_advises_held_connects_when_to_reconnect() {
    let server = TestServer::start().await;
    let (_, _, client) = listening(&server).await;
    let held = client.hold().await;

    let (answer, ()) = tokio::join!(held.answer(), server.stop());

    let interval = answer.strip_prefix("86,5400000,").and_then(|rest| rest.strip_suffix(",retry\n"));
    let interval: u64 = interval.unwrap_or_else(|| panic!("{answer}")).parse().unwrap();
    assert!(interval <= 10_000, "{interval}");
}

#[tokio::test]
async fn neither_language_knows_the_sessions_of_the_other() {
    let server = TestServer::shared().await;
    let (admin, device, client) = listening(&server).await;
    let session = admin.listen("/alarms/*").await;

    let as_rows = RowClient { client: session.client.clone(), ..client.clone() };
    let as_json = admin.resume(&client.client);

    assert_eq!(as_rows.connect().await, "40,/meta/connect,402::Unknown client\n86,,0,handshake\n");
    assert_eq!(as_rows.send("84,<c>").await, "40,/meta/disconnect,402::Unknown client\n86,,0,handshake\n");
    let advice = json!({"reconnect": "handshake", "interval": 0});
    let unknown = json!({"successful": false, "error": "402::Unknown client", "advice": advice});
    assert_eq!(reply(&as_json.connect().await), unknown);
    let disconnected = as_json.ask("/meta/disconnect", json!({})).await;
    assert_eq!(without(&disconnected, &["id", "clientId", "channel"]), unknown);
    admin.raise_alarm(&device, "hot").await;
    assert_eq!(client.connect().await, "200,1,hot\n", "both sessions are untouched");
    assert_eq!(session.receive(1).await.len(), 1);
}

/// Sends rows without `Accept`, which no client library leaves out, and returns the body.
async fn without_accept(server: &TestServer, rows: &str) -> String {
    let mut connection = RawConnection::open(server.address()).await;
    let authorization = format!("Authorization: {}", server.admin().authorization().unwrap());
    let line = format!("POST {REALTIME} HTTP/1.1");
    let head = [&line, "Host: x", &authorization, "Content-Type: text/plain", "Connection: close"];
    connection.request(&head, rows).await;
    let mut answer = Vec::new();
    while let piece @ [_, ..] = connection.read_at_most(4096).await.as_slice() {
        answer.extend_from_slice(piece);
    }
    let answer = String::from_utf8(answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    answer.split_once("\r\n\r\n").unwrap().1.to_owned()
}

#[tokio::test]
async fn response_without_accept_is_empty_and_nothing_leaves_the_queue() {
    let server = TestServer::shared().await;
    let (admin, device, client) = listening(&server).await;
    admin.raise_alarm(&device, "hot").await;

    for rows in ["80".to_owned(), "99".to_owned(), format!("83,{}", client.client)] {
        assert_eq!(soon("an answer at once", without_accept(&server, &rows)).await, "", "{rows}");
    }

    assert_eq!(client.connect().await, "200,1,hot\n");
}

#[tokio::test]
async fn compatibility_switch_responds_without_accept() {
    let server = TestServer::start_with(|settings| settings.client_compatibility = true).await;

    assert_eq!(without_accept(&server, "99").await, "43,1,Invalid message identifier\n");
    assert_eq!(without_accept(&server, "80").await.len(), 34);
}

#[tokio::test]
async fn client_that_vanishes_loses_nothing() {
    let server = TestServer::start_with(|settings| settings.actor_threads = 2).await;
    let (admin, device, client) = listening(&server).await;

    for n in 0..30 {
        let mut connection = RawConnection::open(server.address()).await;
        let authorization = format!("Authorization: {}", admin.authorization().unwrap());
        let line = format!("POST {REALTIME} HTTP/1.1");
        let head = [&line, "Host: x", &authorization, "Accept: text/plain", "X-Id: types"];
        connection.request(&head, &format!("83,{}", client.client)).await;
        connection.read_until("\r\n\r\n").await;
        let kept = match n % 3 {
            0 => {
                drop(connection);
                None
            }
            1 => {
                connection.half_close().await;
                Some(connection)
            }
            _ => {
                connection.reset();
                None
            }
        };
        admin.raise_alarm(&device, &format!("type {n}")).await;
        assert_eq!(client.connect().await, format!("200,1,type {n}\n"));
        drop(kept);
    }
}

#[tokio::test]
async fn client_that_uses_two_servers_in_turn_receives_each_row_once() {
    let [a, b] = TestServer::start_two().await;
    let (admin, device, client) = listening(&a).await;
    let clients = [RowClient { caller: b.admin(), ..client.clone() }, client];
    let mut expected = String::new();
    for n in 0..20 {
        admin.raise_alarm(&device, &format!("hot{n}")).await;
        expected.push_str(&format!("200,1,hot{n}\n"));
    }
    let mut received = String::new();
    for n in 0..20 {
        admin.raise_alarm(&device, &format!("cold{n}")).await;
        expected.push_str(&format!("200,1,cold{n}\n"));
        received.push_str(&clients[n % 2].receive(1).await);
    }
    assert_eq!(received, expected);
    assert_eq!(clients[0].send("84,<c>").await, "");
    assert!(clients[1].connect().await.contains("402::"));
}

#[tokio::test]
async fn pause_that_was_advised_is_taken_back_beside_the_next_rows() {
    let database = TestDatabase::create().await;
    // The clients of this server may hold no poll.
    let full = TestServer::start_on(&database, |settings| settings.limits.tenant_held_polls = Some(0)).await;
    let (_, device, client) = listening(&full).await;
    let refused = client.connect().await;
    let (error, advice) = refused.split_once('\n').unwrap();
    assert!(error.starts_with("40,/meta/connect,") && error.contains("403::"), "{refused}");
    assert!(advice.starts_with("86,") && !advice.contains(",0,"), "{refused}");

    let other = TestServer::start_on(&database, |_| {}).await;
    let client = RowClient { caller: other.admin(), ..client };
    other.admin().raise_alarm(&device, "hot").await;
    let first = client.connect().await;
    other.admin().raise_alarm(&device, "cold").await;
    let second = client.connect().await;

    assert_eq!(first, "200,1,hot\n86,5400000,0,retry\n");
    assert_eq!(second, "200,1,cold\n");
    RowClient { caller: full.admin(), ..client.clone() }.connect().await;
    other.admin().raise_alarm(&device, "warm").await;
    // A row 83 among others is not held.
    let beside = client.send("82,<c>,/events/*\n83,<c>").await;
    assert_eq!(beside, "200,1,warm\n86,5400000,0,retry\n");
}

#[tokio::test]
async fn only_a_row_that_a_proxy_carries_gets_the_spaces_of_a_poll() {
    let server = TestServer::start_with(|settings| {
        settings.limits.keep_alive = Duration::from_millis(20);
        settings.limits.csv_keep_alive = Duration::from_secs(600);
    })
    .await;
    let (admin, device, client) = listening(&server).await;
    for proxy in [None, Some("Via"), Some("Forwarded"), Some("X-Forwarded-For")] {
        let request = client.request("83,<c>");
        let request = match proxy {
            Some(header) => request.header(header, "for=192.0.2.1"),
            None => request,
        };
        // A JSON poll of the same client is silent for as long as a proxied row.
        let row = tokio::spawn(request.send());
        let mut json = admin.session().await.hold().await;
        for _ in 0..10 {
            json.piece().await;
        }
        admin.raise_alarm(&device, proxy.unwrap_or("direct")).await;
        let answer = soon("the row", row).await.unwrap();
        assert_eq!(answer.text.starts_with(' '), proxy.is_some(), "{proxy:?}: {:?}", answer.text);
    }
}
