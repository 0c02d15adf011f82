//! Every setting of the server: its flag, its `PLATFORM_…` variable, its default, its unit.
//!
//! [`Settings`] is the single table of settings. The flag follows from the field's name (`body_bytes`, `--body-bytes`),
//! the variable from the flag (`PLATFORM_BODY_BYTES`). A flag takes precedence over its variable, the variable over the
//! file of `--config`, and the file over the default. Unknown and malformed settings are rejected at start. The limits
//! have a table of their own, [`platform_model::limits::TABLE`].

mod allowed_host;
mod environment;
mod faults;
mod file;
mod limits;
mod naming;
mod quantity;
mod shown;
#[cfg(test)]
mod tests;
mod values;

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use clap::{ArgAction, Args, FromArgMatches};
use platform_model::limits::Limits;
use platform_model::naming::Naming;

use crate::jobs::BeforeRun;
pub use allowed_host::AllowedHost;
pub use environment::Environment;
pub use environment::{in_our_words, refuse_unknown, with_environment};
pub use faults::with_all_faults;
pub use file::ConfigFile;
pub use limits::LimitSettings;
pub use naming::NamingSettings;
use quantity::{bytes, bytes_in_memory, count, seconds};
pub use shown::ShownSetting;
pub use shown::{Sources, shown};
pub use values::{ClientCertificates, DatabaseUrl, LogFormat, Password, RequestLogging, TrustedProxy};
pub use values::{tenant_id, user_name};

