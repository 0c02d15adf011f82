//! PostgreSQL: the truth. The only importer of `tokio-postgres`; one file per noun.
//!
//! One transaction is one function. Console reads and device actors have pools of their own, so that slow reads
//! never starve devices; each [`Writer`](crate::writer::Writer) has a connection of its own.

pub mod access;
pub mod access_tokens;
pub mod account_limits;
pub mod alarm_collection;
pub mod alarms;
pub(crate) mod announcements;
pub mod application_changes;
pub mod application_collection;
pub mod application_roles;
pub mod application_routes;
pub mod application_users;
pub mod application_versions;
pub mod applications;
pub mod audit_records;
pub(crate) mod availability;
pub mod binaries;
pub mod bulk_alarm_updates;
pub(crate) mod bulk_operation_steps;
mod bulk_operation_targets;
pub mod bulk_operations;
pub(crate) mod bulk_registration;
pub(crate) mod bulk_requests;
mod deletion;
pub mod device_credentials;
pub(crate) mod device_placements;
pub(crate) mod device_users;
pub mod event_collection;
pub mod events;
pub mod external_ids;
mod filter;
pub mod group_members;
mod group_paths;
pub mod groups;
pub mod inventory_collection;
mod inventory_query;
pub(crate) mod leases;
pub mod links;
pub mod managed_objects;
mod measurement_buckets;
pub mod measurement_collection;
pub mod measurement_partitions;
mod measurement_rollups;
pub mod measurement_rows;
pub mod measurement_series;
pub(crate) mod measurement_shapes;
pub(crate) mod measurements;
mod migrations;
pub(crate) mod module_changes;
pub(crate) mod module_holders;
pub(crate) mod module_leases;
pub(crate) mod module_session;
pub mod modules;
mod names;
pub mod new_device_requests;
pub mod operation_collection;
pub(crate) mod operation_diagnosis;
pub mod operation_queues;
pub mod operations;
pub mod options;
pub(crate) mod presence;
mod room;
mod server_fragments;
pub mod standard_applications;
pub mod subscriptions;
pub mod template_sets;
pub mod tenants;
mod time_walk;
pub mod token_clients;
pub mod user_changes;
pub mod users;
mod walk;
pub(crate) mod watch;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use deadpool_postgres::{
    Manager, ManagerConfig, Object, Pool, PoolConfig, RecyclingMethod, Runtime, Timeouts,
};
use tokio_postgres::{Config, NoTls};

use crate::error::{Error, Result};
use crate::limits::Limits;
use access::RecentSources;
use measurement_rollups::Rollups;
use measurement_shapes::Shapes;
use room::Scarcity;
pub use room::{Room, keep_log_short};

const FIND_GREATEST_ID: &str = include_str!("../../../sql/queries/deployment/find_greatest_id.sql");

/// How many connections a server may use beside one per writer.
#[derive(Debug, Clone, Copy)]
pub struct Connections {
    /// For reads of consoles and clients.
    pub reads: usize,
    /// For device actors that load.
    pub devices: usize,
}

/// The database of a deployment.
#[derive(Clone)]
pub struct Database {
    config: Arc<Config>,
    reads: Pool,
    devices: Pool,
    reachable: Arc<AtomicBool>,
    scarcity: Arc<Scarcity>,
    statement_timeout: Duration,
    shapes: Arc<Shapes>,
    rollups: Arc<Rollups>,
    recent_sources: Arc<RecentSources>,
    names: Arc<names::Generations>,
    applications: Arc<AtomicU64>,
    bus: Arc<announcements::Bus>,
}

/// How long a request waits for a connection before it is answered 503.
const CONNECTION_WAIT: Duration = Duration::from_secs(5);
/// How long making one connection may take: PostgreSQL starts a process for it, which takes seconds on a machine that is overloaded.
const CONNECT: Duration = Duration::from_secs(5);

/// A writer looks rows up by key, in batches of any size. Planned anew for each batch its statements would cost more to
/// plan than to run; planned once, on a small table, they must not scan it when it has grown.
const WRITER_PLANS: &str = "-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c enable_hashjoin=off \
    -c enable_mergejoin=off -c jit=off";

/// Reads filter by what clients send. A plan made without knowing the value, or one that pays for a disk's head to move,
/// scans a table for a page of five; planning anew costs a fraction of a millisecond. What indexes find is joined in memory,
/// which for a hundred thousand rows must not be cut down to pages.
const READER_PLANS: &str =
    "-c plan_cache_mode=force_custom_plan -c random_page_cost=1.1 -c jit=off -c work_mem=16MB";

/// A device's write waits behind a step of bulk work, so a step does not wait long for a device's write: that would be the
/// start of a deadlock, and who is its victim would be a matter of luck. And a process that hangs in the middle of a step
/// does not keep others from what it has locked.
const PATIENCE: &str = "SET LOCAL lock_timeout = 250; SET LOCAL idle_in_transaction_session_timeout = '10s'";

impl Database {
    /// Prepares the pools; connects to nothing yet. `url` is `postgres://…` or `key=value …`.
    ///
    /// # Errors
    /// `Invalid` when the address cannot be read.
    pub fn new(url: &str, connections: Connections, limits: &Limits) -> Result<Self> {
        let mut config: Config =
            url.parse().map_err(|e| Error::Invalid(format!("Invalid database URL: {e}")))?;
        let timeout = format!("-c statement_timeout={}", limits.statement_timeout.as_millis());
        let options = config.get_options().map_or(timeout.clone(), |given| format!("{given} {timeout}"));
        config.options(options).connect_timeout(CONNECT).application_name("platform");
        Ok(Self {
            reads: pool(&with_options(&config, READER_PLANS), connections.reads)?,
            devices: pool(&config, connections.devices)?,
            config: Arc::new(config),
            reachable: Arc::new(AtomicBool::new(true)),
            scarcity: Arc::default(),
            statement_timeout: limits.statement_timeout,
            shapes: Arc::default(),
            rollups: Arc::new(Rollups::new(limits)),
            recent_sources: Arc::default(),
            names: Arc::default(),
            applications: Arc::default(),
            bus: Arc::default(),
        })
    }

