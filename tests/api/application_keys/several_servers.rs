//! A server drops cached keys when an application changes, whichever server changed it.

use super::*;

#[tokio::test]
async fn renamed_and_deleted_application_is_felt_on_two_servers() {
    let database = TestDatabase::create().await;
    insert_application(&database, "main", "helm", "k-helm").await;
    let servers =
        [TestServer::start_on(&database, |_| {}).await, TestServer::start_on(&database, |_| {}).await];
    for server in &servers {
        for _ in 0..2 {
            assert_eq!(named(&server.admin(), "k-helm").await, "helm");
        }
    }

    for (change, then) in [
        ("UPDATE applications SET name = 'bridge' WHERE name = 'helm'", json!("bridge")),
        ("DELETE FROM applications WHERE name = 'bridge'", Value::Null),
    ] {
        assert_eq!(database.execute(change, &[]).await, 1);
        announce(&database).await;
        for server in &servers {
            until_named(server, "k-helm", then.clone()).await;
        }
    }
}