/// The default policy for pages of hosted applications. Without `allow-same-origin` the pages have no origin, so they
/// can do nothing in the name of the user who opens them. Under a tenant's own domain `sandbox` is omitted (W-17).
const HOSTED_CONTENT_SECURITY_POLICY: &str = "sandbox allow-scripts allow-forms allow-modals allow-popups \
    allow-downloads; default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: \
    blob:; font-src 'self' data:; connect-src 'self'; object-src 'none'; base-uri 'self'; form-action 'self'; \
    frame-ancestors 'self'";

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

    /// Address and port of health and metrics alone, over HTTP; the other address then has no metrics
    ///
    /// Without it both are at the address for clients. Health is there in any case, for load balancers.
    #[arg(long, env = "PLATFORM_ADMIN_LISTEN", value_name = "ADDRESS:PORT", value_parser = values::address)]
    pub admin_listen: Option<SocketAddr>,

    /// Base of the links in responses when a request names no host, such as `https://things.example.com`
    #[arg(long, env = "PLATFORM_PUBLIC_URL", value_name = "URL", value_parser = values::public_url)]
    pub public_url: Option<String>,

    /// Proxies whose X-Forwarded-… headers are trusted: IP addresses or networks (10.0.0.0/8), separated by commas
    #[arg(long, env = "PLATFORM_TRUSTED_PROXIES", value_name = "NETWORKS", value_delimiter = ',')]
    pub trusted_proxies: Vec<TrustedProxy>,

    /// Header in which trusted proxies send the certificate that a client presented to them, such as Client-Cert
    ///
    /// Its value is that of RFC 9440, or a percent-encoded PEM as nginx sends it. The proxy must remove the header from
    /// requests of clients, and check that they have the private key.
    #[arg(long, env = "PLATFORM_CLIENT_CERTIFICATE_HEADER", value_name = "NAME", value_parser = values::header_name)]
    pub client_certificate_header: Option<String>,

    /// HTTPS.
    #[command(flatten)]
    pub tls: TlsSettings,

    /// Labels that are allowed before a tenant's domain, as in regional addresses (`jp.things.example.com`)
    #[arg(long, env = "PLATFORM_REGIONS", value_name = "LABELS", value_delimiter = ',', default_value = "jp,us,uk",
          value_parser = values::region)]
    pub regions: Vec<String>,

    /// Tenant of a request whose host and user name identify none
    #[arg(long, env = "PLATFORM_DEFAULT_TENANT", value_name = "TENANT", default_value = "main",
          value_parser = values::tenant_id)]
    pub default_tenant: String,

    /// Password of the users `admin` that the first start creates; generated and printed once when absent
    ///
    /// 6 to 32 Latin-1 characters. Later starts ignore it: `platform admin user passwd` changes a password.
    #[arg(long, env = "PLATFORM_ADMIN_PASSWORD", value_name = "PASSWORD", hide_env_values = true)]
    pub admin_password: Option<Password>,

    /// Password of the user `devicebootstrap` that the first start creates; generated and printed once when absent
    ///
    /// 6 to 32 Latin-1 characters.
    #[arg(long, env = "PLATFORM_BOOTSTRAP_PASSWORD", value_name = "PASSWORD", hide_env_values = true)]
    pub bootstrap_password: Option<Password>,

    /// All deviations from the specification that existing device agents and client libraries expect
    #[arg(long, env = "PLATFORM_CLIENT_COMPATIBILITY", value_name = "true|false", default_value = "false",
          action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub client_compatibility: bool,

    /// Whether error responses contain a member `details` with causes, for development
    #[arg(long, env = "PLATFORM_DEBUG_ERRORS", value_name = "true|false", default_value = "false",
          action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub debug_errors: bool,

    /// Whether every path of the platform requires an access token and accepts neither passwords nor JWTs
    #[arg(long, env = "PLATFORM_GATEWAY_CHECK", value_name = "true|false", default_value = "false",
          action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub gateway_check: bool,

    /// Whether polls are held by a transport of their own, which needs a fraction of the memory
    ///
    /// Requests that it does not accept, and all others, use the common transport; without it, all requests do.
    #[arg(long, env = "PLATFORM_FAST_LANE", value_name = "true|false", default_value = "true",
          action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub fast_lane: bool,

    /// Filter of the log: a level (error, warn, info, debug, trace), also by module (info,platform_actors=debug)
    #[arg(long, env = "PLATFORM_LOG", value_name = "FILTER", default_value = "info")]
    pub log: String,

    /// Format of the log lines
    #[arg(long, env = "PLATFORM_LOG_FORMAT", value_name = "FORMAT", default_value = "text")]
    pub log_format: LogFormat,

    /// Requests that the log has, one line each: time, id, user, path and status, neither query nor body
    ///
    /// At most 100 lines a second; the log reports the number of lines left out.
    #[arg(long, env = "PLATFORM_REQUEST_LOG", value_name = "REQUESTS", default_value = "failed")]
    pub request_log: RequestLogging,

    /// Name of this server in a deployment, for `platform server` [default: the name of the machine]
    #[arg(long, env = "PLATFORM_SERVER_NAME", value_name = "NAME", value_parser = values::server_name)]
    pub server_name: Option<String>,

    /// Time for which a stop keeps serving with readiness 503, so that a load balancer sends new clients elsewhere
    #[arg(long = "drain-seconds", env = "PLATFORM_DRAIN_SECONDS", value_name = "SECONDS", default_value = "0s",
          value_parser = seconds(0..=600))]
    pub drain: Duration,

    /// Longest time that a stop waits for requests in progress
    #[arg(long = "shutdown-seconds", env = "PLATFORM_SHUTDOWN_SECONDS", value_name = "SECONDS",
          default_value = "20s", value_parser = seconds(1..=600))]
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
    #[arg(long, env = "PLATFORM_READ_CONNECTIONS", value_name = "CONNECTIONS", default_value = "8",
          value_parser = count(1..=1000))]
    pub read_connections: usize,

    /// Database connections for writes outside of the group commit, for look-ups, and for background jobs
    #[arg(long, env = "PLATFORM_JOB_CONNECTIONS", value_name = "CONNECTIONS", default_value = "4",
          value_parser = count(1..=1000))]
    pub job_connections: usize,

    /// Bytes of the cache of hosted applications' files
    #[arg(long, env = "PLATFORM_HOSTED_CACHE_BYTES", value_name = "BYTES", default_value = "128MiB",
          value_parser = bytes_in_memory(1 << 20..=1 << 40))]
    pub hosted_cache_bytes: usize,

    /// Content-Security-Policy of every response below /apps
    ///
    /// The default prevents the scripts of a hosted application from acting as the user who opens it, on addresses that
    /// tenants share. A policy without `sandbox`, or with `allow-same-origin`, allows that for every hosted
    /// application. Under the tenant's own domain `sandbox` is omitted.
    #[arg(long, env = "PLATFORM_HOSTED_CONTENT_SECURITY_POLICY", value_name = "POLICY",
          default_value = HOSTED_CONTENT_SECURITY_POLICY, value_parser = values::header_value)]
    pub hosted_content_security_policy: String,

    /// Hosts that event-processing modules may send requests to, and where identity providers of tenants may be:
    /// host[:port], separated by commas; none without
    ///
    /// The default port is 80 for http and 443 for https. Redirects are not followed.
    #[arg(long, env = "PLATFORM_MODULE_REQUEST_HOSTS", value_name = "HOSTS", value_delimiter = ',')]
    pub module_request_hosts: Vec<AllowedHost>,

    /// The location of the data; the only settings that the commands of `platform admin` need.
    #[command(flatten)]
    pub store: StoreSettings,

    /// The numbers of the specification that an operator may tune; [`Settings::limits`] has them for the actors.
    #[command(flatten)]
    pub limits: LimitSettings,

    /// The vendor words; [`Settings::naming`] has them for the actors.
    #[command(flatten)]
    pub naming: NamingSettings,

    /// Called at the begin of each run of a background job. A test lets a run panic with it.
    #[arg(skip)]
    pub before_job_run: Option<BeforeRun>,
}

/// HTTPS instead of HTTP.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(next_help_heading = "Server")]
pub struct TlsSettings {
    /// File of the certificate to serve HTTPS with, in PEM: the server's own first, then those above it
    ///
    /// The address then serves HTTPS only. Replaced files are loaded within seconds.
    #[arg(long = "tls-cert", env = "PLATFORM_TLS_CERT", value_name = "FILE")]
    pub cert: Option<PathBuf>,

    /// File of the private key of the certificate, in PEM
    #[arg(long = "tls-key", env = "PLATFORM_TLS_KEY", value_name = "FILE")]
    pub key: Option<PathBuf>,

