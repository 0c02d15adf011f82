//! Every number of the rules (docs/rules.md), with the rule it comes from.
//!
//! What an operator may tune, or a test must shorten, is a field of [`Limits`]; what is part of the protocol is
//! a constant.

use std::time::Duration;

use crate::event_processing::runtime::{Budget, Retained};

/// Default page size (P-04).
pub const DEFAULT_PAGE_SIZE: u32 = 5;
/// Maximum page size; larger requests are reduced to it (P-04).
pub const MAX_PAGE_SIZE: u32 = 2000;
/// `totalPages` is exact up to this many matching records, beyond it says "at least" (P-03).
pub const EXACT_COUNT: i64 = 1_000_000;
/// Values of a series result without aggregation (G-08).
pub const SERIES_VALUES: usize = 5000;
/// Places for values in a series result, of each series at each time. No rule names a limit; an answer of more would
/// not fit a client's memory either.
pub const SERIES_CELLS: usize = 5_000_000;
/// Nesting depth of a request body (I-16).
pub const MAX_JSON_DEPTH: usize = 100;
/// Characters of one number in a request body; longer ones are refused, no client means them.
pub const MAX_NUMBER_LENGTH: usize = 400;
/// Longest `advice.timeout` and `advice.interval` a client may ask for (B-10).
pub const MAX_ADVICE: Duration = Duration::from_millis(7_200_000);
/// A WebSocket that brought neither a handshake nor a live clientId is closed after this time (B-19).
pub const SOCKET_HANDSHAKE: Duration = Duration::from_secs(10);

/// Modules that one tenant may have; Q-16 asks for bounds and names no number for this.
pub const MODULES_PER_TENANT: usize = 100;

/// Deletions that one request tells of (B-06).
pub(crate) const NOTIFIED_DELETIONS: usize = 1000;

