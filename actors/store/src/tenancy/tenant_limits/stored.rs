//! The limits that are set for tenants, in PostgreSQL.

use std::collections::HashMap;

use platform_model::data::audit_record::AttributeChange;
use platform_model::error::{Error, Noun, Result};
use platform_model::id::TenantId;
use platform_model::tenancy::tenant::{LimitValues, LimitsPatch, TenantLimit};
use platform_model::users::user::Administration;
use tokio_postgres::Row;

use crate::Database;
use crate::realtime::announcements::{Change, change};
use crate::users::audit::record;

const LIST_ALL: &str = include_str!("../../../../../sql/queries/tenant_limits/list_all.sql");
const LIST_PARENTS: &str = include_str!("../../../../../sql/queries/tenant_limits/list_parents.sql");
const LOCK: &str = include_str!("../../../../../sql/queries/tenant_limits/lock.sql");
const SET: &str = include_str!("../../../../../sql/queries/tenant_limits/set.sql");
const REMOVE: &str = include_str!("../../../../../sql/queries/tenant_limits/remove.sql");

/// The limits and parents of all tenants of the deployment.
#[derive(Debug, Default)]
pub(super) struct Stored {
    /// The values of tenants that have any.
    pub(super) set: HashMap<TenantId, LimitValues>,
    /// The parents of tenants; the limits of a parent apply to its children.
    pub(super) parents: HashMap<TenantId, TenantId>,
}

impl Stored {
    pub(super) async fn load(database: &Database) -> Result<Self> {
        let client = database.loader().await?;
        let mut stored = Self::default();
        for row in client.query(LIST_ALL, &[]).await? {
            if let Some((limit, value)) = limit_of(&row, 1)? {
                let values = stored.set.entry(TenantId::parse(row.try_get(0)?)?).or_default();
                values.set(limit, Some(value));
            }
        }
        for row in client.query(LIST_PARENTS, &[]).await? {
            stored.parents.insert(TenantId::parse(row.try_get(0)?)?, TenantId::parse(row.try_get(1)?)?);
        }
        Ok(stored)
    }
}

/// Returns the limit of a row and its value; `None` without a limit, or for one that only newer servers know.
fn limit_of(row: &Row, column: usize) -> Result<Option<(TenantLimit, u64)>> {
    let Some(name) = row.try_get::<_, Option<&str>>(column)? else { return Ok(None) };
    let value: i64 = row.try_get(column + 1)?;
    Ok(TenantLimit::find(name).map(|limit| (limit, value.unsigned_abs())))
}

/// Changes the limits of a tenant, and stores an audit record. One transaction. The limits apply at this server when
/// this returns, and at the others a moment later.
///
/// # Errors
/// `NotFound` for an unknown tenant; `Unavailable` or `Database`.
pub async fn set_limits(
    database: &Database,
    administration: &Administration,
    patch: &LimitsPatch,
) -> Result<()> {
    let tenant = &administration.tenant;
    change(database, async |transaction, announcements| {
        let rows = transaction.query(LOCK, &[&tenant.as_str()]).await?;
        if rows.is_empty() {
            return Err(Error::not_found(Noun::Tenant, tenant));
        }
        let mut before = LimitValues::default();
        for row in &rows {
            if let Some((limit, value)) = limit_of(row, 1)? {
                before.set(limit, Some(value));
            }
        }
        let mut changes = Vec::new();
        for (limit, value) in patch.0.iter().filter(|(limit, value)| before.get(*limit) != *value) {
            let (tenant, name) = (tenant.as_str(), limit.as_str());
            match value {
                Some(value) => transaction.execute(SET, &[&tenant, &name, &value.cast_signed()]).await?,
                None => transaction.execute(REMOVE, &[&tenant, &name]).await?,
            };
            let text = |value: Option<u64>| value.map(|value| value.to_string());
            changes.push(AttributeChange::text(name, text(before.get(*limit)), text(*value)));
        }
        if !changes.is_empty() {
            announcements.add(Change::Limits(tenant.clone()));
        }
        let (activity, source) = ("Limits of tenant updated", tenant.to_string());
        if changes.is_empty() {
            return Ok(());
        }
        record(transaction, announcements, administration, ("Tenant", activity, &*source), changes).await
    })
    .await
}
