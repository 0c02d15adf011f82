//! A tenant with many slow requests leaves database connections for the others, and so does each of its users.

use std::pin::pin;

use super::*;
use crate::harness::tenants::management;

/// The statements that wait for the lock of a table in this database. Other tests have databases in the same cluster.
const WAITING: &str = "FROM pg_locks WHERE NOT granted AND locktype = 'relation' \
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";

#[tokio::test]
async fn slow_reads_of_a_tenant_leave_connections_for_another() {
    let database = TestDatabase::create().await;
    let server = TestServer::start_on(&database, |settings| {
        settings.read_connections = 2;
        // The reads wait for the lock as long as the test holds it, on a busy machine too.
        settings.limits.statement_timeout = Duration::from_secs(600);
    })
    .await;
    let (quiet, noisy) = (server.admin(), management(&server));
    let list = "/inventory/managedObjects?pageSize=1";
    assert_eq!(quiet.get(list).await.status, 200);
    let (blocker, connection) = tokio_postgres::connect(database.url(), tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    blocker.batch_execute("BEGIN; LOCK TABLE measurements IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let reads: Vec<_> = (0..10)
        .map(|_| {
            let noisy = noisy.clone();
            tokio::spawn(async move { noisy.get("/measurement/measurements?pageSize=1").await.status })
        })
        .collect();
    until("reads that wait for the lock", async || {
        !database.query(&format!("SELECT pid {WAITING}"), &[]).await.is_empty()
    })
    .await;

    for _ in 0..5 {
        assert_eq!(soon("a read beside them", quiet.get(list)).await.status, 200);
    }

    blocker.batch_execute("ROLLBACK").await.unwrap();
    for read in reads {
        let status = read.await.unwrap();
        assert!([200, 503].contains(&status), "{status}");
    }
}

/// Ends one of the reads that wait for a lock, which frees its connection.
async fn end_one_read(database: &TestDatabase) {
    let end = format!("SELECT pg_cancel_backend(pid) {WAITING} LIMIT 1");
    until("a read that waits for the lock", async || !database.query(&end, &[]).await.is_empty()).await;
}

#[tokio::test]
async fn slow_reads_of_a_user_delay_no_other_user_of_its_tenant() {
    let database = TestDatabase::create().await;
    let server = TestServer::start_on(&database, |settings| settings.read_connections = 2).await;
    let (quiet, noisy) = (server.user_with("quiet", &["ROLE_ALARM_READ"]).await, server.admin());
    let list = "/alarm/alarms?pageSize=1";
    for caller in [&quiet, &noisy] {
        assert_eq!(caller.get(list).await.status, 200);
    }
    let (blocker, connection) = tokio_postgres::connect(database.url(), tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    blocker.batch_execute("BEGIN; LOCK TABLE measurements IN ACCESS EXCLUSIVE MODE").await.unwrap();
    for _ in 0..60 {
        let noisy = noisy.clone();
        tokio::spawn(async move { noisy.get("/measurement/measurements?pageSize=1").await });
    }
    end_one_read(&database).await;

    let (mut read, mut ended) = (pin!(quiet.get(list)), 0);
    let answer = loop {
        tokio::select! {
            answer = &mut read => break answer,
            () = end_one_read(&database) => ended += 1,
        }
    };

    assert_eq!(answer.status, 200);
    assert!(ended < 40, "the read came after {ended} of the other user");
}
