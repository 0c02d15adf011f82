//! Assembles the server from database, platform and HTTP server, and shuts it down in order.

mod components;
mod expectation;
mod jobs;
mod operators;
mod vitals;
mod workers;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use actix_server::ServerBuilder;
use actix_web::dev::ServerHandle;
use actix_web::http::header::HeaderName;
use actix_web::rt::spawn;
use futures_util::future::LocalBoxFuture;
use platform_actors::Platform;
use platform_front::config::{AllowedHost, Settings};
use platform_front::jobs::Supervisor;
use platform_front::prerequisites::{Listeners, Prerequisites};
use platform_front::secrets::password::SecretKey;
use platform_front::secrets::secret_key;
use platform_front::self_request::Protocol;
use platform_front::start_error::StartError;
use platform_front::stop;
use platform_front::tls::Tls;
use platform_store::realtime::servers::Introduction;
use platform_store::{self, Connections, Database};
use tokio::task::JoinSet;

use crate::health::Metrics;
use crate::http::address::AddressSettings;
use crate::requests;
use components::Components;
use jobs::Jobs;
pub use vitals::Vitals;
use workers::{Table, Transport};

/// The interval at which polls are released while the server stops, because new ones arrive in between.
const RELEASE_AGAIN: Duration = Duration::from_millis(250);
/// The maximum number of connections per worker. The effective limit is the limit of open files.
const CONNECTIONS_PER_WORKER: usize = 1_000_000;

/// The database of a server, by its connection string.
#[derive(Debug, Clone, Copy)]
pub enum DatabaseAt<'a> {
    /// A PostgreSQL that other servers may use.
    Shared(&'a str),
    /// A private PostgreSQL that this process has just started, so that earlier servers on it have ended.
    JustStarted(&'a str),
}

/// A server that accepts connections.
pub struct Server {
    components: Components,
    http: actix_web::dev::Server,
    /// The server of health and metrics, if they have an address of their own.
    operators: Option<actix_web::dev::Server>,
    tls: Option<Arc<Tls>>,
    address: SocketAddr,
    drain: Duration,
    shutdown: Duration,
    workers: usize,
    module_request_hosts: Vec<AllowedHost>,
    supervisor: Supervisor,
    /// The watch of the database, which ends with the server.
    watching: JoinSet<()>,
}

/// A server that listens, but accepts no connections yet. Its database has the newest schema.
pub struct ListeningServer {
    /// The database, of which the server is a member.
    pub database: Database,
    /// The key of the deployment.
    pub secret_key: Arc<SecretKey>,
    listeners: Listeners,
    tls: Option<Arc<Tls>>,
    scheme: &'static str,
    address: SocketAddr,
}

impl ListeningServer {
    /// Migrates the schema, opens the secret key and listens.
    ///
    /// # Errors
    /// [`StartError`] when the database, the secret key or the address cannot be used.
    pub fn open<'a>(
        settings: &'a Settings,
        prerequisites: Prerequisites,
        at: DatabaseAt<'a>,
    ) -> LocalBoxFuture<'a, Result<Self, StartError>> {
        Box::pin(Self::prepare(settings, prerequisites, at))
    }

    async fn prepare(
        settings: &Settings,
        prerequisites: Prerequisites,
        at: DatabaseAt<'_>,
    ) -> Result<Self, StartError> {
        requests::start_metrics();
        let (scheme, address) = (prerequisites.scheme(), prerequisites.address());
        let tls = prerequisites.tls.clone();
        let database = open_database(settings, at).await?;
        let secret_key = Arc::new(Box::pin(secret_key::open(&settings.store, &database)).await?);
        // The server listens before it creates users, so that a start that fails here has changed nothing and can be
        // repeated.
        let listeners = prerequisites.listen()?;
        database
            .join(Introduction {
                name: settings.server_name.clone().unwrap_or_else(machine_name),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                address: format!("{scheme}://{address}"),
            })
            .await?;
        secret_key::confirm(&settings.store, &secret_key, &database).await?;
        Ok(Self { database, secret_key, listeners, tls, scheme, address })
    }
}

