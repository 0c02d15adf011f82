//! Operations in PostgreSQL. Writes take the rows of one group commit and run inside the writer's transaction.

pub mod collection;
pub mod queues;

use std::collections::HashSet;

use deadpool_postgres::GenericClient;
use platform_model::data::audit_record::NewAuditRecord;
use platform_model::data::operation::{Operation, OperationStatus};
use platform_model::devices::external_id::NewExternalId;
use platform_model::error::{Error, Noun, Result};
use platform_model::fragments::Fragments;
use platform_model::id::{BulkOperationId, ManagedObjectId, OperationId, TenantId};
use platform_model::idempotency::{FirstResponse, IdempotencyKey};
use platform_model::naming::naming;
use platform_model::realtime::change::PublishedChange;
use platform_model::timestamp::Timestamp;
use tokio_postgres::Row;
use tokio_postgres::types::{Json, ToSql};

use crate::Database;
use crate::query::prepared::PreparedQueries;
use crate::query::rows::fragments;
use crate::realtime::publications::{DeletionNotices, Write};
use crate::realtime::signatures::Signatures;
use crate::statistics::Counted;
use crate::write_kind::{Added, Rows, WriteKind};

const INSERT: &str = include_str!("../../../../../sql/queries/operations/insert.sql");

const UPDATE: &str = include_str!("../../../../../sql/queries/operations/update.sql");
const FIND: &str = include_str!("../../../../../sql/queries/operations/find.sql");
const DELETE_MANY: &str = include_str!("../../../../../sql/queries/operations/delete_many.sql");
const HAS_AGENT: &str = include_str!("../../../../../sql/queries/operations/has_agent.sql");

/// An operation to queue.
#[derive(Debug, Clone)]
pub struct ToQueue {
    /// The device of the operation.
    pub device: ManagedObjectId,
    /// The bulk operation that creates it.
    pub bulk_operation: Option<BulkOperationId>,
    /// The fragments of the operation.
    pub fragments: Fragments,
}

/// An operation that was queued, with the data for its notifications.
#[derive(Debug, Clone)]
pub struct Queued {
    /// The operation as it was queued.
    pub operation: Operation,
    /// The agents that are notified; none if the operation FAILED at once (K-10).
    pub agents: Vec<ManagedObjectId>,
}

/// Queues operations in this order. `None` stands for an operation that was left out: its device does not exist or has
/// no agent (O-01); for a bulk operation, its device does not exist or has an operation of it already (K-05).
#[derive(Debug)]
pub(crate) struct QueueOperation;

impl WriteKind for QueueOperation {
    type Change = ToQueue;
    type Outcomes = std::vec::IntoIter<Option<Queued>>;
    type Written = Queued;

    const STATEMENTS: &'static [&'static str] = &[INSERT];
    const COUNTED: Counted = Counted::OperationCreated;
    const ADDED: Added<'static> = Added::Data;

    async fn run(
        client: &impl GenericClient,
        _: &Signatures,
        rows: &mut Rows<'_, Self>,
    ) -> Result<Self::Outcomes> {
        let mut queued: Vec<Option<Queued>> = rows.iter().map(|_| None).collect();
        let tenants: Vec<&str> = rows.iter().map(|(tenant, _)| tenant.as_str()).collect();
        let devices: Vec<i64> = rows.iter().map(|(_, new)| new.device.0).collect();
        let bulk_operations: Vec<Option<i64>> =
            rows.iter().map(|(_, new)| new.bulk_operation.map(|id| id.0)).collect();
        let fragments: Vec<String> = rows.iter().map(|(_, new)| new.fragments.to_json()).collect();
        let agent = naming().model("Agent");
        let parameters: [&(dyn ToSql + Sync); 5] = [&tenants, &devices, &bulk_operations, &fragments, &agent];
        for row in client.rows(INSERT, &parameters).await? {
            let place = row.get::<_, i64>(0) as usize;
            queued[place] = Some(from_inserted(&row, rows[place].1)?);
        }
        Ok(queued.into_iter())
    }

    fn written(outcomes: &mut Self::Outcomes, _: &Self::Change) -> Option<Self::Written> {
        outcomes.next().flatten()
    }

    fn response(_: &ToQueue, queued: &Queued, key: &IdempotencyKey) -> Option<FirstResponse> {
        let operation = queued.operation.clone().alone();
        Some(FirstResponse::of(key.links.operation(operation.id), &operation, &key.links))
    }
}

/// An operation after a PUT.
#[derive(Debug, Clone)]
pub struct OperationUpdate {
    /// The new state. Its `revision` is the one that was read: the operation is updated only if it still has this
    /// revision.
    pub operation: Operation,
    /// The audit record of a new status, with its id (O-09).
    pub audit: Option<(i64, NewAuditRecord)>,
}

/// Updates operations and inserts their audit records. Operations that were changed or deleted since they were read are
/// left out.
#[derive(Debug)]
pub(crate) struct UpdateOperation;

impl WriteKind for UpdateOperation {
    type Change = OperationUpdate;
    type Outcomes = HashSet<i64>;
    type Written = ();

