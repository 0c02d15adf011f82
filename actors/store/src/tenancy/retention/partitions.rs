//! Old monthly partitions of the measurements. A partition in which no tenant keeps anything is dropped, which is
//! much faster than the deletion of its rows and returns the space to the disk at once.

use deadpool_postgres::GenericClient;
use platform_model::error::Result;
use platform_model::timestamp::Timestamp;

use crate::Database;

const LIST: &str = include_str!("../../../../../sql/queries/retention/list_partitions.sql");
const LIST_TENANTS_KEPT: &str = include_str!("../../../../../sql/queries/retention/list_tenants_kept.sql");
const DELETE_MARKS: &str =
    include_str!("../../../../../sql/queries/measurement_rollups/delete_marks_of_tenants.sql");

/// Drops empty partitions, and those in which every tenant with measurements has a rule that covers all of them.
/// Rules count if they were last changed before `due`. Returns the names of the partitions.
///
/// Each partition is dropped in a transaction of its own. It waits at most half a second for the table, because all
/// later transactions would wait behind it; a partition that is in use is dropped by the next run.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn drop_covered(database: &Database, due: Timestamp) -> Result<Vec<String>> {
    let mut dropped = Vec::new();
    let partitions = database.loader().await?.query(LIST, &[]).await?;
    for row in partitions {
        let (name, end): (String, i64) = (row.try_get(0)?, row.try_get(1)?);
        match drop_one(database, &name, end, due).await {
            Ok(true) => dropped.push(name),
            Ok(false) => {}
            Err(error) => {
                tracing::info!(%error, partition = name, "an old partition is in use; the next run drops it")
            }
        }
    }
    Ok(dropped)
}

async fn drop_one(database: &Database, name: &str, end: i64, due: Timestamp) -> Result<bool> {
    let mut client = database.loader().await?;
    if covered_tenants(&*client, name, end, due).await?.is_none() {
        return Ok(false);
    }
    let transaction = client.transaction().await?;
    // The lock comes first, so that no measurement is inserted between the check and the drop.
    let lock = format!(
        "SET LOCAL lock_timeout = '500ms'; LOCK TABLE measurements IN ACCESS EXCLUSIVE MODE; \
         LOCK TABLE {name} IN ACCESS EXCLUSIVE MODE"
    );
    transaction.batch_execute(&lock).await?;
    let Some(tenants) = covered_tenants(&transaction, name, end, due).await? else { return Ok(false) };
    transaction.execute(DELETE_MARKS, &[&tenants]).await?;
    transaction.batch_execute(&format!("DROP TABLE {name}")).await?;
    transaction.commit().await?;
    Ok(true)
}

/// Returns the tenants with measurements in a partition, or `None` if one of them keeps some.
async fn covered_tenants(
    client: &impl GenericClient,
    name: &str,
    end: i64,
    due: Timestamp,
) -> Result<Option<Vec<String>>> {
    let tenants: Vec<String> =
        client.query_one("SELECT tenants_in_partition($1)", &[&name]).await?.try_get(0)?;
    let kept = client.query(LIST_TENANTS_KEPT, &[&tenants, &end, &due.instant()]).await?;
    Ok(kept.is_empty().then_some(tenants))
}
