//! Deletion of old monthly partitions of measurements.

use super::*;
use crate::harness::tenants::create_tenant;

async fn partitions(database: &TestDatabase) -> i64 {
    let count = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'measurements'::regclass";
    database.query(count, &[]).await[0].get(0)
}

#[tokio::test]
async fn partition_that_nobody_keeps_is_dropped_with_its_rollups() {
    let (server, admin, device) = eager().await.with_device("pump").await;
    measure(&admin, &device).await;
    let mark = "INSERT INTO measurement_rollup_marks (tenant, source, rolled) VALUES ('main', $1, 1)";
    server.database().execute(mark, &[&device.parse::<i64>().unwrap()]).await;
    age(server.database(), 400).await;
    let before = partitions(server.database()).await;

    rule_in_force(&server, &admin, &json!({"dataType": "MEASUREMENT", "maximumAge": 100})).await;

    assert_eq!(ended(&admin).await["deleted"], json!({}), "nothing is left for single deletions");
    assert!(partitions(server.database()).await < before);
    assert_eq!(server.count("measurements").await, 0);
    assert_eq!(server.database().count("measurement_rollup_marks").await, 0);
    measure(&admin, &device).await;
    assert_eq!(server.count("measurements").await, 1);
}

#[tokio::test]
async fn partition_that_another_tenant_keeps_loses_only_the_rows_of_the_rule() {
    let (server, admin, device) = eager().await.with_device("pump").await;
    let other = create_tenant(&server, "plant7").await;
    let foreign = other.create_device("pump").await;
    measure(&admin, &device).await;
    measure(&other, &foreign).await;
    age(server.database(), 400).await;

    rule_in_force(&server, &admin, &json!({"dataType": "MEASUREMENT", "maximumAge": 100})).await;

    assert_eq!(ended(&admin).await["deleted"], json!({"MEASUREMENT": 1}));
    let left = server.database().query("SELECT tenant FROM measurements", &[]).await;
    assert_eq!(left.iter().map(|row| row.get(0)).collect::<Vec<&str>>(), ["plant7"]);
}

#[tokio::test]
async fn rule_with_a_filter_drops_no_partition() {
    let (server, admin, device) = eager().await.with_device("pump").await;
    let other = admin.create_device("valve").await;
    measure(&admin, &device).await;
    measure(&admin, &other).await;
    age(server.database(), 400).await;

    rule_in_force(&server, &admin, &json!({"source": device, "maximumAge": 100})).await;

    assert_eq!(ended(&admin).await["deleted"]["MEASUREMENT"], 1);
    assert_eq!(server.count("measurements").await, 1);
}
