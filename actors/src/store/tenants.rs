//! Tenants in PostgreSQL.

use super::{Database, groups, watch};
use crate::error::{Error, Noun, Result};
use crate::model::id::TenantId;
use crate::model::tenant::Tenant;

const INSERT: &str = include_str!("../../../sql/queries/tenants/insert.sql");
const LIST_DOMAINS: &str = include_str!("../../../sql/queries/tenants/list_domains.sql");

/// Creates a tenant with its default groups (U-10) and tells every server process. One transaction.
///
/// # Errors
/// `Duplicate` when id or domain is taken.
pub async fn insert_tenant(database: &Database, tenant: &Tenant) -> Result<()> {
    let mut client = database.reader().await?;
    let transaction = client.transaction().await?;
    let inserted = transaction
        .execute(INSERT, &[&tenant.id.as_str(), &tenant.domain, &tenant.company, &tenant.status.as_str()])
        .await;
    match inserted.map_err(Error::from) {
        Err(error) if error.is_unique_violation() => {
            let key = format!("{} ({})", tenant.id, tenant.domain);
            return Err(Error::Duplicate { noun: Noun::Tenant, key });
        }
        other => drop(other?),
    }
    groups::insert_default_groups(&transaction, &tenant.id).await?;
    watch::announce(&transaction, &tenant.id, "").await?;
    Ok(transaction.commit().await?)
}

/// Every tenant's id and domain, for tenant resolution by host name.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn list_domains(database: &Database) -> Result<Vec<(TenantId, String)>> {
    let client = database.loader().await?;
    let rows = client.query(LIST_DOMAINS, &[]).await?;
    rows.iter().map(|row| Ok((TenantId::parse(row.get(0))?, row.get(1)))).collect()
}
