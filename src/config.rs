//! Every setting of the server: its flag, its `PLATFORM_…` variable, its default, its unit.
//!
//! [`Settings`] is the one table. The flag follows from the field's name (`body_bytes`, `--body-bytes`), the
//! variable from the flag (`PLATFORM_BODY_BYTES`); a flag goes before its variable, that before the default. What is
//! unknown or malformed is refused at start.

mod environment;
#[cfg(test)]
mod tests;
mod values;

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use clap::{ArgAction, Args, FromArgMatches, builder::TypedValueParser, value_parser};
use platform_actors::{limits::Limits, naming::Naming};

pub use environment::Environment;
pub(crate) use environment::{in_our_words, refuse_unknown, with_environment};
pub use values::{DatabaseUrl, LogFormat, Password, TrustedProxy};
pub(crate) use values::{tenant_id, user_name};

/// What pages of hosted applications may do: nothing in the name of who opens them, for without `allow-same-origin` they are
/// of no origin.
const HOSTED_CONTENT_SECURITY_POLICY: &str = "sandbox allow-scripts allow-forms allow-modals allow-popups allow-downloads; \
    default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; \
    font-src 'self' data:; connect-src 'self'; object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'self'";

/// Every setting of the server.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(next_help_heading = "Server")]
pub struct Settings {
    /// Address and port to serve HTTP on
    ///
    /// With port 0 the system chooses one; the line `ready http://<address>` names it.
    #[arg(long, env = "PLATFORM_LISTEN", value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8080",
          value_parser = values::address)]
    pub listen: SocketAddr,

    /// Base of the links in answers when a request names no host, such as `https://things.example.com`
    #[arg(long, env = "PLATFORM_PUBLIC_URL", value_name = "URL", value_parser = values::public_url)]
    pub public_url: Option<String>,

    /// Proxies whose X-Forwarded-… headers are believed: IP addresses or networks (10.0.0.0/8), separated by commas
    #[arg(long, env = "PLATFORM_TRUSTED_PROXIES", value_name = "NETWORKS", value_delimiter = ',')]
    pub trusted_proxies: Vec<TrustedProxy>,

    /// Tenant of a request whose host and user name say none (C-01)
    #[arg(long, env = "PLATFORM_DEFAULT_TENANT", value_name = "TENANT", default_value = "main",
          value_parser = values::tenant_id)]
    pub default_tenant: String,

    /// Password of the users `admin` that the first start creates; generated and printed once when absent
    ///
    /// 6 to 32 Latin-1 characters. Later starts ignore it: `platform user passwd` changes a password.
    #[arg(long, env = "PLATFORM_ADMIN_PASSWORD", value_name = "PASSWORD", hide_env_values = true)]
    pub admin_password: Option<Password>,

    /// Password of the user `devicebootstrap` that the first start creates; generated and printed once when absent
    ///
    /// 6 to 32 Latin-1 characters (N-09).
    #[arg(long, env = "PLATFORM_BOOTSTRAP_PASSWORD", value_name = "PASSWORD", hide_env_values = true)]
    pub bootstrap_password: Option<Password>,

    /// Deviations that existing device agents and client libraries expect, all together (ruling 1.2)
    #[arg(long, env = "PLATFORM_CLIENT_COMPATIBILITY", value_name = "true|false", default_value = "false",
          action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub client_compatibility: bool,

    /// Member `details` with causes in error answers, for development (E-03)
    #[arg(long, env = "PLATFORM_DEBUG_ERRORS", value_name = "true|false", default_value = "false",
          action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub debug_errors: bool,

    /// What to log: a level (error, warn, info, debug, trace), also by module (info,platform_actors=debug)
    #[arg(long, env = "PLATFORM_LOG", value_name = "FILTER", default_value = "info")]
    pub log: String,

    /// Shape of the log lines
    #[arg(long, env = "PLATFORM_LOG_FORMAT", value_name = "FORMAT", default_value = "text")]
    pub log_format: LogFormat,

    /// Seconds that a stop waits for requests under way
    #[arg(long = "shutdown-seconds", env = "PLATFORM_SHUTDOWN_SECONDS", value_name = "SECONDS",
          default_value = "20", value_parser = seconds(1..=600))]
    pub shutdown: Duration,

    /// Threads that serve HTTP [default: one per core]
    #[arg(long, env = "PLATFORM_WORKERS", value_name = "THREADS", default_value_t = cores(),
          hide_default_value = true, value_parser = count(1..=512))]
    pub workers: usize,

    /// Threads of the device actors, each with a database connection for writes [default: one per core]
    #[arg(long, env = "PLATFORM_ACTOR_THREADS", value_name = "THREADS", default_value_t = cores(),
          hide_default_value = true, value_parser = count(1..=512))]
    pub actor_threads: usize,

    /// Database connections for reads
    #[arg(long, env = "PLATFORM_READ_CONNECTIONS", value_name = "CONNECTIONS", default_value = "16",
          value_parser = count(1..=1000))]
    pub read_connections: usize,

    /// Database connections for what devices and logins look up, and for background jobs
    #[arg(long, env = "PLATFORM_JOB_CONNECTIONS", value_name = "CONNECTIONS", default_value = "4",
          value_parser = count(1..=1000))]
    pub job_connections: usize,

    /// Bytes of hosted applications' files that are kept in memory
    #[arg(long, env = "PLATFORM_HOSTED_CACHE_BYTES", value_name = "BYTES", default_value = "134217728",
          value_parser = count(1_048_576..=1_099_511_627_776))]
    pub hosted_cache_bytes: usize,

    /// Content-Security-Policy of every answer below /apps
    ///
    /// The default keeps what a hosted application runs in an origin of its own. One without `sandbox`, or with
    /// `allow-same-origin`, lets every hosted application act as whoever opens it.
    #[arg(long, env = "PLATFORM_HOSTED_CONTENT_SECURITY_POLICY", value_name = "POLICY",
          default_value = HOSTED_CONTENT_SECURITY_POLICY, value_parser = values::header_value)]
    pub hosted_content_security_policy: String,

    /// Where the data is; all that `platform tenant` and `platform user` need.
    #[command(flatten)]
    pub store: StoreSettings,

    /// The numbers of the specification that an operator may tune; [`Settings::limits`] has them for the actors.
    #[command(flatten)]
    pub limits: LimitSettings,

    /// The vendor words; [`Settings::naming`] has them for the actors.
    #[command(flatten)]
    pub naming: NamingSettings,
}

