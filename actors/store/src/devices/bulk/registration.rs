//! The bulk registration of devices in PostgreSQL: users, managed objects, external ids and groups of many CSV rows in
//! one transaction (N-12 to N-17).
//!
//! A CSV row is stored completely or not at all. Rows that would violate a constraint are found first and left out.
//! When a concurrent change still violates one, nothing of the transaction is stored, and the caller retries the rows
//! one by one.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use deadpool_postgres::{GenericClient, Pool, Transaction};
use platform_model::access::Authority;
use platform_model::devices::external_id::NewExternalId;
use platform_model::devices::managed_object::ManagedObject;
use platform_model::devices::reference::LinkKind;
use platform_model::error::Result;
use platform_model::id::{IdGenerator, ManagedObjectId, TenantId};
use platform_model::realtime::change::PublishedChange;
use platform_model::realtime::publication::{Cause, Publication};
use platform_model::tenancy::tenant::TenantStatus;
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use crate::devices::bulk::group_paths::{self, FoundGroups, GroupPaths};
use crate::devices::inventory::external_ids::insert_external_ids;
use crate::devices::inventory::links::{self, insert_links};
use crate::devices::inventory::writes::insert_managed_objects;
use crate::devices::users::{self, DeviceUser, PutOutcome, put_device_users};
use crate::query::prepared::PreparedQueries;
use crate::realtime::announcements::{Announcements, change_over};
use crate::realtime::signatures::Signatures;
use crate::statistics::Counted;
use crate::{Database, take};

const FIND_TENANT: &str = include_str!("../../../../../sql/queries/bulk_registration/find_tenant.sql");
const LIST_USERS: &str = include_str!("../../../../../sql/queries/bulk_registration/list_users.sql");
const LIST_TAKEN: &str = include_str!("../../../../../sql/queries/bulk_registration/list_taken.sql");
const CURRENT_TRANSACTION: &str =
    include_str!("../../../../../sql/queries/bulk_registration/current_transaction.sql");

/// The device of a CSV row, ready to be stored.
#[derive(Debug)]
pub struct DeviceRow {
    /// The user of the device.
    pub user: DeviceUser,
    /// The object of the device, unless it exists already.
    pub object: Option<ObjectRow>,
}

/// The managed object of the device of a CSV row.
#[derive(Debug)]
pub struct ObjectRow {
    /// The id of the object.
    pub id: ManagedObjectId,
    /// The object.
    pub object: Arc<ManagedObject>,
    /// The external ids of the object.
    pub external_ids: Vec<NewExternalId>,
    /// The path of group names under which the device is placed.
    pub path: Vec<String>,
}

/// The user who registers devices in a tenant.
#[derive(Debug, Clone)]
pub struct Registrar {
    /// The owner of groups that are created.
    pub user: String,
    /// The rights that determine which groups are visible (N-17).
    pub sees: Authority,
    /// The cause of what is published.
    pub cause: Cause,
}

/// The memory of a run over a file from transaction to transaction. It does not grow with the rows of the file.
#[derive(Debug, Default)]
pub struct Memory {
    /// The transactions of this run. If one of them was the last to write a user, that user was in the file before
    /// (N-15), even if others register devices at the same time. A user that another request changed since then gets
    /// the password of the second row. One transaction number stands for hundreds of rows.
    transactions: HashSet<i64>,
    /// The groups that were looked up.
    pub(crate) paths: GroupPaths,
}

/// The outcome of a CSV row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Registered {
    /// The user and, if the row has one, the managed object were created.
    Created,
    /// The user existed and got a new password; nothing else was changed (N-13).
    CredentialUpdated,
    /// The user existed, and the device logs in with a certificate; nothing was changed (N-12b).
    Unchanged,
    /// The row is not stored; this is the reason (N-15).
    Failed(String),
}

/// The outcome of a transaction.
#[derive(Debug, Default)]
pub struct Batch {
    /// The outcome of each row, in order.
    pub rows: Vec<Registered>,
    /// The created objects with their ids, groups before devices.
    pub(crate) created: Vec<(ManagedObjectId, Arc<ManagedObject>)>,
    /// The groups whose children changed.
    pub changed_groups: HashSet<ManagedObjectId>,
}

impl Batch {
    /// Returns what the transaction publishes.
    pub(crate) fn publications(&self, cause: &Cause) -> Vec<Publication> {
        let links_changed = (!self.changed_groups.is_empty()).then_some(Publication::LinksChanged);
        let created = |(id, object): &(ManagedObjectId, Arc<ManagedObject>)| Publication::Change {
            source: *id,
            change: PublishedChange::ManagedObjectCreated(object.clone()),
            cause: cause.clone(),
        };
        links_changed.into_iter().chain(self.created.iter().map(created)).collect()
    }
}

