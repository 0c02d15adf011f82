//! Managed objects in PostgreSQL.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use deadpool_postgres::{GenericClient, Object};
use platform_model::devices::availability::{ResponseInterval, ServerFragments};
use platform_model::devices::managed_object::{Cascade, ManagedObject, ManagedObjectPatch};
use platform_model::devices::reference::{References, WantedReferences};
use platform_model::error::{Error, Noun, Result};
use platform_model::id::{ManagedObjectId, TenantId};
use platform_model::limits::NOTIFIED_DELETIONS;
use platform_model::naming::naming;
use platform_model::realtime::change::PublishedChange;
use platform_model::realtime::publication::Publication;
use platform_model::timestamp::Timestamp;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Row, Statement};

use crate::announcements::{self, Change};
use crate::events;
use crate::inventory::links;
use crate::inventory::server_fragments;
use crate::inventory::template_sets;
use crate::measurements;
use crate::module_leases;
use crate::publications::{DeletionNotices, Ended};
use crate::rows::fragments;
use crate::signatures::Signatures;
use crate::{Database, names, until_uncontended};

pub(crate) const INSERT: &str = include_str!("../../../../sql/queries/managed_objects/insert.sql");
const UPDATE: &str = include_str!("../../../../sql/queries/managed_objects/update.sql");
const LOCK: &str = include_str!("../../../../sql/queries/managed_objects/lock.sql");
const DELETE: &str = include_str!("../../../../sql/queries/managed_objects/delete.sql");
const LIST_CASCADE: &str = include_str!("../../../../sql/queries/managed_objects/list_cascade.sql");
const LIST_SERIES: &str = include_str!("../../../../sql/queries/managed_objects/list_series.sql");
const LIST_NAMES: &str = include_str!("../../../../sql/queries/managed_objects/list_names.sql");
const FIND: &str = include_str!("../../../../sql/queries/managed_objects/find.sql");

/// The columns of a managed object, in the order [`from_row`] reads them.
pub(crate) const COLUMNS: &str = "o.id, o.type, o.name, o.owner, o.created_at, o.updated_at, o.fragments";

/// A change of a managed object, which the statement itself merges with the stored state.
#[derive(Debug, Clone)]
pub struct ManagedObjectUpdate {
    /// The object to change.
    pub id: ManagedObjectId,
    /// The change.
    pub patch: Arc<ManagedObjectPatch>,
    /// The time of the change.
    pub time: Timestamp,
    /// The author of the change.
    pub by: ChangedBy,
}

/// The author of a change, for the audit record of a smart rule (Y-05).
#[derive(Debug, Clone)]
pub struct ChangedBy {
    /// The id for the audit record, used if the change is audited.
    pub audit_record: i64,
    /// The user who requested the change.
    pub user: Arc<str>,
    /// The application that requested the change (C-05).
    pub application: Option<Arc<str>>,
}

impl ManagedObjectUpdate {
    /// Returns whether this change makes the object a template set of the CSV protocol or changes such a set (S-15).
    pub fn sets_templates(&self) -> bool {
        let fragment = template_sets::fragment();
        self.patch.fragments.names().any(|name| name == fragment)
    }
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
    let intervals: Vec<Option<i16>> = rows
        .iter()
        .map(|(_, object)| ResponseInterval::required_by(&object.fragments).map(|interval| interval.0))
        .collect();
    let parameters: [&(dyn ToSql + Sync); 8] =
        [&tenants, &ids, &types, &names, &owners, &created, &fragments, &intervals];
    Ok(client.execute(statement, &parameters).await?)
}

/// The statement that updates managed objects. It notifies servers of some changes.
pub(crate) struct UpdateStatement {
    statement: Statement,
    signatures: Arc<Signatures>,
}

impl UpdateStatement {
    pub(crate) async fn prepare(client: &Object, signatures: &Arc<Signatures>) -> Result<Self> {
        Ok(Self { statement: client.prepare_cached(UPDATE).await?, signatures: signatures.clone() })
    }
}

