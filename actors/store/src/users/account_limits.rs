//! The accounts of the limits query and the tokens that authenticate it, in PostgreSQL (L-02). They belong to no
//! tenant.

use std::time::Duration;

use platform_model::error::{Error, Result};
use platform_model::tenancy::account_limits::{AbsoluteLimits, AccountId, AccountLimits, RateLimits};
use platform_model::users::token_client::TokenHash;
use tokio_postgres::types::Json;

use crate::Database;
use crate::query::prepared::PreparedQueries;

const FIND_BY_TOKEN: &str = include_str!("../../../../sql/queries/account_limits/find_by_token.sql");
const EXISTS: &str = include_str!("../../../../sql/queries/account_limits/exists.sql");
const SET: &str = include_str!("../../../../sql/queries/account_limits/set.sql");
const ENSURE: &str = include_str!("../../../../sql/queries/account_limits/ensure.sql");
const INSERT_TOKEN: &str = include_str!("../../../../sql/queries/account_limits/insert_token.sql");
const DELETE_TOKENS: &str = include_str!("../../../../sql/queries/account_limits/delete_tokens.sql");

/// Looks up the account of a known, unexpired token, with its limits.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn find_by_token(
    database: &Database,
    token: TokenHash,
) -> Result<Option<(AccountId, AccountLimits)>> {
    let Some(row) = database.loader().await?.find(FIND_BY_TOKEN, &[&token.bytes()]).await? else {
        return Ok(None);
    };
    let limits = AccountLimits {
        absolute: row.try_get::<_, Json<AbsoluteLimits>>(1)?.0,
        rate: row.try_get::<_, Json<Vec<RateLimits>>>(2)?.0,
    };
    Ok(Some((AccountId::parse(row.get(0))?, limits)))
}

/// Returns whether an account exists.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn is_known(database: &Database, account: &AccountId) -> Result<bool> {
    Ok(database.loader().await?.row(EXISTS, &[&account.as_str()]).await?.get(0))
}

/// Sets the limits of a new or a known account that differ from the defaults and returns all limits that are set now.
/// Limits that are not given stay unchanged. One statement.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn set_limits(
    database: &Database,
    account: &AccountId,
    absolute: &AbsoluteLimits,
    rate: Option<&[RateLimits]>,
) -> Result<AccountLimits> {
    let client = database.reader().await?;
    let row = client.query_one(SET, &[&account.as_str(), &Json(absolute), &rate.map(Json)]).await?;

    Ok(AccountLimits {
        absolute: row.try_get::<_, Json<AbsoluteLimits>>(0)?.0,
        rate: row.try_get::<_, Json<Vec<RateLimits>>>(1)?.0,
    })
}

/// Stores a token of an account, which is created when it is new. One transaction.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn insert_token(
    database: &Database,
    account: &AccountId,
    token: TokenHash,
    validity: Duration,
) -> Result<()> {
    let mut client = database.reader().await?;
    let transaction = client.transaction().await?;
    transaction.execute(ENSURE, &[&account.as_str()]).await?;
    transaction.execute(INSERT_TOKEN, &[&token.bytes(), &account.as_str(), &validity.as_secs_f64()]).await?;
    Ok(transaction.commit().await?)
}

/// Deletes every token of an account and returns how many there were.
///
/// # Errors
/// `Invalid` for an unknown account; `Unavailable` or `Database`.
pub async fn delete_tokens(database: &Database, account: &AccountId) -> Result<u64> {
    if !is_known(database, account).await? {
        return Err(Error::invalid_value("account", account, "one that has limits or had a token"));
    }
    Ok(database.reader().await?.execute(DELETE_TOKENS, &[&account.as_str()]).await?)
}
