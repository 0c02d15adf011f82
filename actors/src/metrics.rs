//! This crate's metrics; none carries a tenant or a device.
//!
//! Handles are looked up once: a counter in the path of every delivery must cost an addition, not a hash.

use std::sync::LazyLock;

use metrics::{Counter, Gauge, Histogram};

/// Device actors alive.
pub(crate) static DEVICE_ACTORS: LazyLock<Gauge> =
    LazyLock::new(|| metrics::gauge!("platform_device_actors"));
/// Bayeux sessions open.
pub(crate) static SESSIONS: LazyLock<Gauge> = LazyLock::new(|| metrics::gauge!("platform_sessions_open"));
/// Long polls parked.
pub(crate) static PARKED: LazyLock<Gauge> = LazyLock::new(|| metrics::gauge!("platform_long_polls_parked"));
/// Notifications published, whether or not somebody listens.
pub(crate) static PUBLISHED: LazyLock<Counter> =
    LazyLock::new(|| metrics::counter!("platform_notifications_published_total"));
/// Notifications handed to a transport.
pub(crate) static DELIVERED: LazyLock<Counter> =
    LazyLock::new(|| metrics::counter!("platform_notifications_delivered_total"));
/// Notifications dropped with a session that ended.
pub(crate) static DROPPED: LazyLock<Counter> =
    LazyLock::new(|| metrics::counter!("platform_notifications_dropped_total"));
/// Sessions ended because their queue was full.
pub(crate) static OVERFLOWS: LazyLock<Counter> =
    LazyLock::new(|| metrics::counter!("platform_session_overflows_total"));
/// Rows of one group commit.
pub(crate) static BATCH_ROWS: LazyLock<Histogram> =
    LazyLock::new(|| metrics::histogram!("platform_writer_batch_rows"));
/// Seconds one group commit took.
pub(crate) static COMMIT: LazyLock<Histogram> =
    LazyLock::new(|| metrics::histogram!("platform_writer_commit_seconds"));
/// Writes refused because the queue was full, the database away or its disk full.
pub(crate) static WRITES_REFUSED: LazyLock<Counter> =
    LazyLock::new(|| metrics::counter!("platform_writer_refused_total"));
/// Whether writes are refused because there is no room on the disk.
pub(crate) static WRITES_STOPPED: LazyLock<Gauge> =
    LazyLock::new(|| metrics::gauge!("platform_disk_writes_refused"));
/// Seconds a request waited for a database connection.
pub(crate) static POOL_WAIT: LazyLock<Histogram> =
    LazyLock::new(|| metrics::histogram!("platform_database_connection_wait_seconds"));
/// Event-processing modules that run in this process.
pub(crate) static MODULES: LazyLock<Gauge> = LazyLock::new(|| metrics::gauge!("platform_modules_deployed"));
/// How often the modules of a tenant were planned to be run: that takes a core.
pub(crate) static MODULE_PLANNINGS: LazyLock<Counter> =
    LazyLock::new(|| metrics::counter!("platform_module_plannings_total"));
/// Events that modules were fed with.
pub(crate) static MODULE_EVENTS: LazyLock<Counter> =
    LazyLock::new(|| metrics::counter!("platform_module_events_total"));
/// Errors of statements.
pub(crate) static MODULE_FAULTS: LazyLock<Counter> =
    LazyLock::new(|| metrics::counter!("platform_module_errors_total"));
/// Events that modules retain.
pub(crate) static MODULE_RETAINED: LazyLock<Gauge> =
    LazyLock::new(|| metrics::gauge!("platform_module_retained_events"));
/// Writes that modules asked for and that were made.
pub(crate) static MODULE_WRITES: LazyLock<Counter> =
    LazyLock::new(|| metrics::counter!("platform_module_writes_total"));
/// Messages of modules that are accepted and not delivered.
pub(crate) static MODULE_MESSAGES: LazyLock<Counter> =
    LazyLock::new(|| metrics::counter!("platform_module_messages_undelivered_total"));
/// Statements that were switched off while their module goes on.
pub(crate) static MODULE_STATEMENTS_SWITCHED_OFF: LazyLock<Counter> =
    LazyLock::new(|| metrics::counter!("platform_module_statements_switched_off_total"));

/// Modules that were switched off for a cause; rare enough to be looked up.
pub(crate) fn modules_switched_off(cause: &'static str) -> Counter {
    metrics::counter!("platform_modules_switched_off_total", "cause" => cause)
}

/// Describes every metric to the installed recorder.
pub fn describe() {
    use metrics::{describe_counter, describe_gauge, describe_histogram};
    describe_gauge!("platform_device_actors", "device actors alive");
    describe_gauge!("platform_sessions_open", "Bayeux sessions open");
    describe_gauge!("platform_long_polls_parked", "long polls parked");
    describe_counter!("platform_notifications_published_total", "notifications published");
    describe_counter!("platform_notifications_delivered_total", "notifications handed to a transport");
    describe_counter!(
        "platform_notifications_dropped_total",
        "notifications dropped with a session that ended"
    );
    describe_counter!("platform_session_overflows_total", "sessions ended because their queue was full");
    describe_histogram!("platform_writer_batch_rows", "rows of one group commit");
    describe_histogram!("platform_writer_commit_seconds", "seconds one group commit took");
    describe_counter!(
        "platform_writer_refused_total",
        "writes refused: queue full, database away or its disk full"
    );
    describe_gauge!(
        "platform_disk_writes_refused",
        "1 while what would be stored is answered 503 for want of room on the disk"
    );
    describe_gauge!("platform_modules_deployed", "event-processing modules that run in this process");
    describe_counter!(
        "platform_module_plannings_total",
        "how often modules of a tenant were planned to be run"
    );
    describe_counter!("platform_module_events_total", "events that modules were fed with");
    describe_counter!("platform_module_errors_total", "errors of statements of modules");
    describe_counter!("platform_modules_switched_off_total", "modules switched off, by cause");
    describe_counter!(
        "platform_module_statements_switched_off_total",
        "statements of modules switched off, while the module goes on"
    );
    describe_counter!("platform_module_writes_total", "writes that modules asked for and that were made");
    describe_counter!("platform_module_messages_undelivered_total", "messages of modules, not delivered");
    describe_gauge!("platform_module_retained_events", "events that modules retain");
    describe_histogram!(
        "platform_database_connection_wait_seconds",
        "seconds a request waited for a database connection"
    );
}
