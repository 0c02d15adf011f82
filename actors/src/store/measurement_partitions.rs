//! The partitions of the measurements, one a month, made ahead.

use std::time::Duration;

use super::Database;
use crate::error::Result;

/// Partitions that are made ahead, beside that of this month.
const MONTHS_AHEAD: i32 = 3;
/// How often is looked after them.
const INTERVAL: Duration = Duration::from_secs(3600);

/// Makes the partitions of this and the next months, unless they stand.
///
/// The table is locked for a moment, which writers and readers wait for; a reader that is long under way is not waited
/// for longer than half a second, for the others would wait behind. There is time to try again for months.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn make_partitions(database: &Database) -> Result<()> {
    let mut client = database.loader().await?;
    for month in 0..=MONTHS_AHEAD {
        let transaction = client.transaction().await?;
        // Two servers that start together make one.
        let prepare =
            "SET LOCAL lock_timeout = '500ms'; SELECT pg_advisory_xact_lock(hashtext('measurements'))";
        transaction.batch_execute(prepare).await?;
        let make = "SELECT make_measurement_partition(now() + $1 * interval '1 month')";
        transaction.query_one(make, &[&f64::from(month)]).await?;
        transaction.commit().await?;
    }
    Ok(())
}

/// Looks after the partitions every hour, until it is dropped.
pub async fn make_partitions_hourly(database: Database) {
    loop {
        if let Err(error) = make_partitions(&database).await {
            tracing::warn!(%error, "partitions of measurements could not be made, the next try is in an hour");
        }
        tokio::time::sleep(INTERVAL).await;
    }
}
