//! Assembles the server from database, platform and HTTP server, and shuts it down in order.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::ServerHandle;
use actix_web::rt::spawn;
use actix_web::web;
use platform_actors::Platform;
use platform_actors::background::abandoned_uploads;
use platform_model::application::ShownApplication;
use platform_model::id::TenantId;
use platform_model::limits::Limits;
use platform_model::links::Links;
use platform_store::applications::SeenApplication;
use platform_store::{self, Connections, Database};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use crate::administration::{self, NewUser};
use crate::api::application_binaries;
use crate::application_paths::ApplicationPaths;
use crate::auth::access_token::GatewayCheck;
use crate::auth::password::SecretKey;
use crate::auth::{Authenticator, RateLimit};
use crate::config::{AllowedHost, Settings, TrustedProxy};
use crate::connection::Transport;
use crate::csv::{ActingDevices, TemplateSets};
use crate::hosted_files::HostedFiles;
use crate::http::cors::Cors;
use crate::http::held_bytes::HeldBytes;
use crate::http::hosted::Policies;
use crate::prerequisites::{self, Prerequisites};
use crate::service::{Services, probes};
use crate::stop::{self, Stop};
use crate::tls::{self, Tls};
use crate::{connection, csv, outbound_requests, secret_key, telemetry};

/// The state that every handler can access.
pub struct Edge {
    /// The actors and the store.
    pub platform: Arc<Platform>,
    /// Authenticates callers.
    pub authenticator: Authenticator,
    /// The origins whose pages may read responses.
    pub cors: Cors,
    /// Maps context paths to applications.
    pub applications: ApplicationPaths,
    /// The microservices behind this server.
    pub services: Services,
    /// The stop state of the server, which can be queried and awaited.
    pub stop: Arc<Stop>,
    /// Permits to unpack an archive.
    pub archives: Semaphore,
    /// The cache of files of hosted applications.
    pub hosted_files: HostedFiles,
    /// The content security policies of hosted applications.
    pub hosted_policies: Policies,
    /// The template sets of the CSV protocol.
    pub csv_templates: TemplateSets,
    /// The devices on whose behalf rows of the CSV protocol act.
    pub csv_devices: ActingDevices,
    /// Permits for rows of the CSV protocol that are processed concurrently with the row before them.
    pub csv_overlaps: Semaphore,
    /// The key that hashes generated secrets and encrypts options.
    pub secret_key: Arc<SecretKey>,
    /// The rate limit for devices that request their credentials.
    pub credential_polls: RateLimit,
    /// The rate limit for clients that request access tokens (T-07).
    pub token_requests: RateLimit,
    /// The bytes in memory for slow clients, by user and tenant.
    pub held_bytes: Arc<HeldBytes>,
    /// Whether all deviations for existing clients are active (C-20).
    pub client_compatibility: bool,
    /// Whether error bodies contain the cause (E-03).
    pub debug_errors: bool,
    /// The scheme of the server: `https` or `http`.
    pub scheme: &'static str,
    /// The beginning of links for requests that name no host.
    pub fallback_base: String,
    trusted_proxies: Vec<TrustedProxy>,
    module_request_hosts: Vec<AllowedHost>,
}

impl Edge {
    /// Returns the active limits.
    pub fn limits(&self) -> &Limits {
        self.platform.limits()
    }

    /// Returns an application in the form that a tenant may see: the owner sees the key, and a microservice has its
    /// health.
    pub fn show_application(&self, seen: SeenApplication) -> ShownApplication {
        let shown = self.secret_key.show_application(seen);
        ShownApplication { health: self.services.health.of(&shown.application), ..shown }
    }

    /// Returns whether the forwarded headers of this peer are trusted.
    pub fn trusts(&self, peer: IpAddr) -> bool {
        self.trusted_proxies.iter().any(|proxy| proxy.contains(peer))
    }
}

/// The reason why a server did not start, with a message for the operator.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The database cannot be used.
    #[error("database: {0}")]
    Database(#[from] platform_model::error::Error),
    /// The secret key cannot be used.
    #[error("secret key: {0}")]
    SecretKey(String),
    /// The certificate cannot be used.
    #[error("{0}")]
    Tls(String),
    /// The server cannot listen on the address.
    #[error("cannot listen on {address}: {cause}{}", prerequisites::remedy(.cause))]
    Listen {
        /// The configured address.
        address: SocketAddr,
        /// The error of the operating system.
        cause: io::Error,
    },
}

