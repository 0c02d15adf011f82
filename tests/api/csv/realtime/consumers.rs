//! Named consumers through rows: rows 88, and rows 83 that acknowledge (docs/rules.md#named-consumers; B-34).

use super::*;

const CONSUMERS: &str = "/notification/consumers";

/// Creates a set that shows types, and a consumer of all events.
async fn consumer(caller: &Caller, name: &str) {
    register(caller, "types", TYPES).await;
    caller.create(CONSUMERS, &json!({"name": name, "channels": ["/events/*"]})).await;
}

/// Reads a consumer.
async fn shown_of(caller: &Caller, name: &str) -> Value {
    caller.read(&format!("{CONSUMERS}/{name}")).await
}

/// Waits until the consumer has nothing to deliver.
async fn until_acknowledged(caller: &Caller, name: &str) {
    until("the position moves on", async || shown_of(caller, name).await["backlog"]["notifications"] == 0)
        .await;
}

/// Sends a handshake for a consumer and returns the whole response.
async fn handshake(caller: &Caller, x_id: &str, row: &str) -> String {
    text_of(rows_to(caller, REALTIME, Some(x_id), row).send().await)
}

/// Begins a session of a consumer, and returns it with the numbers of its line 88.
async fn consume(caller: &Caller, x_id: &str, row: &str) -> (RowClient, Vec<i64>) {
    let answer = handshake(caller, x_id, row).await;
    let (client, position) = answer.trim_end().split_once('\n').unwrap_or_else(|| panic!("{answer:?}"));
    assert!(client.len() == 33 && client.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{answer:?}");
    let x_id = Some(x_id.to_owned());
    (
        RowClient { caller: caller.clone(), path: REALTIME.into(), x_id, client: client.into() },
        numbers(position),
    )
}

/// Returns the numbers of a line 88.
fn numbers(line: &str) -> Vec<i64> {
    let numbers = line.strip_prefix("88,").unwrap_or_else(|| panic!("no position: {line:?}"));
    numbers.split(',').map(|number| number.parse().unwrap()).collect()
}

/// Connects until there is a line 88, and returns the lines before it and its position.
async fn receive(client: &RowClient, row: &str) -> (String, i64) {
    let answer = eventually("lines", async || {
        let answer = client.send(row).await;
        assert!(!answer.contains("402::"), "{answer}");
        answer.contains("88,").then_some(answer)
    })
    .await;
    let at = answer.rfind("88,").unwrap();
    let position = numbers(answer[at..].lines().next().unwrap());
    assert_eq!(position.len(), 1, "{answer}");
    (answer[..at].to_owned(), position[0])
}

/// Waits until the session has ended. A server that has just given it up may not know that yet (B-16a).
async fn until_unknown(client: &RowClient) {
    until("the end of the session", async || {
        client.send("83,<c>").await == "40,/meta/connect,402::Unknown client\n86,,0,handshake\n"
    })
    .await;
}

#[tokio::test]
async fn rows_come_again_until_they_are_acknowledged() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    consumer(&admin, "billing").await;
    for kind in ["one", "two"] {
        admin.create_event(&device, kind).await;
    }
    let (client, begin) = consume(&admin, "types", "88,billing").await;
    assert_eq!(begin, [shown_of(&admin, "billing").await["position"].as_i64().unwrap()]);

    let (rows, first) = receive(&client, "83,<c>").await;
    assert_eq!((&*rows, first > begin[0]), ("200,1,one\n200,1,two\n", true));
    for row in ["83,<c>".to_owned(), format!("83,<c>,{}", begin[0])] {
        assert_eq!(receive(&client, &row).await, (rows.clone(), first), "{row}");
    }
    assert_eq!(shown_of(&admin, "billing").await["position"], begin[0]);

    admin.create_event(&device, "three").await;
    let (rows, second) = receive(&client, &format!("83,<c>,{first}")).await;
    assert_eq!(rows, "200,1,three\n");
    until("the position moves on", async || shown_of(&admin, "billing").await["position"] == first).await;
    // A position of the past acknowledges nothing, and one of the future only what was sent.
    assert_eq!(receive(&client, &format!("83,<c>,{first}")).await.0, "200,1,three\n");
    admin.create_event(&device, "four").await;
    assert_eq!(receive(&client, &format!("83,<c>,{}", second + 1000)).await.0, "200,1,four\n");
}

