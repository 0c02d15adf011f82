//! The limits of the rules (docs/rules.md), each with its rule.
//!
//! A limit that operators may set, or that tests must shorten, is a field of [`Limits`] and a row of its table, from
//! which the flags, `.env.example` and docs/settings.md are made. A limit of the protocol is a constant.

#[macro_use]
mod table;

use std::time::Duration;

pub use table::Limit;
use table::{DAY, GIB, HOUR, KIB, MIB, MINUTE, SECOND, TIB, UNLIMITED};

/// The default page size (P-04).
pub const DEFAULT_PAGE_SIZE: u32 = 5;
/// The maximum page size; larger requests are reduced to it (P-04).
pub const MAX_PAGE_SIZE: u32 = 2000;
/// The number of matching records up to which `totalPages` is exact; beyond it is a lower bound (P-03).
pub const EXACT_COUNT: i64 = 1_000_000;
/// The maximum number of values in a series result without aggregation (G-08).
pub const SERIES_VALUES: usize = 5000;
/// The maximum number of cells in a series result, one per series and time. No rule names a limit, but a larger
/// response would not fit into a client's memory either.
pub const SERIES_CELLS: usize = 5_000_000;
/// The maximum nesting depth of a request body (I-16).
pub const MAX_JSON_DEPTH: usize = 100;
/// The maximum number of characters of a number in a request body; longer ones are rejected, because no client intends
/// them.
pub const MAX_NUMBER_LENGTH: usize = 400;
/// The longest `advice.timeout` and `advice.interval` of a client (B-10).
pub const MAX_ADVICE: Duration = Duration::from_millis(7_200_000);
/// The time for which a WebSocket may stay open without a handshake or a valid clientId (B-19).
pub const SOCKET_HANDSHAKE: Duration = Duration::from_secs(10);

/// The maximum number of deletions for which one request sends notifications (B-06).
pub const NOTIFIED_DELETIONS: usize = 1000;

