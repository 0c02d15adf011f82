//! Devices of a file in PostgreSQL: users, managed objects, external ids and groups of many rows in one transaction (N-12
//! to N-17).
//!
//! A row is there whole or not at all. What would be refused is found first, and left out; what others do in the moment
//! between is found by the constraints: then nothing of the transaction is stored, and the caller tries rows alone.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use deadpool_postgres::{GenericClient, Pool, Transaction};
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use super::Database;
use super::announcements::{Announcements, change_over};
use super::device_users::{self, DeviceUser, Put, put_device_users};
use super::external_ids::insert_external_ids;
use super::group_paths::{self, Found, GroupPaths};
use super::links::{self, insert_links};
use super::managed_objects::{INSERT, insert_managed_objects};
use crate::error::Result;
use crate::model::access::Authority;
use crate::model::external_id::NewExternalId;
use crate::model::id::{IdGenerator, ManagedObjectId, TenantId};
use crate::model::managed_object::ManagedObject;
use crate::model::reference::LinkKind;
use crate::model::tenant::TenantStatus;

const FIND_TENANT: &str = include_str!("../../../sql/queries/bulk_registration/find_tenant.sql");
const LIST_USERS: &str = include_str!("../../../sql/queries/bulk_registration/list_users.sql");
const LIST_TAKEN: &str = include_str!("../../../sql/queries/bulk_registration/list_taken.sql");
const CURRENT_TRANSACTION: &str =
    include_str!("../../../sql/queries/bulk_registration/current_transaction.sql");

/// A device of a row, ready to be stored.
#[derive(Debug)]
pub(crate) struct DeviceRow {
    pub(crate) user: DeviceUser,
    pub(crate) object: Option<ObjectRow>,
}

/// The managed object of a device of a row.
#[derive(Debug)]
pub(crate) struct ObjectRow {
    pub(crate) id: ManagedObjectId,
    pub(crate) object: Arc<ManagedObject>,
    pub(crate) external_ids: Vec<NewExternalId>,
    /// Names of the groups it is put in.
    pub(crate) path: Vec<String>,
}

/// In whose name devices are registered in a tenant.
#[derive(Debug, Clone)]
pub(crate) struct Registrar {
    /// Owner of the groups that are made.
    pub(crate) user: String,
    /// Which groups are visible (N-17).
    pub(crate) sees: Authority,
}

/// What a run over a file remembers from transaction to transaction. It does not grow with the file's rows.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// The transactions of this run. A user that one of them wrote last has been in the file before (N-15), whoever else
    /// registers devices meanwhile; one whom somebody changed since then gets the password of the second row. One number
    /// stands for hundreds of rows.
    transactions: HashSet<i64>,
    /// Groups that were looked up.
    pub(super) paths: GroupPaths,
}

/// What became of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Registered {
    /// User, and object if it has one, are new.
    Created,
    /// The user was there and has a new password; nothing else is touched (N-13).
    CredentialUpdated,
    /// Nothing of it is stored, for this reason (N-15).
    Failed(String),
}

/// What a transaction did.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// What became of each row, in order.
    pub(crate) rows: Vec<Registered>,
    /// The objects of devices, with their ids; created groups come first.
    pub(crate) created: Vec<(ManagedObjectId, Arc<ManagedObject>)>,
    /// The groups that have other children than before.
    pub(crate) changed_groups: HashSet<ManagedObjectId>,
}

/// Registers the devices of some rows of one tenant. One transaction, which waits for changes of links when a row names groups.
///
/// # Errors
/// What the database refuses, by a constraint or for a value it cannot hold: then nothing is stored; `Unavailable`.
pub(crate) async fn register_devices(
    (database, pool): (&Database, &Pool),
    (tenant, registrar): (&TenantId, &Registrar),
    ids: &IdGenerator,
    rows: &[DeviceRow],
    memory: &mut Memory,
) -> Result<Batch> {
    let known = &*memory;
    let connect = async || Ok(pool.get().await?);
    let (batch, number, paths) = change_over(database, connect, async |transaction, announcements| {
        register((transaction, announcements), (tenant, registrar), ids, rows, known).await
    })
    .await?;
    memory.transactions.insert(number);
    memory.paths.learn(tenant, paths);
    Ok(batch)
}

