//! A tenant with many slow requests leaves database connections for the others.

use crate::harness::tenants::management;
use crate::harness::{TestDatabase, TestServer, eventually, soon};

#[tokio::test]
async fn slow_reads_of_a_tenant_leave_connections_for_another() {
    let database = TestDatabase::create().await;
    let server = TestServer::start_on(&database, |settings| settings.read_connections = 2).await;
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
    eventually("reads that wait for the lock", async || {
        let waiting = "SELECT FROM pg_locks WHERE NOT granted AND locktype = 'relation'";
        (!database.query(waiting, &[]).await.is_empty()).then_some(())
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