/// The futures are boxed here, because a future is compiled in the crate that boxes or polls it.
impl Server {
    /// Starts the server on a database that has what every deployment needs. Must be called within an actix system.
    ///
    /// # Errors
    /// [`StartError`] when the database or the address cannot be used.
    pub fn start(
        settings: &Settings,
        listening: ListeningServer,
    ) -> LocalBoxFuture<'_, Result<Self, StartError>> {
        Box::pin(Self::assemble(settings, listening))
    }

    async fn assemble(settings: &Settings, listening: ListeningServer) -> Result<Self, StartError> {
        let ListeningServer { database, secret_key, listeners, tls, scheme, address } = listening;
        let addresses = AddressSettings {
            scheme,
            fallback_base: settings.public_url.clone().unwrap_or_else(|| format!("{scheme}://{address}")),
            trusted_proxies: settings.trusted_proxies.clone(),
            client_certificate_header: certificate_header(settings),
        };
        let platform = Box::pin(Platform::start(database, settings.limits(), settings.actor_threads)).await?;
        platform.database().check_connections().await?;
        let components = Components::assemble(settings, platform, secret_key, addresses)?;
        // Modules and sessions receive changes of other servers through the watch.
        let states = components.jobs.clone().into_inner();
        let restart = components.platform.limits().job_restart;
        let supervisor = Supervisor::new(states, restart, settings.before_job_run);
        let watching = supervisor.start([jobs::database_watch(components.platform())]);
        components.platform.database().wait_until_known().await?;
        // Sessions that were stored go on before anything is written that they would miss.
        components.platform.take_stored_sessions().await;
        // Modules start before clients can write data that the modules would miss.
        components.platform.start_modules(components.links()).await?;
        let table = table_of_clients(settings, &listeners);
        let http =
            workers::listen(builder(settings), listeners.clients, components.clone(), tls.clone(), table)
                .map_err(|cause| StartError::Listen { flag: "--listen", address, cause })?
                .run();
        let serve = |(address, listener)| operators::serve(address, listener, components.clone());
        let operators = listeners.operators.map(serve).transpose()?;
        warn_of_exposure(settings);
        let module_request_hosts = settings.module_request_hosts.clone();
        let (drain, shutdown, workers) = (settings.drain, settings.shutdown, settings.workers);
        Ok(Self {
            components,
            http,
            operators,
            tls,
            address,
            drain,
            shutdown,
            workers,
            module_request_hosts,
            supervisor,
            watching,
        })
    }

    /// Returns the address on which the server listens. For port 0 it contains the port that the system selected.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the scheme, address and port of the server.
    pub fn base(&self) -> String {
        format!("{}://{}", self.components.addresses.scheme, self.address)
    }

    /// Returns the database, so that its operator can report its state.
    pub fn database(&self) -> Database {
        self.components.platform.database().clone()
    }

    /// Returns what proves that the server works.
    pub fn vitals(&self) -> Vitals {
        let protocol = if self.tls.is_some() { Protocol::Encrypted } else { Protocol::Plain };
        Vitals::new(
            self.components.platform(),
            self.components.stop.clone().into_inner(),
            self.address,
            protocol,
        )
    }

    /// Serves until `stop` resolves. Then its readiness is 503, and after the time to drain it accepts no new
    /// connections, finishes requests in progress, responds to held polls with the advice to reconnect within a few
    /// seconds, and returns.
    pub fn run<'a>(self, stop: LocalBoxFuture<'a, ()>) -> LocalBoxFuture<'a, ()> {
        Box::pin(self.serve_until(stop))
    }

    async fn serve_until(mut self, stop: LocalBoxFuture<'_, ()>) {
        let handle = self.http.handle();
        let jobs = Jobs {
            components: &self.components,
            tls: self.tls.as_ref(),
            module_request_hosts: &self.module_request_hosts,
        };
        let mut upkeep = self.supervisor.start(jobs.all());
        let serving = spawn(self.http);
        // Its address responds until the end of the stop.
        let operators = self.operators.map(|operators| (operators.handle(), spawn(operators)));
        spawn(self.components.platform().spread_sessions(self.workers));
        stop.await;
        // Load balancers see that this server is not ready before its connections end.
        let database = self.components.platform.database().clone();
        database.begin_stop().await;
        tokio::time::sleep(self.drain).await;
        stop_gracefully(&self.components, &handle, self.shutdown).await;
        // The task has ended, because `stop` has returned.
        drop(serving.await);
        upkeep.abort_all();
        self.components.platform.give_bulk_operations_back().await;
        self.components.platform.give_modules_back().await;
        // This server writes nothing after this, so stored sessions miss nothing.
        self.components.platform.store_sessions().await;
        if let Err(error) = database.session_moves().flush().await {
            tracing::warn!(%error, "the last sessions could not be handed over; their clients handshake again");
        }
        // Others that stop at the same time can hand sessions over until here.
        self.watching.abort_all();
        self.components.platform.write_last_statistics().await;
        database.leave().await;
        if let Some((handle, served)) = operators {
            handle.stop(false).await;
            drop(served.await);
        }
        self.components.platform.stop();
    }
}

