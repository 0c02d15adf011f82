//! Inserts and updates of managed objects. Writes take the rows of one group commit and run inside the writer's
//! transaction.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use deadpool_postgres::GenericClient;
use platform_model::devices::availability::ResponseInterval;
use platform_model::devices::managed_object::{ManagedObject, ManagedObjectPatch};
use platform_model::error::Result;
use platform_model::id::{BinaryId, ManagedObjectId, TenantId};
use platform_model::idempotency::{FirstResponse, IdempotencyKey};
use platform_model::naming::naming;
use platform_model::timestamp::Timestamp;
use tokio_postgres::types::ToSql;

use crate::data::binaries::{ATTACH, DELETE_REPLACED, UploadOfObject, attach_binaries};
use crate::devices::inventory::managed_objects::from_row;
use crate::devices::inventory::template_sets;
use crate::query::prepared::PreparedQueries;
use crate::realtime::announcements::{self, Change};
use crate::realtime::signatures::Signatures;
use crate::statistics::Counted;
use crate::write_kind::{Added, Rows, WriteKind};

const INSERT: &str = include_str!("../../../../../sql/queries/managed_objects/insert.sql");
const UPDATE: &str = include_str!("../../../../../sql/queries/managed_objects/update.sql");

/// A change of a managed object, which the statement itself merges with the stored state.
#[derive(Debug, Clone)]
pub struct ManagedObjectUpdate {
    /// The object to change.
    pub id: ManagedObjectId,
    /// The change.
    pub patch: Arc<ManagedObjectPatch>,
    /// The time of the change.
    pub time: Timestamp,
    /// The user and the application that requested the change.
    pub by: ChangedBy,
    /// The upload that becomes the file of the object.
    pub file: Option<BinaryId>,
    /// The revision without which the object stays as it is (C-23); `None` for any.
    pub revision: Option<i64>,
}

/// The user and the application that requested the change of an object. The audit record of a smart rule names them
/// (Y-05).
#[derive(Debug, Clone)]
pub struct ChangedBy {
    /// The id for the audit record, used if the change is audited.
    pub audit_record: i64,
    /// The user who requested the change.
    pub user: Arc<str>,
    /// The application that requested the change (C-05).
    pub application: Option<Arc<str>>,
}

/// A new managed object.
#[derive(Debug, Clone)]
pub struct ObjectToInsert {
    /// The object.
    pub object: Arc<ManagedObject>,
    /// The upload that becomes its file. Without this upload, the object has to be deleted again.
    pub file: Option<BinaryId>,
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
    client: &impl GenericClient,
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
    client.run(INSERT, &parameters).await
}

/// Inserts managed objects, and attaches the uploads that become their files.
#[derive(Debug)]
pub(crate) struct InsertManagedObject;

impl WriteKind for InsertManagedObject {
    type Change = ObjectToInsert;
    type Outcomes = HashSet<i64>;
    type Written = ();

    const STATEMENTS: &'static [&'static str] = &[INSERT, DELETE_REPLACED, ATTACH];
    const COUNTED: Counted = Counted::InventoryCreated;
    const ADDED: Added<'static> = Added::Data;

    /// Returns the uploads that were attached.
    async fn run(
        client: &impl GenericClient,
        _: &Signatures,
        rows: &mut Rows<'_, Self>,
    ) -> Result<Self::Outcomes> {
        let objects: Vec<_> = rows.iter().map(|(tenant, new)| (*tenant, &*new.object)).collect();
        let uploads = rows.iter().filter_map(|(tenant, new)| {
            Some(UploadOfObject { tenant, object: new.object.id?, binary: new.file? })
        });
        let uploads: Vec<_> = uploads.collect();
        // Polled in this order, so sent in this order.
        let (inserted, attached) = tokio::join!(
            biased;
            insert_managed_objects(client, &objects),
            attach_binaries(client, &uploads),
        );
        inserted?;
        attached
    }

    fn written(attached: &mut HashSet<i64>, new: &ObjectToInsert) -> Option<()> {
        new.file.is_none_or(|file| attached.contains(&file.0)).then_some(())
    }

    fn response(new: &ObjectToInsert, (): &(), key: &IdempotencyKey) -> Option<FirstResponse> {
        Some(FirstResponse::of(key.links.managed_object(new.object.id), &*new.object, &key.links))
    }

    fn sent(rows: &Rows<'_, Self>) -> usize {
        if rows.iter().any(|(_, new)| new.file.is_some()) { 3 } else { 1 }
    }

    fn added(new: &ObjectToInsert) -> Added<'_> {
        match new.file {
            None => Added::Object(&new.object.fragments),
            Some(_) => Self::ADDED,
        }
    }
}

