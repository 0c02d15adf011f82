//! Rollups: the minimum and the maximum of each number for each hour of a source, for series over very many
//! measurements (G-07).
//!
//! They are built after a read of a series met many measurements without rollups, so they cost writes nothing. A *mark*
//! stores their progress: the rollups of a source cover exactly its measurements with an id below the mark. Ids rise
//! with the time of arrival, so measurements that arrive late need no special care; they are read individually besides
//! the rollups. A deletion does need care: it deletes the mark and the rollups in its transaction.
//!
//! An id is assigned before its row is committed. A write times out after ten seconds, and the clocks of servers
//! differ a little. So the mark stays at least five minutes behind now
//! ([`Limits::rollup_lag`](platform_model::limits::Limits)) and behind the start of every writing transaction: no
//! further row is stored below it.

use std::fmt::Write;
use std::time::{Duration, Instant};

use deadpool_postgres::{Client, Transaction};
use platform_model::error::Result;
use platform_model::id::{ManagedObjectId, TenantId};
use platform_model::limits::Limits;
use quick_cache::sync::Cache;
use tokio::sync::Mutex;

use crate::Database;
use crate::data::measurements::INDEXED_READINGS;
use crate::query::prepared::PreparedQueries;

const FIND_MARK: &str = include_str!("../../../../../sql/queries/measurement_rollups/find_mark.sql");
const TRY_LOCK_TENANT: &str =
    include_str!("../../../../../sql/queries/measurement_rollups/try_lock_tenant.sql");
const SHARE_TENANT: &str = include_str!("../../../../../sql/queries/measurement_rollups/share_tenant.sql");
const INSERT_MARK: &str = include_str!("../../../../../sql/queries/measurement_rollups/insert_mark.sql");
const LOCK_SOURCE: &str = include_str!("../../../../../sql/queries/measurement_rollups/lock_source.sql");
const LOCK_MARK: &str = include_str!("../../../../../sql/queries/measurement_rollups/lock_mark.sql");
const COUNT_SINCE: &str = include_str!("../../../../../sql/queries/measurement_rollups/count_since.sql");
const MOVE_MARK: &str = include_str!("../../../../../sql/queries/measurement_rollups/move_mark.sql");
const DELETE_MARKS: &str = include_str!("../../../../../sql/queries/measurement_rollups/delete_marks.sql");
const LIST_SOURCE_SHAPES: &str =
    include_str!("../../../../../sql/queries/measurements/list_source_shapes.sql");

/// The maximum number of recent measurements of a tenant that are found by their ids.
const FEW: i64 = 2000;
/// The number of sources whose last rollup attempt is cached.
const REMEMBERED: usize = 10_000;

/// The state of this process's rollup work.
pub(crate) struct Rollups {
    /// The number of measurements that a read must meet before it starts a rollup.
    rows: i64,
    /// The age that measurements must have.
    lag: Duration,
    /// When each source was last tried, because recent measurements stay too young for a while.
    tried: Cache<ManagedObjectId, Instant>,
    /// One rollup runs at a time, so that readers keep their connections.
    work: Mutex<()>,
}

impl Rollups {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            rows: limits.rollup_rows,
            lag: limits.rollup_lag,
            tried: Cache::new(REMEMBERED),
            work: Mutex::new(()),
        }
    }

    /// Returns whether a rollup should start after a read met this number of measurements without rollups.
    fn is_due(&self, source: ManagedObjectId, rows: i64) -> bool {
        let pause = self.lag / 5;
        rows > self.rows && self.tried.get(&source).is_none_or(|tried| tried.elapsed() >= pause)
    }
}

/// Looks up the mark: the id below which the measurements of a source are in its rollups. Returns `None` when there is
/// none.
///
/// # Errors
/// `Unavailable` or `Database`.
pub(crate) async fn find_mark(
    transaction: &Transaction<'_>,
    tenant: &TenantId,
    source: ManagedObjectId,
) -> Result<Option<i64>> {
    let row = transaction.find(FIND_MARK, &[&tenant.as_str(), &source.0]).await?;
    Ok(row.map(|row| row.get(0)).filter(|rolled| *rolled > 0))
}

/// Returns whether only few measurements of a tenant have this id or a greater one.
///
/// # Errors
/// `Unavailable` or `Database`.
pub(crate) async fn are_few_since(transaction: &Transaction<'_>, tenant: &TenantId, id: i64) -> Result<bool> {
    let count: i64 = transaction.row(COUNT_SINCE, &[&tenant.as_str(), &id, &(FEW + 1)]).await?.get(0);
    Ok(count <= FEW)
}

/// Starts a rollup in the background, if a read has met enough measurements of the source for it to pay off.
pub(crate) fn roll_up_soon(database: &Database, tenant: &TenantId, source: ManagedObjectId, rows: i64) {
    if !database.rollups().is_due(source, rows) || !database.has_room() {
        return;
    }
    let (database, tenant) = (database.clone(), tenant.clone());
    tokio::spawn(async move {
        let rollups = database.rollups();
        // While another rollup runs, this one waits for the next read.
        let Ok(_working) = rollups.work.try_lock() else { return };
        rollups.tried.insert(source, Instant::now());
        if let Err(error) = roll_up(&database, &tenant, source).await {
            tracing::warn!(%error, "measurements could not be rolled up, a later read tries again");
        }
    });
}

/// Rolls up all measurements of a source that are old enough.
async fn roll_up(database: &Database, tenant: &TenantId, source: ManagedObjectId) -> Result<()> {
    let mut client = database.reader().await?;
    while database.has_room()
        && make_mark(&mut client, tenant, source).await?
        && roll_up_month(database, &mut client, tenant, source).await?
    {}
    Ok(())
}

