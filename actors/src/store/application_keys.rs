//! Keys of applications in PostgreSQL: keyed hashes.

use super::Database;
use crate::error::Result;

const FIND_BY_KEY: &str = include_str!("../../../sql/queries/applications/find_by_key.sql");

/// The name of the application that has a key, whoever owns it: keys are unique among all tenants (W-04).
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn find_application_by_key(database: &Database, key_hash: &str) -> Result<Option<String>> {
    let client = database.loader().await?;
    let statement = client.prepare_cached(FIND_BY_KEY).await?;
    let row = client.query_opt(&statement, &[&key_hash]).await?;
    Ok(row.map(|row| row.get(0)))
}