/// Updates managed objects and returns them as they stand now, by id. Objects that do not exist are left out.
pub(crate) async fn update_managed_objects(
    client: &tokio_postgres::Client,
    UpdateStatement { statement, signatures }: &UpdateStatement,
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
    let (sets_interval, intervals) = intervals_of(rows);
    let sets_templates: Vec<bool> = rows.iter().map(|(_, change)| change.sets_templates()).collect();
    let audit_records: Vec<i64> = rows.iter().map(|(_, change)| change.by.audit_record).collect();
    let users: Vec<&str> = rows.iter().map(|(_, change)| &*change.by.user).collect();
    let applications: Vec<Option<&str>> =
        rows.iter().map(|(_, change)| change.by.application.as_deref()).collect();
    let smart_rule = naming().fragment("SmartRule");
    let (told_intervals, told_names) = announcements_of(signatures, rows);
    let parameters: [&(dyn ToSql + Sync); 19] = [
        &tenants,
        &ids,
        &sets_type,
        &types,
        &sets_name,
        &names,
        &owners,
        &set,
        &removed,
        &times,
        &sets_interval,
        &intervals,
        &sets_templates,
        &audit_records,
        &users,
        &applications,
        &smart_rule,
        &told_intervals,
        &told_names,
    ];
    let rows = client.query(statement, &parameters).await?;
    rows.iter().map(|row| Ok((row.get(0), from_row(row)?))).collect()
}

/// Returns, for each change, whether it sets the required interval, and the interval; `None` removes it.
fn intervals_of(rows: &[(&TenantId, &ManagedObjectUpdate)]) -> (Vec<bool>, Vec<Option<i16>>) {
    rows.iter()
        .map(|(_, change)| {
            let interval = ResponseInterval::changed_by(&change.patch.fragments);
            (interval.is_some(), interval.flatten().map(|interval| interval.0))
        })
        .unzip()
}

/// Returns the payloads by which the statement notifies servers of each change: of the required interval of an object,
/// and of the names of its tenant. There are none for changes that cannot concern these.
fn announcements_of(
    signatures: &Signatures,
    rows: &[(&TenantId, &ManagedObjectUpdate)],
) -> (Vec<Option<String>>, Vec<Option<String>>) {
    let mut names: HashMap<&TenantId, Option<String>> = HashMap::new();
    let payload = |change: Change| announcements::signed(signatures, &change).pop();
    rows.iter()
        .map(|(tenant, update)| {
            let sets_interval = ResponseInterval::changed_by(&update.patch.fragments).is_some();
            let interval = || payload(Change::Availability((*tenant).clone(), update.id));
            let sets_names = update.sets_templates() || update.patch.owner.is_some();
            // PostgreSQL sends equal payloads of one transaction once.
            let name =
                || names.entry(tenant).or_insert_with(|| payload(Change::Names((*tenant).clone()))).clone();
            (sets_interval.then(interval).flatten(), sets_names.then(name).flatten())
        })
        .unzip()
}

/// The number of objects that one transaction deletes. A large cascade takes several transactions, the deepest objects
/// first, so that an interrupted one leaves no orphans.
const DELETED_AT_ONCE: usize = 1000;

/// Deletes managed objects in this order, publishes it, and returns those that existed. Notices are sent for the last
/// thousand at most, the last one first. Objects that are linked below them meanwhile stay. With a fence it succeeds
/// only while this process [holds](module_leases::hold) the modules.
///
/// # Errors
/// `Contended`, `Conflict`, `Unavailable` or `Database`.
pub async fn delete_managed_objects(
    database: &Database,
    tenant: &TenantId,
    going: &[ManagedObjectId],
    fence: Option<i64>,
    notices: Option<&DeletionNotices>,
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
        measurements::delete_of_sources(database, tenant, chunk).await?;
        let ids: Vec<i64> = chunk.iter().map(|id| id.0).collect();
        until_uncontended(async || events::delete_ahead(database, tenant, &ids).await).await?;
        let delete = async || Box::pin(delete_chunk(database, tenant, &ids, fence, notices)).await;
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

async fn delete_chunk(
    database: &Database,
    tenant: &TenantId,
    ids: &[i64],
    fence: Option<i64>,
    told: Option<(&DeletionNotices, &[ManagedObjectId])>,
) -> Result<Ended<Vec<i64>>> {
    let mut client = database.loader().await?;
    let transaction = client.transaction().await?;
    module_leases::hold_one(&transaction, tenant, fence).await?;
    links::lock(&transaction, tenant).await?;
    let statement = transaction.prepare_cached(LOCK).await?;
    transaction.query(&statement, &[&tenant.as_str(), &ids]).await?;
    measurements::delete_rest(&transaction, tenant, ids).await?;
    let statement = transaction.prepare_cached(DELETE).await?;
    let rows = transaction.query(&statement, &[&tenant.as_str(), &ids]).await?;
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
    let client = database.reader().await?;
    let statement = client.prepare_cached(LIST_SERIES).await?;
    let rows = client.query(&statement, &[&tenant.as_str(), &source.0]).await?;
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
    let client = database.reader().await?;
    let statement = client.prepare_cached(LIST_NAMES).await?;
    let rows = client.query(&statement, &[&tenant.as_str(), &ids]).await?;
    Ok(rows.iter().map(|row| (ManagedObjectId(row.get(0)), row.get(1))).collect())
}
