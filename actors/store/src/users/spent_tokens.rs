//! Tokens of identity providers that take effect once (C-34, C-35), in PostgreSQL, so that no server accepts one that
//! another server has accepted.

use std::time::Duration;

use platform_model::error::Result;
use platform_model::id::TenantId;
use platform_model::users::token_client::TokenHash;

use crate::Database;
use crate::query::prepared::PreparedQueries;

const INSERT: &str = include_str!("../../../../sql/queries/spent_tokens/insert.sql");
pub(super) const SWEEP: &str = include_str!("../../../../sql/queries/spent_tokens/sweep.sql");

/// The time for which a token is kept beyond its validity, because the clock of the database may be ahead.
const MARGIN: Duration = Duration::from_secs(60);

/// Notes that a token of a tenant, which is valid for a time, takes effect. Returns whether it does so for the first
/// time. One statement.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn spend(
    database: &Database,
    tenant: &TenantId,
    token: TokenHash,
    remaining: Duration,
) -> Result<bool> {
    let kept = (remaining + MARGIN).as_secs_f64();
    let client = database.loader().await?;
    Ok(client.run(INSERT, &[&tenant.as_str(), &token.bytes(), &kept]).await? == 1)
}
