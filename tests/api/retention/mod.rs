//! Retention: rules by which old data is deleted, their preview, and the daily runs (Z-08).

mod partitions;
mod rules;
mod runs;

use crate::harness::prelude::*;

const RULES: &str = "/retention/retentions";
const RUNS: &str = "/retention/runs";

/// Starts a server on its own database that checks frequently whether a run is due.
async fn eager() -> TestServer {
    TestServer::start_with(|settings| settings.limits.retention_check = Duration::from_millis(50)).await
}

/// Creates a rule and dates its last change to before the last due time, so that it is in force.
async fn rule_in_force(server: &TestServer, caller: &Caller, body: &Value) -> Value {
    let rule = caller.create(RULES, body).await;
    server.database().execute("UPDATE retention_rules SET changed_at = now() - interval '2 days'", &[]).await;
    rule
}

/// Makes all stored data this number of days older.
async fn age(database: &TestDatabase, days: i32) {
    let months = "SELECT make_measurement_partition(first_moment) \
        FROM generate_series(now() - interval '500 days', now(), interval '1 month') first_moment";
    database.query(months, &[]).await;
    for table in ["alarms", "events", "measurements", "audit_records"] {
        let earlier = format!("UPDATE {table} SET id = id - (($1::bigint * 86400000) << 20)");
        database.execute(&earlier, &[&i64::from(days)]).await;
    }
    database
        .execute("UPDATE operations SET created_at = created_at - make_interval(days => $1)", &[&days])
        .await;
}

/// Creates an alarm and clears it.
async fn create_cleared_alarm(caller: &Caller, device: &str, kind: &str) {
    let alarm = caller.create("/alarm/alarms", &alarm_of(device, kind)).await;
    let path = alarm["self"].as_str().unwrap();
    caller.put(path, &json!({"status": "CLEARED"})).await.expect(200);
}

async fn measure(caller: &Caller, device: &str) {
    let body = measurement_of(device, "2020-01-01T00:00:00Z", 1);
    caller.create("/measurement/measurements", &body).await;
}

/// Waits for the end of the tenant's run and returns its report.
async fn ended(caller: &Caller) -> Value {
    eventually("the end of a run", async || {
        let runs = caller.read(RUNS).await;
        runs["retentionRuns"].as_array().unwrap().iter().find(|run| run["status"] == "COMPLETED").cloned()
    })
    .await
}
