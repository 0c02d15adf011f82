//! The limits of the rules (docs/rules.md), each with its rule.
//!
//! A limit that operators may set, or that tests must shorten, is a field of [`Limits`]; a limit of the protocol is a
//! constant.

use std::time::Duration;

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
/// How long a WebSocket may stay open without a handshake or a valid clientId (B-19).
pub const SOCKET_HANDSHAKE: Duration = Duration::from_secs(10);

/// The maximum number of modules of a tenant. Q-16 requires limits and names no number for this one.
pub const MODULES_PER_TENANT: usize = 100;

/// The maximum number of deletions for which one request sends notifications (B-06).
pub const NOTIFIED_DELETIONS: usize = 1000;

/// The limits of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// How long a connect is held without advice of the client: 90 minutes (B-10).
    pub connect_timeout: Duration,
    /// How long a session lives without a held connect: 10 seconds and a short grace period, because some clients retry
    /// after exactly 10 seconds (B-10).
    pub session_interval: Duration,
    /// The time between two spaces that are sent to a held poll: 10 minutes (B-21).
    pub keep_alive: Duration,
    /// The maximum number of notifications in the queue of a session (B-12).
    pub queued_notifications: usize,
    /// The maximum number of bytes of notifications in the queue of a session (B-12).
    pub queued_bytes: usize,
    /// The maximum number of channels to which a session subscribes (B-23).
    pub subscriptions_per_session: usize,
    /// The maximum number of sessions of a user; `None` means no limit, because a fleet may share a user (B-23).
    pub sessions_per_user: Option<usize>,
    /// The maximum number of bytes of a REST request body: 16 MB (I-16).
    pub body_bytes: usize,
    /// The maximum number of bytes of a file: 50 MB (I-12, V-07).
    pub binary_bytes: usize,
    /// The maximum number of bytes of a chunk of a file: 5 MB (V-07).
    pub binary_chunk_bytes: usize,
    /// The maximum number of bytes of a file for bulk registration (N-10). No rule names a limit, but temporary
    /// directories have one.
    pub bulk_registration_bytes: usize,
    /// The maximum number of bytes of an application archive (W-02).
    pub application_bytes: usize,
    /// The maximum number of unpacked bytes of an application archive (W-02).
    pub application_unpacked_bytes: usize,
    /// How long an incomplete file is kept after its last chunk, so that a device can continue after days offline.
    pub incomplete_upload: Duration,
    /// The maximum number of bytes of a Bayeux request body or a WebSocket message.
    pub bayeux_bytes: usize,
    /// How long a client may accept no byte of a response before its connection is closed.
    pub unread_answer: Duration,
    /// The minimum average rate of a request body; a slower one gets 408. The slowest modems send four times as fast.
    pub body_bytes_per_second: u32,
    /// How long a request body may pause, in total and between two bytes.
    pub body_pause: Duration,
    /// The maximum bytes of unread large responses and incomplete bodies of one user; further requests get 429.
    pub held_bytes_per_user: usize,
    /// The same maximum for all users of a tenant together.
    pub held_bytes_per_tenant: usize,
    /// The time between two pings on a WebSocket (B-21); it is closed after two and a half of these without a frame.
    pub socket_ping: Duration,
    /// The timeout of a query, after which the response is 413 (E-01).
    pub statement_timeout: Duration,
    /// The timeout of a write in PostgreSQL, after which the response is 503.
    pub write_timeout: Duration,
    /// How long PostgreSQL may take to respond to a ping before it counts as unreachable.
    pub database_ping: Duration,
    /// The maximum number of writes that wait for a group commit; further ones get 503 at once.
    pub queued_writes: usize,
    /// The maximum number of rows of a group commit.
    pub batch_rows: usize,
    /// How long the response to a bulk PUT of alarms waits for it to finish: half a second. Then it continues in the
    /// background.
    pub bulk_alarm_reply: Duration,
    /// The lease of a process on an unfinished bulk update of alarms or bulk operation. When it expires, another
    /// process takes over.
    pub bulk_lease: Duration,
    /// How long a device actor may be idle before it stops; the next message starts it again.
    pub device_idle: Duration,
    /// The time between two searches for silent devices, at most 60 seconds.
    pub silence_sweep: Duration,
    /// The grace period beyond its interval that a device has after all servers were down, before it counts as silent
    ///
    pub silence_grace: Duration,
    /// The longest time between two writes of the last message of a device that is heard; the other bound is an eighth
    /// of its interval.
    pub heartbeat_pause: Duration,
    /// The lease of a server process on the connections it holds; it is renewed three times per lease.
    pub presence_lease: Duration,
    /// The number of measurements without rollups that a request for hourly or daily series must meet before their
    /// source is rolled up.
    pub rollup_rows: i64,
    /// The age of measurements that are rolled up. An id is assigned before its row is committed, by the clock of one
    /// of several servers, so this must be well above `write_timeout`.
    pub rollup_lag: Duration,
    /// How long a device that has not logged in yet gets the same credentials again, so that a lost response does not
    /// lock it out: one hour (N-08).
    pub device_credentials: Duration,
    /// The number of polls for device credentials per minute from one source; many devices share one and poll every few
    /// seconds.
    pub credential_polls: u32,
    /// The lifetime of an access token: 3600 seconds (T-01).
    pub access_token: Duration,
    /// The number of requests for access tokens per minute from one source (T-07).
    pub token_requests: u32,
    /// The number of wrong passwords of an account without a delay, because people mistype.
    pub free_guesses_per_account: u32,
    /// The number of wrong passwords from a source (an IPv4 address or a 64-bit IPv6 network) without a delay, because
    /// many users share one.
    pub free_guesses_per_source: u32,
    /// The delay of the first delayed verification; each further delay is twice as long.
    pub guess_delay: Duration,
    /// The longest delay of a verification, so that no account is ever locked.
    pub longest_guess_delay: Duration,
    /// The time after which one wrong password is forgiven, if no other follows.
    pub guess_forgiven: Duration,
    /// The maximum number of waiting verifications of an account; further ones get 429.
    pub waiting_per_account: usize,
    /// The maximum number of concurrent verifications from a source and, after too many wrong passwords, of concurrent
    /// delays.
    pub verifications_per_source: usize,
    /// The maximum number of waiting verifications from a source; further ones get 429.
    pub waiting_per_source: usize,
    /// The idle timeout of a call to a microservice, before its response begins and between parts of it. It is two
    /// minutes, so that long polls of microservices, which mostly last a minute, are held (W-14).
    pub service_timeout: Duration,
    /// The maximum number of concurrent calls and sockets of a microservice, so that one that hangs does not use up
    /// the connections of others (W-14).
    pub service_calls: usize,
    /// The number of threads for event-processing modules, which are separate from those of devices.
    pub module_threads: usize,
    /// The lease of a process on the modules of a tenant. When it expires, another process runs them.
    pub module_lease: Duration,
    /// How long the process that runs the modules of a tenant must have received no events before another process,
    /// which receives events, takes over: modules run where the tenant's events arrive.
    pub module_idle: Duration,
    /// The maximum number of events that wait for a module; with more, it is switched off.
    pub module_queue: usize,
    /// The maximum number of events that a module retains; with more, it is switched off.
    pub module_events: usize,
    /// The maximum number of bytes that a module retains; with more, it is switched off.
    pub module_bytes: usize,
    /// The maximum number of bytes that all modules of a tenant retain together; the module that exceeds it is
    /// switched off.
    pub tenant_module_bytes: usize,
    /// The average number of writes per second of all modules of a tenant together; the module that exceeds it is
    /// switched off.
    pub module_writes_per_second: u32,
    /// The maximum burst of writes of all modules of a tenant together.
    pub module_writes_at_once: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_millis(5_400_000),
            session_interval: Duration::from_millis(10_500),
            keep_alive: Duration::from_secs(600),
            queued_notifications: 10_000,
            queued_bytes: 8 << 20,
            subscriptions_per_session: 1000,
            sessions_per_user: None,
            body_bytes: 16 << 20,
            binary_bytes: 50 << 20,
            binary_chunk_bytes: 5 << 20,
            bulk_registration_bytes: 1 << 30,
            application_bytes: 512 << 20,
            application_unpacked_bytes: 1 << 30,
            incomplete_upload: Duration::from_secs(7 * 24 * 3600),
            bayeux_bytes: 256 << 10,
            unread_answer: Duration::from_secs(60),
            body_bytes_per_second: 250,
            body_pause: Duration::from_secs(30),
            held_bytes_per_user: 64 << 20,
            held_bytes_per_tenant: 256 << 20,
            socket_ping: Duration::from_secs(30),
            statement_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(10),
            database_ping: Duration::from_secs(4),
            queued_writes: 20_000,
            batch_rows: 512,
            bulk_alarm_reply: Duration::from_millis(500),
            bulk_lease: Duration::from_secs(15),
            device_idle: Duration::from_secs(600),
            silence_sweep: Duration::from_secs(10),
            silence_grace: Duration::from_secs(60),
            heartbeat_pause: Duration::from_secs(300),
            presence_lease: Duration::from_secs(60),
            rollup_rows: 20_000,
            rollup_lag: Duration::from_secs(300),
            device_credentials: Duration::from_secs(3600),
            credential_polls: 600,
            access_token: Duration::from_secs(3600),
            token_requests: 60,
            free_guesses_per_account: 5,
            free_guesses_per_source: 20,
            guess_delay: Duration::from_millis(100),
            longest_guess_delay: Duration::from_secs(5),
            guess_forgiven: Duration::from_secs(60),
            waiting_per_account: 16,
            verifications_per_source: 4,
            waiting_per_source: 256,
            service_timeout: Duration::from_secs(120),
            service_calls: 1000,
            module_threads: 1,
            module_lease: Duration::from_secs(15),
            module_idle: Duration::from_secs(10),
            module_queue: 20_000,
            module_events: 100_000,
            module_bytes: 128 << 20,
            tenant_module_bytes: 256 << 20,
            module_writes_per_second: 2000,
            module_writes_at_once: 10_000,
        }
    }
}
