//! Names of this crate's metrics; none carries a tenant or a device.

/// Device actors alive.
pub const DEVICE_ACTORS: &str = "platform_device_actors";
/// Bayeux sessions open.
pub const SESSIONS: &str = "platform_sessions_open";
/// Long polls parked.
pub const PARKED: &str = "platform_long_polls_parked";
/// Notifications published, whether or not somebody listens.
pub const PUBLISHED: &str = "platform_notifications_published_total";
/// Notifications handed to a transport.
pub const DELIVERED: &str = "platform_notifications_delivered_total";
/// Notifications dropped with a session that ended.
pub const DROPPED: &str = "platform_notifications_dropped_total";
/// Sessions ended because their queue was full.
pub const OVERFLOWS: &str = "platform_session_overflows_total";
/// Rows of one group commit.
pub const BATCH_ROWS: &str = "platform_writer_batch_rows";
/// Seconds one group commit took.
pub const COMMIT: &str = "platform_writer_commit_seconds";
/// Writes refused because the queue was full or the database away.
pub const WRITES_REFUSED: &str = "platform_writer_refused_total";
/// Seconds a request waited for a database connection.
pub const POOL_WAIT: &str = "platform_database_connection_wait_seconds";

/// Describes every metric to the installed recorder.
pub fn describe() {
    use metrics::{describe_counter, describe_gauge, describe_histogram};
    describe_gauge!(DEVICE_ACTORS, "device actors alive");
    describe_gauge!(SESSIONS, "Bayeux sessions open");
    describe_gauge!(PARKED, "long polls parked");
    describe_counter!(PUBLISHED, "notifications published");
    describe_counter!(DELIVERED, "notifications handed to a transport");
    describe_counter!(DROPPED, "notifications dropped with a session that ended");
    describe_counter!(OVERFLOWS, "sessions ended because their queue was full");
    describe_histogram!(BATCH_ROWS, "rows of one group commit");
    describe_histogram!(COMMIT, "seconds one group commit took");
    describe_counter!(WRITES_REFUSED, "writes refused: queue full or database away");
    describe_histogram!(POOL_WAIT, "seconds a request waited for a database connection");
}
