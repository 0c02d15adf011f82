//! A message for a session that lives anywhere is carried out, or its reply is 503, and never 402 (B-16a).

use super::*;

/// Locks the table in which servers look up the holder of a session that has moved.
const LOCK: &str = "BEGIN; LOCK TABLE moved_sessions IN ACCESS EXCLUSIVE MODE";

fn assert_not_now(reply: &Value) {
    let error = reply["error"].as_str().unwrap_or_default();
    assert!(error.starts_with("503::"), "{reply}");
    assert_eq!(reply["advice"], json!({"interval": 0, "reconnect": "retry"}), "{reply}");
}

#[tokio::test]
async fn session_that_cannot_move_now_is_not_unknown_and_moves_later() {
    let [a, b] = TestServer::start_two().await;
    let device = a.admin().create_device("pump").await;
    let at_a = a.admin().session_with(json!({"ext": {"ack": true}})).await;
    assert_eq!(at_a.subscribe("/alarms/*").await["successful"], true);
    // This server receives the notifications of the tenant already.
    let own = b.admin().listen("/alarms/*").await;
    let at_b = b.admin().resume(&at_a.client);
    let url = a.database().url();
    let (blocker, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    blocker.batch_execute(LOCK).await.unwrap();

    // The messages arrive together, so that some wait for a session that is on its way.
    let of_connect = async || at_b.connect_with(json!({"ext": {"ack": 0}})).await;
    let (connected, again, subscribed, unsubscribed) =
        tokio::join!(of_connect(), of_connect(), at_b.subscribe("/events/*"), at_b.unsubscribe("/events/*"),);
    let mut socket = Socket::open(&b.stranger(), crate::harness::REALTIME).await;
    socket.send(json!([connect(&at_a.client)]).to_string()).await;
    let closed = socket.closed().await;

    for answer in [connected, again] {
        assert_not_now(&reply(&answer));
        assert_eq!(reply(&answer)["ext"], json!({"ack": 0}));
    }
    assert_not_now(&subscribed);
    assert_not_now(&unsubscribed);
    assert_eq!(closed, Some(1013), "the server asks the client of a socket to try again");
    blocker.batch_execute("ROLLBACK").await.unwrap();
    let alarm = id(&a.admin().raise_alarm(&device, "hot").await);
    let received = eventually("the session at its new server", async || {
        let answer = at_b.connect_with(json!({"ext": {"ack": 0}, "advice": {"timeout": 1000}})).await;
        (answer.last().unwrap()["successful"] == true).then(|| told(&answer))
    });
    assert_eq!(received.await, std::slice::from_ref(&alarm));
    assert_eq!(told(&own.connect().await), [alarm]);
}

#[tokio::test]
async fn subscriptions_that_several_servers_change_at_once_are_all_carried_out() {
    let servers = TestServer::start_several(3).await;
    let session = servers[0].admin().session().await;
    let held = session.hold_with(json!({"advice": {"timeout": 600_000}})).await;
    let askers = servers.iter().map(async |server| {
        let mut refused = Vec::new();
        for _ in 0..60 {
            let at = server.admin().resume(&session.client);
            let (channel, member) = ("/alarms/*", "subscription");
            let messages = json!([
                at.message("/meta/subscribe", json!({member: channel})),
                at.message("/meta/unsubscribe", json!({member: channel})),
            ]);
            let replies = server.admin().exchange(crate::harness::REALTIME, &messages).await;
            refused.extend(replies.into_iter().filter(|reply| reply["successful"] != true));
        }
        refused
    });

    let refused: Vec<Value> = join_all(askers).await.into_iter().flatten().collect();

    let unknown: Vec<_> =
        refused.iter().filter(|reply| !reply["error"].as_str().unwrap().starts_with("503::")).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    // A message follows its session, and only one that does not catch up for seconds is refused.
    assert!(refused.len() < 36, "{} of 360 messages are refused", refused.len());
    assert!(session.is_known().await);
    drop(tokio::time::timeout(Duration::from_secs(1), held.answer()).await);
}
