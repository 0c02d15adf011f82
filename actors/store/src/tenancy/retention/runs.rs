//! The daily runs of retention: one per tenant and day, held by one server at a time.

use std::collections::BTreeMap;
use std::time::Duration;

use platform_model::error::Result;
use platform_model::id::TenantId;
use platform_model::page::{Page, PageRequest, Position};
use platform_model::tenancy::retention::{Counts, DataType, RetentionRun};
use platform_model::timestamp::Timestamp;
use serde_json::Value;
use tokio_postgres::types::{Json, ToSql};

use crate::Database;
use crate::query::filter::{Filtered, Order, page_of};

const TAKE_OVER: &str = include_str!("../../../../../sql/queries/retention/take_run_over.sql");
const BEGIN: &str = include_str!("../../../../../sql/queries/retention/begin_run.sql");
const REPORT: &str = include_str!("../../../../../sql/queries/retention/report_run.sql");
const TELL_LATE: &str = include_str!("../../../../../sql/queries/retention/tell_late_runs.sql");
const UNTELL_LATE: &str = include_str!("../../../../../sql/queries/retention/untell_late_run.sql");
const DELETE_OLD: &str = include_str!("../../../../../sql/queries/retention/delete_old_runs.sql");

/// The time after which another server may take over a run that reports no progress. A step takes seconds at most.
const LEASE: Duration = Duration::from_secs(60);

/// A run that this server holds.
pub struct HeldRun {
    /// The tenant of the run.
    pub tenant: TenantId,
    /// The time when the run was due.
    pub due: Timestamp,
    /// The number of deleted rows of each kind so far.
    pub deleted: BTreeMap<DataType, i64>,
    fence: i64,
}

/// Takes over a run that another server has abandoned, or begins one that is due: runs are due every day at this hour
/// in UTC. Returns `None` when no run is due. At most two statements.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn take(database: &Database, hour: u32) -> Result<Option<HeldRun>> {
    let client = database.loader().await?;
    let lease = LEASE.as_secs_f64();
    let row = match client.query_opt(TAKE_OVER, &[&lease]).await? {
        Some(row) => Some(row),
        None => client.query_opt(BEGIN, &[&lease, &hour.cast_signed()]).await?,
    };
    let Some(row) = row else { return Ok(None) };
    Ok(Some(HeldRun {
        tenant: TenantId::parse(row.try_get(0)?)?,
        due: Timestamp::stored(row.try_get(1)?, 0),
        fence: row.try_get(2)?,
        deleted: counts(&row.try_get::<_, Json<Value>>(3)?.0),
    }))
}

/// A run that has not ended within a day.
pub struct LateRun {
    /// The tenant of the run.
    pub tenant: TenantId,
    /// The time when the run was due.
    pub due: Timestamp,
    /// The time when it began.
    pub begun: Timestamp,
}

/// Returns the runs that have not ended within a day, each of them once. One statement.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn take_late(database: &Database) -> Result<Vec<LateRun>> {
    let client = database.loader().await?;
    let late = client.query(TELL_LATE, &[]).await?;
    let late = late.iter().map(|row| {
        Ok(LateRun {
            tenant: TenantId::parse(row.try_get(0)?)?,
            due: Timestamp::stored(row.try_get(1)?, 0),
            begun: Timestamp::stored(row.try_get(2)?, 0),
        })
    });
    late.collect()
}

/// Makes [`take_late`] return a run again, because its tenant could not be notified. One statement.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn give_late_back(database: &Database, late: &LateRun) -> Result<()> {
    let client = database.loader().await?;
    client.execute(UNTELL_LATE, &[&late.tenant.as_str(), &late.due.instant()]).await?;
    Ok(())
}

impl HeldRun {
    /// Stores the progress and renews the lease, or stores the end if `is_over`. Returns `false` if another server
    /// has taken over the run. One statement, or two at the end.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn report(&self, database: &Database, is_over: bool) -> Result<bool> {
        let client = database.loader().await?;
        let (tenant, due, deleted) = (self.tenant.as_str(), self.due.instant(), Json(Counts(&self.deleted)));
        let parameters: [&(dyn ToSql + Sync); 6] =
            [&tenant, &due, &self.fence, &deleted, &LEASE.as_secs_f64(), &is_over];
        let is_held = client.execute(REPORT, &parameters).await? > 0;
        if is_over {
            client.execute(DELETE_OLD, &[&tenant]).await?;
        }
        Ok(is_held)
    }
}

/// Returns a page of the runs of a tenant, newest first.
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`.
pub async fn list_runs(
    database: &Database,
    tenant: &TenantId,
    page: &PageRequest,
) -> Result<Page<RetentionRun>> {
    let client = database.reader().await?;
    // A tenant has one run per due time, so any constant may be the second part of the order.
    let mut filtered =
        Filtered::new("(SELECT *, 0::bigint AS id FROM retention_runs) r", "r.tenant", tenant.as_str());
    let count = filtered.total(&client, page.total).await?;
    let columns = "r.due_at, r.begun_at, r.ended_at, r.deleted";
    let statement = filtered.page(columns, Order::NewestFirst("r.due_at", "r.id"), page);
    let rows = client.query(&statement, &filtered.parameters()).await?;
    let stored = |time| Timestamp::stored(time, 0);
    let runs = rows.iter().map(|row| {
        Ok(RetentionRun {
            due: stored(row.try_get(0)?),
            begun: stored(row.try_get(1)?),
            ended: row.try_get::<_, Option<_>>(2)?.map(stored),
            deleted: counts(&row.try_get::<_, Json<Value>>(3)?.0),
        })
    });
    let runs = runs.collect::<Result<Vec<_>>>()?;
    let position = |run: &RetentionRun| Position { time: run.due.instant(), id: 0 };
    Ok(Page { count, ..page_of(runs, page, position) })
}

fn counts(stored: &Value) -> BTreeMap<DataType, i64> {
    let members = stored.as_object().into_iter().flatten();
    members.filter_map(|(name, count)| Some((DataType::find(name)?, count.as_i64()?))).collect()
}
