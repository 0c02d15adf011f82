//! PostgreSQL, the source of truth. Only this crate sends statements to it. Its nouns are in six rooms, as those of the
//! [model](platform_model) are, with one module per noun. `query` is the common part of lists, and [`writer`] the group
//! commit.
//!
//! One transaction is one function. Client reads and device actors have separate connection pools, so that slow reads
//! never starve devices; each [`Writer`](crate::writer::Writer) has a connection of its own.

pub mod access;
pub mod applications;
mod connect;
mod connection;
pub mod consumers;
pub mod data;
pub mod devices;
pub mod idempotency_keys;
pub mod leases;
pub mod metrics;
pub mod query;
pub mod realtime;
pub mod schema;
pub mod statistics;
pub mod tenancy;
pub mod traces;
pub mod users;
mod write_kind;
pub mod writer;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use access::recent_sources::RecentSources;
use access::{LineageLookup, SourceLookup};
use connect::{CONNECTION_WAIT, Connector, pool};
pub use connect::{ConnectionTurn, Turns, check_database_url, holds_password, libpq_environment};
pub use connect::{lines, shares};
pub use connection::Connection;
use connection::MomentConnection;
use data::measurements::rollups::Rollups;
use data::measurements::shapes::Shapes;
/// The connections of one purpose.
pub use deadpool_postgres::{Object as PooledConnection, Pool};
use devices::certificates::authorities::AuthorityLookup;
use devices::certificates::device_certificates::CertificateLookup;
use devices::certificates::first_uses::FirstUses;
use devices::names::Generations;
use futures_util::future::BoxFuture;
use platform_model::error::{Error, Result};
use platform_model::limits::Limits;
use query::shared_lookups::{STATEMENTS_AT_ONCE, SharedLookups};
use realtime::announcements::Bus;
pub use realtime::pauses::Pauses;
use realtime::publications::Publications;
use realtime::servers::Membership;
use realtime::session_moves::SessionMoves;
use realtime::signatures::Signatures;
use schema::migrations;
use tenancy::tenant_limits::AllTenantLimits;
use tokio::time::timeout;
use users::AccountLookup;
use writer::room::DiskSpace;
pub use writer::room::{Room, keep_log_short};

/// The number of connections that a server may use, besides one per writer.
#[derive(Debug, Clone, Copy)]
pub struct Connections {
    /// The connections for reads of consoles and other clients.
    pub reads: usize,
    /// The connections for writes outside of the group commit, for look-ups, and for background jobs.
    pub devices: usize,
}

/// The database of a deployment.
#[derive(Clone)]
pub struct Database {
    connector: Connector,
    reads: Shared,
    devices: Shared,
    accounts: Arc<SharedLookups<AccountLookup>>,
    lineages: Arc<SharedLookups<LineageLookup>>,
    sources: Arc<SharedLookups<SourceLookup>>,
    certificates: Arc<SharedLookups<CertificateLookup>>,
    authorities: Arc<SharedLookups<AuthorityLookup>>,
    first_uses: Arc<SharedLookups<FirstUses>>,
    reachable: Arc<AtomicBool>,
    disk: Arc<DiskSpace>,
    statement_timeout: Duration,
    ping: Duration,
    shapes: Arc<Shapes>,
    rollups: Arc<Rollups>,
    recent_sources: Arc<RecentSources>,
    names: Arc<Generations>,
    applications: Arc<AtomicU64>,
    bus: Arc<Bus>,
    publications: Arc<Publications>,
    membership: Arc<Membership>,
    session_moves: Arc<SessionMoves>,
    signatures: Arc<Signatures>,
    statistics: Arc<statistics::Statistics>,
    tenant_limits: Arc<AllTenantLimits>,
    pauses: Arc<Pauses>,
    /// The transaction in which it reads.
    moment: Option<Arc<MomentConnection>>,
}

/// Planner settings of those that look rows up by key in batches of any size: writers, and the look-ups of connecting
/// clients. Planning each batch anew would cost more than running it, and a plan that was made once, on a small table,
/// must not scan the table when it has grown.
const KEYED_PLANS: &str = "-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c enable_hashjoin=off \
    -c enable_mergejoin=off -c jit=off";

/// Planner settings of readers, which filter by values that clients send. A generic plan, or one with the seek costs
/// of a disk, scans a table for a page of five rows; planning anew costs a fraction of a millisecond. Rows that
/// indexes find are joined in memory, and a hundred thousand of them must not spill to disk. Tenants share
/// connections, so a statement occupies only one processor.
const READER_PLANS: &str = "-c plan_cache_mode=force_custom_plan -c random_page_cost=1.1 -c jit=off -c work_mem=16MB \
    -c max_parallel_workers_per_gather=0";

/// Stores a value that all processes of the deployment share, unless there is one of this name.
pub(crate) const AGREE: &str = "INSERT INTO deployment (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING";

/// Timeouts of a step of bulk work. A device's write waits for a step, so a step does not wait long for a device's
/// write: this would risk a deadlock with an arbitrary victim. And a process that hangs in the middle of a step must
/// not keep its locks.
const PATIENCE: &str = "SET LOCAL lock_timeout = 250; SET LOCAL idle_in_transaction_session_timeout = '10s'";

