//! The limits that an operator may set, as flags.

use std::time::Duration;

use clap::{Args, value_parser};
use platform_model::limits::Limits;

use super::values::{count, milliseconds, seconds};

/// The flags behind [`Settings::limits`]; what each number means is documented at [`Limits`].
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(next_help_heading = "Limits")]
pub struct LimitSettings {
    /// Milliseconds for which a connect is held unless the client sends advice
    #[arg(long = "connect-timeout-ms", env = "PLATFORM_CONNECT_TIMEOUT_MS", value_name = "MS",
          default_value = "5400000", value_parser = milliseconds(1..=7_200_000))]
    pub connect_timeout: Duration,

    /// Milliseconds for which a session and its notifications are kept without a held connect
    #[arg(long = "session-interval-ms", env = "PLATFORM_SESSION_INTERVAL_MS", value_name = "MS",
          default_value = "10500", value_parser = milliseconds(1..=7_200_000))]
    pub session_interval: Duration,

    /// Seconds between the spaces sent on every held poll
    #[arg(long = "keep-alive-seconds", env = "PLATFORM_KEEP_ALIVE_SECONDS", value_name = "SECONDS",
          default_value = "600", value_parser = seconds(1..=86_400))]
    pub keep_alive: Duration,

    /// Maximum number of notifications queued in one session
    #[arg(long = "session-queue-notifications", env = "PLATFORM_SESSION_QUEUE_NOTIFICATIONS",
          value_name = "COUNT", default_value = "10000", value_parser = count(1..=10_000_000))]
    pub queued_notifications: usize,

    /// Maximum bytes of notifications queued in one session
    #[arg(long = "session-queue-bytes", env = "PLATFORM_SESSION_QUEUE_BYTES", value_name = "BYTES",
          default_value = "8388608", value_parser = count(1_024..=1_073_741_824))]
    pub queued_bytes: usize,

    /// Maximum number of subscriptions of one session
    #[arg(long = "session-subscriptions", env = "PLATFORM_SESSION_SUBSCRIPTIONS", value_name = "COUNT",
          default_value = "1000", value_parser = count(1..=1_000_000))]
    pub subscriptions_per_session: usize,

    /// Maximum number of sessions of one user [default: unlimited, because a fleet may share a user]
    #[arg(long = "user-sessions", env = "PLATFORM_USER_SESSIONS", value_name = "COUNT",
          value_parser = count(1..=100_000_000))]
    pub sessions_per_user: Option<usize>,

    /// Maximum bytes of a REST request body
    #[arg(long, env = "PLATFORM_BODY_BYTES", value_name = "BYTES", default_value = "16777216",
          value_parser = count(1_024..=1_073_741_824))]
    pub body_bytes: usize,

    /// Maximum bytes of a file
    #[arg(long, env = "PLATFORM_BINARY_BYTES", value_name = "BYTES", default_value = "52428800",
          value_parser = count(1_024..=1_073_741_824))]
    pub binary_bytes: usize,

    /// Maximum bytes of one chunk of an event's file
    #[arg(long, env = "PLATFORM_BINARY_CHUNK_BYTES", value_name = "BYTES", default_value = "5242880",
          value_parser = count(1_024..=1_073_741_824))]
    pub binary_chunk_bytes: usize,

    /// Maximum bytes of a CSV file of devices to register, which is spooled in the system's temporary directory
    #[arg(long, env = "PLATFORM_BULK_REGISTRATION_BYTES", value_name = "BYTES", default_value = "1073741824",
          value_parser = count(1_024..=1_099_511_627_776))]
    pub bulk_registration_bytes: usize,

    /// Maximum bytes of an application's archive, which is spooled in the system's temporary directory
    #[arg(long, env = "PLATFORM_APPLICATION_BYTES", value_name = "BYTES", default_value = "536870912",
          value_parser = count(1_024..=1_099_511_627_776))]
    pub application_bytes: usize,

    /// Maximum bytes of an application's archive after decompression
    #[arg(long, env = "PLATFORM_APPLICATION_UNPACKED_BYTES", value_name = "BYTES", default_value = "1073741824",
          value_parser = count(1_024..=1_099_511_627_776))]
    pub application_unpacked_bytes: usize,

    /// Seconds without a further chunk after which the upload of an event's file is abandoned
    #[arg(long = "incomplete-upload-seconds", env = "PLATFORM_INCOMPLETE_UPLOAD_SECONDS", value_name = "SECONDS",
          default_value = "604800", value_parser = seconds(60..=31_536_000))]
    pub incomplete_upload: Duration,

    /// Maximum bytes of a Bayeux request body or WebSocket message
    #[arg(long, env = "PLATFORM_BAYEUX_BYTES", value_name = "BYTES", default_value = "262144",
          value_parser = count(1_024..=16_777_216))]
    pub bayeux_bytes: usize,

    /// Seconds after which a connection is closed whose client reads nothing of its response
    #[arg(long = "unread-answer-seconds", env = "PLATFORM_UNREAD_ANSWER_SECONDS", value_name = "SECONDS",
          default_value = "60", value_parser = seconds(1..=3_600))]
    pub unread_answer: Duration,

    /// Minimum average rate of a request body in bytes per second; a slower one gets 408
    #[arg(long, env = "PLATFORM_BODY_BYTES_PER_SECOND", value_name = "BYTES", default_value = "250",
          value_parser = value_parser!(u32).range(1..=1_000_000_000))]
    pub body_bytes_per_second: u32,

    /// Seconds for which a request body may pause in total; each byte that arrives restores some of them
    #[arg(long = "body-pause-seconds", env = "PLATFORM_BODY_PAUSE_SECONDS", value_name = "SECONDS",
          default_value = "30", value_parser = seconds(1..=3_600))]
    pub body_pause: Duration,

    /// Maximum bytes of unread large responses and incomplete bodies per user; further requests get 429
    #[arg(long, env = "PLATFORM_HELD_BYTES_PER_USER", value_name = "BYTES", default_value = "67108864",
          value_parser = count(65_536..=1_099_511_627_776))]
    pub held_bytes_per_user: usize,

    /// Maximum bytes of unread large responses and incomplete bodies per tenant; further requests get 429
    #[arg(long, env = "PLATFORM_HELD_BYTES_PER_TENANT", value_name = "BYTES", default_value = "268435456",
          value_parser = count(65_536..=1_099_511_627_776))]
    pub held_bytes_per_tenant: usize,

    /// Seconds between pings on a WebSocket, which is closed after two and a half of these without a frame
    #[arg(long = "socket-ping-seconds", env = "PLATFORM_SOCKET_PING_SECONDS", value_name = "SECONDS",
          default_value = "30", value_parser = seconds(1..=3_600))]
    pub socket_ping: Duration,

    /// Timeout of a query in milliseconds, after which its request gets 413
    #[arg(long = "statement-timeout-ms", env = "PLATFORM_STATEMENT_TIMEOUT_MS", value_name = "MS",
          default_value = "30000", value_parser = milliseconds(10..=3_600_000))]
    pub statement_timeout: Duration,

    /// Timeout of a write in PostgreSQL in milliseconds, after which its request gets 503
    #[arg(long = "write-timeout-ms", env = "PLATFORM_WRITE_TIMEOUT_MS", value_name = "MS",
          default_value = "10000", value_parser = milliseconds(10..=600_000))]
    pub write_timeout: Duration,

    /// Milliseconds that PostgreSQL may take to respond to a ping before requests that need it get 503 at once
    #[arg(long = "database-ping-ms", env = "PLATFORM_DATABASE_PING_MS", value_name = "MS",
          default_value = "4000", value_parser = milliseconds(100..=600_000))]
    pub database_ping: Duration,

    /// Maximum number of writes that wait for a group commit; further ones get 503 at once
    #[arg(long, env = "PLATFORM_QUEUED_WRITES", value_name = "COUNT", default_value = "20000",
          value_parser = count(1..=10_000_000))]
    pub queued_writes: usize,

    /// Maximum number of rows of a group commit
    #[arg(long, env = "PLATFORM_BATCH_ROWS", value_name = "COUNT", default_value = "512",
          value_parser = count(1..=10_000))]
    pub batch_rows: usize,

    /// Seconds after which an idle device actor stops; the next message starts it again
    #[arg(long = "device-idle-seconds", env = "PLATFORM_DEVICE_IDLE_SECONDS", value_name = "SECONDS",
          default_value = "600", value_parser = seconds(1..=86_400))]
    pub device_idle: Duration,

    /// Milliseconds after which a bulk update of alarms gets 202 and continues in the background
    #[arg(long = "bulk-alarm-reply-ms", env = "PLATFORM_BULK_ALARM_REPLY_MS", value_name = "MS",
          default_value = "500", value_parser = milliseconds(0..=60_000))]
    pub bulk_alarm_reply: Duration,

    /// Seconds without a renewed lease after which another server continues a bulk operation or bulk update
    #[arg(long = "bulk-lease-seconds", env = "PLATFORM_BULK_LEASE_SECONDS", value_name = "SECONDS",
          default_value = "15", value_parser = seconds(1..=3_600))]
    pub bulk_lease: Duration,

    /// Milliseconds between two searches for silent devices
    #[arg(long = "silence-sweep-ms", env = "PLATFORM_SILENCE_SWEEP_MS", value_name = "MS",
          default_value = "10000", value_parser = milliseconds(10..=60_000))]
    pub silence_sweep: Duration,

    /// Seconds that silent devices get beyond their interval after all servers were down
    #[arg(long = "silence-grace-seconds", env = "PLATFORM_SILENCE_GRACE_SECONDS", value_name = "SECONDS",
          default_value = "60", value_parser = seconds(0..=86_400))]
    pub silence_grace: Duration,

    /// Milliseconds within which the time of a device's last message is stored, at most an eighth of its interval
    #[arg(long = "heartbeat-pause-ms", env = "PLATFORM_HEARTBEAT_PAUSE_MS", value_name = "MS",
          default_value = "300000", value_parser = milliseconds(1..=3_600_000))]
    pub heartbeat_pause: Duration,

    /// Milliseconds for which the connections of a server process that died still count as connected
    #[arg(long = "presence-lease-ms", env = "PLATFORM_PRESENCE_LEASE_MS", value_name = "MS",
          default_value = "60000", value_parser = milliseconds(1_000..=3_600_000))]
    pub presence_lease: Duration,

    /// The number of measurements from which a source is aggregated; configurable only for tests.
    #[arg(skip = Limits::default().rollup_rows)]
    pub rollup_rows: i64,

    /// The minimum age of measurements that are aggregated; configurable only for tests, because a short value is not
    /// safe.
    #[arg(skip = Limits::default().rollup_lag)]
    pub rollup_lag: Duration,

    /// Seconds for which a device that has not logged in gets the same credentials again
    #[arg(long = "device-credentials-seconds", env = "PLATFORM_DEVICE_CREDENTIALS_SECONDS", value_name = "SECONDS",
          default_value = "3600", value_parser = seconds(1..=86_400))]
    pub device_credentials: Duration,

    /// Maximum polls for device credentials per address and minute; further ones get 429
    #[arg(long = "credential-polls-per-minute", env = "PLATFORM_CREDENTIAL_POLLS_PER_MINUTE", value_name = "COUNT",
          default_value = "600", value_parser = value_parser!(u32).range(1..=10_000_000))]
    pub credential_polls: u32,

    /// Lifetime of an access token in seconds
    #[arg(long = "access-token-seconds", env = "PLATFORM_ACCESS_TOKEN_SECONDS", value_name = "SECONDS",
          default_value = "3600", value_parser = seconds(2..=31_536_000))]
    pub access_token: Duration,

    /// Maximum requests for an access token per address and minute; further ones get 429
    #[arg(long = "token-requests-per-minute", env = "PLATFORM_TOKEN_REQUESTS_PER_MINUTE", value_name = "COUNT",
          default_value = "60", value_parser = value_parser!(u32).range(1..=10_000_000))]
    pub token_requests: u32,

    /// Number of wrong passwords per account that cause no delay
    #[arg(long, env = "PLATFORM_FREE_GUESSES_PER_ACCOUNT", value_name = "COUNT", default_value = "5",
          value_parser = value_parser!(u32).range(0..=1_000))]
    pub free_guesses_per_account: u32,

    /// Number of wrong passwords per address that cause no delay; an IPv6 network of 64 bits counts as one address
    #[arg(long, env = "PLATFORM_FREE_GUESSES_PER_SOURCE", value_name = "COUNT", default_value = "20",
          value_parser = value_parser!(u32).range(0..=1_000_000))]
    pub free_guesses_per_source: u32,

    /// Delay of the first delayed password verification in milliseconds; each further delay is twice as long
    #[arg(long = "guess-delay-ms", env = "PLATFORM_GUESS_DELAY_MS", value_name = "MS",
          default_value = "100", value_parser = milliseconds(1..=60_000))]
    pub guess_delay: Duration,

    /// Maximum milliseconds for which the verification of a password waits
    #[arg(long = "longest-guess-delay-ms", env = "PLATFORM_LONGEST_GUESS_DELAY_MS", value_name = "MS",
          default_value = "5000", value_parser = milliseconds(1..=60_000))]
    pub longest_guess_delay: Duration,

    /// Seconds without a wrong password after which one wrong password no longer counts
    #[arg(long = "guess-forgiven-seconds", env = "PLATFORM_GUESS_FORGIVEN_SECONDS", value_name = "SECONDS",
          default_value = "60", value_parser = seconds(1..=86_400))]
    pub guess_forgiven: Duration,

    /// Maximum password verifications that wait per account; further ones get 429
    #[arg(long, env = "PLATFORM_WAITING_PER_ACCOUNT", value_name = "COUNT", default_value = "16",
          value_parser = count(2..=10_000))]
    pub waiting_per_account: usize,

    /// Maximum concurrent password verifications per address
    #[arg(long, env = "PLATFORM_VERIFICATIONS_PER_SOURCE", value_name = "COUNT", default_value = "4",
          value_parser = count(1..=1_000))]
    pub verifications_per_source: usize,

    /// Maximum password verifications that wait per address; further ones get 429
    #[arg(long, env = "PLATFORM_WAITING_PER_SOURCE", value_name = "COUNT", default_value = "256",
          value_parser = count(1..=1_000_000))]
    pub waiting_per_source: usize,

    /// Seconds that a microservice may take until its response begins, and between parts of the response
    #[arg(long = "service-timeout-seconds", env = "PLATFORM_SERVICE_TIMEOUT_SECONDS", value_name = "SECONDS",
          default_value = "120", value_parser = seconds(1..=86_400))]
    pub service_timeout: Duration,

    /// Maximum concurrent calls and sockets per microservice; further ones get 503
    #[arg(long, env = "PLATFORM_SERVICE_CALLS", value_name = "COUNT", default_value = "1000",
          value_parser = count(1..=1_000_000))]
    pub service_calls: usize,

    /// Number of threads that run event-processing modules
    #[arg(long, env = "PLATFORM_MODULE_THREADS", value_name = "COUNT", default_value = "1",
          value_parser = count(1..=1_024))]
    pub module_threads: usize,

    /// Seconds without a renewed lease after which another server runs the event-processing modules of a tenant; at once when the
    /// connection to the database has ended
    #[arg(long = "module-lease-seconds", env = "PLATFORM_MODULE_LEASE_SECONDS", value_name = "SECONDS",
          default_value = "15",
          value_parser = seconds(1..=3_600))]
    pub module_lease: Duration,

    /// Seconds without events after which the modules of a tenant move to a server that receives events
    #[arg(long = "module-idle-seconds", env = "PLATFORM_MODULE_IDLE_SECONDS", value_name = "SECONDS",
          default_value = "10",
          value_parser = seconds(1..=86_400))]
    pub module_idle: Duration,

    /// Maximum number of events queued for an event-processing module; with more it is switched off
    #[arg(long, env = "PLATFORM_MODULE_QUEUE", value_name = "COUNT", default_value = "20000",
          value_parser = count(1..=10_000_000))]
    pub module_queue: usize,

    /// Maximum number of events that an event-processing module retains; with more the statement that retains most is switched off
    #[arg(long, env = "PLATFORM_MODULE_EVENTS", value_name = "COUNT", default_value = "100000",
          value_parser = count(1..=100_000_000))]
    pub module_events: usize,

    /// Maximum bytes that an event-processing module retains; with more the statement that retains most is switched off
    #[arg(long, env = "PLATFORM_MODULE_BYTES", value_name = "BYTES", default_value = "134217728",
          value_parser = count(1_024..=1_099_511_627_776))]
    pub module_bytes: usize,

    /// Maximum bytes that all event-processing modules of a tenant retain together
    #[arg(long, env = "PLATFORM_TENANT_MODULE_BYTES", value_name = "BYTES", default_value = "268435456",
          value_parser = count(1_024..=1_099_511_627_776))]
    pub tenant_module_bytes: usize,

    /// Maximum average writes per second of all event-processing modules of a tenant together
    #[arg(long, env = "PLATFORM_MODULE_WRITES_PER_SECOND", value_name = "COUNT", default_value = "2000",
          value_parser = value_parser!(u32).range(1..=10_000_000))]
    pub module_writes_per_second: u32,

    /// Maximum writes that the event-processing modules of a tenant request at once; a module that requests more is switched off
    #[arg(long, env = "PLATFORM_MODULE_WRITES_AT_ONCE", value_name = "COUNT", default_value = "10000",
          value_parser = value_parser!(u32).range(1..=10_000_000))]
    pub module_writes_at_once: u32,
}

