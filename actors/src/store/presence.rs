//! Which device users hold a real-time connection, for every server process to see.

use std::time::Duration;

use deadpool_postgres::Pool;

use crate::error::Result;
use crate::model::id::TenantId;

const RENEW: &str = include_str!("../../../sql/queries/presence/renew.sql");
const END: &str = include_str!("../../../sql/queries/presence/end.sql");

/// A user of a tenant.
pub(crate) type User = (TenantId, std::sync::Arc<str>);

/// Promises that users are connected to this process for a while from now. One statement.
///
/// # Errors
/// `Contended`, `Unavailable` or `Database`.
pub(crate) async fn renew(pool: &Pool, process: i64, users: &[User], lease: Duration) -> Result<()> {
    let (tenants, names) = columns(users);
    let client = pool.get().await?;
    let statement = client.prepare_cached(RENEW).await?;
    client.execute(&statement, &[&tenants, &names, &process, &lease.as_secs_f64()]).await?;
    Ok(())
}

/// Takes promises of this process back; when that was is kept. One statement.
///
/// # Errors
/// `Contended`, `Unavailable` or `Database`.
pub(crate) async fn end(pool: &Pool, process: i64, users: &[User]) -> Result<()> {
    let (tenants, names) = columns(users);
    let client = pool.get().await?;
    let statement = client.prepare_cached(END).await?;
    client.execute(&statement, &[&tenants, &names, &process]).await?;
    Ok(())
}

fn columns(users: &[User]) -> (Vec<&str>, Vec<&str>) {
    users.iter().map(|(tenant, name)| (tenant.as_str(), &**name)).unzip()
}
