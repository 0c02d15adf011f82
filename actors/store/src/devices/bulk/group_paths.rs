//! Groups by their paths: they are looked up level by level and created where they are missing (N-17).

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use deadpool_postgres::{GenericClient, Transaction};
use platform_model::access::{Accessor, Authority, Ownership};
use platform_model::devices::managed_object::{ManagedObject, NewManagedObject};
use platform_model::error::Result;
use platform_model::fragments::Fragments;
use platform_model::id::{IdGenerator, ManagedObjectId, TenantId};
use platform_model::naming::naming;
use tokio_postgres::types::{ToSql, Type};

use crate::access::SourceObject;
use crate::access::find_source;
use crate::devices::bulk::registration::{Registrar, look_up};
use crate::devices::inventory::writes::insert_managed_objects;

const LIST_TOP_GROUPS: &str =
    include_str!("../../../../../sql/queries/bulk_registration/list_top_groups.sql");
const LIST_SUBGROUPS: &str = include_str!("../../../../../sql/queries/bulk_registration/list_subgroups.sql");
const FIND_EXISTING: &str = include_str!("../../../../../sql/queries/managed_objects/find_existing.sql");

/// The number of cached paths. A run over a file with more paths clears the cache when it is full.
const REMEMBERED: usize = 10_000;

/// A cache of groups by their paths for one run over a file, in which neighbouring rows name the same groups. A group
/// that was moved meanwhile keeps its old path in the cache.
#[derive(Debug, Default)]
pub(crate) struct GroupPaths(HashMap<TenantId, HashMap<Vec<String>, ManagedObjectId>>);

impl GroupPaths {
    /// Caches the groups that a transaction found or created, after its commit.
    pub(crate) fn learn(&mut self, tenant: &TenantId, found: FoundGroups) {
        if found.is_empty() {
            return;
        }
        if self.0.values().map(HashMap::len).sum::<usize>() + found.len() > REMEMBERED {
            self.0.clear();
        }
        self.0.entry(tenant.clone()).or_default().extend(found);
    }
}

/// The groups of some rows.
#[derive(Debug, Default)]
pub(crate) struct Groups<'a> {
    /// The groups that were created.
    pub(crate) created: Vec<(ManagedObjectId, Arc<ManagedObject>)>,
    /// The links to insert, as pairs of parent and child.
    pub(crate) links: Vec<(ManagedObjectId, ManagedObjectId)>,
    known: Known<'a>,
}

impl Groups<'_> {
    /// Returns the group at the end of a path, or `None` for an empty path.
    pub(crate) fn at(&self, path: &[String]) -> Option<ManagedObjectId> {
        self.known.get(path).copied()
    }

    /// Returns every group by its path, for the cache.
    pub(crate) fn found(&self) -> FoundGroups {
        self.known.iter().map(|(path, id)| (path.to_vec(), *id)).collect()
    }
}

/// Groups by their paths.
pub(crate) type FoundGroups = Vec<(Vec<String>, ManagedObjectId)>;

/// Looks up the groups in which rows are placed, among those visible to the registrar, and creates missing ones. It is
/// part of a transaction that holds the lock of link changes. The caller inserts the links.
///
/// # Errors
/// `Unavailable` or `Database`.
pub(crate) async fn find_or_create<'a>(
    transaction: &Transaction<'_>,
    tenant: &TenantId,
    registrar: &Registrar,
    ids: &IdGenerator,
    paths: impl Iterator<Item = &'a [String]>,
    memory: &GroupPaths,
) -> Result<Groups<'a>> {
    let paths: BTreeSet<&[String]> = paths.flat_map(prefixes).collect();
    let mut groups = Groups::default();
    if paths.is_empty() {
        return Ok(groups);
    }
    let mut known = remembered(transaction, tenant, &paths, memory).await?;
    let deepest = paths.iter().map(|path| path.len()).max().unwrap_or_default();
    for depth in 1..=deepest {
        let wanted: Vec<&[String]> =
            paths.iter().filter(|path| path.len() == depth && !known.contains_key(**path)).copied().collect();
        let found = find_level(transaction, tenant, registrar, &wanted, &known).await?;
        let missing: Vec<_> = wanted.iter().filter(|path| !found.contains_key(**path)).copied().collect();
        known.extend(found);
        let make = |path: &&'a [String]| Ok((*path, new_group(path, registrar, ids)?));
        let made: Vec<_> = missing.iter().map(make).collect::<Result<_>>()?;
        let objects: Vec<_> = made.iter().map(|(_, (_, group))| (tenant, &**group)).collect();
        insert_managed_objects(transaction, &objects).await?;
        for (path, (id, group)) in made {
            groups.links.extend(known.get(above(path)).map(|parent| (*parent, id)));
            groups.created.push((id, group));
            known.insert(path, id);
        }
    }
    Ok(Groups { known, ..groups })
}