/// Ensures that a source has a mark, in a transaction of its own, because a deletion has to find it before anything is
/// read. Returns `false` when the source cannot have one now.
async fn make_mark(client: &mut Client, tenant: &TenantId, source: ManagedObjectId) -> Result<bool> {
    let transaction = client.transaction().await?;
    if transaction.find(FIND_MARK, &[&tenant.as_str(), &source.0]).await?.is_some() {
        return Ok(true);
    }
    if !transaction.row(TRY_LOCK_TENANT, &[&tenant.as_str()]).await?.get::<_, bool>(0) {
        return Ok(false);
    }
    let made = transaction.run(INSERT_MARK, &[&tenant.as_str(), &source.0]).await?;
    transaction.commit().await?;
    Ok(made > 0)
}

/// Rolls up to the end of the first month that is not covered, at most, so that no statement takes too long. Returns
/// whether there is more. One transaction, so an interruption changes nothing.
async fn roll_up_month(
    database: &Database,
    client: &mut Client,
    tenant: &TenantId,
    source: ManagedObjectId,
) -> Result<bool> {
    let lag = database.rollups().lag.as_secs_f64();
    let shapes = numbers_of_shapes(database, client, tenant, source).await?;
    let transaction = client.transaction().await?;
    transaction.find(LOCK_SOURCE, &[&tenant.as_str(), &source.0]).await?;
    let Some(mark) = transaction.find(LOCK_MARK, &[&tenant.as_str(), &source.0, &lag]).await? else {
        // Another server is doing it, or measurements were deleted.
        return Ok(false);
    };
    let (rolled, most, of_month): (i64, i64, Option<i64>) =
        (mark.try_get(0)?, mark.try_get(1)?, mark.try_get(2)?);
    let until = of_month.unwrap_or(most).min(most);
    if until <= rolled {
        return Ok(false);
    }
    for (shape, numbers) in shapes {
        let statement = merge(numbers);
        transaction.execute(&statement, &[&tenant.as_str(), &source.0, &shape, &rolled, &until]).await?;
    }
    transaction.run(MOVE_MARK, &[&tenant.as_str(), &source.0, &until]).await?;
    transaction.commit().await?;
    Ok(until < most)
}

/// Returns the shapes of a source that are rolled up, and how many numbers each has.
async fn numbers_of_shapes(
    database: &Database,
    client: &Client,
    tenant: &TenantId,
    source: ManagedObjectId,
) -> Result<Vec<(i64, usize)>> {
    let rows = client.rows(LIST_SOURCE_SHAPES, &[&tenant.as_str(), &source.0]).await?;
    let ids = rows.iter().map(|row| row.get(0));
    let shapes = database.shapes().definitions(client, tenant, ids).await?;
    let narrow = shapes.into_iter().filter(|(_, shape)| !shape.is_wide(INDEXED_READINGS as usize));
    Ok(narrow.map(|(id, shape)| (id, shape.series().count())).filter(|(_, numbers)| *numbers > 0).collect())
}

/// Returns the statement that merges the measurements of a shape with ids from $4 to below $5 into the rollups. It has
/// one `min` and one `max` for each number: unnesting and aggregating arrays would take many times as long.
fn merge(numbers: usize) -> String {
    let (mut taken, mut least, mut greatest) = (String::new(), String::new(), String::new());
    let (mut less, mut greater) = (String::new(), String::new());
    for at in 1..=numbers {
        let comma = if at > 1 { ", " } else { "" };
        let _ = write!(taken, ", m.readings[{at}] AS n{at}");
        let _ = write!(least, "{comma}min(n{at})");
        let _ = write!(greatest, "{comma}max(n{at})");
        let _ = write!(less, "{comma}least(r.least[{at}], excluded.least[{at}])");
        let _ = write!(greater, "{comma}greatest(r.greatest[{at}], excluded.greatest[{at}])");
    }
    format!(
        "INSERT INTO measurement_rollups AS r (tenant, source, shape, hour, zone, first_time, least, greatest) \
         SELECT $1::text, $2::bigint, $3::bigint, hour, (extract(epoch FROM zone) / 60)::smallint, min(time), \
            ARRAY[{least}], ARRAY[{greatest}] \
         FROM ( \
            SELECT date_bin('1 hour', m.local_time, '0001-01-01') AS hour, \
                m.local_time - (m.time AT TIME ZONE 'UTC') AS zone, m.time{taken} \
            FROM measurements m \
            WHERE m.tenant = $1::text AND m.source = $2::bigint AND m.shape = $3::bigint \
                AND m.id >= $4::bigint AND m.id < $5::bigint \
            OFFSET 0 \
         ) measured GROUP BY hour, zone \
         ON CONFLICT (tenant, source, shape, hour, zone) DO UPDATE SET \
            first_time = least(r.first_time, excluded.first_time), \
            least = ARRAY[{less}], greatest = ARRAY[{greater}]"
    )
}

/// Deletes the rollups of sources whose measurements this transaction will delete. It must be called before the first
/// deletion: it waits for a rollup in progress, and no rollup starts before the transaction has ended. So no rollup
/// ever contains deleted measurements.
///
/// # Errors
/// `Contended`, `Unavailable` or `Database`.
pub(crate) async fn forget(transaction: &Transaction<'_>, tenant: &TenantId, sources: &[i64]) -> Result<()> {
    // The lock comes first, and then a statement that sees every mark committed before.
    transaction.row(SHARE_TENANT, &[&tenant.as_str()]).await?;
    transaction.run(DELETE_MARKS, &[&tenant.as_str(), &sources]).await?;
    Ok(())
}