#[tokio::test]
async fn part_of_a_batch_is_acknowledged() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    consumer(&admin, "billing").await;
    for kind in ["one", "two", "three"] {
        admin.create_event(&device, kind).await;
    }
    let (client, _) = consume(&admin, "types", "88,billing").await;
    let (rows, last) = receive(&client, "83,<c>").await;
    assert_eq!(rows.lines().count(), 3, "{rows}");
    assert_eq!(receive(&client, &format!("83,<c>,{}", last - 1)).await, ("200,1,three\n".to_owned(), last));
}

#[tokio::test]
async fn neither_a_restart_nor_the_end_of_a_session_loses_rows() {
    let database = TestDatabase::create().await;
    let server = TestServer::start_on(&database, |_| {}).await;
    let device = server.admin().create_device("pump").await;
    consumer(&server.admin(), "billing").await;
    server.admin().create_event(&device, "one").await;
    let (client, _) = consume(&server.admin(), "types", "88,billing").await;
    assert_eq!(receive(&client, "83,<c>").await.0, "200,1,one\n");
    server.stop().await;

    let server = TestServer::start_on(&database, |_| {}).await;
    let admin = server.admin();
    let client = RowClient { caller: admin.clone(), ..client };
    assert_eq!(receive(&client, "83,<c>").await.0, "200,1,one\n", "the session waits in the database");
    server.database().notify_user("admin").await;
    until_unknown(&client).await;
    let (client, _) = consume(&admin, "types", "88,billing").await;
    let (rows, position) = receive(&client, "83,<c>").await;
    assert_eq!(rows, "200,1,one\n");

    // The device has processed it and loses its session before it acknowledges.
    admin.create_event(&device, "two").await;
    let (client, begin) = consume(&admin, "types", &format!("88,billing,{position}")).await;
    assert_eq!(begin, [position]);
    assert_eq!(receive(&client, "83,<c>").await.0, "200,1,two\n");
}

#[tokio::test]
async fn rows_that_no_template_makes_are_acknowledged_by_the_server() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    consumer(&admin, "billing").await;
    register(&admin, "acme", "11,200,,$.acme,$.type,$.acme").await;
    let (client, _) = consume(&admin, "acme", "88,billing").await;
    let held = client.hold().await;
    for kind in ["one", "two", "three"] {
        admin.create_event(&device, kind).await;
    }
    until_acknowledged(&admin, "billing").await;
    let mut event = crate::harness::event_of(&device, "four");
    event["acme"] = json!(4);
    admin.create("/event/events", &event).await;
    let answer = held.answer().await;
    let (rows, position) = answer.split_once("88,").unwrap_or_else(|| panic!("{answer}"));
    assert_eq!(rows, "200,1,four,4\n");

    // A row among others does not wait, so the device acknowledges what made no lines.
    admin.create_event(&device, "five").await;
    let row = format!("83,<c>,{}\n82,<c>,/alarms/*", position.trim_end());
    let (rows, position) = receive(&client, &row).await;
    assert_eq!(rows, "");
    client.send(&format!("83,<c>,{position}\n82,<c>,/alarms/*")).await;
    until_acknowledged(&admin, "billing").await;
}

/// Creates an event of a type with so much text.
async fn create_large(caller: &Caller, device: &str, kind: &str, bytes: usize) {
    let mut event = crate::harness::event_of(device, kind);
    event["blob"] = json!("x".repeat(bytes));
    caller.create("/event/events", &event).await;
}

