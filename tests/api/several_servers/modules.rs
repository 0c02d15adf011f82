//! A module receives the writes of all servers, and its output reaches the sessions at all servers.

use rustix::process::Signal;

use super::*;
use crate::harness::modules::{counting, deploy, events_come, measure};

#[tokio::test]
async fn module_sees_each_write_of_both_servers_once() {
    let [a, b] = TestServer::start_two().await;
    let device = a.admin().create_device("meter").await;
    deploy(&a.admin(), &counting("meters")).await;

    for n in 0..20 {
        let server = if n % 2 == 0 { &a } else { &b };
        measure(&server.admin(), &device, n).await;
    }

    let counts: Vec<String> = (1..=20).map(|n| n.to_string()).collect();
    assert_eq!(events_come(&a.admin(), "count", 20).await, counts);
}

#[tokio::test]
async fn module_whose_holder_is_killed_counted_each_write_once_and_restarts_with_an_audit_record() {
    let (database, directory) = (TestDatabase::create().await, scratch());
    let holder = Program::serve_with(Program::command_on(&database, directory.path()));
    let there = Caller::new(holder.base(), Some(("admin", ADMIN_PASSWORD)));
    let module = deploy(&there, &counting("meters")).await;
    let other = TestServer::start_on(&database, |_| {}).await;
    let here = other.admin();
    let device = here.create_device("meter").await;
    for n in 0..400 {
        measure(if n % 2 == 0 { &here } else { &there }, &device, n).await;
    }
    let counted: Vec<String> = (1..=400).map(|n| n.to_string()).collect();
    assert_eq!(events_come(&here, "count", 400).await, counted);

    holder.signal(Signal::KILL);

    let id = module["id"].as_str().unwrap();
    let restarts = async || {
        let list = here.read(&format!("/audit/auditRecords?source={id}&pageSize=100")).await;
        let records = list["auditRecords"].as_array().unwrap().clone();
        records.into_iter().filter(|record| record["activity"] == "Module restarted").collect::<Vec<_>>()
    };
    let record =
        eventually("the audit record of the restart", async || restarts().await.into_iter().next()).await;
    let text = "Module restarted: meters: the server that ran it is gone; it may have missed events";
    assert_eq!((record["text"].as_str(), record["user"].as_str()), (Some(text), Some("system")));
    measure(&here, &device, 400).await;
    // The restarted module counts from the beginning, and does not see the earlier events again.
    assert_eq!(events_come(&here, "count", 401).await[400], "1");
    assert_eq!(restarts().await.len(), 1);
}

#[tokio::test]
async fn rows_of_a_module_reach_the_sessions_of_both_servers() {
    let [a, b] = TestServer::start_two().await;
    let device = a.admin().create_device("meter").await;
    deploy(&a.admin(), &counting("meters")).await;
    let sessions = [a.admin().listen("/meters/*").await, b.admin().listen("/meters/*").await];

    for n in 0..4 {
        measure(&a.admin(), &device, n).await;
    }

    for session in &sessions {
        let rows = session.receive(8).await;
        let counts = rows.iter().filter_map(|row| row["data"]["n"].as_i64());
        assert_eq!(counts.collect::<Vec<_>>(), [1, 2, 3, 4]);
    }
}
