//! Connecting to PostgreSQL: with TLS according to the connection string, and to the host that accepts writes.

mod fair;
pub mod lines;
mod pool;
pub mod shares;
mod tls;
mod url;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use platform_model::error::{Error, Result};
use tokio::time::timeout;
use tokio_postgres::config::{Host, SslMode, SslNegotiation};
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, Config, Connection, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

pub use fair::{ConnectionTurn, Turns};
pub(crate) use pool::{CONNECTION_WAIT, pool};
use url::Mode;
pub use url::{holds_password, libpq_environment};

/// The timeout of opening a connection. PostgreSQL starts a process for it, which takes seconds on an overloaded
/// machine.
pub(crate) const CONNECT: Duration = Duration::from_secs(5);
/// The time without acknowledgements after which PostgreSQL counts as gone, unless the connection string sets it. A
/// machine that loses its power does not close its connections.
const UNACKNOWLEDGED: Duration = Duration::from_secs(10);
/// The connections of a server that are in no pool: the listening one, the one that holds modules, and the one that
/// watches silent devices. A private PostgreSQL, which serves one server alone, may get one more for checkpoints.
const UNPOOLED: usize = 3;
/// The port of PostgreSQL if its address contains none.
const POSTGRES_PORT: u16 = 5432;

/// The future that drives a connection.
pub(crate) type Driver = Connection<Socket, <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream>;

/// Makes connections to PostgreSQL.
#[derive(Clone)]
pub(crate) struct Connector {
    shared: Arc<Shared>,
    /// One configuration for each host, in the order of the connection string.
    hosts: Arc<[Config]>,
}

struct Shared {
    tls: MakeRustlsConnect,
    mode: Mode,
    /// The index of the host of the last connection. It is tried first, because the attempt to connect to a machine
    /// that is gone takes seconds.
    last: AtomicUsize,
    primary: Mutex<Primary>,
    /// The sizes of all pools together.
    pooled: AtomicUsize,
}

/// The PostgreSQL that accepts writes.
#[derive(Default)]
struct Primary {
    name: Option<String>,
    /// The time of the last failover; earlier connections lead to another PostgreSQL.
    since: Option<Instant>,
}

/// Checks a connection string and the files that it names, as a start does. It opens no connection.
///
/// # Errors
/// `Invalid` with the problem in one line.
pub fn check_database_url(text: &str) -> Result<()> {
    Connector::new(text).map(drop)
}