/// Returns a path and its parent paths, the shortest first.
fn prefixes(path: &[String]) -> impl Iterator<Item = &[String]> {
    (1..=path.len()).map(|length| &path[..length])
}

/// Returns the path of the parent group.
fn above(path: &[String]) -> &[String] {
    path.split_last().map_or(path, |(_, above)| above)
}

type Known<'a> = BTreeMap<&'a [String], ManagedObjectId>;

/// Returns the cached groups that still exist.
async fn remembered<'a>(
    transaction: &Transaction<'_>,
    tenant: &TenantId,
    paths: &BTreeSet<&'a [String]>,
    memory: &GroupPaths,
) -> Result<Known<'a>> {
    let Some(memory) = memory.0.get(tenant) else { return Ok(Known::new()) };
    let mut known: Known<'a> = paths.iter().filter_map(|path| Some((*path, *memory.get(*path)?))).collect();
    let ids: Vec<i64> = known.values().map(|id| id.0).collect();
    let parameters: [(&(dyn ToSql + Sync), Type); 2] =
        [(&tenant.as_str(), Type::TEXT), (&ids, Type::INT8_ARRAY)];
    let rows = look_up(transaction, FIND_EXISTING, &parameters).await?;
    let existing: HashSet<i64> = rows.iter().map(|row| row.get(0)).collect();
    known.retain(|_, id| existing.contains(&id.0));
    Ok(known)
}

/// Looks up the groups of paths of one length. A group that is about to be created has no children yet.
async fn find_level<'a>(
    transaction: &Transaction<'_>,
    tenant: &TenantId,
    registrar: &Registrar,
    wanted: &[&'a [String]],
    known: &Known<'_>,
) -> Result<Known<'a>> {
    let parents: Vec<i64> = wanted.iter().filter_map(|path| known.get(above(path))).map(|id| id.0).collect();
    let names: Vec<&str> = wanted.iter().filter_map(|path| path.last()).map(|name| &**name).collect();
    let (tenant_id, marker) = (tenant.as_str(), naming().fragment("IsDeviceGroup"));
    let type_ = naming().fragment("DeviceGroup");
    let (of_tenant, names) = ((&tenant_id as _, Type::TEXT), (&names as _, Type::TEXT_ARRAY));
    let (type_, marker) = ((&type_ as _, Type::TEXT), (&marker as _, Type::TEXT));
    let rows = match wanted.first() {
        None => return Ok(Known::new()),
        Some(path) if path.len() == 1 => {
            look_up(transaction, LIST_TOP_GROUPS, &[of_tenant, names, type_, marker]).await?
        }
        Some(_) => {
            let parents = (&parents as _, Type::INT8_ARRAY);
            look_up(transaction, LIST_SUBGROUPS, &[of_tenant, parents, names, marker]).await?
        }
    };
    let mut found = Known::new();
    for row in rows {
        let place = usize::try_from(row.get::<_, i64>(0)).unwrap_or_default();
        let (path, id) = (wanted[place - 1], ManagedObjectId(row.get(1)));
        if !found.contains_key(path) && is_visible(transaction, tenant, registrar, id).await? {
            found.insert(path, id);
        }
    }
    Ok(found)
}

/// Returns whether the inventory shows the object to the registrar (I-05).
async fn is_visible(
    client: &impl GenericClient,
    tenant: &TenantId,
    registrar: &Registrar,
    id: ManagedObjectId,
) -> Result<bool> {
    if matches!(registrar.sees, Authority::Role) {
        return Ok(true);
    }
    let accessor =
        Accessor { authority: &registrar.sees, user: &registrar.user, ownership: Ownership::Counts };
    let source = find_source(client, tenant, id).await?;
    Ok(source.is_some_and(|group| {
        group.has_fragment(&naming().fragment("Global"))
            || group.permits(accessor, SourceObject::has_fragment)
    }))
}

fn new_group(
    path: &[String],
    registrar: &Registrar,
    ids: &IdGenerator,
) -> Result<(ManagedObjectId, Arc<ManagedObject>)> {
    let type_ = if path.len() == 1 { "DeviceGroup" } else { "DeviceSubgroup" };
    let mut fragments = Fragments::default();
    let nothing = serde_json::value::to_raw_value(&serde_json::json!({}))
        .expect("writing to memory does not fail and there is no key");
    fragments.set(&naming().fragment("IsDeviceGroup"), nothing);
    let group =
        NewManagedObject { type_: Some(naming().fragment(type_)), name: path.last().cloned(), fragments };
    let id = ManagedObjectId(ids.next()?);
    Ok((id, Arc::new(group.created(Some(id), &registrar.user))))
}