    /// A pool of one connection, for a writer, or for what is written now and then.
    pub(crate) fn writer_pool(&self) -> Result<Pool> {
        pool(&with_options(&self.config, WRITER_PLANS), 1)
    }

    /// A pool for what writes many rows in steps, so many at a time.
    pub(crate) fn step_pool(&self, steps: usize) -> Result<Pool> {
        pool(&with_options(&self.config, WRITER_PLANS), steps)
    }

    /// The same database for reads that shall not be in the way of those of clients: by so many connections of their own, where a
    /// statement may take so long.
    ///
    /// # Errors
    /// None for an address that was read before.
    pub(crate) fn apart(&self, connections: usize, longest: Duration) -> Result<Self> {
        let options = format!("{READER_PLANS} -c statement_timeout={}", longest.as_millis());
        let reads = pool(&with_options(&self.config, &options), connections)?;
        Ok(Self { devices: reads.clone(), reads, statement_timeout: longest, ..self.clone() })
    }

    /// Whether PostgreSQL answered last time it was asked.
    pub fn is_reachable(&self) -> bool {
        self.reachable.load(Ordering::Relaxed)
    }

    pub(crate) fn set_reachable(&self, reachable: bool) {
        if self.reachable.swap(reachable, Ordering::Relaxed) != reachable {
            match reachable {
                true => tracing::info!("database is reachable again"),
                false => {
                    tracing::error!("database is not reachable, writes are answered 503 until it is back")
                }
            }
        }
    }

    /// A connection for a read.
    pub(crate) async fn reader(&self) -> Result<Object> {
        self.take(&self.reads).await
    }

    /// A connection for a device actor that loads.
    pub(crate) async fn loader(&self) -> Result<Object> {
        self.take(&self.devices).await
    }

    async fn take(&self, pool: &Pool) -> Result<Object> {
        self.ensure_reachable()?;
        let waiting = std::time::Instant::now();
        let connection = pool.get().await;
        crate::metrics::POOL_WAIT.record(waiting.elapsed());
        Ok(connection?)
    }

    /// What this process and others changed.
    pub(crate) fn bus(&self) -> &announcements::Bus {
        &self.bus
    }

    /// The shapes of measurements this process has met.
    pub(crate) fn shapes(&self) -> &Shapes {
        &self.shapes
    }

    /// What this process knows of rollups of measurements.
    pub(crate) fn rollups(&self) -> &Rollups {
        &self.rollups
    }

    /// How long one request may read.
    pub(crate) fn statement_timeout(&self) -> Duration {
        self.statement_timeout
    }

    /// # Errors
    /// `Unavailable` at once while PostgreSQL is known to be away, so that nobody queues up for it.
    pub(crate) fn ensure_reachable(&self) -> Result<()> {
        match self.is_reachable() {
            true => Ok(()),
            false => Err(Error::unavailable("the database is not reachable")),
        }
    }

    /// Brings the schema up to date (`sql/migrations`), behind an advisory lock.
    ///
    /// # Errors
    /// `Unavailable` when PostgreSQL is away; `Conflict` when the schema is newer than this server.
    pub async fn migrate(&self) -> Result<()> {
        migrations::run(&self.config).await
    }

    /// Draws the number of this server process; it goes into the ids the process makes.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn draw_process_number(&self) -> Result<i64> {
        let row = self.reader().await?.query_one("SELECT nextval('server_processes')", &[]).await?;
        Ok(row.get(0))
    }

    /// What [`agree`](Self::agree) wrote.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn agreed(&self, name: &str) -> Result<Option<String>> {
        let statement = "SELECT value FROM deployment WHERE name = $1";
        Ok(self.reader().await?.query_opt(statement, &[&name]).await?.map(|row| row.get(0)))
    }

    /// The greatest id of what was given one by a clock, so that ids rise although the clock was set back meanwhile (C-13).
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub(crate) async fn find_greatest_id(&self) -> Result<i64> {
        Ok(self.reader().await?.query_one(FIND_GREATEST_ID, &[]).await?.get(0))
    }

    /// Writes a fact every process of this deployment must agree on, unless it stands, and gives what stands.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn agree(&self, name: &str, value: &str) -> Result<String> {
        let client = self.reader().await?;
        let insert = "INSERT INTO deployment (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING";
        client.execute(insert, &[&name, &value]).await?;
        Ok(client.query_one("SELECT value FROM deployment WHERE name = $1", &[&name]).await?.get(0))
    }
}

/// Runs a transaction again that lost against others of the same moment, a few times.
///
/// # Errors
/// What the transaction fails with; `Contended` when it lost every time.
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

fn with_options(config: &Config, options: &str) -> Config {
    let mut config = config.clone();
    let given = config.get_options().unwrap_or_default().to_owned();
    config.options(format!("{given} {options}"));
    config
}

fn pool(config: &Config, size: usize) -> Result<Pool> {
    let manager = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    let mut pool = PoolConfig::new(size);
    pool.timeouts = Timeouts {
        wait: Some(CONNECTION_WAIT),
        create: Some(CONNECT),
        recycle: Some(Duration::from_secs(1)),
    };
    Pool::builder(Manager::from_config(config.clone(), NoTls, manager))
        .config(pool)
        .runtime(Runtime::Tokio1)
        .build()
        .map_err(|e| Error::Invalid(format!("Invalid connection pool: {e}")))
}
