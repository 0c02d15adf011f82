//! Planning, showing, changing and deleting bulk operations in PostgreSQL (K-01 to K-08). Their steps are in
//! [`steps`](crate::devices::bulk::steps).

use std::time::Duration;

use deadpool_postgres::{GenericClient, Transaction};
use platform_model::data::bulk_operation::{
    BulkOperation, BulkOperationPatch, BulkOperationStatus, CreationRamp, DeletedOnes, NewBulkOperation,
    Progress, Targets,
};
use platform_model::data::operation::OperationStatus;
use platform_model::error::{Error, Noun, Result};
use platform_model::fragments::Fragments;
use platform_model::id::{BulkOperationId, ManagedObjectId, TenantId};
use platform_model::idempotency::FirstResponse;
use platform_model::origin::Origin;
use platform_model::page::{Page, PageRequest, Position};
use platform_model::timestamp::Timestamp;
use tokio_postgres::Row;
use tokio_postgres::types::{Json, ToSql};

use crate::devices::bulk::steps::{DELETE_TARGETS, Held, begin_within, held};
use crate::devices::groups::Members;
use crate::idempotency_keys::{self, Keyed};
use crate::query::filter::{Filtered, Order, page_of};
use crate::query::prepared::PreparedQueries;
use crate::{Database, PATIENCE, until_uncontended};

const INSERT: &str = include_str!("../../../../../sql/queries/bulk_operations/insert.sql");
const LOCK: &str = include_str!("../../../../../sql/queries/bulk_operations/lock.sql");
const UPDATE: &str = include_str!("../../../../../sql/queries/bulk_operations/update.sql");
const DELETE: &str = include_str!("../../../../../sql/queries/bulk_operations/delete.sql");
const FIND: &str = include_str!("../../../../../sql/queries/bulk_operations/find.sql");
const SET_TOTAL: &str = include_str!("../../../../../sql/queries/bulk_operations/set_total.sql");
const COUNT_PROGRESS: &str = include_str!("../../../../../sql/queries/bulk_operations/count_progress.sql");

/// The columns of `find.sql`, in its order.
const COLUMNS: &str =
    "b.id, b.group_id, b.failed_parent, b.start_at, b.ramp, b.prototype, b.status, b.total, b.vanished";

/// A bulk operation that was planned.
#[derive(Debug)]
pub struct Planned {
    /// The bulk operation as it is shown.
    pub bulk_operation: BulkOperation,
    /// Present when this process holds the bulk operation because it is due soon.
    pub held: Option<Held>,
}

/// Plans a bulk operation. When it is due now, its devices are chosen, and it is completed at once if there are none
/// (K-03); when it is due later, its devices are only counted. In mode TRANSIENT nothing is stored (M-02). One
/// transaction.
///
/// # Errors
/// `Invalid` for an unknown group or parent; `Timeout`, `Unavailable` or `Database`.
pub async fn insert_bulk_operation(
    database: &Database,
    tenant: &TenantId,
    new: &NewBulkOperation,
    origin: &Origin,
    lease: Duration,
) -> Result<Planned> {
    database.ensure_stored_quota(tenant)?;
    let mut client = database.reader().await?;
    let transaction = client.transaction().await?;
    let (group, failed_parent) = match new.targets {
        Targets::Group(group) => (group, None),
        Targets::FailuresOf(parent) => {
            // The group is copied because it is shown (K-04). An unknown parent is detected below.
            let row = transaction.query_opt(FIND, &[&tenant.as_str(), &parent.0]).await?;
            (ManagedObjectId(row.map_or(0, |row| row.get(1))), Some(parent))
        }
    };
    let bulk_operation = BulkOperation {
        id: None,
        group,
        failed_parent,
        start_date: new.start_date,
        ramp: new.ramp,
        prototype: new.prototype.clone(),
        status: BulkOperationStatus::Active,
        progress: Progress::default(),
    };
    let planned = insert(&transaction, tenant, bulk_operation, origin, lease).await?;
    if let (Some(key), true) = (origin.key.as_deref(), origin.mode.stores()) {
        let created = &planned.bulk_operation;
        let location = key.links.bulk_operation(created.id);
        let response = FirstResponse::of(location, created, &key.links);
        idempotency_keys::insert(&transaction, &[Keyed { tenant, key, response }]).await?;
    }
    keep(transaction, planned, origin).await
}

/// Commits the plan, unless the mode is TRANSIENT.
async fn keep(transaction: Transaction<'_>, planned: Planned, origin: &Origin) -> Result<Planned> {
    if origin.mode.stores() {
        transaction.commit().await?;
        return Ok(planned);
    }
    transaction.rollback().await?;
    Ok(Planned { held: None, ..planned })
}