/// Registers the devices of some rows of one tenant, and publishes CREATE of every new managed object. One transaction,
/// which takes the lock of link changes when a row names groups.
///
/// # Errors
/// The constraint violation or the invalid value that PostgreSQL reports, and nothing is stored then; `Unavailable`.
pub async fn register_devices(
    database: &Database,
    pool: &Pool,
    tenant: &TenantId,
    registrar: &Registrar,
    ids: &IdGenerator,
    rows: &[DeviceRow],
    memory: &mut Memory,
) -> Result<Batch> {
    let known = &*memory;
    let connect = async || take(pool).await;
    let (batch, number, paths) = change_over(database, connect, async |transaction, announcements| {
        let done = register(transaction, announcements, tenant, registrar, ids, rows, known).await?;
        announcements.publish(tenant, done.0.publications(&registrar.cause));
        Ok(done)
    })
    .await?;
    database.statistics.add(tenant, Counted::InventoryCreated, batch.created.len() as u64);
    memory.transactions.insert(number);
    memory.paths.learn(tenant, paths);
    Ok(batch)
}

async fn register(
    transaction: &Transaction<'_>,
    announcements: &Announcements,
    tenant: &TenantId,
    registrar: &Registrar,
    ids: &IdGenerator,
    rows: &[DeviceRow],
    memory: &Memory,
) -> Result<(Batch, i64, FoundGroups)> {
    if rows.iter().any(|row| row.object.as_ref().is_some_and(|object| !object.path.is_empty())) {
        links::lock(transaction, tenant).await?;
    }
    let mut outcomes = match refusal_of_tenant(transaction, tenant).await? {
        Some(reason) => vec![Some(Registered::Failed(reason)); rows.len()],
        None => refused_rows(transaction, tenant, rows, memory).await?,
    };
    let users: Vec<DeviceUser> = undecided(rows, &outcomes).map(|row| row.user.clone()).collect();
    let put = put_device_users(transaction, announcements, &users).await?;
    let mut objects = Vec::new();
    for (row, outcome) in rows.iter().zip(&mut outcomes).filter(|(_, outcome)| outcome.is_none()) {
        *outcome = Some(match put.get(&(row.user.tenant.clone(), row.user.name.clone())) {
            Some(PutOutcome::Created) => {
                objects.extend(&row.object);
                Registered::Created
            }
            Some(PutOutcome::PasswordReplaced) => Registered::CredentialUpdated,
            None if row.user.password_hash.is_none() => Registered::Unchanged,
            None => Registered::Failed(users::refusal(&row.user.name)),
        });
    }
    insert_objects(transaction, announcements.signatures(), tenant, &objects).await?;
    let paths = objects.iter().map(|row| &*row.path);
    let groups =
        group_paths::find_or_create(transaction, tenant, registrar, ids, paths, &memory.paths).await?;
    let members = objects.iter().filter_map(|row| Some((groups.at(&row.path)?, row.id)));
    let links: Vec<_> = groups.links.iter().copied().chain(members).collect();
    // None of them can be an ancestor of its group, because they are new.
    insert_links(transaction, tenant, LinkKind::ChildAssets, &links).await?;
    let number = transaction.row(CURRENT_TRANSACTION, &[]).await?.get(0);
    let found = groups.found();
    let devices = objects.iter().map(|row| (row.id, row.object.clone()));
    let batch = Batch {
        rows: outcomes.into_iter().flatten().collect(),
        created: groups.created.into_iter().chain(devices).collect(),
        changed_groups: links.iter().map(|(group, _)| *group).collect(),
    };
    Ok((batch, number, found))
}

/// Runs a query with a plan that is made now. A plan that was made while a table was small would scan it completely
/// after it has grown, and a first file adds a hundred thousand rows before PostgreSQL updates its statistics.
pub(crate) async fn look_up(
    transaction: &Transaction<'_>,
    statement: &str,
    parameters: &[(&(dyn ToSql + Sync), Type)],
) -> Result<Vec<Row>> {
    Ok(transaction.query_typed(statement, parameters).await?)
}

/// Returns the rows that have no outcome yet.
fn undecided<'a>(
    rows: &'a [DeviceRow],
    outcomes: &'a [Option<Registered>],
) -> impl Iterator<Item = &'a DeviceRow> {
    rows.iter().zip(outcomes).filter(|(_, outcome)| outcome.is_none()).map(|(row, _)| row)
}