/// Where the data is: the part of the settings that every command takes as flags.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(next_help_heading = "Data")]
pub struct StoreSettings {
    /// PostgreSQL to use: postgres://user:password@host/database or "host=… user=… dbname=…"
    ///
    /// When absent the server runs a private PostgreSQL of its own below the data directory.
    #[arg(long, env = "PLATFORM_DATABASE_URL", value_name = "URL", hide_env_values = true)]
    pub database_url: Option<DatabaseUrl>,

    /// Directory of the private PostgreSQL and of the server's secret key
    #[arg(long, env = "PLATFORM_DATA_DIR", value_name = "DIR", default_value = "./platform-data")]
    pub data_dir: PathBuf,

    /// Directory of initdb and postgres [default: the newest on PATH or in the usual places]
    #[arg(long, env = "PLATFORM_POSTGRES_BIN_DIR", value_name = "DIR")]
    pub postgres_bin_dir: Option<PathBuf>,

    /// File of the key that generated secrets are hashed with [default: secret.key in the data directory]
    #[arg(long = "secret-key-file", env = "PLATFORM_SECRET_KEY_FILE", value_name = "FILE")]
    pub secret_key: Option<PathBuf>,
}

impl StoreSettings {
    /// The file of the server's secret key: the configured one, else `secret.key` in the data directory.
    pub fn secret_key_file(&self) -> PathBuf {
        self.secret_key.clone().unwrap_or_else(|| self.data_dir.join("secret.key"))
    }
}

