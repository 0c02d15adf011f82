//! The end of backlogs that are larger or older than their consumer may have (B-30).

use platform_model::error::Result;
use platform_model::id::TenantId;
use platform_model::realtime::consumer::JournalPosition;

use tokio_postgres::Row;

use crate::Database;
use crate::query::prepared::PreparedQueries;
use crate::realtime::announcements::{Change, announce};

const LAPSE: &str = include_str!("../../../../sql/queries/consumers/lapse.sql");
const CLAIM_ALARMS: &str = include_str!("../../../../sql/queries/consumers/claim_alarms.sql");
const END_ALARM: &str = include_str!("../../../../sql/queries/consumers/end_alarm.sql");
const SUMMARIZE: &str = include_str!("../../../../sql/queries/consumers/summarize.sql");

/// A consumer that has lapsed, and about which an alarm has to be raised.
#[derive(Debug)]
pub struct Lapsed {
    /// The tenant of the consumer.
    pub tenant: TenantId,
    /// The name of the consumer.
    pub name: String,
}

/// Lets the consumers lapse whose backlog exceeds a bound, notifies their readers at all servers, and returns them.
/// Each is returned at one server only. [`claim_alarms`] returns it again until [`end_alarm`] is called.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn lapse(database: &Database) -> Result<Vec<Lapsed>> {
    let client = database.loader().await?;
    let mut lapsed = Vec::new();
    for row in client.rows(LAPSE, &[]).await? {
        let consumer = from_row(&row)?;
        let (tenant, name) = (&consumer.tenant, consumer.name.as_str());
        let (position, notifications, bytes) =
            (row.try_get::<_, JournalPosition>(2)?, row.try_get::<_, i64>(3)?, row.try_get::<_, i64>(4)?);
        tracing::warn!(tenant.id = %tenant, consumer = name, position, notifications, bytes, "a consumer lapsed");
        announce(&*client, &database.signatures, &Change::Consumer(tenant.clone(), name.into())).await?;
        lapsed.push(consumer);
    }
    crate::metrics::LAPSES.increment(lapsed.len() as u64);
    Ok(lapsed)
}

/// Returns the consumers that lapsed ten seconds ago or earlier and have no alarm yet, because the server that was to
/// raise it has ended or could not. Each is returned at one server only, and again after ten seconds.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn claim_alarms(database: &Database) -> Result<Vec<Lapsed>> {
    database.loader().await?.rows(CLAIM_ALARMS, &[]).await?.iter().map(from_row).collect()
}

/// Notes that the alarm about a consumer was raised.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn end_alarm(database: &Database, lapsed: &Lapsed) -> Result<()> {
    let Lapsed { tenant, name } = lapsed;
    database.loader().await?.run(END_ALARM, &[&tenant.as_str(), name]).await?;
    Ok(())
}

fn from_row(row: &Row) -> Result<Lapsed> {
    Ok(Lapsed { tenant: TenantId::parse(row.try_get(0)?)?, name: row.try_get(1)? })
}

/// Sets the metrics of all consumers. One statement.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn measure(database: &Database) -> Result<()> {
    let row = database.loader().await?.row(SUMMARIZE, &[]).await?;
    crate::metrics::set_consumers(row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
    Ok(())
}
