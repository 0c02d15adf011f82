//! Consumers of several servers on one database.

use super::bayeux::{connect, consuming, kinds};
use super::*;

#[tokio::test]
async fn writes_of_every_server_are_delivered_by_any_server() {
    let servers = TestServer::start_two().await;
    let [here, there] = [servers[0].admin(), servers[1].admin()];
    let device = here.create_device("pump").await;
    consumer(&here, "shared", &["/events/*"]).await;
    let write = |caller: &Caller, name: &'static str| {
        let (caller, device) = (caller.clone(), device.clone());
        tokio::spawn(async move {
            for n in 0..40 {
                caller.create_event(&device, &format!("{name}-{n}")).await;
            }
        })
    };
    let writing = [write(&here, "here"), write(&there, "there")];
    let (mut received, mut acknowledged, mut turn) = (Vec::new(), String::new(), 0);
    while received.len() < 80 {
        // The reader moves with each poll.
        let reader = [&here, &there][turn % 2];
        let batch = batch(reader, "shared", &format!("maxCount=7&wait=5{acknowledged}")).await;
        received.extend_from_slice(sent(&batch));
        acknowledged = format!("&acknowledge={}", batch["position"]);
        turn += 1;
    }
    join_all(writing).await;

    let first = received[0]["position"].as_i64().unwrap();
    assert!(
        received.iter().zip(first..).all(|(one, position)| one["position"] == position),
        "no gap, none twice"
    );
    for name in ["here", "there"] {
        let own: Vec<_> = received
            .iter()
            .filter_map(|one| one["data"]["data"]["type"].as_str())
            .filter(|kind| kind.starts_with(name))
            .collect();
        let expected: Vec<_> = (0..40).map(|n| format!("{name}-{n}")).collect();
        assert_eq!(own, expected, "the order of their writer");
    }
}

#[tokio::test]
async fn poll_at_one_server_is_woken_by_a_write_at_another() {
    let servers = TestServer::start_two().await;
    let [here, there] = [servers[0].admin(), servers[1].admin()];
    let device = here.create_device("pump").await;
    consumer(&here, "shared", &["/events/*"]).await;
    for (reader, writer) in [(&here, &there), (&there, &here)] {
        let waiting = tokio::spawn({
            let reader = reader.clone();
            async move { batch(&reader, "shared", "wait=40").await }
        });
        until("the poll is held", async || !shown(&here, "shared").await["reader"].is_null()).await;
        tokio::time::sleep(Duration::from_millis(200)).await;
        writer.create_event(&device, "wakes").await;
        let batch = soon("the response to the poll", waiting).await.unwrap();
        assert_eq!(types(&batch), ["wakes"]);
        here.put(&format!("{CONSUMERS}/shared"), &json!({"position": "now"})).await.expect(200);
        // Otherwise the next poll may be asked to look again.
        servers[0].database().until_applied().await;
    }
}

#[tokio::test]
async fn reader_at_another_server_takes_over() {
    let servers = TestServer::start_two().await;
    let [here, there] = [servers[0].admin(), servers[1].admin()];
    consumer(&here, "shared", &["/events/*"]).await;
    let path = format!("{CONSUMERS}/shared/notifications");
    let older = tokio::spawn({
        let (here, path) = (here.clone(), format!("{path}?wait=40"));
        async move { here.get(&path).await }
    });
    until("the poll is held", async || !shown(&here, "shared").await["reader"].is_null()).await;
    there.get(&path).await.expect(200);
    soon("the response to the older poll", older).await.unwrap().expect(409);
}

#[tokio::test]
async fn server_that_stays_alone_goes_on_with_the_journal() {
    let [first, second] = TestServer::start_two().await;
    let [here, there] = [first.admin(), second.admin()];
    let device = here.create_device("pump").await;
    // The other server begins the journal, and this one has not written since.
    consumer(&there, "shared", &["/events/*"]).await;
    second.stop().await;
    let write = async |n: i64| drop(here.create_event(&device, &n.to_string()).await);
    for n in 0..20 {
        write(n).await;
        tokio::time::sleep(Duration::from_millis(150)).await;
    }
    let received = read(&here, "shared", 20).await;
    assert_eq!(received.len(), 20);
}

#[tokio::test]
async fn session_that_moved_keeps_what_it_has_not_acknowledged() {
    let servers = TestServer::start_two().await;
    let [here, there] = [servers[0].admin(), servers[1].admin()];
    let device = here.create_device("pump").await;
    let smallest = json!({"name": "queue", "channels": ["/events/*"], "maxBytes": 65536});
    here.create(CONSUMERS, &smallest).await;
    let session = here.session_with(consuming("queue")).await;
    here.create_event(&device, "one").await;
    assert_eq!(kinds(&connect(&session, 0).await.0), ["one"]);
    let moved = there.resume(&session.client);
    assert_eq!(kinds(&connect(&moved, 0).await.0), ["one"], "it was not acknowledged");

    // The reader passes so much on other channels, which may not pass what the client has not acknowledged.
    for n in 0..3 {
        let mut alarm = alarm_of(&device, &n.to_string());
        alarm["text"] = json!("x".repeat(10_000));
        here.create(ALARMS, &alarm).await;
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let again = here.session_with(consuming("queue")).await;
    assert_eq!(kinds(&connect(&again, 0).await.0), ["one"]);
}

#[tokio::test]
async fn session_that_moves_does_not_take_its_consumer_back() {
    let servers = TestServer::start_two().await;
    let [here, there] = [servers[0].admin(), servers[1].admin()];
    consumer(&here, "queue", &["/events/*"]).await;
    let session = here.session_with(consuming("queue")).await;
    until("the session reads", async || shown(&here, "queue").await["reader"]["way"] == "BAYEUX").await;
    // Another session has taken over, and the server of this one does not know yet.
    let taken = "UPDATE consumers SET reader_session = reader_session + 1 WHERE tenant = $1";
    assert_eq!(servers[0].execute(taken, &[]).await, 1);
    let moved = there.resume(&session.client).connect_with(json!({"ext": {"ack": 0}})).await;
    let reply = reply(&moved);
    assert!(reply["error"].as_str().is_some_and(|error| error.starts_with("409::")), "{reply}");
    assert_eq!(reply["advice"]["reconnect"], "none");
}