async fn register(
    (transaction, announcements): (&Transaction<'_>, &Announcements),
    (tenant, registrar): (&TenantId, &Registrar),
    ids: &IdGenerator,
    rows: &[DeviceRow],
    memory: &Memory,
) -> Result<(Batch, i64, Found)> {
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
            Some(Put::Created) => {
                objects.extend(&row.object);
                Registered::Created
            }
            Some(Put::PasswordReplaced) => Registered::CredentialUpdated,
            None => Registered::Failed(device_users::refusal(&row.user.name)),
        });
    }
    insert_objects(transaction, tenant, &objects).await?;
    let paths = objects.iter().map(|row| &*row.path);
    let groups =
        group_paths::find_or_make(transaction, (tenant, registrar), ids, paths, &memory.paths).await?;
    let members = objects.iter().filter_map(|row| Some((groups.at(&row.path)?, row.id)));
    let links: Vec<_> = groups.links.iter().copied().chain(members).collect();
    // None of them can stand above its group: they are new.
    insert_links(transaction, tenant, LinkKind::ChildAssets, &links).await?;
    let statement = transaction.prepare_cached(CURRENT_TRANSACTION).await?;
    let number = transaction.query_one(&statement, &[]).await?.get(0);
    let found = groups.found();
    let devices = objects.iter().map(|row| (row.id, row.object.clone()));
    let batch = Batch {
        rows: outcomes.into_iter().flatten().collect(),
        created: groups.created.into_iter().chain(devices).collect(),
        changed_groups: links.iter().map(|(group, _)| *group).collect(),
    };
    Ok((batch, number, found))
}

/// Asks by a plan that is made now. One that was made while a table was small would go through all of it when it has grown,
/// and a first file makes it grow by a hundred thousand rows before anybody counts them.
pub(super) async fn look_up(
    transaction: &Transaction<'_>,
    statement: &str,
    parameters: &[(&(dyn ToSql + Sync), Type)],
) -> Result<Vec<Row>> {
    Ok(transaction.query_typed(statement, parameters).await?)
}

/// Rows that nothing is known against.
fn undecided<'a>(
    rows: &'a [DeviceRow],
    outcomes: &'a [Option<Registered>],
) -> impl Iterator<Item = &'a DeviceRow> {
    rows.iter().zip(outcomes).filter(|(_, outcome)| outcome.is_none()).map(|(row, _)| row)
}

fn unknown_tenant(tenant: &TenantId) -> String {
    format!("Invalid value of 'TENANT': {tenant}; allowed: an existing tenant")
}

/// Why a tenant takes no devices; while it does, it cannot be suspended, and so not be deleted, before the commit.
pub(super) async fn refusal_of_tenant(
    client: &impl GenericClient,
    tenant: &TenantId,
) -> Result<Option<String>> {
    let statement = client.prepare_cached(FIND_TENANT).await?;
    Ok(match client.query_opt(&statement, &[&tenant.as_str()]).await? {
        None => Some(unknown_tenant(tenant)),
        Some(row) if row.get::<_, &str>(0) == TenantStatus::Suspended.as_str() => {
            Some(format!("The tenant {tenant} is suspended"))
        }
        Some(_) => None,
    })
}

/// For each row why it cannot be stored; `None` where nothing speaks against it.
async fn refused_rows(
    transaction: &Transaction<'_>,
    tenant: &TenantId,
    rows: &[DeviceRow],
    memory: &Memory,
) -> Result<Vec<Option<Registered>>> {
    // In this order: a device that somebody else registers meanwhile has its external ids and its user at the same moment. Whose
    // ids are seen is then seen itself, and its row is no duplicate but brings a new password.
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
            return Some("Duplicate ID: a row before has it".to_owned());
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

/// Which external ids of devices are taken, also by the device itself.
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
    tenant: &TenantId,
    objects: &[&ObjectRow],
) -> Result<()> {
    if objects.is_empty() {
        return Ok(());
    }
    let statement = transaction.prepare_cached(INSERT).await?;
    let rows: Vec<_> = objects.iter().map(|row| (tenant, &*row.object)).collect();
    insert_managed_objects(transaction.client(), &statement, &rows).await?;
    let named = objects.iter().flat_map(|row| row.external_ids.iter().map(|pair| (pair, row.id)));
    insert_external_ids(transaction, tenant, named).await
}
