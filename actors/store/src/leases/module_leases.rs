//! The condition for writes of event-processing modules: this process holds the modules of the tenant until the commit.

use std::collections::BTreeSet;

use deadpool_postgres::{GenericClient, Transaction};
use platform_model::error::{Error, Noun, Result};
use platform_model::id::TenantId;
use tokio_postgres::Statement;

use crate::Database;

const HOLD: &str = include_str!("../../../../sql/queries/module_holders/hold_leases.sql");
/// The name under which PostgreSQL reports that the condition does not hold.
const PREMISE: &str = "module_lease_is_held";

/// Prepares the statement for [`hold`]; `None` when there is no lease to hold.
pub(crate) async fn prepare(
    client: &impl GenericClient,
    premises: &BTreeSet<(&TenantId, i64)>,
) -> Result<Option<Statement>> {
    if premises.is_empty() { Ok(None) } else { Ok(Some(client.prepare_cached(HOLD).await?)) }
}

/// Prevents other processes from taking over the modules of these tenants until the transaction ends.
///
/// # Errors
/// `Conflict` when this process does not hold them with these fences, or no longer.
pub(crate) async fn hold(
    client: &impl GenericClient,
    statement: Option<&Statement>,
    premises: &BTreeSet<(&TenantId, i64)>,
) -> Result<()> {
    let Some(statement) = statement else { return Ok(()) };
    let (tenants, fences): (Vec<&str>, Vec<i64>) =
        premises.iter().map(|(tenant, fence)| (tenant.as_str(), *fence)).unzip();
    match client.query(statement, &[&tenants, &fences]).await.map_err(Error::from) {
        Err(error) if error.constraint() == Some(PREMISE) => Err(Error::Conflict {
            noun: Noun::Module,
            message: "another server process runs the modules of this tenant now".into(),
        }),
        outcome => outcome.map(drop),
    }
}

/// Does the same as [`hold`] within a transaction of one write; without a fence it does nothing.
///
/// # Errors
/// The errors of [`hold`].
pub(crate) async fn hold_one(
    transaction: &Transaction<'_>,
    tenant: &TenantId,
    fence: Option<i64>,
) -> Result<()> {
    let premises = fence.map(|fence| (tenant, fence)).into_iter().collect();
    let statement = prepare(transaction, &premises).await?;
    hold(transaction, statement.as_ref(), &premises).await
}

/// Ensures that a write of several transactions may begin; the last of them checks again.
///
/// # Errors
/// The errors of [`hold`].
pub(crate) async fn ensure_held(database: &Database, tenant: &TenantId, fence: Option<i64>) -> Result<()> {
    if fence.is_none() {
        return Ok(());
    }
    let mut client = database.loader().await?;
    let transaction = client.transaction().await?;
    hold_one(&transaction, tenant, fence).await?;
    Ok(transaction.commit().await?)
}