async fn insert(
    transaction: &Transaction<'_>,
    tenant: &TenantId,
    bulk_operation: BulkOperation,
    origin: &Origin,
    lease: Duration,
) -> Result<Planned> {
    let parameters: [&(dyn ToSql + Sync); 9] = [
        &tenant.as_str(),
        &bulk_operation.group.0,
        &bulk_operation.failed_parent.map(|parent| parent.0),
        &bulk_operation.start_date.instant(),
        &bulk_operation.ramp.seconds(),
        &Json(&bulk_operation.prototype),
        &&*origin.user,
        &origin.links.base(),
        &lease.as_secs_f64(),
    ];
    let row = transaction.query_one(INSERT, &parameters).await?;
    let mut planned = plan(transaction, &row, bulk_operation, lease).await?;
    if !origin.mode.stores() {
        planned.bulk_operation.id = None;
    }
    Ok(planned)
}

/// Chooses or counts the devices of a bulk operation that was just planned. `row` holds the result of `insert.sql` or
/// `update.sql`.
async fn plan(
    transaction: &Transaction<'_>,
    row: &Row,
    mut bulk_operation: BulkOperation,
    lease: Duration,
) -> Result<Planned> {
    let mut held = held(row)?;
    let members = Members::find(transaction, &held.tenant, held.asked.targets).await?;
    let is_due = held.until_due <= 0.0;
    let all = if is_due {
        let all = begin_within(transaction, &held, lease, members).await?;
        // Nobody else can hold its row, which is new or locked.
        all.ok_or(Error::Contended)?
    } else {
        let all = members.count(transaction).await?;
        transaction.execute(SET_TOTAL, &[&held.tenant.as_str(), &held.id.0, &all]).await?;
        all
    };
    let is_empty = is_due && all == 0;
    if is_due {
        held.total = Some(all);
    }
    bulk_operation.id = Some(held.id);
    bulk_operation.status =
        if is_empty { BulkOperationStatus::Completed } else { BulkOperationStatus::Active };
    bulk_operation.progress = Progress { all, ..Progress::default() };
    let is_held: bool = row.get(12);
    Ok(Planned { bulk_operation, held: (is_held && !is_empty).then_some(held) })
}

/// Returns a bulk operation, even when it is deleted (K-07).
///
/// # Errors
/// `NotFound`, `Unavailable` or `Database`.
pub async fn get_bulk_operation(
    database: &Database,
    tenant: &TenantId,
    id: BulkOperationId,
) -> Result<BulkOperation> {
    let client = database.reader().await?;
    let row = client.find(FIND, &[&tenant.as_str(), &id.0]).await?;
    let mut found = [from_row(&row.ok_or_else(|| Error::not_found(Noun::BulkOperation, id))?)?];
    count_progress(&*client, tenant, &mut found).await?;
    let [bulk_operation] = found;
    Ok(bulk_operation)
}

