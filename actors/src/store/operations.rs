//! Operations in PostgreSQL. Writes take the rows of one group commit and run inside the writer's transaction.

use deadpool_postgres::GenericClient;
use tokio_postgres::types::{Json, ToSql};
use tokio_postgres::{Row, Statement};

use super::Database;
use crate::error::Result;
use crate::model::external_id::NewExternalId;
use crate::model::fragments::Fragments;
use crate::model::id::{BulkOperationId, ManagedObjectId, OperationId, TenantId};
use crate::model::operation::{Operation, OperationStatus};
use crate::model::timestamp::Timestamp;
use crate::naming::naming;

pub(crate) const INSERT: &str = include_str!("../../../sql/queries/operations/insert.sql");

const HAS_AGENT: &str = include_str!("../../../sql/queries/operations/has_agent.sql");

/// An operation to queue.
#[derive(Debug, Clone)]
pub(crate) struct ToQueue {
    pub(crate) device: ManagedObjectId,
    /// The bulk operation that makes it.
    pub(crate) bulk_operation: Option<BulkOperationId>,
    pub(crate) fragments: Fragments,
}

/// An operation that was queued, as its agents are told of it.
#[derive(Debug, Clone)]
pub(crate) struct Queued {
    pub(crate) operation: Operation,
    /// Whom it is for; nobody where it FAILED at once (K-10).
    pub(crate) agents: Vec<ManagedObjectId>,
}

/// Queues operations in this order. `None` stands for one that was left out: its device does not exist or belongs to no
/// agent (O-01); of a bulk operation, its device does not exist or has one already (K-05).
pub(crate) async fn insert_operations(
    client: &impl GenericClient,
    statement: &Statement,
    rows: &[(&TenantId, &ToQueue)],
) -> Result<Vec<Option<Queued>>> {
    let mut queued: Vec<Option<Queued>> = rows.iter().map(|_| None).collect();
    if rows.is_empty() {
        return Ok(queued);
    }
    let tenants: Vec<&str> = rows.iter().map(|(tenant, _)| tenant.as_str()).collect();
    let devices: Vec<i64> = rows.iter().map(|(_, new)| new.device.0).collect();
    let bulk_operations: Vec<Option<i64>> =
        rows.iter().map(|(_, new)| new.bulk_operation.map(|id| id.0)).collect();
    let fragments: Vec<String> = rows.iter().map(|(_, new)| new.fragments.to_json()).collect();
    let agent = naming().model("Agent");
    let parameters: [&(dyn ToSql + Sync); 5] = [&tenants, &devices, &bulk_operations, &fragments, &agent];
    for row in client.query(statement, &parameters).await? {
        let place = row.get::<_, i64>(0) as usize;
        queued[place] = Some(from_inserted(&row, rows[place].1)?);
    }
    Ok(queued)
}

/// Whether a device is an agent, or below one by childDevices links (O-01).
///
/// # Errors
/// `Unavailable` or `Database`.
pub(crate) async fn has_agent(
    database: &Database,
    tenant: &TenantId,
    device: ManagedObjectId,
) -> Result<bool> {
    let client = database.loader().await?;
    let statement = client.prepare_cached(HAS_AGENT).await?;
    let agent = naming().model("Agent");
    Ok(client.query_one(&statement, &[&tenant.as_str(), &device.0, &agent]).await?.get(0))
}

/// Reads the columns of `insert.sql`, in its order.
fn from_inserted(row: &Row, new: &ToQueue) -> Result<Queued> {
    type Pair = Json<(String, String)>;
    let agents = row.get::<_, Option<Vec<i64>>>(6).unwrap_or_default();
    let pairs = row.try_get::<_, Option<Vec<Pair>>>(7)?;
    let pair = |Json((type_, value)): Pair| NewExternalId { type_, value };
    let operation = Operation {
        id: Some(OperationId(row.get(1))),
        device: new.device,
        device_name: row.get(5),
        device_external_ids: pairs.map(|pairs| pairs.into_iter().map(pair).collect()),
        bulk_operation: new.bulk_operation,
        creation_time: Timestamp::stored(row.get(2), 0),
        status: OperationStatus::parse(row.get(3))?,
        failure_reason: row.get(4),
        revision: 0,
        fragments: new.fragments.clone(),
    };
    Ok(Queued { operation, agents: agents.into_iter().map(ManagedObjectId).collect() })
}
