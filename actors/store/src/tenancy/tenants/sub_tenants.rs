//! The limit on the tenants that a tenant creates (Z-20).

use deadpool_postgres::GenericClient;
use platform_model::error::{Error, Result};
use platform_model::id::{MANAGEMENT, TenantId};
use platform_model::tenancy::tenant::{LimitOrigin, TenantLimit};

use crate::Database;

const COUNT_SUB_TENANTS: &str = include_str!("../../../../../sql/queries/tenants/count_sub_tenants.sql");
const LOCK: &str = include_str!("../../../../../sql/queries/tenants/lock.sql");

/// Returns how many tenants a tenant created. One statement.
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`.
pub async fn count_sub_tenants(database: &Database, parent: &TenantId) -> Result<i64> {
    let client = database.reader().await?;
    Ok(client.query_one(COUNT_SUB_TENANTS, &[&parent.as_str()]).await?.get(0))
}

/// Checks whether a tenant may create another one. Concurrent creations wait for each other, so the limit is exact at
/// all servers. It does not bound tenant `management` unless it was set for it.
pub(super) async fn ensure_room_for_another(
    database: &Database,
    client: &impl GenericClient,
    parent: &TenantId,
) -> Result<()> {
    let (values, origins) = database.tenant_limits().of(parent).in_force();
    let limit = TenantLimit::SubTenants;
    let Some(allowed) = values.get(limit) else { return Ok(()) };
    if parent.as_str() == MANAGEMENT && origins[limit.index()] != LimitOrigin::Tenant {
        return Ok(());
    }
    client.execute(LOCK, &[&parent.as_str()]).await?;
    let used: i64 = client.query_one(COUNT_SUB_TENANTS, &[&parent.as_str()]).await?.get(0);
    let (name, used) = (limit.as_str(), used.unsigned_abs());
    if used < allowed { Ok(()) } else { Err(Error::QuotaExceeded { name, allowed, used }) }
}
