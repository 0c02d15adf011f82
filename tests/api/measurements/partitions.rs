//! Partitions: one for each month of arrival, created in advance, and one for all other months.

use super::*;

async fn partitions(database: &TestDatabase) -> Vec<String> {
    let statement = "SELECT inhrelid::regclass::text FROM pg_inherits \
        WHERE inhparent = 'measurements'::regclass ORDER BY 1";
    database.query(statement, &[]).await.iter().map(|row| row.get(0)).collect()
}

/// The partitions of this month and the next three, as the database's clock has it, and the one for the rest.
async fn expected(database: &TestDatabase) -> Vec<String> {
    let statement = "SELECT to_char(now() AT TIME ZONE 'UTC' + n * interval '1 month', '\"measurements_\"YYYY_MM') \
        FROM generate_series(0, 3) n UNION SELECT 'measurements_other' ORDER BY 1";
    database.query(statement, &[]).await.iter().map(|row| row.get(0)).collect()
}

#[tokio::test]
async fn start_makes_the_partitions_of_this_and_the_next_three_months_and_a_restart_no_others() {
    let server = TestServer::start().await;
    let database = server.shared_database();
    let first = partitions(&database).await;

    server.stop().await;
    let _again = TestServer::start_on(&database, |_| {}).await;

    assert_eq!(first, expected(&database).await);
    assert_eq!(partitions(&database).await, first);
}

#[tokio::test]
async fn server_waits_for_another_one_that_makes_partitions() {
    let database = TestDatabase::create().await;
    let store = database.open();
    // Longer than the limit for the lock of the table.
    let other = "SELECT pg_advisory_lock(hashtext('measurements')), pg_sleep(0.8)";
    let locked = "SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted AND database = \
        (SELECT oid FROM pg_database WHERE datname = current_database())";

    let made = async {
        eventually("the other server", async || database.query(locked, &[]).await.pop()).await;
        platform_store::data::measurements::partitions::make_partitions(&store).await
    };
    let (_, made) = tokio::join!(database.run_script(other), made);

    made.expect("it waits");
}

#[tokio::test]
async fn measurement_of_any_time_lies_in_the_partition_of_its_arrival() {
    let (server, admin, device) = TestServer::start().await.with_device("pump").await;

    for time in ["0001-01-01T00:00:00+14:00", "2024-03-10T02:30:00+14:00", "9999-12-31T23:59:59Z"] {
        measure(&admin, &device, time, 1).await;
    }

    let where_they_are = "SELECT DISTINCT tableoid::regclass::text FROM measurements";
    let found = server.database().query(where_they_are, &[]).await;
    let found: Vec<String> = found.iter().map(|row| row.get(0)).collect();
    assert_eq!(found, expected(server.database()).await[..1]);
}

#[tokio::test]
async fn measurement_for_which_no_partition_was_made_is_stored_and_found_all_the_same() {
    let (server, admin, device) = TestServer::start().await.with_device("pump").await;
    let [this_month, ..] = &expected(server.database()).await[..] else { panic!("there are some") };
    server.database().execute(&format!("DROP TABLE {this_month}"), &[]).await;

    let stored = measure(&admin, &device, "2024-03-10T02:30:00Z", 7).await;

    assert_eq!(server.database().count("measurements_other").await, 1);
    assert_eq!(admin.read(stored["self"].as_str().unwrap()).await, stored);
    let listed = admin.read(&format!("{MEASUREMENTS}?source={device}")).await;
    assert_eq!(listed["measurements"], serde_json::json!([stored]));
    // The partition of this month is no longer created, because the default partition has measurements of this month.
    let database = server.shared_database();
    server.stop().await;
    let again = TestServer::start_on(&database, |_| {}).await;
    assert!(!partitions(&database).await.contains(this_month));
    assert_eq!(
        again.admin().read(&format!("{MEASUREMENTS}?source={device}")).await["measurements"][0]["id"],
        stored["id"]
    );
}
