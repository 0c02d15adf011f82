//! A server without sessions or modules of a tenant stops subscribing to it. No notification is lost or repeated when
//! this happens.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use platform_front::config::Settings;

use super::*;
use crate::harness::modules::{counting, deploy, measure};
use crate::harness::tenants::management;

fn short(settings: &mut Settings) {
    settings.limits.tenant_linger = Duration::from_secs(1);
}

async fn start_two() -> [TestServer; 2] {
    let database = TestDatabase::create().await;
    [TestServer::start_on(&database, short).await, TestServer::start_on(&database, short).await]
}

async fn listeners_become(database: &TestDatabase, expected: i64) {
    until(&format!("{expected} servers that take part"), async || {
        database.count("publication_listeners").await == expected
    })
    .await;
}

#[tokio::test]
async fn unused_server_unsubscribes_and_the_other_publishes_in_memory() {
    let [a, b] = start_two().await;
    let device = a.admin().create_device("pump").await;
    let (here, there) = (a.admin().listen("/alarms/*").await, b.admin().listen("/alarms/*").await);
    a.admin().raise_alarm(&device, "t0").await;
    there.receive(1).await;
    assert_eq!(a.database().count("publication_listeners").await, 2);

    there.ask("/meta/disconnect", json!({})).await;
    listeners_become(a.database(), 1).await;

    a.admin().raise_alarm(&device, "t1").await;
    assert_eq!(here.receive(2).await.len(), 2);
    // A server that only wrote data also unsubscribes, so that no subscriber is left.
    b.admin().raise_alarm(&device, "t2").await;
    here.receive(1).await;
    here.ask("/meta/disconnect", json!({})).await;
    listeners_become(a.database(), 0).await;

    let again = b.admin().listen("/alarms/*").await;
    a.admin().raise_alarm(&device, "t3").await;
    assert_eq!(again.receive(1).await[0]["data"]["data"]["type"], "t3");
}

#[tokio::test]
async fn server_that_runs_modules_stays_subscribed_without_sessions() {
    let [a, b] = start_two().await;
    let device = a.admin().create_device("meter").await;
    deploy(&a.admin(), &counting("meters")).await;
    for n in 0..15 {
        measure(&b.admin(), &device, n).await;
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let counts: Vec<String> = (1..=15).map(|n| n.to_string()).collect();
    assert_eq!(crate::harness::modules::events_come(&a.admin(), "count", 15).await, counts);
}

/// Raises alarms one after the other until `stop` is set. Returns their ids.
async fn raise(caller: Caller, device: String, stop: Arc<AtomicBool>) -> Vec<String> {
    let mut raised = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        raised.push(id(&caller.raise_alarm(&device, &format!("t{}", raised.len())).await));
        // The queue of a session that does not connect meanwhile has to hold all of them, on a fast machine too.
        tokio::time::sleep(Duration::from_millis(4)).await;
    }
    raised
}

async fn hear_until(session: &Session, last: &str, heard: &mut Vec<String>) {
    while !heard.iter().any(|id| id == last) {
        let answer = session.connect_with(json!({"advice": {"timeout": 5000}})).await;
        let told = notifications(&answer);
        assert!(!told.is_empty(), "{last} does not come: {answer:?}");
        heard.extend(told.iter().map(|told| id(&told["data"]["data"])));
    }
}

