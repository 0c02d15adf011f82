//! The device users that have a real-time connection, visible to every server process.

use std::time::Duration;

use deadpool_postgres::Pool;

use platform_model::error::Result;
use platform_model::id::TenantId;

use crate::query::prepared::PreparedQueries;

const RENEW: &str = include_str!("../../../../sql/queries/presence/renew.sql");
const END: &str = include_str!("../../../../sql/queries/presence/end.sql");

/// A user of a tenant.
pub type User = (TenantId, std::sync::Arc<str>);

/// Marks users as connected to this process for the time of a lease. One statement.
///
/// # Errors
/// `Contended`, `Unavailable` or `Database`.
pub async fn renew(pool: &Pool, process: i64, users: &[User], lease: Duration) -> Result<()> {
    let (tenants, names) = columns(users);
    let client = pool.get().await?;
    client.run(RENEW, &[&tenants, &names, &process, &lease.as_secs_f64()]).await?;
    Ok(())
}

/// Removes marks of this process and stores when that was. One statement.
///
/// # Errors
/// `Contended`, `Unavailable` or `Database`.
pub async fn end(pool: &Pool, process: i64, users: &[User]) -> Result<()> {
    let (tenants, names) = columns(users);
    let client = pool.get().await?;
    client.run(END, &[&tenants, &names, &process]).await?;
    Ok(())
}

fn columns(users: &[User]) -> (Vec<&str>, Vec<&str>) {
    users.iter().map(|(tenant, name)| (tenant.as_str(), &**name)).unzip()
}