    const STATEMENTS: &'static [&'static str] = &[UPDATE];
    const COUNTED: Counted = Counted::OperationUpdated;
    const ADDED: Added<'static> = Added::Nothing;

    async fn run(
        client: &impl GenericClient,
        _: &Signatures,
        rows: &mut Rows<'_, Self>,
    ) -> Result<Self::Outcomes> {
        let operations = || rows.iter().map(|(_, update)| &update.operation);
        let audits = || rows.iter().map(|(_, update)| update.audit.as_ref());
        let tenants: Vec<&str> = rows.iter().map(|(tenant, _)| tenant.as_str()).collect();
        let ids: Vec<i64> = operations().map(|operation| operation.id.map_or(0, |id| id.0)).collect();
        let revisions: Vec<i64> = operations().map(|operation| operation.revision).collect();
        let statuses: Vec<&str> = operations().map(|operation| operation.status.as_str()).collect();
        let reasons: Vec<Option<&str>> =
            operations().map(|operation| operation.failure_reason.as_deref()).collect();
        let fragments: Vec<String> = operations().map(|operation| operation.fragments.to_json()).collect();
        let audit_ids: Vec<Option<i64>> = audits().map(|audit| audit.map(|(id, _)| *id)).collect();
        let audit_times: Vec<_> =
            audits().map(|audit| audit.map(|(_, record)| record.time.instant())).collect();
        let users: Vec<Option<&str>> = audits().map(|audit| audit.map(|(_, record)| &*record.user)).collect();
        let applications: Vec<Option<&str>> =
            audits().map(|audit| audit.and_then(|(_, record)| record.application.as_deref())).collect();
        let changes = |record: &NewAuditRecord| {
            serde_json::to_string(&record.changes).expect("changes have string keys only")
        };
        let changes: Vec<Option<String>> =
            audits().map(|audit| audit.map(|(_, record)| changes(record))).collect();
        let parameters: [&(dyn ToSql + Sync); 11] = [
            &tenants,
            &ids,
            &revisions,
            &statuses,
            &reasons,
            &fragments,
            &audit_ids,
            &audit_times,
            &users,
            &applications,
            &changes,
        ];
        Ok(client.rows(UPDATE, &parameters).await?.iter().map(|row| row.get(0)).collect())
    }

    fn written(outcomes: &mut Self::Outcomes, update: &Self::Change) -> Option<Self::Written> {
        outcomes.contains(&update.operation.id?.0).then_some(())
    }
}

/// Returns an operation.
///
/// # Errors
/// `NotFound`, `Unavailable` or `Database`.
pub async fn get_operation(database: &Database, tenant: &TenantId, id: OperationId) -> Result<Operation> {
    let row = database.reader().await?.find(FIND, &[&tenant.as_str(), &id.0]).await?;
    from_row(&row.ok_or_else(|| Error::not_found(Noun::Operation, id))?)
}

/// Deletes operations, optionally only those of one status, publishes it, and returns the number of deleted ones. One
/// statement.
///
/// # Errors
/// `Timeout`, `Contended`, `Unavailable` or `Database`.
pub(crate) async fn delete_operations(
    database: &Database,
    tenant: &TenantId,
    ids: &[i64],
    status: Option<OperationStatus>,
    notices: &DeletionNotices,
) -> Result<usize> {
    let status = status.map(OperationStatus::as_str);
    let parameters: [&(dyn ToSql + Sync); 3] = [&tenant.as_str(), &ids, &status];
    let change = |id| PublishedChange::OperationDeleted(OperationId(id));
    let delete = async || {
        let mut client = database.reader().await?;
        let statement = &client.prepare_cached(DELETE_MANY).await?;
        let write = Write { tenant, fence: None, statement, parameters: &parameters };
        database.delete_published(&mut client, write, notices, change).await
    };
    database.until_committed(delete).await
}

/// Returns whether a device is an agent or a descendant of one by childDevices links (O-01).
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn has_agent(database: &Database, tenant: &TenantId, device: ManagedObjectId) -> Result<bool> {
    let agent = naming().model("Agent");
    Ok(database.loader().await?.row(HAS_AGENT, &[&tenant.as_str(), &device.0, &agent]).await?.get(0))
}

/// Reads the columns of `insert.sql` in their order.
fn from_inserted(row: &Row, new: &ToQueue) -> Result<Queued> {
    let agents = row.get::<_, Option<Vec<i64>>>(6).unwrap_or_default();
    let operation = Operation {
        id: Some(OperationId(row.get(1))),
        device: new.device,
        device_name: row.get(5),
        device_external_ids: external_ids(row, 7)?,
        bulk_operation: new.bulk_operation,
        creation_time: Timestamp::stored(row.get(2), 0),
        status: OperationStatus::parse(row.get(3))?,
        failure_reason: row.get(4),
        revision: 0,
        fragments: new.fragments.clone(),
    };
    Ok(Queued { operation, agents: agents.into_iter().map(ManagedObjectId).collect() })
}

/// Reads the columns of `find.sql` in their order.
pub(crate) fn from_row(row: &Row) -> Result<Operation> {
    Ok(Operation {
        id: Some(OperationId(row.get(0))),
        device: ManagedObjectId(row.get(1)),
        device_name: None,
        device_external_ids: None,
        bulk_operation: row.get::<_, Option<i64>>(2).map(BulkOperationId),
        creation_time: Timestamp::stored(row.get(3), 0),
        status: OperationStatus::parse(row.get(4))?,
        failure_reason: row.get(5),
        revision: row.get(6),
        fragments: fragments(row, 7)?,
    })
}

/// Reads a column of pairs of type and value.
pub(crate) fn external_ids(row: &Row, column: usize) -> Result<Option<Vec<NewExternalId>>> {
    type Pair = Json<(String, String)>;
    let pairs = row.try_get::<_, Option<Vec<Pair>>>(column)?;
    let pair = |Json((type_, value)): Pair| NewExternalId { type_, value };
    Ok(pairs.map(|pairs| pairs.into_iter().map(pair).collect()))
}
