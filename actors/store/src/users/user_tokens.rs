//! Access tokens that users request for themselves, in PostgreSQL, which stores only their hashes (T-08, T-10).
//! Revoking one counts as a change of the user: every server drops the callers that it cached, and ends their sessions.

use std::time::Duration;

use platform_model::error::{Error, Noun, Result};
use platform_model::id::TenantId;
use platform_model::timestamp::Timestamp;
use platform_model::users::token_client::TokenHash;
use platform_model::users::user_token::{LONGEST, MOST_TOKENS, NewUserToken, UserToken};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::Database;
use crate::query::prepared::PreparedQueries;
use crate::realtime::announcements::change;
use crate::users::{access_tokens, spent_tokens};

const INSERT: &str = include_str!("../../../../sql/queries/user_tokens/insert.sql");
const DELETE_SURPLUS: &str = include_str!("../../../../sql/queries/user_tokens/delete_surplus.sql");
const LIST: &str = include_str!("../../../../sql/queries/user_tokens/list.sql");
const RENEW: &str = include_str!("../../../../sql/queries/user_tokens/renew.sql");
const DELETE_OF_PROVIDER: &str = include_str!("../../../../sql/queries/user_tokens/delete_of_provider.sql");
const DELETE: &str = include_str!("../../../../sql/queries/user_tokens/delete.sql");

/// A token to store.
#[derive(Debug, Clone, Copy)]
pub struct Draft<'d> {
    /// The tenant of the user.
    pub tenant: &'d TenantId,
    /// The user.
    pub user: &'d str,
    /// The name in paths.
    pub id: &'d str,
    /// The hash of the token.
    pub hash: TokenHash,
    /// The name for people, and the scope.
    pub new: &'d NewUserToken,
    /// The lifetime of the token without a renewal.
    pub validity: Duration,
    /// The authentication of the user.
    pub authenticated: Authenticated<'d>,
}

/// The authentication in exchange for which a token is issued.
#[derive(Debug, Clone, Copy)]
pub enum Authenticated<'d> {
    /// The hash of the stored form of a password.
    Password(TokenHash),
    /// A log-in at an identity provider.
    IdentityProvider(ProviderSession<'d>),
}

/// A log-in at an identity provider, as its tokens name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProviderSession<'d> {
    /// The provider.
    pub issuer: &'d str,
    /// The person; `None` only in a search, for all people.
    pub subject: Option<&'d str>,
    /// The session; `None` if the provider names none, or in a search for all sessions.
    pub session: Option<&'d str>,
}

/// Stores a token of a user. It replaces the token that ends first if the user has too many. Returns `None` when the
/// user was disabled or deleted, or has another password meanwhile. One transaction.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn insert_token(database: &Database, draft: Draft<'_>) -> Result<Option<UserToken>> {
    let (tenant, validity, longest) =
        (draft.tenant.as_str(), draft.validity.as_secs_f64(), LONGEST.as_secs_f64());
    let scope: Vec<&str> = draft.new.scope.words().collect();
    let hash = draft.hash.bytes();
    let (password, provider) = match &draft.authenticated {
        Authenticated::Password(hash) => (Some(hash.bytes()), None),
        Authenticated::IdentityProvider(session) => (None, Some(*session)),
    };
    let issuer = provider.map(|session| session.issuer);
    let subject = provider.and_then(|session| session.subject);
    let session = provider.and_then(|session| session.session);
    change(database, async |transaction, announcements| {
        let name = &draft.new.name;
        let row = transaction
            .query_opt(
                INSERT,
                &[
                    &tenant,
                    &draft.user,
                    &draft.id,
                    &hash,
                    name,
                    &scope,
                    &validity,
                    &longest,
                    &password,
                    &issuer,
                    &subject,
                    &session,
                ],
            )
            .await?;
        let Some(row) = row else { return Ok(None) };
        let surplus = transaction.query(DELETE_SURPLUS, &[&tenant, &draft.user, &MOST_TOKENS]).await?;
        if !surplus.is_empty() {
            announcements.add_user(draft.tenant, draft.user);
        }
        from_row(&row).map(Some)
    })
    .await
}