/// Connects to the database and brings its schema up to date.
async fn open_database(settings: &Settings, at: DatabaseAt<'_>) -> Result<Database, StartError> {
    let (DatabaseAt::Shared(url) | DatabaseAt::JustStarted(url)) = at;
    let connections = Connections { reads: settings.read_connections, devices: settings.job_connections };
    let database = Database::new(url, connections, &settings.limits())?;
    database.migrate().await?;
    platform_store::data::measurements::partitions::make_partitions(&database).await?;
    if matches!(at, DatabaseAt::JustStarted(_)) {
        database.end_departed_servers().await?;
    }
    Ok(database)
}

/// Returns a server of connections without a listener. It ignores signals, because the program stops it.
fn builder(settings: &Settings) -> ServerBuilder {
    actix_server::Server::build()
        .workers(settings.workers)
        .max_concurrent_connections(CONNECTIONS_PER_WORKER)
        .shutdown_timeout(settings.shutdown.as_secs())
        .disable_signals()
}

/// Returns the paths for clients. Metrics are among them if they have no address of their own.
fn table_of_clients(settings: &Settings, listeners: &Listeners) -> Table {
    let transport = if settings.fast_lane { Transport::FastLane } else { Transport::Common };
    let metrics = if listeners.operators.is_some() { Metrics::Elsewhere } else { Metrics::Here };
    Table::Clients(transport, metrics)
}

/// Returns the header in which trusted proxies send certificates. Its name was checked with the settings.
fn certificate_header(settings: &Settings) -> Option<HeaderName> {
    settings.client_certificate_header.as_ref().and_then(|name| HeaderName::from_bytes(name.as_bytes()).ok())
}

/// Returns the name of this machine.
fn machine_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Logs a warning when the server listens on a non-loopback address without TLS and without a trusted proxy that could
/// provide it.
fn warn_of_exposure(settings: &Settings) {
    let encrypted = settings.tls.cert.is_some() || !settings.trusted_proxies.is_empty();
    if !encrypted && !settings.listen.ip().to_canonical().is_loopback() {
        tracing::warn!(
            listen = %settings.listen,
            "plain http on a network: passwords, keys and everything devices send can be read and changed on the \
             way. Set --tls-cert and --tls-key, or listen on 127.0.0.1 behind a proxy that serves https, and name it \
             with --trusted-proxies"
        );
    }
}

async fn stop_gracefully(components: &Components, handle: &ServerHandle, shutdown: Duration) {
    // The stop begins before polls are released, so that their responses announce the end of the connection.
    components.stop.begin();
    components.platform.begin_handing_over();
    components.platform.release_sessions();
    // The threads of connections end with the last connection, and with them the sessions that are still there.
    components.platform.hand_sessions_over(shutdown / 2).await;
    let stopped = tokio::time::timeout(shutdown, handle.stop(true));
    let grace = async {
        tokio::time::sleep(stop::GRACE).await;
        components.stop.end_grace();
        std::future::pending::<()>().await;
    };
    let release = async {
        loop {
            components.platform.release_sessions();
            tokio::time::sleep(RELEASE_AGAIN).await;
            // A handshake may have come before the last connection ended.
            components.platform.hand_sessions_over(shutdown).await;
        }
    };
    tokio::select! {
        stopped = stopped => if stopped.is_err() {
            tracing::warn!("some requests did not end in time");
        },
        () = release => {}
        () = grace => {}
    }
}
