//! Access tokens in PostgreSQL, which stores only their hashes (T-04, T-08).

use std::time::Duration;

use platform_model::error::{Error, Result};
use platform_model::id::TenantId;
use platform_model::timestamp::Timestamp;
use platform_model::users::token_client::{Scope, TokenHash};

use crate::Database;
use crate::query::prepared::PreparedQueries;
use crate::users::spent_tokens;

const INSERT: &str = include_str!("../../../../sql/queries/access_tokens/insert.sql");
const FIND: &str = include_str!("../../../../sql/queries/access_tokens/find.sql");
const SWEEP: &str = include_str!("../../../../sql/queries/access_tokens/sweep.sql");
const SWEEP_LIMIT_TOKENS: &str = include_str!("../../../../sql/queries/account_limits/sweep_tokens.sql");

const SWEEP_USER_TOKENS: &str = include_str!("../../../../sql/queries/user_tokens/sweep.sql");

/// How long an expired token is kept, so that its client receives the error for an expired token (T-05).
const KEPT: Duration = Duration::from_secs(3600);
/// The number of tokens that one statement of a sweep deletes.
const CHUNK: i64 = 1000;

/// A token that was just issued.
#[derive(Debug, Clone, Copy)]
pub struct Issued {
    /// The scope of the token.
    pub scope: Scope,
    /// When the token was issued, by the database's clock.
    pub at: Timestamp,
}

/// The requester of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requested {
    /// A client of the token service.
    ByClient,
    /// The user itself, with its password (T-10).
    ByUser,
}

/// The rights that a token grants.
#[derive(Debug, Clone)]
pub struct Granted {
    /// The tenant of the token.
    pub tenant: TenantId,
    /// The user on whose behalf the token acts.
    pub user: String,
    /// The scope of the token.
    pub scope: Scope,
    /// How long the token is still valid, by the database's clock; `None` when it has expired.
    pub remaining: Option<Duration>,
    /// The requester of the token.
    pub requested: Requested,
}

/// Stores a new token of a client with its lifetime. Returns `None` when the client no longer exists. One statement.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn insert_token(
    database: &Database,
    tenant: &TenantId,
    client: &str,
    token: TokenHash,
    validity: Duration,
) -> Result<Option<Issued>> {
    let connection = database.loader().await?;
    let row = connection
        .find(INSERT, &[&tenant.as_str(), &client, &token.bytes(), &validity.as_secs_f64()])
        .await?;
    row.map(|row| {
        Ok(Issued { scope: scope(&row.get::<_, Vec<String>>(0))?, at: Timestamp::stored(row.get(1), 0) })
    })
    .transpose()
}

/// Looks up what a token grants, also when it expired a short while ago. Returns `None` for an unknown token.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn find_token(database: &Database, token: TokenHash) -> Result<Option<Granted>> {
    let Some(row) = database.loader().await?.find(FIND, &[&token.bytes()]).await? else { return Ok(None) };
    let remaining: f64 = row.get(3);
    Ok(Some(Granted {
        tenant: TenantId::parse(row.get(0))?,
        user: row.get(1),
        scope: scope(&row.get::<_, Vec<String>>(2))?,
        remaining: Duration::try_from_secs_f64(remaining).ok().filter(|remaining| !remaining.is_zero()),
        requested: if row.get(4) { Requested::ByUser } else { Requested::ByClient },
    }))
}

/// Reads the scope from its words. Only known words are ever stored.
pub(crate) fn scope(words: &[String]) -> Result<Scope> {
    Scope::of_words(words.iter().map(String::as_str))
        .ok_or_else(|| Error::invalid_value("scope", words.join(" "), "READ WRITE"))
}

/// Deletes expired tokens in small batches, also those of users, of the limits query and of identity providers.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn sweep(database: &Database) -> Result<()> {
    let kept = KEPT.as_secs_f64();
    while database.loader().await?.execute(SWEEP, &[&kept, &CHUNK]).await? == CHUNK as u64 {}
    while database.loader().await?.execute(SWEEP_USER_TOKENS, &[&kept, &CHUNK]).await? == CHUNK as u64 {}
    while database.loader().await?.execute(SWEEP_LIMIT_TOKENS, &[&CHUNK]).await? == CHUNK as u64 {}
    while database.loader().await?.execute(spent_tokens::SWEEP, &[&CHUNK]).await? == CHUNK as u64 {}
    Ok(())
}