#[tokio::test]
async fn end_of_a_batch_that_a_response_does_not_hold_comes_with_the_next_one() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    consumer(&admin, "billing").await;
    let templates: String = (200..210).map(|id| format!("11,{id},,,$.type,$.blob\n")).collect();
    register(&admin, "large", &templates).await;
    for n in 0..5 {
        create_large(&admin, &device, &n.to_string(), 600_000).await;
    }
    let (client, begin) = consume(&admin, "large", "88,billing").await;

    let (mut received, mut position, mut responses) = (Vec::new(), begin[0], 0);
    while received.len() < 50 {
        let (rows, last) = receive(&client, &format!("83,<c>,{position}")).await;
        received.extend(rows.lines().map(|line| line.split(',').take(3).collect::<Vec<_>>().join(",")));
        (position, responses) = (last, responses + 1);
    }

    let expected = (0..5).flat_map(|n| (200..210).map(move |id| format!("{id},1,{n}")));
    assert_eq!(received, expected.collect::<Vec<_>>());
    assert!(responses > 1);
    client.send(&format!("83,<c>,{position}\n82,<c>,/alarms/*")).await;
    until_acknowledged(&admin, "billing").await;
}

#[tokio::test]
async fn backlog_larger_than_a_queue_does_not_end_the_session() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    consumer(&admin, "billing").await;
    for n in 0..20 {
        create_large(&admin, &device, &n.to_string(), 900_000).await;
    }
    let (client, begin) = consume(&admin, "types", "88,billing").await;
    // The device is slow, so the server could read everything.
    tokio::time::sleep(Duration::from_millis(500)).await;

    let (mut received, mut position) = (String::new(), begin[0]);
    while received.lines().count() < 20 {
        let (rows, last) = receive(&client, &format!("83,<c>,{position}")).await;
        received.push_str(&rows);
        position = last;
    }

    assert_eq!(received, (0..20).map(|n| format!("200,1,{n}\n")).collect::<String>());
}

#[tokio::test]
async fn further_sets_make_lines_and_other_channels_are_denied() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    consumer(&admin, "billing").await;
    register(&admin, "texts", "11,300,,$.text,$.text").await;
    let (client, _) = consume(&admin, "types", "88,billing").await;
    assert_eq!(client.send("81,<c>,/events/*,texts").await, "");
    let denied = client.send("81,<c>,/alarms/*,texts").await;
    assert_eq!(denied, "40,/meta/subscribe,403::subscribe_denied\n");
    admin.create_event(&device, "one").await;
    let rows = receive(&client, "83,<c>").await.0;
    assert_eq!(rows, "87,1,types\n200,1,one\n87,1,texts\n300,1,It happened\n");
}

#[tokio::test]
async fn session_ends_when_another_reader_takes_over() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    consumer(&admin, "billing").await;
    let (client, _) = consume(&admin, "types", "88,billing").await;
    let mut held = std::pin::pin!(client.hold().await.answer());
    let (answer, newer) = soon("the end of the older session", async {
        loop {
            let (newer, _) = consume(&admin, "types", "88,billing").await;
            // A session that has just moved takes its consumer along, and then back from a newer one.
            if let Ok(answer) = tokio::time::timeout(Duration::from_secs(2), &mut held).await {
                break (answer, newer);
            }
        }
    })
    .await;
    assert_eq!(answer, "40,/meta/connect,409::Another reader of the consumer took over\n86,,,none\n");
    let nothing = soon("an answer at once", newer.send("83,<c>\n82,<c>,/alarms/*")).await;
    assert_eq!(nothing, "86,5400000,0,retry\n", "the newer one goes on");
}

