//! Leases in PostgreSQL: a row is held by one process, and another process takes it over when the lease expires.

pub(crate) mod module_leases;

use std::time::Duration;

use platform_model::error::Result;
use platform_model::id::TenantId;

use crate::Database;

/// A row that a process holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// The tenant of the row.
    pub tenant: TenantId,
    /// The id of the row.
    pub id: i64,
    /// The fencing number of the holder; each takeover increments it.
    pub fence: i64,
}

/// Renews leases by a statement that takes tenants, ids, fences and seconds. One statement.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn renew(database: &Database, statement: &str, own: &[Hold], lease: Duration) -> Result<()> {
    if own.is_empty() {
        return Ok(());
    }
    let (tenants, ids, fences) = columns(own);
    let client = database.reader().await?;
    client.execute(statement, &[&tenants, &ids, &fences, &lease.as_secs_f64()]).await?;
    Ok(())
}

/// Ends leases early by a statement that takes tenants, ids and fences, so that other processes continue at once. One
/// statement.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn give_back(database: &Database, statement: &str, own: &[Hold]) -> Result<()> {
    if own.is_empty() {
        return Ok(());
    }
    let (tenants, ids, fences) = columns(own);
    database.reader().await?.execute(statement, &[&tenants, &ids, &fences]).await?;
    Ok(())
}

fn columns(own: &[Hold]) -> (Vec<&str>, Vec<i64>, Vec<i64>) {
    (
        own.iter().map(|hold| hold.tenant.as_str()).collect(),
        own.iter().map(|hold| hold.id).collect(),
        own.iter().map(|hold| hold.fence).collect(),
    )
}