fn unknown_tenant(tenant: &TenantId) -> String {
    format!("Invalid value of 'TENANT': {tenant}; allowed: an existing tenant")
}

/// Returns why a tenant takes no devices. A tenant that takes them is locked until the commit: it cannot be suspended,
/// and so not be deleted.
pub(crate) async fn refusal_of_tenant(
    client: &impl GenericClient,
    tenant: &TenantId,
) -> Result<Option<String>> {
    Ok(match client.find(FIND_TENANT, &[&tenant.as_str()]).await? {
        None => Some(unknown_tenant(tenant)),
        Some(row) if row.get::<_, &str>(0) == TenantStatus::Suspended.as_str() => {
            Some(format!("The tenant {tenant} is suspended"))
        }
        Some(_) => None,
    })
}

/// Returns for each row why it cannot be stored; `None` when nothing prevents it.
async fn refused_rows(
    transaction: &Transaction<'_>,
    tenant: &TenantId,
    rows: &[DeviceRow],
    memory: &Memory,
) -> Result<Vec<Option<Registered>>> {
    // The order matters. A device that is registered concurrently gets its external ids and its user in one commit.
    // When its ids are visible to the first query, its user is visible to the second one, and the row is not a
    // duplicate but brings a new password.
    let taken = list_taken(transaction, tenant, rows).await?;
    let names: Vec<&str> = rows.iter().map(|row| &*row.user.name).collect();
    let parameters: [(&(dyn ToSql + Sync), Type); 2] =
        [(&tenant.as_str(), Type::TEXT), (&names, Type::TEXT_ARRAY)];
    let users = look_up(transaction, LIST_USERS, &parameters).await?;
    let users: HashMap<String, i64> = users.iter().map(|row| (row.get(0), row.get(1))).collect();

    let (mut seen, mut given) = (HashSet::new(), HashSet::new());
    let mut refusal = |row: &DeviceRow| {
        let writer = users.get(&row.user.name);
        let before = writer.is_some_and(|xid| memory.transactions.contains(xid));
        if before || seen.contains(&row.user.name) {
            return Some("Duplicate ID: an earlier row has it".to_owned());
        }
        let pairs = row.object.iter().filter(|_| writer.is_none()).flat_map(|object| &object.external_ids);
        if let Some(pair) = pairs.clone().find(|pair| taken.contains(*pair) || given.contains(*pair)) {
            return Some(format!("Duplicate external id: {} is in use", pair.shown()));
        }
        given.extend(pairs.cloned());
        seen.insert(row.user.name.clone());
        None
    };
    Ok(rows.iter().map(|row| refusal(row).map(Registered::Failed)).collect())
}

/// Returns the external ids of the rows that are in use, also when the device itself uses them.
async fn list_taken(
    transaction: &Transaction<'_>,
    tenant: &TenantId,
    rows: &[DeviceRow],
) -> Result<HashSet<NewExternalId>> {
    let objects = rows.iter().filter_map(|row| row.object.as_ref());
    let pairs: Vec<&NewExternalId> = objects.flat_map(|object| &object.external_ids).collect();
    if pairs.is_empty() {
        return Ok(HashSet::new());
    }
    let types: Vec<&str> = pairs.iter().map(|pair| &*pair.type_).collect();
    let values: Vec<&str> = pairs.iter().map(|pair| &*pair.value).collect();
    let parameters: [(&(dyn ToSql + Sync), Type); 3] =
        [(&tenant.as_str(), Type::TEXT), (&types, Type::TEXT_ARRAY), (&values, Type::TEXT_ARRAY)];
    let places = look_up(transaction, LIST_TAKEN, &parameters).await?;
    let pair = |row: &Row| pairs.get(usize::try_from(row.get::<_, i64>(0)).ok()? - 1).copied();
    Ok(places.iter().filter_map(pair).cloned().collect())
}

async fn insert_objects(
    transaction: &Transaction<'_>,
    signatures: &Signatures,
    tenant: &TenantId,
    objects: &[&ObjectRow],
) -> Result<()> {
    if objects.is_empty() {
        return Ok(());
    }
    let rows: Vec<_> = objects.iter().map(|row| (tenant, &*row.object)).collect();
    insert_managed_objects(transaction, &rows).await?;
    let named = objects.iter().flat_map(|row| row.external_ids.iter().map(|pair| (pair, row.id)));
    insert_external_ids(transaction, signatures, tenant, named).await
}
