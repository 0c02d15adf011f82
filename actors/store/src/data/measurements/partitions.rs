//! The monthly partitions of the measurements, which are created in advance.

use platform_model::error::Result;

use crate::Database;

const FIND_MISSING_MONTHS: &str =
    include_str!("../../../../../sql/queries/measurements/find_missing_months.sql");
/// The number of partitions that are created in advance, besides that of the current month.
const MONTHS_AHEAD: i32 = 3;

/// Creates the partitions of this month and the next months, if they do not exist.
///
/// The table is locked for a moment, and writers and readers wait for that. The statement itself waits for a
/// long-running reader for half a second at most, because all others would wait behind it. It can be retried for
/// months.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn make_partitions(database: &Database) -> Result<()> {
    let mut client = database.loader().await?;
    for row in client.query(FIND_MISSING_MONTHS, &[&MONTHS_AHEAD]).await? {
        let ahead: i32 = row.get(0);
        let transaction = client.transaction().await?;
        // When servers start together, one of them creates the partition. The others wait for it as long as it takes:
        // the limit is only for the lock of the table.
        let prepare =
            "SELECT pg_advisory_xact_lock(hashtext('measurements')); SET LOCAL lock_timeout = '500ms'";
        transaction.batch_execute(prepare).await?;
        let make = "SELECT make_measurement_partition(now() + $1 * interval '1 month')";
        transaction.query_one(make, &[&f64::from(ahead)]).await?;
        transaction.commit().await?;
    }
    Ok(())
}
