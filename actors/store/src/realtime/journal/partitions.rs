//! The hourly partitions of journals: they are created in advance, and dropped when no consumer needs them.

use platform_model::error::Result;

use crate::Database;

const FIND_MISSING_HOURS: &str = include_str!("../../../../../sql/queries/journals/find_missing_hours.sql");
const LIST_PARTITIONS: &str = include_str!("../../../../../sql/queries/journals/list_partitions.sql");

/// The number of partitions that are created in advance, besides that of the current hour.
const HOURS_AHEAD: i32 = 3;

/// Creates the partitions of this hour and the next ones, if they do not exist. A notification without a partition goes
/// to the one for all others, so a write never fails for want of one.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn make_partitions(database: &Database) -> Result<()> {
    let mut client = database.loader().await?;
    for row in client.query(FIND_MISSING_HOURS, &[&HOURS_AHEAD]).await? {
        let ahead: i32 = row.get(0);
        let transaction = client.transaction().await?;
        // When servers start together, one of them creates the partition. The others wait for it as long as it takes:
        // the limit is only for the lock of the table.
        let prepare = "SELECT pg_advisory_xact_lock(hashtext('journals')); SET LOCAL lock_timeout = '500ms'";
        transaction.batch_execute(prepare).await?;
        let make = "SELECT make_journal_partition(now() + $1 * interval '1 hour')";
        transaction.query_one(make, &[&f64::from(ahead)]).await?;
        transaction.commit().await?;
    }
    Ok(())
}

/// Drops the partitions of past hours that no consumer needs. A consumer that is set back to such an hour at the same
/// moment notices from the positions that notifications are missing.
///
/// Each partition is dropped in a transaction of its own. It waits at most half a second for the table, because all
/// later transactions would wait behind it; a partition that is in use is dropped by the next run.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn drop_unneeded(database: &Database) -> Result<()> {
    let mut client = database.loader().await?;
    for row in client.query(LIST_PARTITIONS, &[]).await? {
        let name: String = row.get(0);
        let transaction = client.transaction().await?;
        transaction.batch_execute("SET LOCAL lock_timeout = '500ms'").await?;
        match transaction.batch_execute(&format!("DROP TABLE IF EXISTS {name}")).await {
            Ok(()) => transaction.commit().await?,
            Err(error) => {
                tracing::info!(%error, partition = name, "a partition of journals is in use; the next run drops it");
            }
        }
    }
    Ok(())
}