/// Updates managed objects, and attaches the uploads that become their files. The statement notifies servers of some
/// changes.
#[derive(Debug)]
pub(crate) struct UpdateManagedObject;

impl WriteKind for UpdateManagedObject {
    type Change = ManagedObjectUpdate;
    type Outcomes = (HashMap<i64, ManagedObject>, HashSet<i64>);
    type Written = ManagedObject;

    const STATEMENTS: &'static [&'static str] = &[UPDATE, DELETE_REPLACED, ATTACH];
    const COUNTED: Counted = Counted::InventoryUpdated;
    const ADDED: Added<'static> = Added::Nothing;

    /// Returns the objects that were updated, by id, and the uploads that were attached.
    async fn run(
        client: &impl GenericClient,
        signatures: &Signatures,
        rows: &mut Rows<'_, Self>,
    ) -> Result<Self::Outcomes> {
        let uploads = rows.iter().filter_map(|(tenant, update)| {
            Some(UploadOfObject { tenant, object: update.id, binary: update.file? })
        });
        let uploads: Vec<_> = uploads.collect();
        // Polled in this order, so sent in this order.
        let (updated, attached) = tokio::join!(
            biased;
            update_managed_objects(client, signatures, rows),
            attach_binaries(client, &uploads),
        );
        Ok((updated?, attached?))
    }

    fn written(
        (updated, attached): &mut Self::Outcomes,
        update: &ManagedObjectUpdate,
    ) -> Option<ManagedObject> {
        let is_attached = |_: &ManagedObject| update.file.is_none_or(|file| attached.contains(&file.0));
        updated.remove(&update.id.0).filter(is_attached)
    }

    fn sent(rows: &Rows<'_, Self>) -> usize {
        if rows.iter().any(|(_, update)| update.file.is_some()) { 3 } else { 1 }
    }

    fn added(update: &ManagedObjectUpdate) -> Added<'_> {
        if update.file.is_some() { Added::Data } else { Self::ADDED }
    }
}

/// Updates managed objects and returns them as they stand now, by id. Objects that do not exist are left out.
async fn update_managed_objects(
    client: &impl GenericClient,
    signatures: &Signatures,
    rows: &Rows<'_, UpdateManagedObject>,
) -> Result<HashMap<i64, ManagedObject>> {
    let (changes, patches) =
        (|| rows.iter().map(|(_, change)| *change), || rows.iter().map(|(_, change)| &change.patch));
    let tenants: Vec<&str> = rows.iter().map(|(tenant, _)| tenant.as_str()).collect();
    let ids: Vec<i64> = changes().map(|change| change.id.0).collect();
    let sets_type: Vec<bool> = patches().map(|patch| patch.type_.is_some()).collect();
    let types: Vec<_> = patches().map(|patch| patch.type_.as_ref().and_then(Option::as_deref)).collect();
    let sets_name: Vec<bool> = patches().map(|patch| patch.name.is_some()).collect();
    let names: Vec<_> = patches().map(|patch| patch.name.as_ref().and_then(Option::as_deref)).collect();
    let owners: Vec<Option<&str>> = patches().map(|patch| patch.owner.as_deref()).collect();
    let (set, removed) = fragments_of(rows);
    let times: Vec<_> = changes().map(|change| change.time.instant()).collect();
    let (sets_interval, intervals) = intervals_of(rows);
    let audit_records: Vec<i64> = changes().map(|change| change.by.audit_record).collect();
    let users: Vec<&str> = changes().map(|change| &*change.by.user).collect();
    let applications: Vec<_> = changes().map(|change| change.by.application.as_deref()).collect();
    let (told_intervals, told_names) = announcements_of(signatures, rows);
    let parameters: [&(dyn ToSql + Sync); 20] = [
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
        &changes().map(|change| change.sets_templates()).collect::<Vec<_>>(),
        &audit_records,
        &users,
        &applications,
        &naming().fragment("SmartRule"),
        &told_intervals,
        &told_names,
        &changes().map(|change| change.revision).collect::<Vec<_>>(),
    ];
    let rows = client.rows(UPDATE, &parameters).await?;
    rows.iter().map(|row| Ok((row.get(0), from_row(row)?))).collect()
}

/// Returns, for each change, the fragments that it sets and the list of those that it removes, as JSON.
fn fragments_of(rows: &Rows<'_, UpdateManagedObject>) -> (Vec<String>, Vec<String>) {
    rows.iter()
        .map(|(_, change)| {
            let (set, removed) = change.patch.fragments.split_removals();
            (set, serde_json::to_string(&removed).expect("a list of strings is valid JSON"))
        })
        .unzip()
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
