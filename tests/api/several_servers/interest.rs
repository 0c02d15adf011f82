//! A server without sessions or modules of a tenant stops subscribing to it. No notification is lost or repeated when
//! this happens.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use platform::config::Settings;
use serde_json::json;

use super::id;
use crate::harness::modules::{counting, deploy, measure};
use crate::harness::{Caller, Session, TestDatabase, TestServer, eventually, notifications};

fn short(settings: &mut Settings) {
    settings.limits.tenant_linger = Duration::from_secs(1);
}

async fn start_two() -> [TestServer; 2] {
    let database = TestDatabase::create().await;
    [TestServer::start_on(&database, short).await, TestServer::start_on(&database, short).await]
}

async fn listeners_become(database: &TestDatabase, expected: i64) {
    eventually(&format!("{expected} servers that take part"), async || {
        (database.count("publication_listeners").await == expected).then_some(())
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
