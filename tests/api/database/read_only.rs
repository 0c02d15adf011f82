//! A PostgreSQL that accepts reads only, such as a primary that has become a standby.

use super::*;

#[tokio::test]
async fn write_to_a_database_that_accepts_reads_only_is_to_be_retried_and_reads_continue() {
    let cluster = Cluster::start("", "");
    let server = TestServer::start_on(&TestDatabase::at(&cluster.url(), cluster.directory()), |_| {}).await;
    let (server, admin, device) = server.with_device("pump").await;
    let connections = async || {
        let statement = "SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'platform %' AND \
            datname = current_database() AND query LIKE '-- Raises the alarms%'";
        let rows = server.database().query(statement, &[]).await;
        rows.iter().map(|row| row.get::<_, i32>(0)).collect::<Vec<_>>()
    };
    admin.raise_alarm(&device, "hot").await;
    let before = connections().await;
    assert_eq!(before.len(), 1, "the connection of the writer");

    cluster.write("postgresql.auto.conf", "default_transaction_read_only = on\n");
    cluster.reload();

    eventually("a write that is rejected", async || {
        let answer = admin.post("/alarm/alarms", &alarm_of(&device, "cold")).await;
        if answer.status == 201 {
            return None;
        }
        assert_eq!(answer.status, 503, "{}", answer.text);
        assert!(answer.header("Retry-After").is_some());
        Some(())
    })
    .await;
    admin.post("/inventory/managedObjects", &json!({"name": "motor"})).await.expect(503);
    let option = json!({"category": "c", "key": "k", "value": "v"});
    admin.post("/tenant/options", &option).await.expect(503);
    admin.get(&format!("/inventory/managedObjects/{device}")).await.expect(200);

    cluster.write("postgresql.auto.conf", "");
    cluster.reload();
    until("a write that succeeds", async || {
        admin.post("/alarm/alarms", &alarm_of(&device, "cold")).await.status == 201
    })
    .await;
    let after = connections().await;
    assert!(after.iter().all(|pid| !before.contains(pid)), "the connection that was refused is closed");
}