impl From<&LimitSettings> for Limits {
    fn from(limits: &LimitSettings) -> Self {
        Self {
            connect_timeout: limits.connect_timeout,
            session_interval: limits.session_interval,
            keep_alive: limits.keep_alive,
            queued_notifications: limits.queued_notifications,
            queued_bytes: limits.queued_bytes,
            subscriptions_per_session: limits.subscriptions_per_session,
            sessions_per_user: limits.sessions_per_user,
            body_bytes: limits.body_bytes,
            binary_bytes: limits.binary_bytes,
            binary_chunk_bytes: limits.binary_chunk_bytes,
            bulk_registration_bytes: limits.bulk_registration_bytes,
            application_bytes: limits.application_bytes,
            application_unpacked_bytes: limits.application_unpacked_bytes,
            incomplete_upload: limits.incomplete_upload,
            bayeux_bytes: limits.bayeux_bytes,
            unread_answer: limits.unread_answer,
            body_bytes_per_second: limits.body_bytes_per_second,
            body_pause: limits.body_pause,
            held_bytes_per_user: limits.held_bytes_per_user,
            held_bytes_per_tenant: limits.held_bytes_per_tenant,
            socket_ping: limits.socket_ping,
            statement_timeout: limits.statement_timeout,
            write_timeout: limits.write_timeout,
            database_ping: limits.database_ping,
            queued_writes: limits.queued_writes,
            batch_rows: limits.batch_rows,
            device_idle: limits.device_idle,
            bulk_alarm_reply: limits.bulk_alarm_reply,
            bulk_lease: limits.bulk_lease,
            silence_sweep: limits.silence_sweep,
            silence_grace: limits.silence_grace,
            heartbeat_pause: limits.heartbeat_pause,
            presence_lease: limits.presence_lease,
            rollup_rows: limits.rollup_rows,
            rollup_lag: limits.rollup_lag,
            device_credentials: limits.device_credentials,
            credential_polls: limits.credential_polls,
            access_token: limits.access_token,
            token_requests: limits.token_requests,
            free_guesses_per_account: limits.free_guesses_per_account,
            free_guesses_per_source: limits.free_guesses_per_source,
            guess_delay: limits.guess_delay,
            longest_guess_delay: limits.longest_guess_delay,
            guess_forgiven: limits.guess_forgiven,
            waiting_per_account: limits.waiting_per_account,
            verifications_per_source: limits.verifications_per_source,
            waiting_per_source: limits.waiting_per_source,
            service_timeout: limits.service_timeout,
            service_calls: limits.service_calls,
            module_threads: limits.module_threads,
            module_lease: limits.module_lease,
            module_idle: limits.module_idle,
            module_queue: limits.module_queue,
            module_events: limits.module_events,
            module_bytes: limits.module_bytes,
            tenant_module_bytes: limits.tenant_module_bytes,
            module_writes_per_second: limits.module_writes_per_second,
            module_writes_at_once: limits.module_writes_at_once,
        }
    }
}
