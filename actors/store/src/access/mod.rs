//! The lineage of managed objects, which the access rule of [`model::access`](platform_model::access) looks at.

pub mod recent_sources;

use std::collections::HashMap;
use std::sync::Arc;

use deadpool_postgres::GenericClient;
use futures_util::future::try_join_all;
use platform_model::access::{Accessor, Ancestor, Authority};
use platform_model::error::{Error, Noun, Result};
use platform_model::id::{ManagedObjectId, TenantId};
use tokio_postgres::Row;

use crate::query::prepared::PreparedQueries;
use crate::query::shared_lookups::Lookup;
use crate::{Database, Pool, take};

const LIST_LINEAGES: &str = include_str!("../../../../sql/queries/access/list_lineages.sql");
const LIST_ANCESTORS: &str = include_str!("../../../../sql/queries/access/list_ancestors.sql");
const OWNS_OBJECTS: &str = include_str!("../../../../sql/queries/access/owns_objects.sql");
const COUNT_OWNED: &str = include_str!("../../../../sql/queries/access/count_owned.sql");
const LINEAGE: &str = include_str!("../../../../sql/queries/access/lineage.sql");
const LIST_SOURCES: &str = include_str!("../../../../sql/queries/access/list_sources.sql");

/// The most objects of an owner that are counted.
const MOST_COUNTED: i64 = 100_000;

/// The properties of a managed object that a write of its data needs.
#[derive(Debug, Default)]
pub struct SourceObject {
    /// The name of the object, shown in alarms.
    pub name: Option<String>,
    /// The type of the object, shown in events.
    pub type_: Option<String>,
    /// The names of the fragments of the object.
    pub fragment_names: Vec<String>,
    /// The object itself first, then all of its ancestors.
    pub lineage: Vec<Ancestor>,
}

impl SourceObject {
    /// Returns whether the managed object holds a fragment.
    pub fn has_fragment(&self, name: &str) -> bool {
        self.fragment_names.iter().any(|known| known == name)
    }

    /// Returns whether a user may read or write something that belongs to this managed object; see [`authorize`].
    pub fn permits(
        &self,
        accessor: Accessor<'_>,
        has_fragment: impl Fn(&SourceObject, &str) -> bool,
    ) -> bool {
        let Accessor { authority, user, ownership } = accessor;
        authority.permits(user, ownership, &self.lineage, |name| has_fragment(self, name))
    }
}

/// Looks up a managed object with its lineage. Returns `None` when the object does not exist.
pub async fn find_source(
    client: &impl GenericClient,
    tenant: &TenantId,
    id: ManagedObjectId,
) -> Result<Option<SourceObject>> {
    let rows = client.rows(LINEAGE, &[&tenant.as_str(), &id.0]).await?;
    let Some(first) = rows.first().filter(|row| row.get::<_, i64>(0) == id.0) else { return Ok(None) };
    let lineage = rows.iter().map(|row| Ancestor {
        id: ManagedObjectId(row.get(0)),
        owner: row.get(1),
        by_devices: row.get(2),
    });
    let (name, type_, fragment_names) = (first.get(3), first.get(5), first.get(4));
    Ok(Some(SourceObject { name, type_, fragment_names, lineage: lineage.collect() }))
}

/// Returns managed objects, each with its lineage. One statement.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn list_lineages(
    database: &Database,
    tenant: &TenantId,
    ids: &[ManagedObjectId],
) -> Result<HashMap<ManagedObjectId, Arc<[ManagedObjectId]>>> {
    let ids: Vec<i64> = ids.iter().map(|id| id.0).collect();
    let rows = database.loader().await?.rows(LIST_LINEAGES, &[&tenant.as_str(), &ids]).await?;
    let lineage = |row: &Row| row.get::<_, Vec<i64>>(1).into_iter().map(ManagedObjectId).collect();
    Ok(rows.iter().map(|row| (ManagedObjectId(row.get(0)), lineage(row))).collect())
}

/// A managed object, as its lineage is looked up.
type Key = (TenantId, ManagedObjectId);

/// Returns keys as the columns that the statements take.
fn columns(keys: &[Key]) -> (Vec<&str>, Vec<i64>) {
    keys.iter().map(|(tenant, id)| (tenant.as_str(), id.0)).unzip()
}

/// Reads the ancestor in a row that begins with a key.
fn ancestor(row: &Row) -> Ancestor {
    Ancestor { id: ManagedObjectId(row.get(2)), owner: row.get(3), by_devices: row.get(4) }
}

/// Looks up the lineages that clients need when they subscribe, over connections that all look-ups by key share.
pub(crate) struct LineageLookup(pub(crate) Pool);

impl Lookup for LineageLookup {
    type Key = Key;
    type Value = Vec<Ancestor>;

