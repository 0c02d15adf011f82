//! Many alarms, for tests of bulk updates.

use super::TestDatabase;

/// Inserts alarms into a database with rising ids, types and times; a tenth is ACKNOWLEDGED, the others are ACTIVE.
pub async fn fill(database: &TestDatabase, devices: &[String], count: i64) {
    let devices: Vec<i64> = devices.iter().map(|device| device.parse().unwrap()).collect();
    let statement = "INSERT INTO alarms (tenant, id, source, type, time, time_offset, text, status, severity, count, \
        first_time, first_offset, created_at, fragments) SELECT 'main', n, ($1::bigint[])[1 + n % \
        cardinality($1::bigint[])], 'type' || n, '2024-01-01T00:00:00Z'::timestamptz + make_interval(secs => n), 0, \
        'x', CASE n % 10 WHEN 0 THEN 'ACKNOWLEDGED' ELSE 'ACTIVE' END, CASE n % 3 WHEN 0 THEN 'MAJOR' ELSE 'MINOR' \
        END, 1, now(), 0, now(), '{}' FROM generate_series(1, $2::bigint) n";
    database.execute(statement, &[&devices, &count]).await;
}

/// Returns the number of alarms with a status.
pub async fn count_of(database: &TestDatabase, status: &str) -> i64 {
    let statement = "SELECT count(*) FROM alarms WHERE status = $1";
    database.query(statement, &[&status]).await[0].get(0)
}
