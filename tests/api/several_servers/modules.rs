//! A module sees what every server writes, and its rows reach the sessions of every server.

use crate::harness::TestServer;
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
