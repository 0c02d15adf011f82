//! Managed objects in PostgreSQL.

use std::collections::{HashMap, HashSet};

use deadpool_postgres::GenericClient;
use platform_model::devices::availability::ServerFragments;
use platform_model::devices::managed_object::{Cascade, ManagedObject};
use platform_model::devices::reference::{References, WantedReferences};
use platform_model::error::{Error, Noun, Result};
use platform_model::id::{ManagedObjectId, TenantId};
use platform_model::limits::NOTIFIED_DELETIONS;
use platform_model::naming::naming;
use platform_model::realtime::change::PublishedChange;
use platform_model::realtime::publication::Publication;
use platform_model::timestamp::Timestamp;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::data::events;
use crate::data::measurements;
use crate::devices::inventory::links;
use crate::devices::inventory::server_fragments;
use crate::devices::names;
use crate::leases::module_leases;
use crate::query::prepared::PreparedQueries;
use crate::query::rows::fragments;
use crate::realtime::publications::{DeletionNotices, Ended};
use crate::{Database, until_uncontended};

const LOCK: &str = include_str!("../../../../../sql/queries/managed_objects/lock.sql");
const DELETE: &str = include_str!("../../../../../sql/queries/managed_objects/delete.sql");
const LIST_CASCADE: &str = include_str!("../../../../../sql/queries/managed_objects/list_cascade.sql");
const LIST_SERIES: &str = include_str!("../../../../../sql/queries/managed_objects/list_series.sql");
const LIST_NAMES: &str = include_str!("../../../../../sql/queries/managed_objects/list_names.sql");
const FIND: &str = include_str!("../../../../../sql/queries/managed_objects/find.sql");

/// The columns of a managed object, in the order [`from_row`] reads them.
pub(crate) const COLUMNS: &str = "o.id, o.type, o.name, o.owner, o.created_at, o.updated_at, o.fragments, \
    o.revision";

/// The number of objects that one transaction deletes. A large cascade takes several transactions, the deepest objects
/// first, so that an interrupted one leaves no orphans.
const DELETED_AT_ONCE: usize = 1000;

/// Deletes managed objects in this order, publishes it, and returns those that existed. Notices are sent for the last
/// thousand at most, the last one first. Objects that are linked below them meanwhile stay. With a fence it succeeds
/// only while this process [holds](module_leases::hold) the modules. With a revision the last one is deleted only if it
/// still has it, and with it those of its transaction; its data stay as well unless they are too many for one.
///
/// # Errors
/// `Contended`, `Conflict`, `Unavailable` or `Database`.
pub async fn delete_managed_objects(
    database: &Database,
    tenant: &TenantId,
    going: &[ManagedObjectId],
    fence: Option<i64>,
    notices: Option<&DeletionNotices>,
    revision: Option<i64>,
) -> Result<Vec<ManagedObjectId>> {
    // Their data is deleted first, in transactions of its own.
    module_leases::ensure_held(database, tenant, fence).await?;
    let mut gone = Vec::with_capacity(going.len());
    // The last ones are above the others.
    let mut untold = going.len().saturating_sub(NOTIFIED_DELETIONS);
    for chunk in going.chunks(DELETED_AT_ONCE) {
        let told = &chunk[untold.min(chunk.len())..];
        untold = untold.saturating_sub(chunk.len());
        let notices = notices.map(|notices| (notices, told));
        let last = going.last().filter(|last| chunk.last() == Some(last));
        let expected = last.and_then(|last| Some((last.0, revision?)));
        let ids: Vec<i64> = chunk.iter().map(|id| id.0).collect();
        if expected.is_none() || measurements::are_many(database, tenant, &ids).await? {
            measurements::delete_of_sources(database, tenant, chunk).await?;
        }
        until_uncontended(async || events::delete_ahead(database, tenant, &ids).await).await?;
        let delete =
            async || Box::pin(delete_chunk(database, tenant, &ids, (fence, expected), notices)).await;
        let deleted: HashSet<i64> = database.until_uncontended(delete).await?.into_iter().collect();
        database.names_changed(tenant);
        gone.extend(chunk.iter().filter(|id| deleted.contains(&id.0)));
    }
    Ok(gone)
}