    /// Whether clients are asked for a certificate in the handshake: off, optional or required
    ///
    /// Devices log in with certificates of the authorities that their tenant trusts. With `required`, clients without
    /// a certificate, such as browsers, cannot connect.
    #[arg(
        long,
        env = "PLATFORM_CLIENT_CERTIFICATES",
        value_name = "WHEN",
        value_enum,
        hide_possible_values = true,
        default_value = "off"
    )]
    pub client_certificates: ClientCertificates,

    /// The interval at which the two files are checked for changes.
    #[arg(skip = Duration::from_secs(5))]
    pub check: Duration,

    /// The timeout of a handshake.
    #[arg(skip = Duration::from_secs(10))]
    pub handshake: Duration,
}

/// The location of the data: the part of the settings that every command takes as flags.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(next_help_heading = "Data")]
pub struct StoreSettings {
    /// File with settings, in TOML: the keys are the names of the flags (`listen = "0.0.0.0:80"`)
    ///
    /// A flag or a variable goes before the file. `platform config check` checks it.
    #[arg(long, env = "PLATFORM_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// PostgreSQL to use: postgres://user:password@host/database or "host=… user=… dbname=…"
    ///
    /// When absent the server runs a private PostgreSQL of its own below the data directory.
    #[arg(long, env = "PLATFORM_DATABASE_URL", value_name = "URL", hide_env_values = true)]
    pub database_url: Option<DatabaseUrl>,

    /// File with the password for --database-url in its first line, so that no argument or variable has it
    ///
    /// It is read at each start. With systemd it may be a credential (`LoadCredential=`).
    #[arg(long, env = "PLATFORM_DATABASE_PASSWORD_FILE", value_name = "FILE", requires = "database_url")]
    pub database_password_file: Option<PathBuf>,

    /// Directory of the private PostgreSQL and of the server's secret key
    ///
    /// Started by root in a directory that the account `postgres` cannot enter, such as /root, the private PostgreSQL
    /// is in /var/lib/platform by default, and that of a demo in /var/lib/platform-demo.
    #[arg(long, env = "PLATFORM_DATA_DIR", value_name = "DIR", default_value = "./platform-data")]
    pub data_dir: PathBuf,

    /// The reason why the data directory is not the default one although nobody has chosen another.
    #[arg(skip)]
    pub relocated: Option<String>,

    /// Directory of initdb and postgres [default: the newest on PATH or in the usual places]
    #[arg(long, env = "PLATFORM_POSTGRES_BIN_DIR", value_name = "DIR")]
    pub postgres_bin_dir: Option<PathBuf>,

    /// Minimum free bytes on the disk of the private PostgreSQL; 0 for none
    ///
    /// While fewer are free, requests that store something get 503. Reads and deletions continue and use the rest, a
    /// quarter of which is the file `reserve` in the data directory.
    #[arg(long = "least-free-bytes", env = "PLATFORM_LEAST_FREE_BYTES", value_name = "BYTES",
          default_value = "256MiB", value_parser = bytes(0..=1 << 60))]
    pub least_free: u64,

    /// File of the key that generated secrets are hashed with [default: secret.key in the data directory]
    #[arg(long = "secret-key-file", env = "PLATFORM_SECRET_KEY_FILE", value_name = "FILE")]
    pub secret_key: Option<PathBuf>,
}

impl StoreSettings {
    /// Adds the password of its file to the connection string.
    ///
    /// # Errors
    /// The file cannot be read, or the connection string has a password already.
    pub fn read_password(&mut self) -> Result<(), String> {
        let (Some(file), Some(url)) = (&self.database_password_file, &self.database_url) else {
            return Ok(());
        };
        let url = url.with_password_in(file);
        self.database_url = Some(url.map_err(|why| format!("--database-password-file {why}"))?);
        Ok(())
    }

    /// Returns the file of the server's secret key: the configured one, else `secret.key` in the data directory.
    pub fn secret_key_file(&self) -> PathBuf {
        self.secret_key.clone().unwrap_or_else(|| self.data_dir.join("secret.key"))
    }
}

impl Settings {
    /// Returns the active limits of this server.
    pub fn limits(&self) -> Limits {
        (*self.limits).clone()
    }

    /// Returns the vendor words of this server, which `main` installs once.
    pub fn naming(&self) -> Naming {
        Naming::from(&self.naming)
    }

    /// Returns the settings according to the environment, without flags.
    ///
    /// # Errors
    /// clap's error for a malformed value.
    pub fn from_environment(environment: &Environment) -> Result<Self, clap::Error> {
        let table = Self::augment_args(clap::Command::new("platform"));
        let mut command = with_environment(table.clone(), environment);
        let matches = command.try_get_matches_from_mut(["platform"]);
        let settings = matches.and_then(|mut matches| Self::from_arg_matches_mut(&mut matches));
        settings.map_err(|error| in_our_words(error.format(&mut command), &table, environment, &[]))
    }
}

/// The defaults of the table, independent of the environment.
impl Default for Settings {
    fn default() -> Self {
        Self::from_environment(&Environment::new()).expect("every default of the table is valid")
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
