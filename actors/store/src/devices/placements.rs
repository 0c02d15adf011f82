//! The groups in which devices are placed when their users create them, in PostgreSQL (N-04).

use deadpool_postgres::GenericClient;
use platform_model::error::Result;
use platform_model::id::{ManagedObjectId, TenantId};
use platform_model::naming::naming;

use crate::Database;
use crate::query::prepared::PreparedQueries;

const PUT: &str = include_str!("../../../../sql/queries/device_placements/put.sql");
const FIND: &str = include_str!("../../../../sql/queries/device_placements/find.sql");
const DELETE: &str = include_str!("../../../../sql/queries/device_placements/delete.sql");

/// Stores the group of the first device that a user creates, as part of the caller's transaction. It does nothing when
/// the group was deleted.
pub(crate) async fn put(
    client: &impl GenericClient,
    tenant: &TenantId,
    user: &str,
    group: ManagedObjectId,
) -> Result<()> {
    client.run(PUT, &[&tenant.as_str(), &user, &group.0]).await?;
    Ok(())
}

/// Looks up the group for the next device of a user. Returns `None` for a user that has a device.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn find_placement(
    database: &Database,
    tenant: &TenantId,
    user: &str,
) -> Result<Option<ManagedObjectId>> {
    let device = naming().fragment("IsDevice");
    let row = database.loader().await?.find(FIND, &[&tenant.as_str(), &user, &device]).await?;
    Ok(row.map(|row| ManagedObjectId(row.get(0))))
}

/// Deletes the placement of a user whose device exists now.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn delete_placement(database: &Database, tenant: &TenantId, user: &str) -> Result<()> {
    database.loader().await?.run(DELETE, &[&tenant.as_str(), &user]).await?;
    Ok(())
}
