//! Managed objects in PostgreSQL.

use std::collections::{HashMap, HashSet};

use tokio_postgres::types::ToSql;
use tokio_postgres::{Row, Statement};

use super::Database;
use super::alarms::fragments;
use crate::error::{Error, Noun, Result};
use crate::model::id::{ManagedObjectId, TenantId};
use crate::model::managed_object::{ManagedObject, ManagedObjectPatch};
use crate::model::timestamp::Timestamp;

pub(crate) const INSERT: &str = include_str!("../../../sql/queries/managed_objects/insert.sql");
pub(crate) const UPDATE: &str = include_str!("../../../sql/queries/managed_objects/update.sql");
pub(crate) const DELETE: &str = include_str!("../../../sql/queries/managed_objects/delete.sql");
const FIND: &str = include_str!("../../../sql/queries/managed_objects/find.sql");

/// The columns of a managed object, in the order [`from_row`] reads them.
pub(super) const COLUMNS: &str = "o.id, o.type, o.name, o.owner, o.created_at, o.updated_at, o.fragments";

/// A change of a managed object, merged with what is stored by the statement itself.
#[derive(Debug, Clone)]
pub(crate) struct ManagedObjectUpdate {
    pub(crate) id: ManagedObjectId,
    pub(crate) patch: std::sync::Arc<ManagedObjectPatch>,
    pub(crate) time: Timestamp,
}

/// Inserts managed objects.
pub(crate) async fn insert_managed_objects(
    client: &tokio_postgres::Client,
    statement: &Statement,
    rows: &[(&TenantId, &ManagedObject)],
) -> Result<u64> {
    if rows.is_empty() {
        return Ok(0);
    }
    let tenants: Vec<&str> = rows.iter().map(|(tenant, _)| tenant.as_str()).collect();
    let ids: Vec<i64> = rows.iter().map(|(_, object)| object.id.map_or(0, |id| id.0)).collect();
    let types: Vec<Option<&str>> = rows.iter().map(|(_, object)| object.type_.as_deref()).collect();
    let names: Vec<Option<&str>> = rows.iter().map(|(_, object)| object.name.as_deref()).collect();
    let owners: Vec<&str> = rows.iter().map(|(_, object)| &*object.owner).collect();
    let created: Vec<_> = rows.iter().map(|(_, object)| object.creation_time.instant()).collect();
    let fragments: Vec<String> = rows.iter().map(|(_, object)| object.fragments.to_json()).collect();
    let parameters: [&(dyn ToSql + Sync); 7] =
        [&tenants, &ids, &types, &names, &owners, &created, &fragments];
    Ok(client.execute(statement, &parameters).await?)
}

/// Updates managed objects; gives them as they stand now, by id. Those left out do not exist.
pub(crate) async fn update_managed_objects(
    client: &tokio_postgres::Client,
    statement: &Statement,
    rows: &[(&TenantId, &ManagedObjectUpdate)],
) -> Result<HashMap<i64, ManagedObject>> {
    if rows.is_empty() {
        return Ok(HashMap::new());
    }
    let tenants: Vec<&str> = rows.iter().map(|(tenant, _)| tenant.as_str()).collect();
    let ids: Vec<i64> = rows.iter().map(|(_, change)| change.id.0).collect();
    let sets_type: Vec<bool> = rows.iter().map(|(_, change)| change.patch.type_.is_some()).collect();
    let types: Vec<Option<&str>> =
        rows.iter().map(|(_, change)| change.patch.type_.as_ref().and_then(Option::as_deref)).collect();
    let sets_name: Vec<bool> = rows.iter().map(|(_, change)| change.patch.name.is_some()).collect();
    let names: Vec<Option<&str>> =
        rows.iter().map(|(_, change)| change.patch.name.as_ref().and_then(Option::as_deref)).collect();
    let owners: Vec<Option<&str>> = rows.iter().map(|(_, change)| change.patch.owner.as_deref()).collect();
    let (set, removed): (Vec<String>, Vec<String>) = rows
        .iter()
        .map(|(_, change)| {
            let (set, removed) = change.patch.fragments.split_removals();
            (set, serde_json::to_string(&removed).expect("a list of strings is valid JSON"))
        })
        .unzip();
    let times: Vec<_> = rows.iter().map(|(_, change)| change.time.instant()).collect();
    let parameters: [&(dyn ToSql + Sync); 10] =
        [&tenants, &ids, &sets_type, &types, &sets_name, &names, &owners, &set, &removed, &times];
    let rows = client.query(statement, &parameters).await?;
    rows.iter().map(|row| Ok((row.get(0), from_row(row)?))).collect()
}

/// Deletes managed objects and, by the foreign key, their alarms; gives the ids of those that were there.
pub(crate) async fn delete_managed_objects(
    client: &tokio_postgres::Client,
    statement: &Statement,
    rows: &[(&TenantId, &ManagedObjectId)],
) -> Result<HashSet<i64>> {
    if rows.is_empty() {
        return Ok(HashSet::new());
    }
    let tenants: Vec<&str> = rows.iter().map(|(tenant, _)| tenant.as_str()).collect();
    let ids: Vec<i64> = rows.iter().map(|(_, id)| id.0).collect();
    let gone = client.query(statement, &[&tenants, &ids]).await?;
    Ok(gone.iter().map(|row| row.get(0)).collect())
}

/// One managed object.
///
/// # Errors
/// `NotFound`, `Unavailable` or `Database`.
pub async fn get_managed_object(
    database: &Database,
    tenant: &TenantId,
    id: ManagedObjectId,
) -> Result<ManagedObject> {
    let client = database.reader().await?;
    let statement = client.prepare_cached(FIND).await?;
    let row = client.query_opt(&statement, &[&tenant.as_str(), &id.0]).await?;
    from_row(&row.ok_or_else(|| Error::not_found(Noun::ManagedObject, id))?)
}

pub(super) fn from_row(row: &Row) -> Result<ManagedObject> {
    Ok(ManagedObject {
        id: Some(ManagedObjectId(row.get(0))),
        type_: row.get(1),
        name: row.get(2),
        owner: row.get(3),
        creation_time: Timestamp::stored(row.get(4), 0),
        last_updated: Timestamp::stored(row.get(5), 0),
        fragments: fragments(row, 6)?,
    })
}
