//! The metrics of this crate. None of them has a tenant or a device as a label.
//!
//! Handles are looked up once, so that counting a delivery costs an addition and not a hash look-up.

use std::sync::LazyLock;

use metrics::{Counter, Gauge, Histogram};

/// The number of running device actors.
pub(crate) static DEVICE_ACTORS: LazyLock<Gauge> =
    LazyLock::new(|| metrics::gauge!("platform_device_actors"));
/// The number of open Bayeux sessions.
pub(crate) static SESSIONS: LazyLock<Gauge> = LazyLock::new(|| metrics::gauge!("platform_sessions_open"));
/// The number of parked long polls.
pub(crate) static PARKED: LazyLock<Gauge> = LazyLock::new(|| metrics::gauge!("platform_long_polls_parked"));
/// The number of published notifications, with or without subscribers.
pub(crate) static PUBLISHED: LazyLock<Counter> =
    LazyLock::new(|| metrics::counter!("platform_notifications_published_total"));
/// The number of notifications passed to a transport.
pub(crate) static DELIVERED: LazyLock<Counter> =
    LazyLock::new(|| metrics::counter!("platform_notifications_delivered_total"));
/// The number of notifications dropped with a session that ended.
pub(crate) static DROPPED: LazyLock<Counter> =
    LazyLock::new(|| metrics::counter!("platform_notifications_dropped_total"));
/// The number of sessions that ended because their queue was full.
pub(crate) static OVERFLOWS: LazyLock<Counter> =
    LazyLock::new(|| metrics::counter!("platform_session_overflows_total"));
/// The number of sessions that have arrived from other servers or threads.
pub(crate) static MOVED_IN: LazyLock<Counter> =
    LazyLock::new(|| metrics::counter!("platform_sessions_moved_in_total"));
/// The number of sessions that have left to other servers or threads.
pub(crate) static MOVED_OUT: LazyLock<Counter> =
    LazyLock::new(|| metrics::counter!("platform_sessions_moved_out_total"));
/// The number of sessions that were asked for and did not come.
pub(crate) static NOT_MOVED: LazyLock<Counter> =
    LazyLock::new(|| metrics::counter!("platform_sessions_not_found_elsewhere_total"));
/// The seconds from the request for a session to its arrival.
pub(crate) static MOVE_SECONDS: LazyLock<Histogram> =
    LazyLock::new(|| metrics::histogram!("platform_session_move_seconds"));
/// The number of event-processing modules that run in this process.
pub(crate) static MODULES: LazyLock<Gauge> = LazyLock::new(|| metrics::gauge!("platform_modules_deployed"));
/// The number of times that the modules of a tenant were planned, which occupies a core.
pub(crate) static MODULE_PLANNINGS: LazyLock<Counter> =
    LazyLock::new(|| metrics::counter!("platform_module_plannings_total"));
/// The number of events passed to modules.
pub(crate) static MODULE_EVENTS: LazyLock<Counter> =
    LazyLock::new(|| metrics::counter!("platform_module_events_total"));
/// The number of errors of statements.
pub(crate) static MODULE_FAULTS: LazyLock<Counter> =
    LazyLock::new(|| metrics::counter!("platform_module_errors_total"));
/// The number of events that modules retain.
pub(crate) static MODULE_RETAINED: LazyLock<Gauge> =
    LazyLock::new(|| metrics::gauge!("platform_module_retained_events"));
/// The number of successful writes of modules.
pub(crate) static MODULE_WRITES: LazyLock<Counter> =
    LazyLock::new(|| metrics::counter!("platform_module_writes_total"));
/// The number of messages of modules that were accepted and not delivered.
pub(crate) static MODULE_MESSAGES: LazyLock<Counter> =
    LazyLock::new(|| metrics::counter!("platform_module_messages_undelivered_total"));
/// Statements that were switched off while their module continues.
pub(crate) static MODULE_STATEMENTS_SWITCHED_OFF: LazyLock<Counter> =
    LazyLock::new(|| metrics::counter!("platform_module_statements_switched_off_total"));

/// The number of rows that were deleted because of their age.
pub(crate) static RETENTION_DELETED: LazyLock<Counter> =
    LazyLock::new(|| metrics::counter!("platform_retention_deleted_total"));

/// The days until the disk is full, if the database grows on as before.
pub(crate) static STORAGE_DAYS_LEFT: LazyLock<Gauge> =
    LazyLock::new(|| metrics::gauge!("platform_storage_days_left"));

/// Returns the counter of modules that were switched off for a cause. They are rare enough for a look-up.
pub(crate) fn modules_switched_off(cause: &'static str) -> Counter {
    metrics::counter!("platform_modules_switched_off_total", "cause" => cause)
}

/// Describes every metric to the installed recorder.
pub fn describe() {
    use metrics::{describe_counter, describe_gauge, describe_histogram};
    describe_gauge!("platform_device_actors", "running device actors");
    describe_gauge!("platform_sessions_open", "open Bayeux sessions");
    describe_gauge!("platform_long_polls_parked", "parked long polls");
    describe_counter!("platform_notifications_published_total", "notifications published");
    describe_counter!("platform_notifications_delivered_total", "notifications passed to a transport");
    describe_counter!(
        "platform_notifications_dropped_total",
        "notifications dropped with a session that ended"
    );
    describe_counter!("platform_session_overflows_total", "sessions ended because their queue was full");
    describe_counter!(
        "platform_sessions_moved_in_total",
        "sessions that arrived from other servers or threads"
    );
    describe_counter!("platform_sessions_moved_out_total", "sessions that left to other servers or threads");
    describe_counter!("platform_sessions_not_found_elsewhere_total", "sessions asked for that did not come");
    describe_histogram!("platform_session_move_seconds", "seconds until a requested session arrived");
    describe_gauge!("platform_modules_deployed", "event-processing modules that run in this process");
    describe_counter!("platform_module_plannings_total", "how often the modules of a tenant were planned");
    describe_counter!("platform_module_events_total", "events passed to modules");
    describe_counter!("platform_module_errors_total", "errors of statements of modules");
    describe_counter!("platform_modules_switched_off_total", "modules switched off, by cause");
    describe_counter!(
        "platform_module_statements_switched_off_total",
        "statements of modules switched off, while the module continues"
    );
    describe_counter!("platform_module_writes_total", "writes that modules asked for and that were made");
    describe_counter!("platform_module_messages_undelivered_total", "messages of modules, not delivered");
    describe_counter!("platform_retention_deleted_total", "rows deleted because of their age");
    describe_gauge!("platform_storage_days_left", "days until the disk is full, at most 3650");
    describe_gauge!("platform_module_retained_events", "events that modules retain");
}
