//! Idempotency keys in PostgreSQL (C-24). The transaction of a request stores its key and its response, so that the
//! request takes effect if and only if its repetitions receive the response.

use std::time::Duration;

use deadpool_postgres::GenericClient;
use platform_model::error::{Error, Result};
use platform_model::id::TenantId;
use platform_model::idempotency::{FirstResponse, IdempotencyKey};
use tokio_postgres::types::ToSql;

use crate::Database;
use crate::query::prepared::PreparedQueries;

pub(crate) const INSERT: &str = include_str!("../../../sql/queries/idempotency_keys/insert.sql");
const FIND: &str = include_str!("../../../sql/queries/idempotency_keys/find.sql");
const DELETE_OLD: &str = include_str!("../../../sql/queries/idempotency_keys/delete_old.sql");

/// The time for which repetitions of a request receive its response.
const KEPT: Duration = Duration::from_secs(24 * 3600);
/// The number of keys that one statement deletes.
const DELETED_AT_ONCE: i64 = 1000;
/// The constraint that a second request with a key violates.
const UNIQUE: &str = "idempotency_keys_pkey";

/// A request with a key, and its response.
pub(crate) struct Keyed<'a> {
    pub(crate) tenant: &'a TenantId,
    pub(crate) key: &'a IdempotencyKey,
    pub(crate) response: FirstResponse,
}

/// Returns the response to the first request with this key; `None` if there was none.
///
/// # Errors
/// `Invalid` if that was another request, `Unavailable` or `Database`.
pub async fn find_response(
    database: &Database,
    tenant: &TenantId,
    key: &IdempotencyKey,
) -> Result<Option<FirstResponse>> {
    let parameters: [&(dyn ToSql + Sync); 3] = [&tenant.as_str(), &&*key.user, &&*key.key];
    let Some(row) = database.loader().await?.find(FIND, &parameters).await? else { return Ok(None) };
    if row.get::<_, &[u8]>(0) != key.request {
        return Err(key.is_of_another_request());
    }
    Ok(Some(FirstResponse { location: row.get(1), body: row.get(2) }))
}

/// Returns whether a write failed because a concurrent request with its key was committed.
pub fn is_repetition(error: &Error) -> bool {
    error.constraint() == Some(UNIQUE)
}

/// Stores keys as part of the caller's transaction, which waits for no lock of a row afterwards.
///
/// # Errors
/// One for which [`is_repetition`] holds, `Unavailable` or `Database`.
pub(crate) async fn insert(client: &impl GenericClient, keyed: &[Keyed<'_>]) -> Result<()> {
    if keyed.is_empty() {
        return Ok(());
    }
    let tenants: Vec<&str> = keyed.iter().map(|keyed| keyed.tenant.as_str()).collect();
    let users: Vec<&str> = keyed.iter().map(|keyed| &*keyed.key.user).collect();
    let keys: Vec<&str> = keyed.iter().map(|keyed| &*keyed.key.key).collect();
    let requests: Vec<&[u8]> = keyed.iter().map(|keyed| &keyed.key.request[..]).collect();
    let locations: Vec<Option<&str>> = keyed.iter().map(|keyed| keyed.response.location.as_deref()).collect();
    let responses: Vec<&[u8]> = keyed.iter().map(|keyed| &keyed.response.body[..]).collect();
    let parameters: [&(dyn ToSql + Sync); 6] = [&tenants, &users, &keys, &requests, &locations, &responses];
    client.run(INSERT, &parameters).await?;
    Ok(())
}

/// Deletes keys that are old enough.
///
/// # Errors
/// `Unavailable` or `Database`; some may be deleted then.
pub async fn sweep(database: &Database) -> Result<()> {
    let client = database.loader().await?;
    let parameters: [&(dyn ToSql + Sync); 2] = [&KEPT.as_secs_f64(), &DELETED_AT_ONCE];
    while client.run(DELETE_OLD, &parameters).await? == DELETED_AT_ONCE as u64 {}
    Ok(())
}
