//! Puts the parts together: database, platform, HTTP server; and takes them apart in order.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::ServerHandle;
use actix_web::rt::spawn;
use actix_web::web;
use platform_actors::Platform;
use platform_actors::abandoned_uploads;
use platform_actors::limits::Limits;
use platform_actors::model::application::ShownApplication;
use platform_actors::model::id::TenantId;
use platform_actors::model::links::Links;
use platform_actors::store::applications::SeenApplication;
use platform_actors::store::{self, Connections, Database};
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
use crate::http::hosted::Policies;
use crate::prerequisites::{self, Prerequisites};
use crate::service::{Services, probes};
use crate::stop::{self, Stop};
use crate::tls::{self, Tls};
use crate::{connection, csv, outbound_requests, secret_key, telemetry};

/// What every handler can reach.
pub struct Edge {
    /// Actors and store.
    pub platform: Arc<Platform>,
    /// Who asks.
    pub authenticator: Authenticator,
    /// Which other sites' pages may read answers.
    pub cors: Cors,
    /// Which application answers where.
    pub applications: ApplicationPaths,
    /// Microservices behind this server.
    pub services: Services,
    /// Whether the server stops, to be asked and to be waited for.
    pub stop: Arc<Stop>,
    /// Turns to unpack an archive.
    pub archives: Semaphore,
    /// Files of hosted applications that are kept in memory.
    pub hosted_files: HostedFiles,
    /// What pages of hosted applications may do.
    pub hosted_policies: Policies,
    /// Template sets of the CSV protocol.
    pub csv_templates: TemplateSets,
    /// Devices that act by rows of it.
    pub csv_devices: ActingDevices,
    /// Permits for rows of the CSV protocol that do not wait for the row before them.
    pub csv_overlaps: Semaphore,
    /// Hashes generated secrets and seals options.
    pub secret_key: Arc<SecretKey>,
    /// How often devices may ask for their credentials.
    pub credential_polls: RateLimit,
    /// How often clients may ask for access tokens (T-07).
    pub token_requests: RateLimit,
    /// The deviations for existing clients, all together (C-20).
    pub client_compatibility: bool,
    /// Whether error bodies carry the cause (E-03).
    pub debug_errors: bool,
    /// `https` or `http`: how the server is spoken to.
    pub scheme: &'static str,
    /// Start of links where a request named no host.
    pub fallback_base: String,
    trusted_proxies: Vec<TrustedProxy>,
    module_request_hosts: Vec<AllowedHost>,
}

impl Edge {
    /// The limits in force.
    pub fn limits(&self) -> &Limits {
        self.platform.limits()
    }

    /// An application as the tenant that sees it may be shown it: the owner with its key, a microservice with how it is.
    pub fn show_application(&self, seen: SeenApplication) -> ShownApplication {
        let shown = self.secret_key.show_application(seen);
        ShownApplication { health: self.services.health.of(&shown.application), ..shown }
    }

    /// Whether forwarded headers of this peer are believed.
    pub fn trusts(&self, peer: IpAddr) -> bool {
        self.trusted_proxies.iter().any(|proxy| proxy.contains(peer))
    }
}

/// Why a server did not start; the text is for the operator.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The database cannot be used.
    #[error("database: {0}")]
    Database(#[from] platform_actors::Error),
    /// The secret key cannot be used.
    #[error("secret key: {0}")]
    SecretKey(String),
    /// The certificate cannot be used.
    #[error("{0}")]
    Tls(String),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {cause}{}", prerequisites::remedy(.cause))]
    Listen {
        /// The address of the settings.
        address: SocketAddr,
        /// What the system said.
        cause: io::Error,
    },
}

/// Released polls come back spread over this time.
const RELEASE_SPREAD: Duration = Duration::from_secs(5);
/// How often polls are released while the server stops: some come in between.
const RELEASE_AGAIN: Duration = Duration::from_millis(250);
/// Connections of one worker; the real bound is the limit of open files.
const CONNECTIONS_PER_WORKER: usize = 1_000_000;
/// A server that listens.
pub struct Server {
    edge: web::Data<Edge>,
    http: actix_web::dev::Server,
    tls: Option<Arc<Tls>>,
    address: SocketAddr,
    shutdown: Duration,
}

impl Server {
    /// Brings the schema up to date, listens, and creates what a first start creates; each user of that is told of by `tell`
    /// as soon as it is there. Needs an actix system.
    ///
    /// # Errors
    /// [`StartError`] when database, secret key or address cannot be used.
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
        store::measurement_partitions::make_partitions(&database).await?;
        let secret_key = Arc::new(secret_key::open(&settings.store, &database).await?);
        // Before there are users: a start that ends here can be repeated as if it had not been.
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
            client_compatibility: settings.client_compatibility,
            debug_errors: settings.debug_errors,
            scheme,
            fallback_base: settings.public_url.clone().unwrap_or_else(|| format!("{scheme}://{address}")),
            trusted_proxies: settings.trusted_proxies.clone(),
            module_request_hosts: settings.module_request_hosts.clone(),
        });
        // The edge has the platform, which must not keep the edge.
        let remembering = Arc::downgrade(&edge);
        edge.platform.forget_by(move |changed| {
            if let Some(edge) = remembering.upgrade() {
                edge.authenticator.forget(changed);
                edge.cors.forget(changed);
            }
        });
        // Before anybody can write something that they would miss.
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

    /// Where the server listens; with port 0 the port the system chose.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Scheme, address and port of the server.
    pub fn base(&self) -> String {
        format!("{}://{}", self.edge.scheme, self.address)
    }

    /// The database, to be told what its operator sees of it.
    pub fn database(&self) -> Database {
        self.edge.platform.database().clone()
    }

    /// Serves until `stop` resolves. Then: accepts nothing new, finishes requests under way, answers held polls with
    /// the advice to come back within a few seconds, and returns.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let handle = self.http.handle();
        let watching = spawn(self.edge.platform.clone().watch());
        let upkeep = self.keep_up();
        let serving = spawn(self.http);
        stop.await;
        stop_gracefully(&self.edge, &handle, self.shutdown).await;
        // It ended: `stop` has returned.
        drop(serving.await);
        watching.abort();
        upkeep.iter().for_each(JoinHandle::abort);
        self.edge.platform.give_bulk_operations_back().await;
        self.edge.platform.give_modules_back().await;
        self.edge.platform.stop();
    }

    /// What goes on beside the requests, for as long as the server runs.
    fn keep_up(&self) -> [JoinHandle<()>; 14] {
        let platform = || self.edge.platform.clone();
        let database = || self.edge.platform.database().clone();
        let links = || Links::new(self.edge.fallback_base.clone());
        [
            spawn(telemetry::keep_up()),
            spawn(tls::keep_fresh(self.tls.clone())),
            spawn(store::keep_log_short(database())),
            spawn(store::binaries::sweep_hourly(database())),
            spawn(store::device_credentials::sweep(database(), self.edge.limits().device_credentials)),
            spawn(store::access_tokens::sweep(database())),
            spawn(store::measurement_partitions::make_partitions_hourly(database())),
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

/// Whoever listens to more than its own machine without encryption, and without somebody in front who encrypts, hears of it.
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
    // Before polls are released, so that what they are answered says that the connection ends.
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