#[tokio::test]
async fn nothing_is_lost_doubled_or_out_of_order_while_servers_subscribe_and_unsubscribe() {
    let [a, b] = start_two().await;
    let device = a.admin().create_device("pump").await;
    let always = a.admin().listen("/alarms/*").await;
    let stop = Arc::new(AtomicBool::new(false));
    let writing = tokio::spawn(raise(a.admin(), device.clone(), stop.clone()));
    let listeners = async || a.database().count("publication_listeners").await;
    let mut ceased = 0;
    for round in 0..12 {
        let session = b.admin().listen("/alarms/*").await;
        // This alarm is raised after the subscription was confirmed.
        let first = id(&a.admin().raise_alarm(&device, &format!("first{round}")).await);
        let mut heard = Vec::new();
        hear_until(&session, &first, &mut heard).await;
        session.ask("/meta/disconnect", json!({})).await;
        // The pauses vary, so that the server sometimes unsubscribes just when the next session begins.
        tokio::time::sleep(Duration::from_millis(900 + round * 50)).await;
        ceased += i32::from(listeners().await == 1);
    }
    stop.store(true, Ordering::Relaxed);
    let raised = writing.await.unwrap();
    assert!(ceased > 0, "the other server never ceased to take part");

    let last = id(&a.admin().raise_alarm(&device, "last").await);
    let mut heard = Vec::new();
    hear_until(&always, &last, &mut heard).await;
    let of_writer: Vec<&String> = heard.iter().filter(|id| raised.contains(id)).collect();
    assert_eq!(of_writer, raised.iter().collect::<Vec<_>>());
    assert_eq!(heard.len(), raised.len() + 12 + 1);
}

/// A transaction that has written something and stays open, in a session with this `application_name`.
async fn open_transaction(database: &TestDatabase, application: &str) -> (tokio_postgres::Client, i32) {
    let url = format!("{} application_name='{application}'", database.url());
    let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client
        .batch_execute("BEGIN; CREATE TEMP TABLE scratch (x int); INSERT INTO scratch VALUES (1)")
        .await
        .unwrap();
    let pid = client.query_one("SELECT pg_backend_pid()", &[]).await.unwrap().get(0);
    (client, pid)
}

#[tokio::test]
async fn open_transaction_of_another_program_holds_up_no_subscription_and_no_write() {
    let [a, b] = start_two().await;
    let (_open, _) = open_transaction(a.database(), "report of an outsider").await;
    let device = a.admin().create_device("pump").await;

    let session = b.admin().listen("/alarms/*").await;
    a.admin().raise_alarm(&device, "t0").await;

    assert_eq!(session.receive(1).await[0]["data"]["data"]["type"], "t0");
}

#[tokio::test]
async fn open_transaction_of_a_server_holds_up_a_subscription_and_is_named_in_the_log() {
    let (database, directory) = (TestDatabase::create().await, scratch());
    let server = TestServer::start_on(&database, |_| {}).await;
    let program = Program::serve_with(Program::command_on(&database, directory.path()));
    let token: String =
        database.query("SELECT token FROM servers ORDER BY slot LIMIT 1", &[]).await[0].get(0);
    let (open, pid) = open_transaction(&database, &format!("platform {token}")).await;

    let there = Caller::new(program.base(), Some(("admin", crate::harness::ADMIN_PASSWORD)));
    let (session, ()) = tokio::join!(there.listen("/alarms/*"), async {
        program.line_with(&format!("pid={pid}")).await;
        open.batch_execute("ROLLBACK").await.unwrap();
    });

    let device = server.admin().create_device("pump").await;
    server.admin().raise_alarm(&device, "t0").await;
    session.receive(1).await;
}

#[tokio::test]
async fn unstored_writes_beyond_their_rate_are_refused_and_stored_ones_are_not() {
    let [a, b] = start_two().await;
    let device = a.admin().create_device("pump").await;
    let session = b.admin().listen("/events/*").await;
    let limit = json!({"transientBytesPerSecond": 1024});
    management(&a).put("/tenant/tenants/main/limits", &limit).await.expect(200);
    let transient = async || {
        let mut event = event_of(&device, "door");
        event["text"] = "x".repeat(20_000).into();
        a.admin()
            .request("POST", "/event/events")
            .header("X-Platform-Processing-Mode", "TRANSIENT")
            .json(&event)
            .send()
            .await
    };

    let refused = eventually("a write that is refused", async || {
        let answer = transient().await;
        (answer.status != 201).then_some(answer)
    })
    .await;

    let refused = refused.expect(429);
    assert!(refused.message().contains("limit transientBytesPerSecond"), "{}", refused.text);
    assert!(refused.header("Retry-After").is_some());
    a.admin().create_event(&device, "stored").await;
    until("the event that is stored", async || {
        let told = session.glance().await;
        notifications(&told).iter().any(|told| told["data"]["data"]["type"] == "stored")
    })
    .await;
}