#[tokio::test]
async fn handshake_after_a_lapse_says_what_is_missing() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    consumer(&admin, "billing").await;
    admin.create_event(&device, "lost").await;
    let before = shown_of(&admin, "billing").await;
    server.execute("UPDATE consumers SET lapsed_at = now() WHERE tenant = $1", &[]).await;

    let (client, begin) = consume(&admin, "types", "88,billing").await;
    let (from, to) = (before["position"].as_i64().unwrap() + 1, before["newest"].as_i64().unwrap());
    assert_eq!(begin, [to, from, to]);
    let (_, begin) = consume(&admin, "types", "88,billing").await;
    assert_eq!(begin, [to, from, to], "it is not acknowledged");
    drop(client);
    let (client, begin) = consume(&admin, "types", &format!("88,billing,{to}")).await;
    assert_eq!(begin, [to]);
    admin.create_event(&device, "next").await;
    assert_eq!(receive(&client, "83,<c>").await.0, "200,1,next\n");
}

#[tokio::test]
async fn right_that_is_lost_ends_the_session_and_not_the_position() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let user = server.user_with("reader", &["ROLE_EVENT_READ"]).await;
    register(&admin, "types", TYPES).await;
    user.create(CONSUMERS, &json!({"name": "mine", "channels": ["/events/*"]})).await;
    let (client, _) = consume(&user, "types", "88,mine").await;
    let held = client.hold().await;
    admin.delete("/user/<tenant>/users/reader/roles/ROLE_EVENT_READ").await.expect(204);
    let ended = soon("the end of the session", held.answer()).await;
    assert!(ended.starts_with("40,/meta/connect,"), "{ended}");
    until_unknown(&client).await;

    let refused = handshake(&user, "types", "88,mine").await.replace('"', "");
    assert!(refused.starts_with("40,/meta/handshake,403::"), "{refused}");
    assert!(refused.contains("/events/*") && refused.ends_with("86,,,none\n"), "{refused}");
    admin.create_event(&device, "one").await;
    let role = json!({"role": {"self": "/user/roles/ROLE_EVENT_READ"}});
    admin.post("/user/<tenant>/users/reader/roles", &role).await.expect(201);
    let (client, _) = consume(&user, "types", "88,mine").await;
    assert_eq!(receive(&client, "83,<c>").await.0, "200,1,one\n");
}

#[tokio::test]
async fn handshakes_that_cannot_begin_say_why() {
    let (server, admin) = TestServer::shared().await.with_admin();
    consumer(&admin, "mine").await;
    let other = server.user_with("other", &["ROLE_EVENT_READ"]).await;
    other.create(CONSUMERS, &json!({"name": "theirs", "channels": ["/events/*"]})).await;
    for (row, error) in [
        ("88,unknown", "40,/meta/handshake,404::"),
        ("88,theirs", "40,/meta/handshake,404::"),
        ("88,a\0b", "40,/meta/handshake,404::"),
        ("88,mine,9000000000000000000", "40,/meta/handshake,400::"),
        ("88", "45,1,Wrong number of arguments\n"),
        ("88,,1", "45,1,Wrong number of arguments\n"),
        ("88,mine,1,2", "45,1,Wrong number of arguments\n"),
        ("88,mine,x", "45,1,Value is not a UNSIGNED: x\n"),
        ("88,mine,9000000000000000000000", "45,1,Value is not a UNSIGNED: 9000000000000000000000\n"),
        ("88,\"mine", "42,1,Malformed Request\n"),
    ] {
        let refused = handshake(&admin, "types", row).await.replace('"', "");
        assert!(refused.starts_with(error), "{row}: {refused}");
        assert!(!error.contains("/meta") || refused.ends_with("\n86,,,none\n"), "{row}: {refused}");
    }
    let elsewhere = text_of(rows_to(&admin, AGENTS, None, "88,mine").send().await);
    assert!(elsewhere.starts_with("40,/meta/handshake,400::A consumer is read at"), "{elsewhere}");
    assert_eq!(handshake(&admin, "none", "88,mine").await, "40,\"No template for this X-ID.\"\n");

    let (client, _) = consume(&admin, "types", "88,mine").await;
    assert_eq!(client.send("83,<c>,x").await, "45,1,Value is not a UNSIGNED: x\n");
    assert_eq!(client.send("83,<c>,1,2").await, "45,1,Wrong number of arguments\n");
}