/// The flags behind [`Settings::limits`]; what each number means is documented at [`Limits`].
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(next_help_heading = "Limits")]
pub struct LimitSettings {
    /// Milliseconds that a connect is held when the client asks for nothing else (B-10)
    #[arg(long = "connect-timeout-ms", env = "PLATFORM_CONNECT_TIMEOUT_MS", value_name = "MS",
          default_value = "5400000", value_parser = milliseconds(1..=7_200_000))]
    pub connect_timeout: Duration,

    /// Milliseconds that a session lives, and keeps its notifications, without a held connect (B-10)
    #[arg(long = "session-interval-ms", env = "PLATFORM_SESSION_INTERVAL_MS", value_name = "MS",
          default_value = "10500", value_parser = milliseconds(1..=7_200_000))]
    pub session_interval: Duration,

    /// Seconds between the spaces sent on every held poll (B-21)
    #[arg(long = "keep-alive-seconds", env = "PLATFORM_KEEP_ALIVE_SECONDS", value_name = "SECONDS",
          default_value = "600", value_parser = seconds(1..=86_400))]
    pub keep_alive: Duration,

    /// Notifications that may wait in one session (B-12)
    #[arg(long = "session-queue-notifications", env = "PLATFORM_SESSION_QUEUE_NOTIFICATIONS",
          value_name = "COUNT", default_value = "10000", value_parser = count(1..=10_000_000))]
    pub queued_notifications: usize,

    /// Bytes of notifications that may wait in one session (B-12)
    #[arg(long = "session-queue-bytes", env = "PLATFORM_SESSION_QUEUE_BYTES", value_name = "BYTES",
          default_value = "8388608", value_parser = count(1_024..=1_073_741_824))]
    pub queued_bytes: usize,

    /// Channels one session may subscribe to (B-23)
    #[arg(long = "session-subscriptions", env = "PLATFORM_SESSION_SUBSCRIPTIONS", value_name = "COUNT",
          default_value = "1000", value_parser = count(1..=1_000_000))]
    pub subscriptions_per_session: usize,

    /// Sessions one user may have [default: unlimited, for fleets may share a user] (B-23)
    #[arg(long = "user-sessions", env = "PLATFORM_USER_SESSIONS", value_name = "COUNT",
          value_parser = count(1..=100_000_000))]
    pub sessions_per_user: Option<usize>,

    /// Bytes of one REST request body (I-16)
    #[arg(long, env = "PLATFORM_BODY_BYTES", value_name = "BYTES", default_value = "16777216",
          value_parser = count(1_024..=1_073_741_824))]
    pub body_bytes: usize,

    /// Bytes of one file (I-12, V-07)
    #[arg(long, env = "PLATFORM_BINARY_BYTES", value_name = "BYTES", default_value = "52428800",
          value_parser = count(1_024..=1_073_741_824))]
    pub binary_bytes: usize,

    /// Bytes of one chunk of an event's file that comes in chunks (V-07)
    #[arg(long, env = "PLATFORM_BINARY_CHUNK_BYTES", value_name = "BYTES", default_value = "5242880",
          value_parser = count(1_024..=1_073_741_824))]
    pub binary_chunk_bytes: usize,

    /// Bytes of one file of devices to register; it is kept in the system's temporary directory meanwhile (N-10)
    #[arg(long, env = "PLATFORM_BULK_REGISTRATION_BYTES", value_name = "BYTES", default_value = "1073741824",
          value_parser = count(1_024..=1_099_511_627_776))]
    pub bulk_registration_bytes: usize,

    /// Bytes of one archive of an application; it is kept in the system's temporary directory meanwhile (W-02)
    #[arg(long, env = "PLATFORM_APPLICATION_BYTES", value_name = "BYTES", default_value = "536870912",
          value_parser = count(1_024..=1_099_511_627_776))]
    pub application_bytes: usize,

    /// Bytes that may come out of one archive of an application (W-02)
    #[arg(long, env = "PLATFORM_APPLICATION_UNPACKED_BYTES", value_name = "BYTES", default_value = "1073741824",
          value_parser = count(1_024..=1_099_511_627_776))]
    pub application_unpacked_bytes: usize,

    /// Seconds after which an event's file is given up of which no further chunk came
    #[arg(long = "incomplete-upload-seconds", env = "PLATFORM_INCOMPLETE_UPLOAD_SECONDS", value_name = "SECONDS",
          default_value = "604800", value_parser = seconds(60..=31_536_000))]
    pub incomplete_upload: Duration,

    /// Bytes of one Bayeux request body or WebSocket message
    #[arg(long, env = "PLATFORM_BAYEUX_BYTES", value_name = "BYTES", default_value = "262144",
          value_parser = count(1_024..=16_777_216))]
    pub bayeux_bytes: usize,

    /// Seconds between pings on a WebSocket; one silent for two and a half of these is closed (B-21)
    #[arg(long = "socket-ping-seconds", env = "PLATFORM_SOCKET_PING_SECONDS", value_name = "SECONDS",
          default_value = "30", value_parser = seconds(1..=3_600))]
    pub socket_ping: Duration,

    /// Milliseconds after which a query is stopped and answered 413
    #[arg(long = "statement-timeout-ms", env = "PLATFORM_STATEMENT_TIMEOUT_MS", value_name = "MS",
          default_value = "30000", value_parser = milliseconds(10..=3_600_000))]
    pub statement_timeout: Duration,

    /// Milliseconds after which a write that PostgreSQL has not answered is answered 503
    #[arg(long = "write-timeout-ms", env = "PLATFORM_WRITE_TIMEOUT_MS", value_name = "MS",
          default_value = "10000", value_parser = milliseconds(10..=600_000))]
    pub write_timeout: Duration,

    /// Writes that may wait for one group commit; what comes beyond is answered 503 at once
    #[arg(long, env = "PLATFORM_QUEUED_WRITES", value_name = "COUNT", default_value = "20000",
          value_parser = count(1..=10_000_000))]
    pub queued_writes: usize,

    /// Rows of one group commit at most
    #[arg(long, env = "PLATFORM_BATCH_ROWS", value_name = "COUNT", default_value = "512",
          value_parser = count(1..=10_000))]
    pub batch_rows: usize,

    /// Seconds after which an idle device actor stops; the next message starts it again
    #[arg(long = "device-idle-seconds", env = "PLATFORM_DEVICE_IDLE_SECONDS", value_name = "SECONDS",
          default_value = "600", value_parser = seconds(1..=86_400))]
    pub device_idle: Duration,

    /// Milliseconds after which a bulk update of alarms is answered 202 and goes on in the background
    #[arg(long = "bulk-alarm-reply-ms", env = "PLATFORM_BULK_ALARM_REPLY_MS", value_name = "MS",
          default_value = "500", value_parser = milliseconds(0..=60_000))]
    pub bulk_alarm_reply: Duration,

    /// Seconds without a sign of life after which another server goes on with a bulk operation or a bulk update of alarms
    #[arg(long = "bulk-lease-seconds", env = "PLATFORM_BULK_LEASE_SECONDS", value_name = "SECONDS",
          default_value = "15", value_parser = seconds(1..=3_600))]
    pub bulk_lease: Duration,
    /// Milliseconds between two looks for silent devices
    #[arg(long = "silence-sweep-ms", env = "PLATFORM_SILENCE_SWEEP_MS", value_name = "MS",
          default_value = "10000", value_parser = milliseconds(10..=60_000))]
    pub silence_sweep: Duration,

    /// Seconds that silent devices get beyond their interval after all servers were away
    #[arg(long = "silence-grace-seconds", env = "PLATFORM_SILENCE_GRACE_SECONDS", value_name = "SECONDS",
          default_value = "60", value_parser = seconds(0..=86_400))]
    pub silence_grace: Duration,

    /// Milliseconds within which the last message of a device is written down, an eighth of its interval at most
    #[arg(long = "heartbeat-pause-ms", env = "PLATFORM_HEARTBEAT_PAUSE_MS", value_name = "MS",
          default_value = "300000", value_parser = milliseconds(1..=3_600_000))]
    pub heartbeat_pause: Duration,

    /// Milliseconds that a server process which died is believed to hold its connections
    #[arg(long = "presence-lease-ms", env = "PLATFORM_PRESENCE_LEASE_MS", value_name = "MS",
          default_value = "60000", value_parser = milliseconds(1_000..=3_600_000))]
    pub presence_lease: Duration,

    /// Measurements that make a source be rolled up; for tests.
    #[arg(skip = Limits::default().rollup_rows)]
    pub rollup_rows: i64,

    /// How old measurements must be to be rolled up; for tests, for it must not be short.
    #[arg(skip = Limits::default().rollup_lag)]
    pub rollup_lag: Duration,

    /// Seconds that a device which did not come in yet is answered the same credentials again (N-08)
    #[arg(long = "device-credentials-seconds", env = "PLATFORM_DEVICE_CREDENTIALS_SECONDS", value_name = "SECONDS",
          default_value = "3600", value_parser = seconds(1..=86_400))]
    pub device_credentials: Duration,

    /// Polls for device credentials that one address may send in a minute; what comes beyond is answered 429
    #[arg(long = "credential-polls-per-minute", env = "PLATFORM_CREDENTIAL_POLLS_PER_MINUTE", value_name = "COUNT",
          default_value = "600", value_parser = value_parser!(u32).range(1..=10_000_000))]
    pub credential_polls: u32,

    /// Wrong passwords of one account that cost no delay
    #[arg(long, env = "PLATFORM_FREE_GUESSES_PER_ACCOUNT", value_name = "COUNT", default_value = "5",
          value_parser = value_parser!(u32).range(0..=1_000))]
    pub free_guesses_per_account: u32,

    /// Wrong passwords from one address that cost no delay; of IPv6 from one network of 64 bits
    #[arg(long, env = "PLATFORM_FREE_GUESSES_PER_SOURCE", value_name = "COUNT", default_value = "20",
          value_parser = value_parser!(u32).range(0..=1_000_000))]
    pub free_guesses_per_source: u32,

    /// Milliseconds that the first delayed verification of a password waits; each further one waits twice as long
    #[arg(long = "guess-delay-ms", env = "PLATFORM_GUESS_DELAY_MS", value_name = "MS",
          default_value = "100", value_parser = milliseconds(1..=60_000))]
    pub guess_delay: Duration,

    /// Milliseconds that a verification of a password waits at most
    #[arg(long = "longest-guess-delay-ms", env = "PLATFORM_LONGEST_GUESS_DELAY_MS", value_name = "MS",
          default_value = "5000", value_parser = milliseconds(1..=60_000))]
    pub longest_guess_delay: Duration,

    /// Seconds without a wrong password after which one is forgiven
    #[arg(long = "guess-forgiven-seconds", env = "PLATFORM_GUESS_FORGIVEN_SECONDS", value_name = "SECONDS",
          default_value = "60", value_parser = seconds(1..=86_400))]
    pub guess_forgiven: Duration,

    /// Verifications of one account that may wait for each other; what comes beyond is answered 429
    #[arg(long, env = "PLATFORM_WAITING_PER_ACCOUNT", value_name = "COUNT", default_value = "16",
          value_parser = count(2..=10_000))]
    pub waiting_per_account: usize,

    /// Verifications of one address that run at once
    #[arg(long, env = "PLATFORM_VERIFICATIONS_PER_SOURCE", value_name = "COUNT", default_value = "4",
          value_parser = count(1..=1_000))]
    pub verifications_per_source: usize,

    /// Verifications of one address that may wait for their turn; what comes beyond is answered 429
    #[arg(long, env = "PLATFORM_WAITING_PER_SOURCE", value_name = "COUNT", default_value = "256",
          value_parser = count(1..=1_000_000))]
    pub waiting_per_source: usize,
}