/// Returns a page of bulk operations by ascending id.
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`.
pub async fn list_bulk_operations(
    database: &Database,
    tenant: &TenantId,
    deleted: DeletedOnes,
    page: &PageRequest,
) -> Result<Page<BulkOperation>> {
    let client = database.reader().await?;
    let mut filtered = Filtered::new("bulk_operations b", "b.tenant", tenant.as_str());
    if deleted == DeletedOnes::Hidden {
        filtered.only("b.status <> 'DELETED'");
    }
    let count = filtered.total(&client, page.total).await?;
    let statement = filtered.page(COLUMNS, Order::Id("b.id"), page);
    let rows = client.query(&statement, &filtered.parameters()).await?;
    let members = rows.iter().map(from_row).collect::<Result<Vec<_>>>()?;
    let mut page = page_of(members, page, |last| Position::of_id(last.id.map_or(0, |id| id.0)));
    count_progress(&*client, tenant, &mut page.members).await?;
    Ok(Page { count, ..page })
}

/// Changes a bulk operation that has not started. One that has started or is completed is replaced by a new one and
/// becomes DELETED (K-08). One transaction, which is retried when it conflicts with concurrent steps.
///
/// # Errors
/// `NotFound`; `Conflict` for a deleted one; `Invalid` when the group or the parent no longer exists; `Timeout`,
/// `Contended`, `Unavailable` or `Database`.
pub async fn update_bulk_operation(
    database: &Database,
    tenant: &TenantId,
    id: BulkOperationId,
    patch: &BulkOperationPatch,
    origin: &Origin,
    lease: Duration,
) -> Result<Planned> {
    until_uncontended(async || {
        let mut client = database.reader().await?;
        let transaction = client.transaction().await?;
        let row = transaction.query_opt(LOCK, &[&tenant.as_str(), &id.0]).await?;
        let row = row.ok_or_else(|| Error::not_found(Noun::BulkOperation, id))?;
        let (mut bulk_operation, has_started) = (from_row(&row)?, row.get::<_, bool>(9));
        let is_active = bulk_operation.status == BulkOperationStatus::Active;
        if bulk_operation.status == BulkOperationStatus::Deleted {
            let message = format!("Bulk operation {id} is DELETED and cannot be changed");
            return Err(Error::Conflict { noun: Noun::BulkOperation, message });
        }
        let stays = is_active && !has_started;
        let before = if stays { bulk_operation.prototype.bytes() } else { 0 };
        patch.apply(&mut bulk_operation);
        database.ensure_growth(tenant, before, bulk_operation.prototype.bytes())?;
        transaction.execute(DELETE_TARGETS, &[&tenant.as_str(), &id.0]).await?;
        let planned = if stays {
            update(&transaction, tenant, bulk_operation, lease).await?
        } else {
            transaction.execute(DELETE, &[&tenant.as_str(), &id.0]).await?;
            insert(&transaction, tenant, bulk_operation, origin, lease).await?
        };
        keep(transaction, planned, origin).await
    })
    .await
}

async fn update(
    transaction: &Transaction<'_>,
    tenant: &TenantId,
    bulk_operation: BulkOperation,
    lease: Duration,
) -> Result<Planned> {
    let parameters: [&(dyn ToSql + Sync); 6] = [
        &tenant.as_str(),
        &bulk_operation.id.map(|id| id.0),
        &bulk_operation.start_date.instant(),
        &bulk_operation.ramp.seconds(),
        &Json(&bulk_operation.prototype),
        &lease.as_secs_f64(),
    ];
    let row = transaction.query_one(UPDATE, &parameters).await?;
    plan(transaction, &row, bulk_operation, lease).await
}

/// Ends a bulk operation: it creates no further operations, and those it created stay (K-07). Deleting it again has no
/// effect. One transaction.
///
/// # Errors
/// `NotFound`, `Contended`, `Unavailable` or `Database`.
pub async fn delete_bulk_operation(
    database: &Database,
    tenant: &TenantId,
    id: BulkOperationId,
) -> Result<()> {
    until_uncontended(async || {
        let mut client = database.reader().await?;
        let transaction = client.transaction().await?;
        transaction.batch_execute(PATIENCE).await?;
        if transaction.execute(DELETE, &[&tenant.as_str(), &id.0]).await? == 0 {
            return Err(Error::not_found(Noun::BulkOperation, id));
        }
        transaction.execute(DELETE_TARGETS, &[&tenant.as_str(), &id.0]).await?;
        Ok(transaction.commit().await?)
    })
    .await
}

/// Adds the progress of all given bulk operations in one statement (K-05).
async fn count_progress(
    client: &impl GenericClient,
    tenant: &TenantId,
    bulk_operations: &mut [BulkOperation],
) -> Result<()> {
    let ids: Vec<i64> = bulk_operations.iter().filter_map(|bulk| bulk.id).map(|id| id.0).collect();
    for row in client.rows(COUNT_PROGRESS, &[&tenant.as_str(), &ids]).await? {
        let (id, count) = (Some(BulkOperationId(row.get(0))), row.get::<_, i64>(2));
        let status = OperationStatus::parse(row.get(1))?;
        let Some(bulk_operation) = bulk_operations.iter_mut().find(|bulk| bulk.id == id) else { continue };
        let progress = &mut bulk_operation.progress;
        *match status {
            OperationStatus::Pending => &mut progress.pending,
            OperationStatus::Executing => &mut progress.executing,
            OperationStatus::Successful => &mut progress.successful,
            OperationStatus::Failed => &mut progress.failed,
        } += count;
    }
    Ok(())
}

/// Reads [`COLUMNS`]. Of the progress it reads what the row itself holds: the number of devices, and how many were
/// deleted before their turn, which count as failed.
fn from_row(row: &Row) -> Result<BulkOperation> {
    let Json(prototype) = row.try_get::<_, Json<Fragments>>(5)?;
    Ok(BulkOperation {
        id: Some(BulkOperationId(row.get(0))),
        group: ManagedObjectId(row.get(1)),
        failed_parent: row.get::<_, Option<i64>>(2).map(BulkOperationId),
        start_date: Timestamp::stored(row.get(3), 0),
        ramp: CreationRamp(row.get(4)),
        prototype,
        status: BulkOperationStatus::parse(row.get(6))?,
        progress: Progress { all: row.get(7), failed: row.get(8), ..Progress::default() },
    })
}
