//! Tenant options in PostgreSQL. Secrets arrive here sealed (Z-05): the key is not the database's to know.

use super::Database;
use crate::error::Result;
use crate::model::id::TenantId;

const FIND: &str = include_str!("../../../sql/queries/options/find.sql");

/// The value of an option as it is stored; `None` when the tenant did not set it.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn find_option(
    database: &Database,
    tenant: &TenantId,
    category: &str,
    key: &str,
) -> Result<Option<String>> {
    let client = database.reader().await?;
    let statement = client.prepare_cached(FIND).await?;
    let row = client.query_opt(&statement, &[&tenant.as_str(), &category, &key]).await?;
    Ok(row.map(|row| row.get(0)))
}
