//! The steps of running bulk operations in PostgreSQL (K-10, K-11).
//!
//! A process holds a bulk operation by a lease and a fence. Each step is one transaction that creates operations and
//! stores the position reached. It succeeds only if no other process has taken over, nobody has changed or deleted the
//! bulk operation, and its position is the one the holder knows. So an interrupted step has happened completely or not
//! at all, and no step happens twice.

use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{Object, Transaction};
use platform_model::data::bulk_operation::{CreationRamp, Targets};
use platform_model::error::{Error, Result};
use platform_model::fragments::Fragments;
use platform_model::id::{BulkOperationId, ManagedObjectId, TenantId};
use platform_model::links::Links;
use platform_model::realtime::publication::{Cause, Publication};
use tokio_postgres::Row;
use tokio_postgres::types::{Json, ToSql};

use crate::data::operations::{QueueOperation, Queued, ToQueue};
use crate::devices::groups::Members;
use crate::leases::Hold;
use crate::query::prepared::PreparedQueries;
use crate::realtime::publications::Ended;
use crate::realtime::signatures::Signatures;
use crate::statistics::Counted;
use crate::write_kind::WriteKind;
use crate::{Database, PATIENCE};

const TAKE_OVER: &str = include_str!("../../../../../sql/queries/bulk_operations/take_over.sql");
/// Renews the leases of bulk operations; see [`leases`](crate::leases).
pub const RENEW: &str = include_str!("../../../../../sql/queries/bulk_operations/renew.sql");
/// Ends the leases of bulk operations; see [`leases`](crate::leases).
pub const GIVE_BACK: &str = include_str!("../../../../../sql/queries/bulk_operations/give_back.sql");
const BEGIN: &str = include_str!("../../../../../sql/queries/bulk_operations/begin.sql");
const LIST_TARGETS: &str = include_str!("../../../../../sql/queries/bulk_operations/list_targets.sql");
const ADVANCE: &str = include_str!("../../../../../sql/queries/bulk_operations/advance.sql");
const FIND_PLACE: &str = include_str!("../../../../../sql/queries/bulk_operations/find_place.sql");
const COUNT_VANISHED: &str = include_str!("../../../../../sql/queries/bulk_operations/count_vanished.sql");
pub(crate) const DELETE_TARGETS: &str =
    include_str!("../../../../../sql/queries/bulk_operations/delete_targets.sql");

/// The number of bulk operations that one query takes over.
pub const TAKEN_OVER_AT_ONCE: usize = 100;

/// A bulk operation that this process holds.
#[derive(Debug, Clone)]
pub struct Held {
    /// The tenant of the bulk operation.
    pub tenant: TenantId,
    /// The bulk operation.
    pub id: BulkOperationId,
    /// The request.
    pub asked: Arc<BulkOperationRequest>,
    /// The number of devices; `None` until they are chosen.
    pub total: Option<i64>,
    /// The number of devices that were processed.
    place: i64,
    /// The seconds until the next device is due, counted from the takeover; negative when that time has passed.
    pub until_due: f64,
    fence: i64,
}

/// The request of a bulk operation. A change replaces it.
#[derive(Debug)]
pub struct BulkOperationRequest {
    pub(crate) targets: Targets,
    /// The rate at which its operations are created.
    pub ramp: CreationRamp,
    pub(crate) prototype: Fragments,
    /// The bytes of the prototype.
    pub size: usize,
    /// The address of the request; links in notifications start with it.
    pub links: Links,
}

impl Held {
    /// Returns the key by which the lease is renewed.
    pub fn hold(&self) -> Hold {
        Hold { tenant: self.tenant.clone(), id: self.id.0, fence: self.fence }
    }
}

/// The outcome of a step.
#[derive(Debug)]
pub enum Stepped {
    /// There is more to do.
    On,
    /// Nothing is left to do.
    Finished,
    /// Another process has taken over, or somebody changed or deleted the bulk operation. Nothing was created.
    TakenOver,
}

