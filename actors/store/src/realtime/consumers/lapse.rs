//! The end of backlogs that are larger or older than their consumer may have.

use platform_model::error::Result;
use platform_model::id::TenantId;
use platform_model::realtime::consumer::JournalPosition;

use crate::Database;
use crate::query::prepared::PreparedQueries;
use crate::realtime::announcements::{Change, announce};

const LAPSE: &str = include_str!("../../../../../sql/queries/consumers/lapse.sql");
const SUMMARIZE: &str = include_str!("../../../../../sql/queries/consumers/summarize.sql");

/// A consumer that has lapsed.
#[derive(Debug)]
pub struct Lapsed {
    /// The tenant of the consumer.
    pub tenant: TenantId,
    /// The name of the consumer.
    pub name: String,
    /// The last notification that it acknowledged.
    pub position: JournalPosition,
    /// The notifications of its backlog.
    pub notifications: i64,
    /// The bytes of its backlog.
    pub bytes: i64,
}

/// Lets the consumers lapse whose backlog exceeds a bound, notifies their readers at all servers, and returns them. Each
/// is returned at one server only.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn lapse(database: &Database) -> Result<Vec<Lapsed>> {
    let client = database.loader().await?;
    let mut lapsed = Vec::new();
    for row in client.rows(LAPSE, &[]).await? {
        let consumer = Lapsed {
            tenant: TenantId::parse(row.try_get(0)?)?,
            name: row.try_get(1)?,
            position: row.try_get(2)?,
            notifications: row.try_get(3)?,
            bytes: row.try_get(4)?,
        };
        let change = Change::Consumer(consumer.tenant.clone(), consumer.name.as_str().into());
        announce(&*client, &database.signatures, &change).await?;
        lapsed.push(consumer);
    }
    crate::metrics::LAPSES.increment(lapsed.len() as u64);
    Ok(lapsed)
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