    async fn load(&self, keys: &[Key]) -> Result<HashMap<Key, Vec<Ancestor>>> {
        let client = take(&self.0).await?;
        let (tenants, ids) = columns(keys);
        let mut lineages: HashMap<_, Vec<Ancestor>> = HashMap::with_capacity(keys.len());
        for row in client.rows(LIST_ANCESTORS, &[&tenants, &ids]).await? {
            let key = (TenantId::parse(row.get(0))?, ManagedObjectId(row.get(1)));
            let above = ancestor(&row);
            lineages.entry(key).or_default().push(above);
        }
        Ok(lineages)
    }
}

/// Returns the lineages of managed objects, in the form that [`Authority::permits`] takes. Objects that do not exist
/// are left out. Objects that are looked up at the same time share a statement.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn list_ancestors(
    database: &Database,
    tenant: &TenantId,
    objects: &[ManagedObjectId],
) -> Result<HashMap<ManagedObjectId, Vec<Ancestor>>> {
    database.ensure_reachable()?;
    let lineage = |id| database.lineages.find((tenant.clone(), id));
    let lineages = try_join_all(objects.iter().map(|id| lineage(*id))).await?;
    Ok(objects.iter().zip(lineages).filter_map(|(id, lineage)| Some((*id, lineage?))).collect())
}

/// Looks up the sources of data that clients send, over connections that all look-ups by key share.
pub(crate) struct SourceLookup(pub(crate) Pool);

impl Lookup for SourceLookup {
    type Key = Key;
    type Value = Arc<SourceObject>;

    async fn load(&self, keys: &[Key]) -> Result<HashMap<Key, Arc<SourceObject>>> {
        let client = take(&self.0).await?;
        let (tenants, ids) = columns(keys);
        let mut sources: HashMap<Key, SourceObject> = HashMap::with_capacity(keys.len());
        for row in client.rows(LIST_SOURCES, &[&tenants, &ids]).await? {
            let id = ManagedObjectId(row.get(1));
            let source = sources.entry((TenantId::parse(row.get(0))?, id)).or_default();
            let above = ancestor(&row);
            if above.id == id {
                (source.name, source.type_) = (row.get(5), row.get(6));
                source.fragment_names = row.get::<_, Option<Vec<String>>>(7).unwrap_or_default();
                source.lineage.insert(0, above);
            } else {
                source.lineage.push(above);
            }
        }
        // The lineage of an object that does not exist may lack only the object itself.
        let exists =
            |((_, id), source): &(Key, SourceObject)| source.lineage.first().is_some_and(|o| o.id == *id);
        Ok(sources.into_iter().filter(exists).map(|(key, source)| (key, Arc::new(source))).collect())
    }
}

/// Looks up a managed object with its lineage, as [`find_source`] does. Objects that are looked up at the same time
/// share a statement.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn find_shared_source(
    database: &Database,
    tenant: &TenantId,
    id: ManagedObjectId,
) -> Result<Option<Arc<SourceObject>>> {
    database.ensure_reachable()?;
    // On the heap, so that the many requests that need no look-up stay small.
    Box::pin(database.sources.find((tenant.clone(), id))).await
}

/// Ensures that no managed object has this user name as its owner. A new user of this name would own such objects, so
/// a caller who may not grant access to them must not create the user.
///
/// # Errors
/// `Refused` when managed objects are owned by this name; `Unavailable` or `Database`.
pub async fn ensure_owns_nothing(database: &Database, tenant: &TenantId, name: &str) -> Result<()> {
    let client = database.reader().await?;
    if client.row(OWNS_OBJECTS, &[&tenant.as_str(), &name]).await?.get(0) {
        Err(Error::Refused(
            "objects are owned by this name, such as those of a deleted user; ROLE_USER_MANAGEMENT_ADMIN may create \
             the user",
        ))
    } else {
        Ok(())
    }
}

/// Returns how many managed objects have this user name as their owner, up to [`MOST_COUNTED`].
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`.
pub async fn count_owned(client: &impl GenericClient, tenant: &TenantId, name: &str) -> Result<i64> {
    Ok(client.row(COUNT_OWNED, &[&tenant.as_str(), &name, &MOST_COUNTED]).await?.get(0))
}

/// Authorizes a caller to read or write data of this managed object. `has_fragment` returns whether the data holds a
/// fragment; the data may be the object itself or, for example, one of its alarms.
///
/// # Errors
/// `Forbidden`; `NotFound` when there is no such object; `Unavailable` or `Database`.
pub async fn authorize(
    database: &Database,
    tenant: &TenantId,
    id: ManagedObjectId,
    accessor: Accessor<'_>,
    has_fragment: impl Fn(&SourceObject, &str) -> bool,
) -> Result<()> {
    if matches!(accessor.authority, Authority::Role) {
        return Ok(());
    }
    let client = database.reader().await?;
    let source = find_source(&*client, tenant, id).await?;
    let source = source.ok_or_else(|| Error::not_found(Noun::ManagedObject, id))?;
    if source.permits(accessor, has_fragment) { Ok(()) } else { Err(Error::Forbidden) }
}