/// The time over which the clients of released polls spread their reconnects.
const RELEASE_SPREAD: Duration = Duration::from_secs(5);
/// The interval at which polls are released while the server stops, because new ones arrive in between.
const RELEASE_AGAIN: Duration = Duration::from_millis(250);
/// The maximum number of connections per worker. The effective limit is the limit of open files.
const CONNECTIONS_PER_WORKER: usize = 1_000_000;
/// A server that accepts connections.
pub struct Server {
    edge: web::Data<Edge>,
    http: actix_web::dev::Server,
    tls: Option<Arc<Tls>>,
    address: SocketAddr,
    shutdown: Duration,
}

impl Server {
    /// Migrates the schema, listens, and creates the users of a first start; `tell` is called for each of them as soon
    /// as it exists. Must be called within an actix system.
    ///
    /// # Errors
    /// [`StartError`] when the database, the secret key or the address cannot be used.
    pub async fn start(
        settings: &Settings,
        prerequisites: Prerequisites,
        database_url: &str,
        tell: &mut dyn FnMut(NewUser) -> io::Result<()>,
    ) -> Result<Self, StartError> {
        telemetry::start_metrics();
        let (scheme, address) = (prerequisites.scheme(), prerequisites.address());
        let (limits, tls) = (settings.limits(), prerequisites.tls.clone());
        let connections = Connections { reads: settings.read_connections, devices: settings.job_connections };
        let database = Database::new(database_url, connections, &limits)?;
        database.migrate().await?;
        platform_store::measurements::partitions::make_partitions(&database).await?;
        let secret_key = Arc::new(secret_key::open(&settings.store, &database).await?);
        // The server listens before it creates users, so that a start that fails here has changed nothing and can be
        // repeated.
        let listener = prerequisites.listen()?;
        administration::first_start(&database, &secret_key, settings, tell).await?;
        let default_tenant = TenantId::parse(&settings.default_tenant)?;
        let by_host = (default_tenant, settings.regions.clone());
        let gateway = if settings.gateway_check { GatewayCheck::On } else { GatewayCheck::Off };
        let authenticator =
            Authenticator::new(database.clone(), secret_key.clone(), by_host, &limits, gateway);
        let platform = Platform::start(database, limits, settings.actor_threads).await?;
        let edge = web::Data::new(Edge {
            platform,
            authenticator,
            cors: Cors::default(),
            applications: ApplicationPaths::default(),
            services: Services::default(),
            stop: Arc::default(),
            archives: Semaphore::new(application_binaries::UNPACKED_AT_ONCE),
            hosted_files: HostedFiles::new(settings.hosted_cache_bytes),
            hosted_policies: Policies::new(&settings.hosted_content_security_policy),
            csv_templates: TemplateSets::default(),
            csv_overlaps: Semaphore::new(csv::OVERLAPPING),
            csv_devices: ActingDevices::default(),
            secret_key,
            credential_polls: RateLimit::per_minute(
                "polls for credentials from this address",
                settings.limits.credential_polls,
            ),
            token_requests: RateLimit::per_minute(
                "requests for a token from this address",
                settings.limits.token_requests,
            ),
            held_bytes: HeldBytes::new(&settings.limits()),
            client_compatibility: settings.client_compatibility,
            debug_errors: settings.debug_errors,
            scheme,
            fallback_base: settings.public_url.clone().unwrap_or_else(|| format!("{scheme}://{address}")),
            trusted_proxies: settings.trusted_proxies.clone(),
            module_request_hosts: settings.module_request_hosts.clone(),
        });
        // The edge owns the platform, so the platform must hold only a weak reference to the edge.
        let remembering = Arc::downgrade(&edge);
        edge.platform.forget_by(move |changed| {
            if let Some(edge) = remembering.upgrade() {
                edge.authenticator.forget(changed);
                edge.cors.forget(changed);
            }
        });
        // Modules start before clients can write data that the modules would miss.
        edge.platform.start_modules(Links::new(edge.fallback_base.clone())).await?;
        let transport = if settings.fast_lane { Transport::FastLane } else { Transport::Common };
        let builder = actix_server::Server::build()
            .workers(settings.workers)
            .max_concurrent_connections(CONNECTIONS_PER_WORKER)
            .shutdown_timeout(settings.shutdown.as_secs())
            .disable_signals();
        let http = connection::listen(builder, listener, edge.clone(), tls.clone(), transport)
            .map_err(|cause| StartError::Listen { address: settings.listen, cause })?
            .run();
        warn_of_exposure(settings);
        Ok(Self { edge, http, tls, address, shutdown: settings.shutdown })
    }

