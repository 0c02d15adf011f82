//! The partitions that have rows of a tenant. A row without one goes to the partition for all others, where it stays.

use deadpool_postgres::GenericClient;
use platform_model::error::{Error, Result};
use platform_model::id::TenantId;

use crate::{Database, until_uncontended};

const LIST_PARTITIONS: &str = include_str!("../../../../../sql/queries/tenant_transfer/list_partitions.sql");
const MAKE_PARTITION: &str = include_str!("../../../../../sql/queries/tenant_transfer/make_partition.sql");

/// Lists the partitions that have rows of a tenant.
pub(super) async fn list(client: &impl GenericClient, tenant: &TenantId) -> Result<Vec<String>> {
    let mut used = Vec::new();
    for row in client.query(LIST_PARTITIONS, &[]).await? {
        let name: String = row.get(0);
        let any = format!("SELECT EXISTS (SELECT FROM {name} WHERE tenant = $1)");
        if client.query_one(&any, &[&tenant.as_str()]).await?.get(0) {
            used.push(name);
        }
    }
    Ok(used)
}

/// Makes the partitions that are not there. Each is a transaction of its own, because it locks its table: an import,
/// which takes long, must not hold that lock.
///
/// # Errors
/// `Invalid` for a name that no partition has; `Contended`, `Unavailable` or `Database`.
pub(super) async fn make(database: &Database, names: &[String]) -> Result<()> {
    for name in names {
        if !is_name(name) {
            return Err(Error::Invalid(format!("the file names {name:?}, which is no partition")));
        }
        until_uncontended(async || make_one(database, name).await).await?;
    }
    Ok(())
}

async fn make_one(database: &Database, name: &str) -> Result<()> {
    let mut client = database.loader().await?;
    let transaction = client.transaction().await?;
    let table = if name.starts_with("measurements_") { "measurements" } else { "journals" };
    // The locks are those of the background jobs that make partitions.
    let prepare =
        format!("SELECT pg_advisory_xact_lock(hashtext('{table}')); SET LOCAL lock_timeout = '500ms'");
    transaction.batch_execute(&prepare).await?;
    transaction.query_one(MAKE_PARTITION, &[&name]).await?;
    Ok(transaction.commit().await?)
}

/// Returns whether a name is one of `list_partitions.sql`.
fn is_name(name: &str) -> bool {
    let month = name.strip_prefix("measurements_").map(|time| (time, 2));
    let hour = name.strip_prefix("journal_notifications_").map(|time| (time, 4));
    month.or(hour).is_some_and(|(time, parts)| {
        let digits = |part: &str| (2..=4).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
        time.split('_').count() == parts && time.split('_').all(digits)
    })
}