/// Lists the valid tokens of a user, newest first.
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`.
pub async fn list_tokens(database: &Database, tenant: &TenantId, user: &str) -> Result<Vec<UserToken>> {
    let rows = database.reader().await?.rows(LIST, &[&tenant.as_str(), &user]).await?;
    rows.iter().map(from_row).collect()
}

/// Extends a token of a user to `validity` from now, at most up to its end, and never shortens it. One statement.
///
/// # Errors
/// `NotFound` for a token that is unknown or expired; `Unavailable` or `Database`.
pub async fn renew_token(
    database: &Database,
    tenant: &TenantId,
    user: &str,
    id: &str,
    validity: Duration,
) -> Result<UserToken> {
    let row = database
        .reader()
        .await?
        .find(RENEW, &[&tenant.as_str(), &user, &id, &validity.as_secs_f64()])
        .await?;
    from_row(&row.ok_or_else(|| Error::not_found(Noun::AccessToken, id))?)
}

/// Revokes a token of a user, or all of them without an id, and notifies every server process. Returns the ids. One
/// transaction.
///
/// # Errors
/// `NotFound` for an unknown id; `Unavailable` or `Database`.
pub async fn delete_tokens(
    database: &Database,
    tenant: &TenantId,
    user: &str,
    id: Option<&str>,
) -> Result<Vec<String>> {
    change(database, async |transaction, announcements| {
        let rows = transaction.query(DELETE, &[&tenant.as_str(), &user, &id]).await?;
        if let (Some(id), true) = (id, rows.is_empty()) {
            return Err(Error::not_found(Noun::AccessToken, id));
        }
        if !rows.is_empty() {
            announcements.add_user(tenant, user);
        }
        Ok(rows.iter().map(|row| row.get(0)).collect())
    })
    .await
}

/// A log-out at an identity provider.
#[derive(Debug, Clone, Copy)]
pub struct LogOut<'l> {
    /// The log-ins that end.
    pub of: ProviderSession<'l>,
    /// The token that reports the log-out, which takes effect once.
    pub once: Option<TokenHash>,
    /// The session that ends, so that nobody logs in with it afterwards.
    pub ended: Option<TokenHash>,
    /// The time for which token and session are noted.
    pub kept: Duration,
}

/// Revokes the tokens that were issued for log-ins at an identity provider, and notifies every server process. Returns
/// the users and the ids; `None` if the log-out has taken effect before. One transaction.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn log_out(
    database: &Database,
    tenant: &TenantId,
    log_out: LogOut<'_>,
) -> Result<Option<Vec<(String, String)>>> {
    let LogOut { of, once, ended, kept } = log_out;
    change(database, async |transaction, announcements| {
        if let Some(once) = once
            && !spent_tokens::insert(transaction, tenant, once, kept).await?
        {
            return Ok(None);
        }
        if let Some(ended) = ended {
            spent_tokens::insert(transaction, tenant, ended, kept).await?;
        }
        let parameters: [&(dyn ToSql + Sync); 4] = [&tenant.as_str(), &of.issuer, &of.subject, &of.session];
        let rows = transaction.query(DELETE_OF_PROVIDER, &parameters).await?;
        let revoked: Vec<(String, String)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
        for (user, _) in &revoked {
            announcements.add_user(tenant, user);
        }
        Ok(Some(revoked))
    })
    .await
}

fn from_row(row: &Row) -> Result<UserToken> {
    Ok(UserToken {
        id: row.get(0),
        name: row.get(1),
        scope: access_tokens::scope(&row.get::<_, Vec<String>>(2))?,
        creation_time: Timestamp::stored(row.get(3), 0),
        expiration_time: Timestamp::stored(row.get(4), 0),
        end_time: Timestamp::stored(row.get(5), 0),
        hash: TokenHash::stored(row.get(6))
            .ok_or_else(|| Error::not_found(Noun::AccessToken, row.get::<_, String>(0)))?,
        remaining: Duration::try_from_secs_f64(row.get(7)).unwrap_or_default(),
        identity_provider: row.get(8),
    })
}
