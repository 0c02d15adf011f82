//! The reasons in PostgreSQL why an operation is PENDING or EXECUTING.

use platform_model::data::operation::Operation;
use platform_model::data::operation_diagnosis::{Agent, Ahead, Connection, Findings};
use platform_model::devices::reference::WantedReferences;
use platform_model::error::Result;
use platform_model::id::{ManagedObjectId, OperationId, TenantId};
use platform_model::naming::naming;
use platform_model::origin::is_device_user;
use platform_model::timestamp::Timestamp;
use time::OffsetDateTime;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::Database;
use crate::devices::inventory::managed_objects::get_managed_object;
use crate::query::prepared::PreparedQueries;

const LIST_AGENTS: &str = include_str!("../../../../sql/queries/operations/list_agents.sql");
const COUNT_AHEAD: &str = include_str!("../../../../sql/queries/operations/count_ahead.sql");

/// Collects the whole diagnosis except the subscriptions, which only sessions know.
///
/// # Errors
/// `NotFound` when its device was deleted; `Timeout`, `Unavailable` or `Database`.
pub async fn find_out(database: &Database, tenant: &TenantId, operation: Operation) -> Result<Findings> {
    let device = get_managed_object(database, tenant, operation.device, WantedReferences::default()).await?;
    let supported = device.fragments.get(&naming().fragment("SupportedOperations"));
    let supported = supported.and_then(|names| serde_json::from_str(names.get()).ok());
    let agents = list_agents(database, tenant, operation.device).await?;
    let ahead = count_ahead(database, tenant, &operation, &agents).await?;
    Ok(Findings { operation, agents, supported, ahead, missing_servers: Vec::new() })
}

async fn list_agents(database: &Database, tenant: &TenantId, device: ManagedObjectId) -> Result<Vec<Agent>> {
    let rows = database
        .reader()
        .await?
        .rows(LIST_AGENTS, &[&tenant.as_str(), &device.0, &naming().model("Agent")])
        .await?;
    Ok(rows.iter().map(agent).collect())
}

fn agent(row: &Row) -> Agent {
    let time = |column: usize| {
        row.get::<_, Option<OffsetDateTime>>(column).map(|instant| Timestamp::stored(instant, 0))
    };
    let connection = match (is_device_user(row.get(2)), row.get::<_, Option<bool>>(3)) {
        (false, _) => Connection::Unknown,
        (true, Some(true)) => Connection::Open,
        (true, _) => Connection::Closed(time(4)),
    };
    let id = ManagedObjectId(row.get(0));
    Agent { id, name: row.get(1), connection, subscribed: false, last_message: time(5) }
}

async fn count_ahead(
    database: &Database,
    tenant: &TenantId,
    operation: &Operation,
    agents: &[Agent],
) -> Result<Ahead> {
    let Some(id) = operation.id else { return Ok(Ahead::default()) };
    let client = database.reader().await?;
    let statement = client.prepare_cached(COUNT_AHEAD).await?;
    let agents: Vec<i64> = agents.iter().map(|agent| agent.id.0).collect();
    let created = operation.creation_time.instant();
    let marker = naming().model("Agent");
    let parameters: [&(dyn ToSql + Sync); 6] =
        [&tenant.as_str(), &agents, &created, &id.0, &Ahead::MOST, &marker];
    let row = client.query_one(&statement, &parameters).await?;
    Ok(Ahead { count: row.get(0), oldest: row.get::<_, Option<i64>>(1).map(OperationId) })
}
