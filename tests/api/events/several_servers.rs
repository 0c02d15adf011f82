//! Several servers on one database, and one that starts again.

use super::*;

#[tokio::test]
async fn changes_by_two_servers_at_once_are_all_made() {
    let servers = TestServer::start_two().await;
    let callers = [servers[0].admin(), servers[1].admin()];
    let device = callers[0].create_device("door").await;
    let event = callers[0].create_event(&device, "t").await;
    let path = format!("{EVENTS}/{}", event["id"].as_str().unwrap());

    let mut made = 0;
    for round in 0..10 {
        let puts = [0, 1].map(|n| {
            let (caller, path) = (callers[n].clone(), path.clone());
            tokio::spawn(
                async move { caller.put(&path, &json!({format!("plat_{n}_{round}"): 1})).await.status },
            )
        });
        for put in puts {
            let status = put.await.unwrap();
            assert!([200, 409].contains(&status), "{status}");
            made += usize::from(status == 200);
        }
    }

    let event = callers[1].read(&path).await;
    let fragments = event.as_object().unwrap().keys().filter(|name| name.starts_with("plat_")).count();
    assert_eq!(fragments, made);
    assert!(made >= 10);
}

#[tokio::test]
async fn events_are_there_after_a_restart() {
    let server = TestServer::start().await;
    let database = server.shared_database();
    let device = server.admin().create_device("door").await;
    let event = server.admin().create_event(&device, "t").await;
    server.stop().await;

    let server = TestServer::start_on(&database, |_| {}).await;

    let read = server.admin().read(&format!("{EVENTS}/{}", event["id"].as_str().unwrap())).await;
    assert_eq!(
        crate::harness::without(&read, &["self", "source"]),
        crate::harness::without(&event, &["self", "source"])
    );
}