impl Connector {
    /// Parses a connection string; see [`url::parse`]. It opens no connection.
    ///
    /// # Errors
    /// `Invalid` with the problem in one line.
    pub(crate) fn new(text: &str) -> Result<Self> {
        let given = url::parse(text)?;
        let mut tls = tls::configuration(&given)?;
        let mut config = given.config;
        if config.get_ssl_negotiation() == SslNegotiation::Direct {
            tls.alpn_protocols = vec![b"postgresql".to_vec()];
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT);
        }
        if config.get_application_name().is_none() {
            config.application_name("platform");
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(UNACKNOWLEDGED);
        }
        if config.get_keepalives_idle() == Config::new().get_keepalives_idle() {
            config
                .keepalives_idle(UNACKNOWLEDGED)
                .keepalives_interval(UNACKNOWLEDGED / 3)
                .keepalives_retries(3);
        }
        let hosts = (0..config.get_hosts().len().max(1)).map(|at| only(&config, at)).collect();
        let shared = Shared {
            tls: MakeRustlsConnect::new(tls),
            mode: given.mode,
            last: AtomicUsize::new(0),
            primary: Mutex::default(),
            pooled: AtomicUsize::new(0),
        };
        Ok(Self { shared: Arc::new(shared), hosts })
    }

    /// Returns a connector to the same hosts whose connections have these options in addition to those of the
    /// connection string.
    pub(crate) fn with_options(&self, options: &str) -> Self {
        let with_options = |config: &Config| {
            let mut config = config.clone();
            let given = config.get_options().unwrap_or_default().to_owned();
            config.options(format!("{given} {options}"));
            config
        };
        Self { shared: self.shared.clone(), hosts: self.hosts.iter().map(with_options).collect() }
    }

    /// Returns a connector to the same hosts whose connections other servers recognize by the end of their
    /// `application_name`.
    pub(crate) fn marked(&self, mark: &str) -> Self {
        let marked = |config: &Config| {
            let mut config = config.clone();
            let given: String = config.get_application_name().unwrap_or_default().chars().take(40).collect();
            config.application_name(format!("{given} {mark}"));
            config
        };
        Self { shared: self.shared.clone(), hosts: self.hosts.iter().map(marked).collect() }
    }

    /// Connects to the first host that accepts the connection, beginning with the one that did so last.
    ///
    /// # Errors
    /// The error of the host that was tried last.
    pub(crate) async fn connect(&self) -> Result<(Client, Driver), tokio_postgres::Error> {
        let (count, first) = (self.hosts.len(), self.shared.last.load(Ordering::Relaxed));
        // Each host has an equal share of the time, and the last one has the rest.
        let share = CONNECT / u32::try_from(count).unwrap_or(u32::MAX);
        for turn in 0..count - 1 {
            let at = (first + turn) % count;
            match timeout(share, Box::pin(self.connect_to(&self.hosts[at]))).await {
                Ok(Ok(connected)) => {
                    self.shared.last.store(at, Ordering::Relaxed);
                    return Ok(connected);
                }
                Ok(Err(error)) => tracing::debug!(host = address(&self.hosts[at]), %error, "next host"),
                Err(_) => tracing::debug!(host = address(&self.hosts[at]), "no response, next host"),
            }
        }
        let at = (first + count - 1) % count;
        let connected = Box::pin(self.connect_to(&self.hosts[at])).await?;
        self.shared.last.store(at, Ordering::Relaxed);
        Ok(connected)
    }

    /// Connects to a host with TLS, without it, or with one after the other, according to the mode.
    async fn connect_to(&self, host: &Config) -> Result<(Client, Driver), tokio_postgres::Error> {
        let is_socket = matches!(host.get_hosts(), [Host::Unix(_)]);
        let (first, second) = match self.shared.mode {
            // PostgreSQL does not support TLS on a Unix socket.
            _ if is_socket => (SslMode::Disable, None),
            Mode::Disable => (SslMode::Disable, None),
            Mode::Allow => (SslMode::Disable, Some(SslMode::Require)),
            Mode::Prefer => (SslMode::Prefer, Some(SslMode::Disable)),
            Mode::Require | Mode::VerifyCa | Mode::VerifyFull => (SslMode::Require, None),
        };
        let connect = async |mode| {
            let mut host = host.clone();
            host.ssl_mode(mode);
            Box::pin(host.connect(self.shared.tls.clone())).await
        };
        match (connect(first).await, second) {
            (Err(error), Some(second)) if is_about_tls(&error) => connect(second).await,
            (outcome, _) => outcome,
        }
    }

    /// Returns the most connections that this process opens with the pools that exist so far.
    pub(crate) fn most_connections(&self) -> usize {
        self.shared.pooled.load(Ordering::Relaxed) + UNPOOLED
    }

    /// Returns the hosts with ports, or the sockets, in the order of the connection string.
    pub(crate) fn addresses(&self) -> String {
        self.hosts.iter().map(address).collect::<Vec<_>>().join(", ")
    }

    /// Records the name of the PostgreSQL that accepts writes. If it differs from the previous one, connections that
    /// were opened before are not used again.
    pub(crate) fn note_primary(&self, name: String) {
        let mut primary = self.shared.primary.lock();
        if primary.name.as_ref() != Some(&name) {
            if primary.name.is_some() {
                primary.since = Some(Instant::now());
            }
            primary.name = Some(name);
        }
    }

    /// Returns whether a connection of this age may be used: it does not lead to a PostgreSQL that was replaced by
    /// another one or that rejected a write because it is a standby.
    fn is_current(&self, created: Instant) -> bool {
        let since = self.shared.primary.lock().since.max(Error::last_read_only());
        since.is_none_or(|since| created > since)
    }
}

