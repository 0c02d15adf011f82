//! The metrics of the store. None of them has a tenant or a device as a label.

use std::sync::LazyLock;

use metrics::{Counter, Gauge, Histogram, describe_counter, describe_gauge, describe_histogram};

use crate::Database;

/// The rows of each group commit.
pub(crate) static BATCH_ROWS: LazyLock<Histogram> =
    LazyLock::new(|| metrics::histogram!("platform_writer_batch_rows"));
/// The duration of each group commit in seconds.
pub(crate) static COMMIT: LazyLock<Histogram> =
    LazyLock::new(|| metrics::histogram!("platform_writer_commit_seconds"));
/// Writes refused because the queue was full, the database unreachable or its disk full.
pub(crate) static WRITES_REFUSED: LazyLock<Counter> =
    LazyLock::new(|| metrics::counter!("platform_writer_refused_total"));
/// Whether writes are refused because there is no room on the disk.
pub(crate) static WRITES_STOPPED: LazyLock<Gauge> =
    LazyLock::new(|| metrics::gauge!("platform_disk_writes_refused"));
/// Seconds a request waited for a database connection.
pub(crate) static POOL_WAIT: LazyLock<Histogram> =
    LazyLock::new(|| metrics::histogram!("platform_database_connection_wait_seconds"));
/// Notifications that were appended to journals.
pub(crate) static JOURNALED: LazyLock<Counter> =
    LazyLock::new(|| metrics::counter!("platform_journal_notifications_total"));
/// Consumers whose backlog exceeded a bound.
pub(crate) static LAPSES: LazyLock<Counter> =
    LazyLock::new(|| metrics::counter!("platform_consumer_lapses_total"));
/// The consumers of notifications, by state (active, lapsed).
const CONSUMERS: &str = "platform_consumers";
/// The notifications of the largest backlog of a consumer.
const LARGEST_BACKLOG: &str = "platform_consumer_backlog_notifications";
/// The share of PostgreSQL's queue of notifications that is in use, from 0 to 1. When it is full, no transaction with a
/// notification commits.
pub(crate) static NOTIFICATION_QUEUE: LazyLock<Gauge> =
    LazyLock::new(|| metrics::gauge!("platform_notification_queue_ratio"));
/// Notifications that were ignored because no server of this deployment sent them, by reason (unsigned, wrongly
/// signed, repeated).
pub(crate) const MESSAGES_IGNORED: &str = "platform_server_messages_ignored_total";

/// The connections to PostgreSQL, by pool (reads, jobs) and state (idle, used, waited_for).
const CONNECTIONS: &str = "platform_database_connections";

/// Sets the metrics of the pools of a database. The writers' connections, one per thread, are not in a pool.
pub fn set_connections(database: &Database) {
    for (pool, status) in database.pools() {
        let used = status.size.saturating_sub(status.available);
        for (state, count) in [("idle", status.available), ("used", used), ("waited_for", status.waiting)] {
            metrics::gauge!(CONNECTIONS, "pool" => pool, "state" => state).set(count as f64);
        }
    }
}

/// Sets the metrics of consumers: how many are active and lapsed, and the notifications of the largest backlog.
pub(crate) fn set_consumers(active: i64, lapsed: i64, backlog: i64) {
    metrics::gauge!(CONSUMERS, "state" => "active").set(active as f64);
    metrics::gauge!(CONSUMERS, "state" => "lapsed").set(lapsed as f64);
    metrics::gauge!(LARGEST_BACKLOG).set(backlog as f64);
}

/// Registers the descriptions of these metrics with the recorder.
pub fn describe() {
    describe_histogram!("platform_writer_batch_rows", "rows of one group commit");
    describe_gauge!(CONNECTIONS, "connections to PostgreSQL: idle, used, or waited for");
    describe_histogram!("platform_writer_commit_seconds", "seconds one group commit took");
    describe_counter!(
        "platform_writer_refused_total",
        "rejected writes: queue full, database unavailable or disk full"
    );
    describe_gauge!(
        "platform_disk_writes_refused",
        "1 while what would be stored is answered 503 for want of room on the disk"
    );
    describe_counter!(
        "platform_journal_notifications_total",
        "notifications that were appended to journals, which named consumers read"
    );
    describe_counter!(
        "platform_consumer_lapses_total",
        "named consumers whose backlog became larger or older than they may have"
    );
    describe_gauge!(CONSUMERS, "named consumers of notifications of all tenants, by state");
    describe_gauge!(
        LARGEST_BACKLOG,
        "notifications that the named consumer furthest behind has not acknowledged"
    );
    describe_counter!(
        MESSAGES_IGNORED,
        "notifications that no server of this deployment sent, by reason; somebody else has access to the database"
    );
    describe_gauge!(
        "platform_notification_queue_ratio",
        "share of PostgreSQL's queue of notifications that is in use, from 0 to 1"
    );
    describe_histogram!(
        "platform_database_connection_wait_seconds",
        "seconds a request waited for a database connection"
    );
}
