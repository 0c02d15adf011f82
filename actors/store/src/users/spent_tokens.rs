//! Tokens of identity providers that take effect once (C-34, C-35), in PostgreSQL, so that no server accepts one that
//! another server has accepted; and sessions of providers that have ended, in which nobody logs in any more.

use std::time::Duration;

use deadpool_postgres::GenericClient;
use platform_model::error::Result;
use platform_model::id::TenantId;
use platform_model::users::token_client::TokenHash;

use crate::Database;
use crate::query::prepared::PreparedQueries;

const INSERT: &str = include_str!("../../../../sql/queries/spent_tokens/insert.sql");
const FIND: &str = include_str!("../../../../sql/queries/spent_tokens/find.sql");
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
    insert(&*database.loader().await?, tenant, token, remaining).await
}

/// Returns whether a token of a tenant has taken effect, or a session has ended.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn is_spent(database: &Database, tenant: &TenantId, token: TokenHash) -> Result<bool> {
    let client = database.loader().await?;
    Ok(client.find(FIND, &[&tenant.as_str(), &token.bytes()]).await?.is_some())
}

/// Does the same as [`spend`], as part of the caller's transaction.
///
/// # Errors
/// `Unavailable` or `Database`.
pub(super) async fn insert(
    client: &impl GenericClient,
    tenant: &TenantId,
    token: TokenHash,
    remaining: Duration,
) -> Result<bool> {
    let kept = (remaining + MARGIN).as_secs_f64();
    Ok(client.run(INSERT, &[&tenant.as_str(), &token.bytes(), &kept]).await? == 1)
}
