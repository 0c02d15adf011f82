//! The statistics of tenants by day, and summaries over several days.

use platform_model::error::{Error, Noun, Result};
use platform_model::id::TenantId;
use platform_model::page::{Page, PageRequest, Position, TotalPages};
use platform_model::tenancy::statistics::{
    DailyStatistics, Day, StatisticsSummary, UsageCounts, UsageMeasures,
};
use platform_model::timestamp::Timestamp;
use time::{Duration, OffsetDateTime};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::Database;
use crate::query::filter::page_of;

const LIST: &str = include_str!("../../../../sql/queries/statistics/list_days.sql");
const COUNT: &str = include_str!("../../../../sql/queries/statistics/count_days.sql");
const SUMMARIZE: &str = include_str!("../../../../sql/queries/statistics/summarize.sql");

/// The days of a request, both bounds included.
#[derive(Debug, Default, Clone, Copy)]
pub struct Days {
    /// The first day.
    pub from: Option<Day>,
    /// The last day.
    pub to: Option<Day>,
}

impl Days {
    fn bounds(self) -> [Option<i32>; 2] {
        [self.from, self.to].map(|day| day.map(|day| day.0))
    }
}

/// Returns a page of the statistics of a tenant by day, newest first.
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`.
pub async fn list_days(
    database: &Database,
    tenant: &TenantId,
    days: Days,
    page: &PageRequest,
) -> Result<Page<DailyStatistics>> {
    let client = database.reader().await?;
    let [from, to] = days.bounds();
    let count = match page.total {
        TotalPages::Counted => client.query_one(COUNT, &[&tenant.as_str(), &from, &to]).await?.try_get(0)?,
        TotalPages::Omitted => 0,
    };
    let before = page.position().map(|position| day_of(position.time));
    let skipped = if before.is_some() { 0 } else { page.offset() };
    let limit = i64::from(page.size) + 1;
    let parameters: [&(dyn ToSql + Sync); 6] = [&tenant.as_str(), &from, &to, &before, &limit, &skipped];
    let rows = client.query(LIST, &parameters).await?;
    let days = rows.iter().map(day).collect::<Result<Vec<_>>>()?;
    let page_of_days = page_of(days, page, |day| Position { time: instant_of(day.day), id: 0 });
    Ok(Page { count: page.count_of(count), ..page_of_days })
}

/// Returns the summary of a tenant. One statement.
///
/// # Errors
/// `NotFound` for a tenant that was deleted; `Timeout`, `Unavailable` or `Database`.
pub async fn summarize(database: &Database, tenant: &TenantId, days: Days) -> Result<StatisticsSummary> {
    let mut found = summaries(database, tenant, days, false).await?;
    found.pop().ok_or_else(|| Error::not_found(Noun::Tenant, tenant))
}

/// Returns the summaries of the tenants that a tenant manages, ordered by id. One statement.
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`.
pub async fn summarize_below(
    database: &Database,
    caller: &TenantId,
    days: Days,
) -> Result<Vec<StatisticsSummary>> {
    summaries(database, caller, days, true).await
}

async fn summaries(
    database: &Database,
    tenant: &TenantId,
    days: Days,
    below: bool,
) -> Result<Vec<StatisticsSummary>> {
    let client = database.reader().await?;
    let [from, to] = days.bounds();
    let rows = client.query(SUMMARIZE, &[&tenant.as_str(), &from, &to, &below]).await?;
    rows.iter().map(summary).collect()
}

fn day_of(time: OffsetDateTime) -> i32 {
    time.unix_timestamp().div_euclid(86_400) as i32
}

fn instant_of(day: Day) -> OffsetDateTime {
    OffsetDateTime::UNIX_EPOCH.saturating_add(Duration::days(day.0.into()))
}

/// Reads the counts, starting at this column.
fn counts(row: &Row, first: usize) -> Result<UsageCounts> {
    let number = |at: usize| row.try_get::<_, i64>(first + at);
    Ok(UsageCounts {
        requests: number(0)?,
        device_requests: number(1)?,
        alarms_created: number(2)?,
        alarms_updated: number(3)?,
        events_created: number(4)?,
        events_updated: number(5)?,
        inventories_created: number(6)?,
        inventories_updated: number(7)?,
        measurements_created: number(8)?,
        operations_created: number(9)?,
        operations_updated: number(10)?,
        notifications_delivered: number(11)?,
        sessions_peak: number(12)?,
    })
}

/// Reads the measurements, starting at this column; `None` if the day has none.
fn measures(row: &Row, first: usize) -> Result<Option<UsageMeasures>> {
    let number = |at: usize| row.try_get::<_, Option<i64>>(first + at);
    let Some(devices) = number(0)? else { return Ok(None) };
    Ok(Some(UsageMeasures {
        devices,
        devices_with_children: number(1)?.unwrap_or_default(),
        stored_bytes: number(2)?.unwrap_or_default(),
        subscribed_applications: row.try_get::<_, Option<_>>(first + 3)?.unwrap_or_default(),
    }))
}

fn day(row: &Row) -> Result<DailyStatistics> {
    Ok(DailyStatistics { day: Day(row.try_get(0)?), counts: counts(row, 1)?, measures: measures(row, 14)? })
}

fn summary(row: &Row) -> Result<StatisticsSummary> {
    Ok(StatisticsSummary {
        tenant: TenantId::parse(row.try_get(0)?)?,
        domain: row.try_get(1)?,
        company: row.try_get(2)?,
        parent: row.try_get(3)?,
        created: Timestamp::stored(row.try_get(4)?, 0),
        counts: counts(row, 5)?,
        measures: measures(row, 18)?.unwrap_or_default(),
        peak_devices: row.try_get::<_, Option<_>>(22)?.unwrap_or_default(),
        peak_stored_bytes: row.try_get::<_, Option<_>>(23)?.unwrap_or_default(),
    })
}