impl Database {
    /// Prepares the pools without connecting yet. `url` is `postgres://…` or `key=value …`.
    ///
    /// # Errors
    /// `Invalid` when the URL cannot be parsed or names a file that cannot be used.
    pub fn new(url: &str, connections: Connections, limits: &Limits) -> Result<Self> {
        let timeout = format!("-c statement_timeout={}", limits.statement_timeout.as_millis());
        let bus = Arc::<Bus>::default();
        let signatures = Arc::new(Signatures::new(bus.origin()));
        let publications =
            Arc::new(Publications::new(bus.origin(), limits.tenant_linger, signatures.clone()));
        let connector = Connector::new(url)?.marked(publications.token()).with_options(&timeout);
        // Few are open until many clients connect at once.
        let look_ups = pool(&connector.with_options(KEYED_PLANS), 2 * STATEMENTS_AT_ONCE)?;
        Ok(Self {
            reads: Shared::new(&connector.with_options(READER_PLANS), connections.reads)?,
            devices: Shared::new(&connector, connections.devices)?,
            accounts: Arc::new(SharedLookups::new(AccountLookup(look_ups.clone()))),
            lineages: Arc::new(SharedLookups::new(LineageLookup(look_ups.clone()))),
            sources: Arc::new(SharedLookups::new(SourceLookup(look_ups.clone()))),
            certificates: Arc::new(SharedLookups::new(CertificateLookup(look_ups.clone()))),
            authorities: Arc::new(SharedLookups::new(AuthorityLookup(look_ups.clone()))),
            first_uses: Arc::new(SharedLookups::new(FirstUses(look_ups))),
            connector,
            reachable: Arc::new(AtomicBool::new(true)),
            disk: Arc::new(DiskSpace::new(limits.database_disk_bytes)),
            statement_timeout: limits.statement_timeout,
            ping: limits.database_ping,
            shapes: Arc::default(),
            rollups: Arc::new(Rollups::new(limits)),
            recent_sources: Arc::default(),
            names: Arc::default(),
            applications: Arc::default(),
            bus,
            publications,
            membership: Arc::default(),
            session_moves: Arc::new(SessionMoves::new(signatures.clone())),
            signatures,
            statistics: Arc::default(),
            tenant_limits: Arc::new(AllTenantLimits::new(limits)),
            pauses: Arc::default(),
            moment: None,
        })
    }

    /// Creates a pool of one connection, for a writer or for occasional writes.
    pub fn writer_pool(&self) -> Result<Pool> {
        pool(&self.connector.with_options(KEYED_PLANS), 1)
    }

    /// Creates a pool for work that writes many rows in steps; `steps` is the number of concurrent steps.
    pub fn step_pool(&self, steps: usize) -> Result<Pool> {
        pool(&self.connector.with_options(KEYED_PLANS), steps)
    }

    /// Returns the same database for reads that must not slow down those of clients. It has connections of its own,
    /// whose statements time out after `longest`.
    ///
    /// # Errors
    /// None for a URL that was parsed before.
    pub fn apart(&self, connections: usize, longest: Duration) -> Result<Self> {
        let options = format!("{READER_PLANS} -c statement_timeout={}", longest.as_millis());
        let reads = Shared::new(&self.connector.with_options(&options), connections)?;
        Ok(Self { devices: reads.clone(), reads, statement_timeout: longest, ..self.clone() })
    }