/// The flags behind [`Settings::naming`] (ruling 1.2): the vendor words, for a fleet that speaks other ones.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(next_help_heading = "Vendor words")]
pub struct NamingSettings {
    /// Prefix of the fragments the server knows
    #[arg(long = "naming-fragment-prefix", env = "PLATFORM_NAMING_FRAGMENT_PREFIX", value_name = "WORD",
          default_value = "plat_", value_parser = values::word)]
    pub fragment_prefix: String,

    /// Prefix of model markers
    #[arg(long = "naming-model-prefix", env = "PLATFORM_NAMING_MODEL_PREFIX", value_name = "WORD",
          default_value = "com_platform_", value_parser = values::word)]
    pub model_prefix: String,

    /// Prefix of every media type
    #[arg(long = "naming-media-type-prefix", env = "PLATFORM_NAMING_MEDIA_TYPE_PREFIX", value_name = "WORD",
          default_value = "application/vnd.example.platform.", value_parser = values::media_type_prefix)]
    pub media_type_prefix: String,

    /// Prefix of the platform's own request headers
    #[arg(long = "naming-header-prefix", env = "PLATFORM_NAMING_HEADER_PREFIX", value_name = "WORD",
          default_value = "X-Platform-", value_parser = values::word)]
    pub header_prefix: String,

    /// Member of a Bayeux handshake's ext that carries credentials
    #[arg(long = "naming-authentication-extension", env = "PLATFORM_NAMING_AUTHENTICATION_EXTENSION",
          value_name = "WORD", default_value = "com.platform.authn", value_parser = values::word)]
    pub authentication_extension: String,
}