/// Returns the objects that are deleted with a managed object (I-10), the deepest first and the object itself last.
/// Returns nothing when the object does not exist.
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`.
pub async fn list_cascade(
    database: &Database,
    tenant: &TenantId,
    id: ManagedObjectId,
    cascade: Cascade,
) -> Result<Vec<ManagedObjectId>> {
    let client = database.loader().await?;
    let statement = client.prepare_cached(LIST_CASCADE).await?;
    let marker = |name: &str| naming().fragment(name);
    let (device, group, dynamic, subgroup) =
        (marker("IsDevice"), marker("IsDeviceGroup"), marker("IsDynamicGroup"), marker("DeviceSubgroup"));
    let parameters: [&(dyn ToSql + Sync); 7] =
        [&tenant.as_str(), &id.0, &cascade.as_str(), &device, &group, &dynamic, &subgroup];
    let rows = client.query(&statement, &parameters).await?;
    Ok(rows.iter().map(|row| ManagedObjectId(row.get(0))).collect())
}

/// Deletes objects in one transaction and returns those that existed. If one of them does not have the revision that
/// is expected, it deletes none.
async fn delete_chunk(
    database: &Database,
    tenant: &TenantId,
    ids: &[i64],
    (fence, expected): (Option<i64>, Option<(i64, i64)>),
    told: Option<(&DeletionNotices, &[ManagedObjectId])>,
) -> Result<Ended<Vec<i64>>> {
    let mut client = database.loader().await?;
    let transaction = client.transaction().await?;
    module_leases::hold_one(&transaction, tenant, fence).await?;
    links::lock(&transaction, tenant).await?;
    if expected.is_some() {
        // Measurements that are few were not deleted ahead.
        measurements::rollups::forget(&transaction, tenant, ids).await?;
    }
    let locked = transaction.rows(LOCK, &[&tenant.as_str(), &ids]).await?;
    let found: HashMap<i64, i64> = locked.iter().map(|row| (row.get(0), row.get(1))).collect();
    if expected.is_some_and(|(id, revision)| found.get(&id).is_some_and(|found| *found != revision)) {
        return Ok(Ended::Committed(Vec::new()));
    }
    measurements::delete_rest(&transaction, tenant, ids).await?;
    let rows = transaction.rows(DELETE, &[&tenant.as_str(), &ids]).await?;
    names::announce(&transaction, &database.signatures, tenant).await?;
    let gone: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
    let mut publications = Vec::new();
    if let Some((notices, told)) = told.filter(|_| !gone.is_empty()) {
        let deleted: HashSet<i64> = gone.iter().copied().collect();
        let existed = told.iter().rev().filter(|id| deleted.contains(&id.0));
        let existed: Vec<_> = existed.map(|id| (*id, *id)).collect();
        publications.push(Publication::LinksChanged);
        publications.extend(notices.describe(&existed, PublishedChange::ManagedObjectDeleted));
    }
    database.commit_published(transaction, tenant, gone, publications).await
}

/// Returns a managed object with the requested references and the server's fragments.
///
/// # Errors
/// `NotFound`, `Unavailable` or `Database`.
pub async fn get_managed_object(
    database: &Database,
    tenant: &TenantId,
    id: ManagedObjectId,
    wanted: WantedReferences,
) -> Result<ManagedObject> {
    find_current(&*database.reader().await?, tenant, id, wanted).await
}

/// Does the same as [`get_managed_object`], over a given connection.
pub(crate) async fn find_current(
    client: &impl GenericClient,
    tenant: &TenantId,
    id: ManagedObjectId,
    wanted: WantedReferences,
) -> Result<ManagedObject> {
    let statement = client.prepare_cached(FIND).await?;
    // All queries are sent before the first result is awaited.
    let parameters: [&(dyn ToSql + Sync); 2] = [&tenant.as_str(), &id.0];
    let (row, mut references, told) = futures_util::future::try_join3(
        async { Ok::<_, Error>(client.query_opt(&statement, &parameters).await?) },
        links::references(client, tenant, &[id.0], wanted),
        server_fragments::load(client, tenant, &[id.0]),
    )
    .await?;
    let mut object = from_row(&row.ok_or_else(|| Error::not_found(Noun::ManagedObject, id))?)?;
    server_fragments::complete(&mut object, &told);
    Ok(ManagedObject { references: references.remove(&id.0).unwrap_or_default(), ..object })
}

/// Returns the series of a source as fragment and series name, sorted (I-09).
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn list_series(
    database: &Database,
    tenant: &TenantId,
    source: ManagedObjectId,
) -> Result<Vec<(String, String)>> {
    let rows = database.reader().await?.rows(LIST_SERIES, &[&tenant.as_str(), &source.0]).await?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
}

pub(crate) fn from_row(row: &Row) -> Result<ManagedObject> {
    Ok(ManagedObject {
        id: Some(ManagedObjectId(row.get(0))),
        type_: row.get(1),
        name: row.get(2),
        owner: row.get(3),
        creation_time: Timestamp::stored(row.get(4), 0),
        last_updated: Timestamp::stored(row.get(5), 0),
        references: References::default(),
        server_fragments: ServerFragments::default(),
        fragments: fragments(row, 6)?,
        revision: row.get(7),
    })
}

/// Returns the names of those of the given objects that have one.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn list_names(
    database: &Database,
    tenant: &TenantId,
    ids: &[ManagedObjectId],
) -> Result<HashMap<ManagedObjectId, String>> {
    let mut ids: Vec<i64> = ids.iter().map(|id| id.0).collect();
    ids.sort_unstable();
    ids.dedup();
    let rows = database.reader().await?.rows(LIST_NAMES, &[&tenant.as_str(), &ids]).await?;
    Ok(rows.iter().map(|row| (ManagedObjectId(row.get(0)), row.get(1))).collect())
}