    /// Returns the pools of connections by name, as they are now.
    pub(crate) fn pools(&self) -> [(&'static str, deadpool_postgres::Status); 2] {
        [("reads", self.reads.pool.status()), ("jobs", self.devices.pool.status())]
    }

    /// Returns the pauses of this process.
    pub fn pauses(&self) -> &Pauses {
        &self.pauses
    }

    /// Returns whether PostgreSQL responded to the last ping.
    pub fn is_reachable(&self) -> bool {
        self.reachable.load(Ordering::Relaxed)
    }

    pub(crate) fn set_reachable(&self) {
        if !self.reachable.swap(true, Ordering::Relaxed) {
            tracing::info!("database is reachable again");
        }
    }

    pub(crate) fn set_unreachable(&self, error: &Error) {
        if self.reachable.swap(false, Ordering::Relaxed) {
            tracing::error!(
                %error,
                "database is not reachable, requests that need it get 503 until it is back"
            );
        }
    }

    /// Returns the same database, whose reads are in a transaction.
    fn reading_in(&self, moment: Arc<MomentConnection>) -> Self {
        Self { moment: Some(moment), ..self.clone() }
    }

    /// Returns a connection for a read.
    pub async fn reader(&self) -> Result<Connection> {
        match &self.moment {
            Some(moment) => moment.take(),
            None => self.take(&self.reads).await,
        }
    }

    /// Returns a connection for a write outside of the group commit, a look-up, or a background job. It is not taken
    /// from the connections for reads of clients.
    pub async fn loader(&self) -> Result<Connection> {
        self.take(&self.devices).await
    }

    /// Returns a connection as [`loader`](Self::loader) does, whose statements may take any time. It is for commands,
    /// because the connection stays so.
    pub(crate) async fn patient_loader(&self) -> Result<Connection> {
        let client = self.loader().await?;
        client.batch_execute("SET statement_timeout = 0").await?;
        Ok(client)
    }

    async fn take(&self, shared: &Shared) -> Result<Connection> {
        self.ensure_reachable()?;
        shared.take().await
    }

    /// Returns the bus of changes of this and other processes.
    pub fn bus(&self) -> &Bus {
        &self.bus
    }

    /// Returns the publications of this and other servers.
    pub fn publications(&self) -> &Arc<Publications> {
        &self.publications
    }

    /// Returns the place of this process among the servers.
    pub fn membership(&self) -> &Membership {
        &self.membership
    }

    /// Returns what this process counts.
    pub fn statistics(&self) -> &statistics::Statistics {
        &self.statistics
    }

    /// Returns how many connections this process opens at most.
    pub fn most_connections(&self) -> i32 {
        i32::try_from(self.connector.most_connections()).unwrap_or(i32::MAX)
    }

    /// Returns the cache of shapes of measurements.
    pub fn shapes(&self) -> &Shapes {
        &self.shapes
    }

    /// Returns the state of this process's rollup work.
    pub(crate) fn rollups(&self) -> &Rollups {
        &self.rollups
    }

    /// Returns how long one request may read.
    pub(crate) fn statement_timeout(&self) -> Duration {
        self.statement_timeout
    }

    /// # Errors
    /// `Unavailable` at once while PostgreSQL is known to be unreachable, so that no request queues for it.
    pub fn ensure_reachable(&self) -> Result<()> {
        if self.is_reachable() { Ok(()) } else { Err(Error::unavailable("the database is not reachable")) }
    }

    /// Migrates the schema to the newest version (`sql/migrations`), under an advisory lock.
    ///
    /// # Errors
    /// `Unavailable` when PostgreSQL is unreachable; `Conflict` when the schema is newer than this server.
    pub async fn migrate(&self) -> Result<()> {
        migrations::run(&self.devices.pool, &self.connector).await
    }

    /// Returns the value that [`agree`](Self::agree) stored.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn agreed(&self, name: &str) -> Result<Option<String>> {
        let statement = "SELECT value FROM deployment WHERE name = $1";
        Ok(self.reader().await?.query_opt(statement, &[&name]).await?.map(|row| row.get(0)))
    }

    /// Returns the names and values of [`agree`](Self::agree) whose name has a beginning.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn list_agreed(&self, beginning: &str) -> Result<Vec<(String, String)>> {
        let statement = "SELECT name, value FROM deployment WHERE starts_with(name, $1) ORDER BY name";
        let rows = self.reader().await?.query(statement, &[&beginning]).await?;
        Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
    }

    /// Stores a value that all processes of the deployment share, unless there is one, and returns the stored one.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn agree(&self, name: &str, value: &str) -> Result<String> {
        let client = self.reader().await?;
        client.execute(AGREE, &[&name, &value]).await?;
        Ok(client.query_one("SELECT value FROM deployment WHERE name = $1", &[&name]).await?.get(0))
    }
}

/// Retries a transaction a few times while it conflicts with concurrent ones.
///
/// # Errors
/// The error of the transaction; `Contended` when every attempt conflicted.
async fn until_uncontended<T>(transaction: impl AsyncFn() -> Result<T>) -> Result<T> {
    for _ in 0..4 {
        match transaction().await {
            Err(Error::Contended) => {}
            outcome => return outcome,
        }
    }
    transaction().await
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database").field("reachable", &self.is_reachable()).finish_non_exhaustive()
    }
}

/// Takes a connection from a pool of look-ups, which are shared by all that need the same.
fn take(pool: &Pool) -> BoxFuture<'_, Result<Connection>> {
    Box::pin(async { Ok(Connection::of(pool.get().await?, None, None)) })
}

/// A pool of connections that tenants share fairly.
#[derive(Clone)]
struct Shared {
    pool: Pool,
    turns: Turns,
}

impl Shared {
    fn new(connector: &Connector, size: usize) -> Result<Self> {
        Ok(Self { pool: pool(connector, size)?, turns: Turns::new(size) })
    }

    /// Takes a connection when it is the turn of the tenant whose request is being processed. The future is boxed,
    /// because the compiler generates the code of another one in every crate that waits for it.
    fn take(&self) -> BoxFuture<'_, Result<Connection>> {
        Box::pin(async {
            let waiting = std::time::Instant::now();
            let turn = match shares::charged() {
                Some(charged) => {
                    Some(timeout(CONNECTION_WAIT, self.turns.take_for(&charged)).await.map_err(|_| {
                        Error::unavailable(
                            "the tenant's other requests use its share of the database connections",
                        )
                    })?)
                }
                None => None,
            };
            let connection = self.pool.get().await;
            crate::metrics::POOL_WAIT.record(waiting.elapsed());
            Ok(Connection::of(connection?, turn, None))
        })
    }
}