/// The limits in force in one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// A connect is held this long when the client asks for nothing else: 90 minutes (B-10).
    pub connect_timeout: Duration,
    /// A session without a held connect ends after this time: 10 seconds, and a small grace, since some clients retry
    /// after exactly 10 (B-10).
    pub session_interval: Duration,
    /// A held poll is sent a space this often: every 10 minutes (B-21).
    pub keep_alive: Duration,
    /// Notifications one session may have waiting (B-12).
    pub queued_notifications: usize,
    /// Bytes of notifications one session may have waiting (B-12).
    pub queued_bytes: usize,
    /// Channels one session may subscribe to (B-23).
    pub subscriptions_per_session: usize,
    /// Sessions one user may have; `None` is unlimited, for fleets may share a user (B-23).
    pub sessions_per_user: Option<usize>,
    /// Bytes of one REST request body: 16 MB (I-16).
    pub body_bytes: usize,
    /// Bytes of one file: 50 MB (I-12, V-07).
    pub binary_bytes: usize,
    /// Bytes of one chunk of a file that comes in chunks: 5 MB (V-07).
    pub binary_chunk_bytes: usize,
    /// Bytes of a file of devices to register (N-10); no rule names a limit, a temporary directory has one.
    pub bulk_registration_bytes: usize,
    /// Bytes of one archive of an application (W-02).
    pub application_bytes: usize,
    /// Bytes that may come out of one archive of an application (W-02).
    pub application_unpacked_bytes: usize,
    /// A file of which no further chunk came for this long is given up, so that a device may go on after days offline.
    pub incomplete_upload: Duration,
    /// Bytes of one Bayeux request body or WebSocket message.
    pub bayeux_bytes: usize,
    /// A ping goes out on a WebSocket this often (B-21); one silent for two and a half of these is closed.
    pub socket_ping: Duration,
    /// A query is stopped after this time and answered 413 (E-01).
    pub statement_timeout: Duration,
    /// A write that PostgreSQL has not answered within this time is answered 503.
    pub write_timeout: Duration,
    /// Writes that may wait for one group commit; what comes beyond is answered 503 at once.
    pub queued_writes: usize,
    /// Rows one group commit holds at most.
    pub batch_rows: usize,
    /// A bulk PUT of alarms is answered within half a second and goes on in the background.
    pub bulk_alarm_reply: Duration,
    /// A process that holds an unfinished bulk update of alarms or bulk operation is believed to be gone after this time
    /// without a sign of life; then another goes on with it.
    pub bulk_lease: Duration,
    /// A device actor that was idle this long stops; the next message starts it again.
    pub device_idle: Duration,
    /// How often silent devices are looked for; at least every 60 seconds.
    pub silence_sweep: Duration,
    /// After all servers were away a silent device gets this long beyond its interval, until it counts as silent.
    pub silence_grace: Duration,
    /// A device's last message is written down once in an eighth of its interval, and at least this often when it is heard
    ///
    pub heartbeat_pause: Duration,
    /// So long a server process that died is believed to hold the connections it held; renewed three times as often.
    pub presence_lease: Duration,
    /// Measurements that are not rolled up, of which one series by hours or days must have met so many that its source is.
    pub rollup_rows: i64,
    /// Only what is this old is rolled up: an id is given before its row is committed, by the clock of one of several
    /// servers. Must be well above `write_timeout`.
    pub rollup_lag: Duration,
    /// A device that has not logged in yet is answered the same credentials again for this long, so that a lost answer does
    /// not strand it: one hour (N-08).
    pub device_credentials: Duration,
    /// Times a minute that one source may ask for credentials of devices; many share one, and poll every few seconds.
    pub credential_polls: u32,
    /// An access token is good for this long: 3600 seconds (T-01).
    pub access_token: Duration,
    /// Times a minute that one source may ask for an access token (T-07).
    pub token_requests: u32,
    /// Wrong passwords of one account that cost no delay: people mistype.
    pub free_guesses_per_account: u32,
    /// Wrong passwords from one source (an address, of IPv6 a network of 64 bits) that cost no delay: many share one.
    pub free_guesses_per_source: u32,
    /// The first verification that is delayed waits this long, each further one twice as long as the one before.
    pub guess_delay: Duration,
    /// No verification is delayed longer, so that no account is ever locked.
    pub longest_guess_delay: Duration,
    /// One wrong password is forgiven each time this long passes without another.
    pub guess_forgiven: Duration,
    /// Verifications of one account that may wait for each other; what comes beyond is answered 429.
    pub waiting_per_account: usize,
    /// Verifications of one source that run at once; after too many wrong passwords as many delays.
    pub verifications_per_source: usize,
    /// Verifications of one source that may wait for their turn; what comes beyond is answered 429.
    pub waiting_per_source: usize,
    /// A call to a microservice that stands still this long is given up: before its answer begins, and between parts of it.
    /// Two minutes, so that long polls of microservices, a minute mostly, are held through (W-14).
    pub service_timeout: Duration,
    /// Calls and sockets of one microservice at once, so that one that hangs takes nobody else's connections (W-14).
    pub service_calls: usize,
    /// Threads that event-processing modules run on; none of them is a device's.
    pub module_threads: usize,
    /// A process that runs the modules of a tenant is believed to be gone after this time without a sign of life, or when its connection
    /// to the database has ended; then another runs them.
    pub module_lease: Duration,
    /// So long nothing must have come to the process that runs the modules of a tenant until another one, to which something comes,
    /// runs them instead: modules run where the tenant's events are.
    pub module_idle: Duration,
    /// Events that may wait for one module; with more it is switched off.
    pub module_queue: usize,
    /// Events that one module may retain; with more the statement that retains most is switched off.
    pub module_events: usize,
    /// Bytes that one module may retain; with more the statement that retains most is switched off.
    pub module_bytes: usize,
    /// Bytes that all modules of a tenant may retain together; in the one that exceeds it the statement that retains most is switched off
    ///
    pub tenant_module_bytes: usize,
    /// Writes a second that all modules of a tenant may ask for together, in the long run; the one that exceeds it is switched off.
    pub module_writes_per_second: u32,
    /// Writes that all modules of a tenant may ask for at once.
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
            socket_ping: Duration::from_secs(30),
            statement_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(10),
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

impl Limits {
    /// What one module may use up.
    pub(crate) fn module_budget(&self) -> Budget {
        let retained = Retained { events: self.module_events, bytes: self.module_bytes };
        Budget { retained, evaluations: 1_000_000, chain: 64, timers: 1000 }
    }
}