/// Takes over bulk operations of any tenant that are due within the lease and that no process holds. One statement.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn take_over(database: &Database, lease: Duration) -> Result<Vec<Held>> {
    let client = database.loader().await?;
    let most = TAKEN_OVER_AT_ONCE as i64;
    let rows = client.query(TAKE_OVER, &[&lease.as_secs_f64(), &most]).await?;
    rows.iter().map(held).collect()
}

/// Chooses the devices of a bulk operation that starts. Returns `Finished` when there are none, for example because the
/// group was deleted or is no longer a group. One transaction.
///
/// # Errors
/// `Timeout`; `Contended` when another process does the same; `Unavailable` or `Database`.
pub async fn begin(database: &Database, held: &mut Held, lease: Duration) -> Result<Stepped> {
    let mut client = database.reader().await?;
    let transaction = client.transaction().await?;
    transaction.batch_execute(PATIENCE).await?;
    let members = match Members::find(&transaction, &held.tenant, held.asked.targets).await {
        Err(Error::Invalid(reason)) => {
            let (tenant, id) = (&held.tenant, held.id);
            tracing::warn!(tenant.id = %tenant, bulk_operation.id = %id, reason, "a bulk operation starts without \
                targets");
            Members::none(tenant)
        }
        found => found?,
    };
    let begun = begin_within(&transaction, held, lease, members).await;
    let total = match begun {
        Err(error) if error.is_unique_violation() => return Err(Error::Contended),
        begun => begun?,
    };
    if total.is_some() {
        transaction.commit().await?;
    }
    held.total = total;
    Ok(match total {
        Some(0) => Stepped::Finished,
        Some(_) => Stepped::On,
        None => Stepped::TakenOver,
    })
}

/// Chooses the devices as part of the caller's transaction and returns their number. Returns `None` when this process
/// no longer holds the bulk operation: the transaction must be rolled back then.
///
/// # Errors
/// The errors of [`begin`], with a unique violation in place of `Contended`.
pub(crate) async fn begin_within(
    transaction: &Transaction<'_>,
    held: &Held,
    lease: Duration,
    members: Members,
) -> Result<Option<i64>> {
    // The devices come first, which may take long, and then the row, which others wait to lock.
    let total = members.choose(transaction, held.id).await?;
    let parameters: [&(dyn ToSql + Sync); 5] =
        [&held.tenant.as_str(), &held.id.0, &held.fence, &total, &lease.as_secs_f64()];
    let begun = transaction.execute(BEGIN, &parameters).await?;
    Ok((begun == 1).then_some(total))
}

/// Returns the next devices to process, at most `most`.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn list_targets(client: &Object, held: &Held, most: usize) -> Result<Vec<ManagedObjectId>> {
    let rows =
        client.rows(LIST_TARGETS, &[&held.tenant.as_str(), &held.id.0, &held.place, &(most as i64)]).await?;
    Ok(rows.iter().map(|row| ManagedObjectId(row.get(0))).collect())
}

/// Creates the operations of the next devices and stores the position reached and the seconds until the next device is
/// due, and publishes the operations. A deleted device is only counted. One transaction.
///
/// # Errors
/// `Contended`, or a foreign key violation when one of the devices is being deleted. Nothing was created then, and the
/// step can be retried. `Unavailable` or `Database`.
pub async fn make_step(
    database: &Database,
    client: &mut Object,
    held: &mut Held,
    lease: Duration,
    devices: &[ManagedObjectId],
    until_next: f64,
) -> Result<Stepped> {
    let attempt = async || try_step(database, client, held, lease, devices, until_next).await;
    database.until_committed(attempt).await
}