    /// Returns the address on which the server listens. For port 0 it contains the port that the system selected.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the scheme, address and port of the server.
    pub fn base(&self) -> String {
        format!("{}://{}", self.edge.scheme, self.address)
    }

    /// Returns the database, so that its operator can report its state.
    pub fn database(&self) -> Database {
        self.edge.platform.database().clone()
    }

    /// Serves until `stop` resolves. Then it accepts no new connections, finishes requests in progress, responds to
    /// held polls with the advice to reconnect within a few seconds, and returns.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let handle = self.http.handle();
        let watching = spawn(self.edge.platform.clone().watch());
        let upkeep = self.keep_up();
        let serving = spawn(self.http);
        stop.await;
        stop_gracefully(&self.edge, &handle, self.shutdown).await;
        // The task has ended, because `stop` has returned.
        drop(serving.await);
        watching.abort();
        upkeep.iter().for_each(JoinHandle::abort);
        self.edge.platform.give_bulk_operations_back().await;
        self.edge.platform.give_modules_back().await;
        self.edge.platform.stop();
    }

    /// Starts the background tasks that run as long as the server.
    fn keep_up(&self) -> [JoinHandle<()>; 14] {
        let platform = || self.edge.platform.clone();
        let database = || self.edge.platform.database().clone();
        let links = || Links::new(self.edge.fallback_base.clone());
        [
            spawn(telemetry::keep_up()),
            spawn(tls::keep_fresh(self.tls.clone())),
            spawn(platform_store::keep_log_short(database())),
            spawn(platform_store::inventory::binaries::sweep_hourly(database())),
            spawn(platform_store::devices::credentials::sweep(
                database(),
                self.edge.limits().device_credentials,
            )),
            spawn(platform_store::users::access_tokens::sweep(database())),
            spawn(platform_store::measurements::partitions::make_partitions_hourly(database())),
            spawn(platform().keep_bulk_updates_going()),
            spawn(platform().keep_bulk_operations_going()),
            spawn(platform().keep_modules_going()),
            spawn(outbound_requests::keep_sending(platform(), self.edge.module_request_hosts.clone())),
            spawn(abandoned_uploads::remove_hourly(platform(), links())),
            spawn(platform().watch_silence(links())),
            spawn(probes::keep_asking(self.edge.clone())),
        ]
    }
}

/// Logs a warning when the server listens on a non-loopback address without TLS and without a trusted proxy that could
/// provide it.
fn warn_of_exposure(settings: &Settings) {
    let encrypted = settings.tls.cert.is_some() || !settings.trusted_proxies.is_empty();
    if !encrypted && !settings.listen.ip().to_canonical().is_loopback() {
        tracing::warn!(
            listen = %settings.listen,
            "plain http on a network: passwords, keys and everything devices send can be read and changed on the way. Set \
             --tls-cert and --tls-key, or listen on 127.0.0.1 behind a proxy that serves https, and name it with \
             --trusted-proxies"
        );
    }
}

async fn stop_gracefully(edge: &Edge, handle: &ServerHandle, shutdown: Duration) {
    // The stop begins before polls are released, so that their responses announce the end of the connection.
    edge.stop.begin();
    let stopped = tokio::time::timeout(shutdown, handle.stop(true));
    let grace = async {
        tokio::time::sleep(stop::GRACE).await;
        edge.stop.end_grace();
        std::future::pending::<()>().await;
    };
    let release = async {
        loop {
            edge.platform.release_sessions(RELEASE_SPREAD);
            tokio::time::sleep(RELEASE_AGAIN).await;
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
