//! Tenant options in PostgreSQL.

use super::Database;
use crate::error::Result;
use crate::model::id::TenantId;

const FIND: &str = include_str!("../../../sql/queries/options/find.sql");

/// The value of an option as it is stored; `None` when the tenant has no such option.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn find_option(
    database: &Database,
    tenant: &TenantId,
    category: &str,
    key: &str,
) -> Result<Option<String>> {
    let client = database.loader().await?;
    let statement = client.prepare_cached(FIND).await?;
    let row = client.query_opt(&statement, &[&tenant.as_str(), &category, &key]).await?;
    Ok(row.map(|row| row.get(0)))
}