async fn try_step(
    database: &Database,
    client: &mut Object,
    held: &mut Held,
    lease: Duration,
    devices: &[ManagedObjectId],
    until_next: f64,
) -> Result<Ended<Stepped>> {
    let transaction = client.transaction().await?;
    transaction.batch_execute(PATIENCE).await?;
    let reached = held.place + devices.len() as i64;
    let parameters: [&(dyn ToSql + Sync); 7] = [
        &held.tenant.as_str(),
        &held.id.0,
        &held.fence,
        &held.place,
        &reached,
        &until_next,
        &lease.as_secs_f64(),
    ];
    if transaction.run(ADVANCE, &parameters).await? == 0 {
        return Ok(Ended::Committed(find_place(transaction, held).await?));
    }
    let queued = queue(&transaction, &database.signatures, held, devices).await?;
    let finished = Some(reached) == held.total;
    if finished {
        transaction.execute(DELETE_TARGETS, &[&held.tenant.as_str(), &held.id.0]).await?;
    }
    let count = queued.len() as u64;
    let published = queued.into_iter().map(|Queued { operation, agents }| Publication::Queued {
        operation: Arc::new(operation),
        agents,
        cause: Cause::persistent(&held.asked.links),
    });
    let stepped = if finished { Stepped::Finished } else { Stepped::On };
    let ended = database.commit_published(transaction, &held.tenant, stepped, published.collect()).await?;
    if matches!(ended, Ended::Committed(_)) {
        held.place = reached;
        database.statistics.add(&held.tenant, Counted::OperationCreated, count);
    }
    Ok(ended)
}

/// Queues an operation for each device and counts the deleted devices.
async fn queue(
    transaction: &Transaction<'_>,
    signatures: &Signatures,
    held: &Held,
    devices: &[ManagedObjectId],
) -> Result<Vec<Queued>> {
    let new = |device: &ManagedObjectId| ToQueue {
        device: *device,
        bulk_operation: Some(held.id),
        fragments: held.asked.prototype.clone(),
    };
    let new: Vec<ToQueue> = devices.iter().map(new).collect();
    let mut rows: Vec<(&TenantId, &ToQueue)> = new.iter().map(|new| (&held.tenant, new)).collect();
    let queued = QueueOperation::run(transaction, signatures, &mut rows).await?;
    let queued: Vec<Queued> = queued.flatten().collect();
    let vanished = (devices.len() - queued.len()) as i64;
    if vanished > 0 {
        transaction.execute(COUNT_VANISHED, &[&held.tenant.as_str(), &held.id.0, &vanished]).await?;
    }
    Ok(queued)
}

/// Finds out, after the conditions of a step failed, whether an earlier step was committed whose outcome stayed
/// unknown.
async fn find_place(transaction: Transaction<'_>, held: &mut Held) -> Result<Stepped> {
    let parameters: [&(dyn ToSql + Sync); 3] = [&held.tenant.as_str(), &held.id.0, &held.fence];
    Ok(match transaction.query_opt(FIND_PLACE, &parameters).await? {
        Some(row) => {
            held.place = row.get(0);
            Stepped::On
        }
        None => Stepped::TakenOver,
    })
}

/// Reads the columns that `take_over.sql`, `insert.sql` and `update.sql` return alike.
pub(crate) fn held(row: &Row) -> Result<Held> {
    let Json(prototype) = row.try_get::<_, Json<Fragments>>(5)?;
    let targets = match row.get::<_, Option<i64>>(3) {
        Some(parent) => Targets::FailuresOf(BulkOperationId(parent)),
        None => Targets::Group(ManagedObjectId(row.get(2))),
    };
    let asked = BulkOperationRequest {
        targets,
        ramp: CreationRamp(row.get(4)),
        size: prototype.to_json().len(),
        prototype,
        links: Links::new(row.get::<_, &str>(6)),
    };
    Ok(Held {
        tenant: TenantId::parse(row.get(0))?,
        id: BulkOperationId(row.get(1)),
        asked: Arc::new(asked),
        total: row.get::<_, bool>(7).then(|| row.get(8)),
        place: row.get(9),
        fence: row.get(10),
        until_due: row.get(11),
    })
}
