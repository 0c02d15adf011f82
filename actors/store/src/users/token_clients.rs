//! Clients of the access-token service in PostgreSQL. Deleting a client deletes its tokens and counts as a change of
//! their user: every server drops the callers it cached for these tokens and ends their sessions.

use std::sync::Arc;

use platform_model::error::{Error, Noun, Result};
use platform_model::id::TenantId;
use platform_model::page::{After, Page, PageRequest};
use platform_model::timestamp::Timestamp;
use platform_model::users::token_client::{Scope, TokenClient};
use tokio_postgres::Row;

use crate::Database;
use crate::query::filter::{Filtered, Order, page_of};
use crate::query::prepared::PreparedQueries;
use crate::realtime::announcements::change;
use crate::users::access_tokens;

const INSERT: &str = include_str!("../../../../sql/queries/token_clients/insert.sql");
const GET: &str = include_str!("../../../../sql/queries/token_clients/get.sql");
const DELETE: &str = include_str!("../../../../sql/queries/token_clients/delete.sql");
const TENANT_OF: &str = include_str!("../../../../sql/queries/token_clients/tenant_of.sql");
const FIND_SECRET: &str = include_str!("../../../../sql/queries/token_clients/find_secret.sql");

/// The columns of a client, in the order [`from_row`] reads them: those of `get.sql`.
const COLUMNS: &str = "c.tenant, c.id, c.name, c.user_name, c.scope, c.created_at";

/// A client to store.
#[derive(Clone, Copy)]
pub struct Draft<'d> {
    /// The tenant of the client.
    pub tenant: &'d TenantId,
    /// The consumer key.
    pub id: &'d str,
    /// A name for people.
    pub name: &'d str,
    /// The user on whose behalf it acts.
    pub user: &'d str,
    /// The scope of its tokens.
    pub scope: Scope,
    /// The hash of the consumer secret.
    pub secret_hash: &'d str,
}

/// Stores a client for a user of the tenant. One statement.
///
/// # Errors
/// `Invalid` for a user that does not exist or belongs to a microservice; `Unavailable` or `Database`.
pub async fn insert_client(database: &Database, draft: Draft<'_>) -> Result<TokenClient> {
    database.ensure_stored_quota(draft.tenant)?;
    let client = database.reader().await?;
    let scope: Vec<&str> = draft.scope.words().collect();
    let row = client
        .query_opt(
            INSERT,
            &[&draft.tenant.as_str(), &draft.id, &draft.name, &draft.user, &scope, &draft.secret_hash],
        )
        .await?;
    let allowed = "a user of the tenant that does not belong to a microservice";
    from_row(&row.ok_or_else(|| Error::invalid_value("user", draft.user, allowed))?)
}

/// Returns a client of a tenant.
///
/// # Errors
/// `NotFound`, `Unavailable` or `Database`.
pub async fn get_client(database: &Database, tenant: &TenantId, id: &str) -> Result<TokenClient> {
    let row = database.reader().await?.find(GET, &[&tenant.as_str(), &id]).await?;
    from_row(&row.ok_or_else(|| Error::not_found(Noun::TokenClient, id))?)
}

/// Returns a page of the clients of a tenant, by key.
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`.
pub async fn list_clients(
    database: &Database,
    tenant: &TenantId,
    page: &PageRequest,
) -> Result<Page<TokenClient>> {
    let client = database.reader().await?;
    let mut filtered = Filtered::new("token_clients c", "c.tenant", tenant.as_str());
    let count = filtered.total(&client, page.total).await?;
    let rows =
        client.rows(&filtered.page(COLUMNS, Order::Name("c.id"), page), &filtered.parameters()).await?;
    let clients = rows.iter().map(from_row).collect::<Result<Vec<_>>>()?;
    Ok(Page { count, ..page_of(clients, page, |client| After::Name(client.id.as_str().into())) })
}

/// Deletes a client with its tokens and notifies every server process. One transaction.
///
/// # Errors
/// `NotFound`, `Unavailable` or `Database`.
pub async fn delete_client(database: &Database, tenant: &TenantId, id: &str) -> Result<()> {
    change(database, async |transaction, announcements| {
        let row = transaction.query_opt(DELETE, &[&tenant.as_str(), &id]).await?;
        let row = row.ok_or_else(|| Error::not_found(Noun::TokenClient, id))?;
        announcements.add_user(tenant, row.get(0));
        Ok(())
    })
    .await
}

/// Returns the tenant of the client with this consumer key.
///
/// # Errors
/// `NotFound`, `Unavailable` or `Database`.
pub async fn get_tenant_of_client(database: &Database, id: &str) -> Result<TenantId> {
    let row = database.reader().await?.query_opt(TENANT_OF, &[&id]).await?;
    TenantId::parse(row.ok_or_else(|| Error::not_found(Noun::TokenClient, id))?.get(0))
}

/// Looks up the tenant and the hash of the consumer secret of a client. Returns `None` unless its user and its tenant
/// are active.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn find_secret(database: &Database, id: &str) -> Result<Option<(TenantId, String)>> {
    let row = database.loader().await?.find(FIND_SECRET, &[&id]).await?;
    row.map(|row| Ok((TenantId::parse(row.get(0))?, row.get(1)))).transpose()
}

fn from_row(row: &Row) -> Result<TokenClient> {
    Ok(TokenClient {
        tenant: TenantId::parse(row.get(0))?,
        id: row.get(1),
        name: row.get(2),
        user: Arc::from(row.get::<_, &str>(3)),
        scope: access_tokens::scope(&row.get::<_, Vec<String>>(4))?,
        creation_time: Timestamp::stored(row.get(5), 0),
    })
}