impl Settings {
    /// The limits in force in this server.
    pub fn limits(&self) -> Limits {
        let limits = self.limits.clone();
        Limits {
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
            socket_ping: limits.socket_ping,
            statement_timeout: limits.statement_timeout,
            write_timeout: limits.write_timeout,
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
            free_guesses_per_account: limits.free_guesses_per_account,
            free_guesses_per_source: limits.free_guesses_per_source,
            guess_delay: limits.guess_delay,
            longest_guess_delay: limits.longest_guess_delay,
            guess_forgiven: limits.guess_forgiven,
            waiting_per_account: limits.waiting_per_account,
            verifications_per_source: limits.verifications_per_source,
            waiting_per_source: limits.waiting_per_source,
        }
    }

    /// The vendor words of this server, to be installed once by `main`.
    pub fn naming(&self) -> Naming {
        let naming = self.naming.clone();
        Naming {
            fragment_prefix: naming.fragment_prefix,
            model_prefix: naming.model_prefix,
            media_type_prefix: naming.media_type_prefix,
            header_prefix: naming.header_prefix,
            authentication_extension: naming.authentication_extension,
        }
    }

    /// The table with what the environment sets and no flags.
    ///
    /// # Errors
    /// clap's error for a malformed value.
    pub(crate) fn from_environment(environment: &Environment) -> Result<Self, clap::Error> {
        let table = Self::augment_args(clap::Command::new("platform"));
        let mut command = with_environment(table.clone(), environment);
        let matches = command.try_get_matches_from_mut(["platform"]);
        let settings = matches.and_then(|mut matches| Self::from_arg_matches_mut(&mut matches));
        settings.map_err(|error| in_our_words(error.format(&mut command), &table, environment, &[]))
    }
}

/// The defaults of the table, whatever the environment says.
impl Default for Settings {
    fn default() -> Self {
        Self::from_environment(&Environment::new()).expect("every default of the table is valid")
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn count(range: std::ops::RangeInclusive<u64>) -> impl TypedValueParser<Value = usize> {
    // The ranges above end far below what a 64-bit size holds.
    value_parser!(u64).range(range).map(|count| usize::try_from(count).unwrap_or(usize::MAX))
}

fn seconds(range: std::ops::RangeInclusive<u64>) -> impl TypedValueParser<Value = Duration> {
    value_parser!(u64).range(range).map(Duration::from_secs)
}

fn milliseconds(range: std::ops::RangeInclusive<u64>) -> impl TypedValueParser<Value = Duration> {
    value_parser!(u64).range(range).map(Duration::from_millis)
}
