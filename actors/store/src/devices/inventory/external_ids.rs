//! External ids in PostgreSQL. The foreign key deletes them with their object.

use std::collections::HashMap;

use deadpool_postgres::GenericClient;
use platform_model::devices::external_id::{ExternalId, ExternalIds, NewExternalId};
use platform_model::error::{Error, Noun, Result};
use platform_model::id::{ManagedObjectId, TenantId};
use tokio_postgres::types::ToSql;

use crate::Database;
use crate::devices::inventory::template_sets;
use crate::devices::names;
use crate::query::prepared::PreparedQueries;
use crate::realtime::announcements::{self, Change};
use crate::realtime::signatures::Signatures;

const FIND: &str = include_str!("../../../../../sql/queries/external_ids/find.sql");
const LIST: &str = include_str!("../../../../../sql/queries/external_ids/list.sql");
const LIST_OF_TYPE: &str = include_str!("../../../../../sql/queries/external_ids/list_of_type.sql");
const INSERT: &str = include_str!("../../../../../sql/queries/external_ids/insert.sql");
const DELETE: &str = include_str!("../../../../../sql/queries/external_ids/delete.sql");

/// Looks up the object that has an external id. Devices request this first, so the query uses the connections of device
/// actors.
///
/// # Errors
/// `NotFound`, `Unavailable` or `Database`.
pub async fn get_external_id(
    database: &Database,
    tenant: &TenantId,
    pair: NewExternalId,
) -> Result<(ManagedObjectId, ExternalId)> {
    let row = database.loader().await?.find(FIND, &[&tenant.as_str(), &pair.type_, &pair.value]).await?;
    let object = ManagedObjectId(row.ok_or_else(|| not_found(&pair))?.get(0));
    Ok((object, ExternalId { pair, object: Some(object) }))
}

/// Returns all external ids of an object, sorted by type and value (D-01).
///
/// # Errors
/// `NotFound` when there is no such object, `Unavailable` or `Database`.
pub async fn list_external_ids(
    database: &Database,
    tenant: &TenantId,
    object: ManagedObjectId,
) -> Result<ExternalIds> {
    let rows = database.loader().await?.rows(LIST, &[&tenant.as_str(), &object.0]).await?;
    if rows.is_empty() {
        return Err(Error::not_found(Noun::ManagedObject, object));
    }
    // An object without external ids is one row without a pair.
    let pair = |row: &tokio_postgres::Row| {
        Some(NewExternalId { type_: row.get::<_, Option<String>>(0)?, value: row.get(1) })
    };
    let members = rows.iter().filter_map(pair).map(|pair| ExternalId { pair, object: Some(object) });
    Ok(ExternalIds { object, members: members.collect() })
}

/// Returns, for those of the given objects that have one, an external id of this type; of several ids the first.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn list_names_of_type(
    database: &Database,
    tenant: &TenantId,
    objects: &[ManagedObjectId],
    type_: &str,
) -> Result<HashMap<ManagedObjectId, String>> {
    let objects: Vec<i64> = objects.iter().map(|id| id.0).collect();
    let rows = database.loader().await?.rows(LIST_OF_TYPE, &[&tenant.as_str(), &objects, &type_]).await?;
    Ok(rows.iter().map(|row| (ManagedObjectId(row.get(0)), row.get(1))).collect())
}

/// Stores an external id of an object. One statement: when several requests store one pair at once, one of them
/// succeeds.
///
/// # Errors
/// `Duplicate` when the pair is in use, `NotFound` when the object does not exist, `Unavailable` or `Database`.
pub async fn insert_external_id(
    database: &Database,
    tenant: &TenantId,
    object: ManagedObjectId,
    pair: NewExternalId,
) -> Result<ExternalId> {
    database.ensure_stored_quota(tenant)?;
    let client = database.loader().await?;
    let inserted = insert_external_ids(&*client, &database.signatures, tenant, [(&pair, object)]).await;
    if pair.type_ == template_sets::x_id_type() {
        database.names_changed(tenant);
    }
    match inserted {
        Ok(()) => Ok(ExternalId { pair, object: Some(object) }),
        Err(error) if error.is_unique_violation() => {
            Err(Error::Duplicate { noun: Noun::ExternalId, key: pair.shown() })
        }
        Err(error) if error.is_foreign_key_violation() => Err(Error::not_found(Noun::ManagedObject, object)),
        Err(error) => Err(error),
    }
}

/// Stores external ids of objects, as part of the caller's transaction.
///
/// # Errors
/// A unique violation when a pair is in use; a foreign key violation when the object does not exist; `Unavailable` or
/// `Database`.
pub(crate) async fn insert_external_ids<'a>(
    client: &impl GenericClient,
    signatures: &Signatures,
    tenant: &TenantId,
    named: impl IntoIterator<Item = (&'a NewExternalId, ManagedObjectId)>,
) -> Result<()> {
    let (mut types, mut values, mut objects) = (Vec::new(), Vec::new(), Vec::new());
    for (pair, object) in named {
        types.push(&*pair.type_);
        values.push(&*pair.value);
        objects.push(object.0);
    }
    client.run(INSERT, &[&tenant.as_str(), &types, &values, &objects]).await?;
    // Until now this X-Id may have found another set: the one whose object has the X-Id as its id (S-12).
    if types.contains(&&*template_sets::x_id_type()) {
        names::announce(client, signatures, tenant).await?;
    }
    Ok(())
}

/// Deletes an external id of the object that was read; the object stays. One statement.
///
/// # Errors
/// `NotFound` when the external id does not belong to that object, `Unavailable` or `Database`.
pub async fn delete_external_id(
    database: &Database,
    tenant: &TenantId,
    object: ManagedObjectId,
    pair: &NewExternalId,
) -> Result<()> {
    let told = announcements::signed(&database.signatures, &Change::Names(tenant.clone())).pop();
    let parameters: [&(dyn ToSql + Sync); 5] = [&tenant.as_str(), &pair.type_, &pair.value, &object.0, &told];
    let deleted = database.loader().await?.rows(DELETE, &parameters).await?;
    database.names_changed(tenant);
    if deleted.is_empty() { Err(not_found(pair)) } else { Ok(()) }
}

fn not_found(pair: &NewExternalId) -> Error {
    Error::not_found(Noun::ExternalId, pair.shown())
}