/// Returns the part of a configuration for one of its hosts.
fn only(config: &Config, at: usize) -> Config {
    if config.get_hosts().len() < 2 {
        return config.clone();
    }
    let mut one = Config::new();
    match &config.get_hosts()[at] {
        Host::Tcp(name) => one.host(name),
        Host::Unix(directory) => one.host_path(directory),
    };
    config.get_hostaddrs().get(at).map(|address| one.hostaddr(*address));
    config.get_ports().get(at).or(config.get_ports().first()).map(|port| one.port(*port));
    config.get_user().map(|user| one.user(user));
    config.get_password().map(|password| one.password(password));
    config.get_dbname().map(|name| one.dbname(name));
    config.get_options().map(|options| one.options(options));
    config.get_application_name().map(|name| one.application_name(name));
    config.get_connect_timeout().map(|time| one.connect_timeout(*time));
    config.get_tcp_user_timeout().map(|time| one.tcp_user_timeout(*time));
    config.get_keepalives_interval().map(|time| one.keepalives_interval(time));
    config.get_keepalives_retries().map(|count| one.keepalives_retries(count));
    one.keepalives(config.get_keepalives())
        .keepalives_idle(config.get_keepalives_idle())
        .ssl_mode(config.get_ssl_mode())
        .ssl_negotiation(config.get_ssl_negotiation())
        .channel_binding(config.get_channel_binding())
        .target_session_attrs(config.get_target_session_attrs())
        .load_balance_hosts(config.get_load_balance_hosts());
    one
}

/// Returns the host and port, or the socket, of a configuration for one host.
fn address(config: &Config) -> String {
    let port = config.get_ports().first().copied().unwrap_or(POSTGRES_PORT);
    match config.get_hosts().first() {
        Some(Host::Tcp(name)) if name.contains(':') => format!("[{name}]:{port}"),
        Some(Host::Tcp(name)) => format!("{name}:{port}"),
        Some(Host::Unix(directory)) => format!("{}/.s.PGSQL.{port}", directory.display()),
        None => "an address without a host".into(),
    }
}

/// Returns whether a connection may succeed with TLS where it failed without, or the other way round: the handshake
/// failed, or `pg_hba.conf` has no line for this kind of connection.
fn is_about_tls(error: &tokio_postgres::Error) -> bool {
    use std::error::Error as _;
    let in_handshake = error.source().and_then(|cause| cause.downcast_ref::<std::io::Error>());
    in_handshake.and_then(|cause| cause.get_ref()).is_some_and(|cause| cause.is::<rustls::Error>())
        || error.code() == Some(&tokio_postgres::error::SqlState::INVALID_AUTHORIZATION_SPECIFICATION)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_host_keeps_every_other_parameter() {
        let rest = "user=u password=p dbname=d options='-c a=b' connect_timeout=3 tcp_user_timeout=4 keepalives=0 \
            keepalives_idle=5 keepalives_interval=6 keepalives_retries=7 target_session_attrs=read-write \
            channel_binding=require sslnegotiation=direct application_name=x load_balance_hosts=random sslmode=require";
        let parsed = |hosts: &str| format!("{hosts} {rest}").parse::<Config>().unwrap();
        let both = parsed("host=a,/run hostaddr=10.0.0.1,10.0.0.2 port=1,2");

        assert_eq!(only(&both, 0), parsed("host=a hostaddr=10.0.0.1 port=1"));
        assert_eq!(only(&both, 1), parsed("host=/run hostaddr=10.0.0.2 port=2"));
    }

    #[test]
    fn connections_from_before_a_failover_are_not_used_again() {
        let connector = Connector::new("host=a,b").unwrap();
        let before = Instant::now();
        connector.note_primary("a".into());
        assert!(connector.is_current(before), "the first one replaces none");

        connector.note_primary("b".into());

        assert!(!connector.is_current(before));
        assert!(connector.with_options("-c x=y").is_current(Instant::now() + Duration::from_millis(1)));
        assert!(!connector.with_options("-c x=y").is_current(before), "pools of all kinds learn of it");
    }
}