limits! {
    settable:

    /// Longest time that a connect is held, unless the client sends advice
    connect_timeout: Duration = 90 * MINUTE, 1..=2 * HOUR, "connect-timeout-ms", "B-10";

    /// Time that a session and its notifications are kept without a held connect
    ///
    /// The default is 10 seconds and a short grace period, because some clients retry after exactly 10 seconds.
    session_interval: Duration = 10_500, 1..=2 * HOUR, "session-interval-ms", "B-10";

    /// Time between the spaces sent on a held poll, also on one of a CSV client behind a proxy
    ///
    /// Common proxies close a connection on which the server is silent for 50 to 60 seconds.
    keep_alive: Duration = 50 * SECOND, SECOND..=DAY, "keep-alive-seconds", "B-21b";

    /// Time between the spaces sent on a held poll of a CSV client that no proxy carries
    csv_keep_alive: Duration = 10 * MINUTE, SECOND..=DAY, "csv-keep-alive-seconds", "B-21b";

    /// Maximum number of notifications queued in one session
    queued_notifications: usize = 10_000, 1..=10_000_000, "session-queue-notifications", "B-12";

    /// Maximum bytes of notifications queued in one session
    queued_bytes: usize = 8 * MIB, KIB..=GIB, "session-queue-bytes", "B-12";

    /// Maximum number of subscriptions of one session
    subscriptions_per_session: usize = 1000, 1..=1_000_000, "session-subscriptions", "B-23";

    /// Maximum number of sessions of one user [default: unlimited, because a fleet may share a user]
    sessions_per_user: Option<usize> = UNLIMITED, 1..=100_000_000, "user-sessions", "B-23";

    /// Maximum bytes of a REST request body
    body_bytes: usize = 16 * MIB, KIB..=GIB, "body-bytes", "I-16";

    /// Maximum bytes of a file
    binary_bytes: usize = 50 * MIB, KIB..=GIB, "binary-bytes", "I-12, V-07";

    /// Maximum bytes of one chunk of an event's file
    binary_chunk_bytes: usize = 5 * MIB, KIB..=GIB, "binary-chunk-bytes", "V-07";

    /// Maximum bytes of a CSV file of devices to register, which is spooled in the system's temporary directory
    bulk_registration_bytes: usize = 128 * MIB, KIB..=TIB, "bulk-registration-bytes", "N-10";

    /// Maximum lines of a CSV file of devices to register
    bulk_registration_lines: usize = 200_000, 1..=1_000_000_000, "bulk-registration-lines", "N-10";

    /// Maximum number of CSV files of devices that one tenant registers at a server at once; further ones get 429
    registration_files: usize = 4, 1..=1000, "registration-files-per-tenant", "N-18";

    /// Maximum bytes of an application's archive, which is spooled in the system's temporary directory
    application_bytes: usize = 512 * MIB, KIB..=TIB, "application-bytes", "W-02";

    /// Maximum bytes of an application's archive after decompression
    application_unpacked_bytes: usize = GIB, KIB..=TIB, "application-unpacked-bytes", "W-02";

    /// Time without a further chunk after which the upload of an event's file is abandoned
    ///
    /// A device can continue after days offline.
    incomplete_upload: Duration = 7 * DAY, MINUTE..=365 * DAY, "incomplete-upload-seconds";

    /// Pause between two writes of the counts for statistics
    ///
    /// A server that is killed loses its counts since the last one.
    statistics_pause: Duration = 5 * SECOND, 10..=MINUTE, "statistics-pause-ms", "Z-07";

    /// Number of tenants that have metrics of their own, the busiest ones [default: none]
    ///
    /// The others share the metrics of the tenant `other.tenants`.
    metrics_tenants: Option<usize> = UNLIMITED, 1..=200, "metrics-tenants";

    /// Pause between two measurements of the devices and the bytes of each tenant
    ///
    /// The pause is longer if a measurement takes more than a twentieth of it.
    usage_pause: Duration = 5 * MINUTE, 10..=DAY, "usage-pause-ms", "Z-07";

    /// Bytes that the disk of an external PostgreSQL has for the database [default: unknown]
    ///
    /// From these and the growth of the database the server computes how many days are left. The server itself
    /// measures the disk of the private PostgreSQL.
    database_disk_bytes: Option<usize> = UNLIMITED, MIB..=1024 * TIB, "database-disk-bytes", "Z-07";

    /// Hour of the day in UTC at which retention rules begin to delete data that is too old
    retention_hour: u32 = 2, 0..=23, "retention-hour", "Z-08";

    /// Maximum bytes of a Bayeux request body or WebSocket message
    bayeux_bytes: usize = 256 * KIB, KIB..=16 * MIB, "bayeux-bytes";

    /// Time after which a connection is closed whose client reads nothing of its response
    unread_answer: Duration = MINUTE, SECOND..=HOUR, "unread-answer-seconds";

    /// Minimum average rate of a request body in bytes per second; a slower one gets 408
    ///
    /// The slowest modems send four times as much as the default.
    body_bytes_per_second: u32 = 250, 1..=1_000_000_000, "body-bytes-per-second";

    /// Longest pauses of a request body in total; each byte that arrives restores some of the time
    body_pause: Duration = 30 * SECOND, SECOND..=HOUR, "body-pause-seconds";

    /// Maximum bytes of unread large responses and incomplete bodies per user; further requests get 429
    held_bytes_per_user: usize = 64 * MIB, 64 * KIB..=TIB, "held-bytes-per-user";

    /// Maximum bytes of unread large responses and incomplete bodies per tenant; further requests get 429
    held_bytes_per_tenant: usize = 256 * MIB, 64 * KIB..=TIB, "held-bytes-per-tenant", "Z-20";

    /// Maximum average requests per second of one tenant; further ones get 429 [default: unlimited]
    ///
    /// This and the following settings whose names begin with `tenant-` are the defaults of limits that management may
    /// set for each tenant. They apply to all servers together.
    tenant_requests_per_second: Option<usize> = UNLIMITED, 1..=1_000_000_000, "tenant-requests-per-second", "Z-20";

    /// Maximum requests of one tenant that may come at once after a pause [default: those of two seconds]
    tenant_request_burst: Option<usize> = UNLIMITED, 1..=1_000_000_000, "tenant-request-burst", "Z-20";

    /// Maximum long polls of one tenant that are held [default: unlimited]
    tenant_held_polls: Option<usize> = UNLIMITED, 0..=1_000_000_000, "tenant-held-polls", "Z-20";

    /// Maximum WebSockets of one tenant [default: unlimited]
    tenant_web_sockets: Option<usize> = UNLIMITED, 0..=1_000_000_000, "tenant-web-sockets", "Z-20";

    /// Maximum sessions of one tenant [default: unlimited]
    tenant_sessions: Option<usize> = UNLIMITED, 0..=1_000_000_000, "tenant-sessions", "Z-20";

    /// Maximum devices of one tenant [default: unlimited]
    tenant_devices: Option<usize> = UNLIMITED, 0..=1_000_000_000, "tenant-devices", "Z-20";

    /// Maximum bytes that the data of one tenant occupies [default: unlimited]
    tenant_stored_bytes: Option<usize> = UNLIMITED, MIB..=1024 * TIB, "tenant-stored-bytes", "Z-20";

    /// Maximum event-processing modules of one tenant
    tenant_modules: usize = 100, 0..=100_000, "tenant-modules", "Z-20, Q-16";

    /// Maximum milliseconds of computing time per second of the event-processing modules of one tenant; beyond it their
    /// events wait [default: unlimited]
    tenant_module_millis_per_second: Option<usize> = UNLIMITED, 1..=1_000_000, "tenant-module-millis-per-second",
        "Z-20";

    /// Maximum bytes per second that the TRANSIENT and CEP writes of one tenant send to other servers; further ones get
    /// 429
    ///
    /// PostgreSQL keeps them until every server has read them, and no quota counts them.
    tenant_transient_bytes_per_second: usize = 16 * MIB, KIB..=TIB, "tenant-transient-bytes-per-second", "Z-20";
    /// Maximum tenants that one tenant may create, except for tenant management
    tenant_sub_tenants: usize = 100, 0..=1_000_000, "tenant-sub-tenants", "Z-20";

    /// Maximum consumers of notifications of one tenant
    tenant_consumers: usize = 100, 0..=1_000_000, "tenant-consumers", "Z-20";

    /// Maximum bytes of the backlog of one consumer of notifications
    tenant_journal_bytes: usize = GIB, 64 * KIB..=TIB, "tenant-journal-bytes", "Z-20";

    /// Time between pings on a WebSocket, which is closed after two and a half of these without a frame
    socket_ping: Duration = 30 * SECOND, SECOND..=HOUR, "socket-ping-seconds", "B-21";

    /// Timeout of a query, after which its request gets 413
    statement_timeout: Duration = 30 * SECOND, 10..=HOUR, "statement-timeout-ms", "E-01";

    /// Timeout of a write in PostgreSQL, after which its request gets 503
    write_timeout: Duration = 10 * SECOND, 10..=10 * MINUTE, "write-timeout-ms";

    /// Longest response time of PostgreSQL to a ping; after it, requests that need PostgreSQL get 503 at once
    database_ping: Duration = 4 * SECOND, 100..=10 * MINUTE, "database-ping-ms";

    /// Maximum number of writes that wait for a group commit; further ones get 503 at once
    queued_writes: usize = 20_000, 1..=10_000_000, "queued-writes";

    /// Maximum number of rows of a group commit
    batch_rows: usize = 512, 1..=10_000, "batch-rows";

    /// Time after which an idle device actor stops; the next message starts it again
    device_idle: Duration = 10 * MINUTE, SECOND..=DAY, "device-idle-seconds";

    /// Time after which a bulk update of alarms gets 202 and continues in the background
    bulk_alarm_reply: Duration = 500, 0..=MINUTE, "bulk-alarm-reply-ms", "A-02";

    /// Time without a renewed lease after which another server continues a bulk operation or bulk update
    bulk_lease: Duration = 15 * SECOND, SECOND..=HOUR, "bulk-lease-seconds";

    /// Time between two searches for silent devices
    silence_sweep: Duration = 10 * SECOND, 10..=MINUTE, "silence-sweep-ms", "R-04";

    /// Time that silent devices get beyond their interval after all servers were down
    silence_grace: Duration = MINUTE, 0..=DAY, "silence-grace-seconds", "R-04";

    /// Time within which the time of a device's last message is stored, at most an eighth of its interval
    heartbeat_pause: Duration = 5 * MINUTE, 1..=HOUR, "heartbeat-pause-ms", "R-03";

    /// Time for which the connections of a server process that died still count as connected
    ///
    /// A running process renews its lease three times in this time.
    presence_lease: Duration = MINUTE, SECOND..=HOUR, "presence-lease-ms", "R-06";

    /// Time for which a device that has not logged in gets the same credentials again
    ///
    /// So a lost response does not lock it out.
    device_credentials: Duration = HOUR, SECOND..=DAY, "device-credentials-seconds", "N-08";

    /// Days before the end of a certificate from which on an alarm tells about it
    ///
    /// It is for certificates of devices and of their authorities.
    certificate_warning_days: u32 = 30, 1..=3650, "certificate-warning-days", "C-33";

    /// Maximum polls for device credentials per address and minute; further ones get 429
    ///
    /// Many devices share an address and poll every few seconds.
    credential_polls: u32 = 600, 1..=10_000_000, "credential-polls-per-minute";

    /// Lifetime of an access token
    access_token: Duration = HOUR, 2 * SECOND..=365 * DAY, "access-token-seconds", "T-01";

    /// Maximum requests for an access token per address and minute; further ones get 429
    token_requests: u32 = 60, 1..=10_000_000, "token-requests-per-minute", "T-07";

    /// Number of wrong passwords per account that cause no delay, because people mistype
    free_guesses_per_account: u32 = 5, 0..=1000, "free-guesses-per-account";

    /// Number of wrong passwords per address that cause no delay; an IPv6 network of 64 bits counts as one address
    ///
    /// Many users share an address.
    free_guesses_per_source: u32 = 20, 0..=1_000_000, "free-guesses-per-source";

    /// Delay of the first delayed password verification; each further delay is twice as long
    guess_delay: Duration = 100, 1..=MINUTE, "guess-delay-ms";

    /// Maximum time for which the verification of a password waits, so that no account is ever locked
    longest_guess_delay: Duration = 5 * SECOND, 1..=MINUTE, "longest-guess-delay-ms";

    /// Time without a wrong password after which one wrong password no longer counts
    guess_forgiven: Duration = MINUTE, SECOND..=DAY, "guess-forgiven-seconds";

    /// Maximum password verifications that wait per account; further ones get 429
    waiting_per_account: usize = 16, 2..=10_000, "waiting-per-account";

    /// Maximum concurrent password verifications per address
    ///
    /// After too many wrong passwords, no more than these are delayed at once.
    verifications_per_source: usize = 4, 1..=1000, "verifications-per-source";

    /// Maximum password verifications that wait per address; further ones get 429
    waiting_per_source: usize = 256, 1..=1_000_000, "waiting-per-source";

    /// Time that a microservice may take until its response begins, and between parts of the response
    ///
    /// The default holds long polls of microservices, most of which last a minute.
    service_timeout: Duration = 2 * MINUTE, SECOND..=DAY, "service-timeout-seconds", "W-14";

    /// Maximum concurrent calls and sockets per microservice; further ones get 503
    ///
    /// So a microservice that hangs does not use up the connections of others.
    service_calls: usize = 1000, 1..=1_000_000, "service-calls", "W-14";

    /// Time after which a server no longer receives the publications of a tenant that nobody uses there
    tenant_linger: Duration = 5 * MINUTE, SECOND..=DAY, "tenant-linger-seconds";

    /// Number of threads that run event-processing modules
    module_threads: usize = 1, 1..=1024, "module-threads";

    /// Time without a renewed lease after which another server runs the event-processing modules of a tenant
    ///
    /// When the connection to the database has ended, another server takes over at once.
    module_lease: Duration = 15 * SECOND, SECOND..=HOUR, "module-lease-seconds";

    /// Maximum number of events queued for an event-processing module; with more it is switched off
    module_queue: usize = 20_000, 1..=10_000_000, "module-queue", "Q-16";

    /// Maximum number of events that an event-processing module retains
    ///
    /// With more, the statement that retains most is switched off.
    module_events: usize = 100_000, 1..=100_000_000, "module-events", "Q-16";

    /// Maximum bytes that an event-processing module retains
    ///
    /// With more, the statement that retains most is switched off.
    module_bytes: usize = 128 * MIB, KIB..=TIB, "module-bytes", "Q-16";

    /// Maximum bytes that all event-processing modules of a tenant retain together
    ///
    /// With more, the module that exceeds them is switched off.
    tenant_module_bytes: usize = 256 * MIB, KIB..=TIB, "tenant-module-bytes", "Q-16";

    /// Maximum average writes per second of all event-processing modules of a tenant together
    ///
    /// The module that exceeds them is switched off.
    module_writes_per_second: u32 = 2000, 1..=10_000_000, "module-writes-per-second";

    /// Maximum writes that the event-processing modules of a tenant request at once
    ///
    /// A module that requests more is switched off.
    module_writes_at_once: u32 = 10_000, 1..=10_000_000, "module-writes-at-once";

    for_tests:

    /// The number of measurements without rollups that a request for hourly or daily series must meet before their
    /// source is rolled up.
    rollup_rows: i64 = 20_000;

    /// The age of measurements that are rolled up. An id is assigned before its row is committed, by the clock of one
    /// of several servers, so this must be well above `write_timeout`.
    rollup_lag: Duration = Duration::from_secs(300);

    /// The pause before a server looks again whether a run of retention is due.
    retention_check: Duration = Duration::from_secs(60);

    /// The interval at which certificates are searched for those that are about to end.
    certificate_check: Duration = Duration::from_secs(3600);

    /// The longest pause before a background job runs again after an error or a panic.
    job_restart: Duration = Duration::from_secs(60);
}
