//! Links between managed objects in PostgreSQL.
//!
//! A link is one row with a foreign key at both ends. References are read from it in both directions, so they are
//! symmetric, and they are deleted with either object. Changes of one tenant run one at a time (`lock.sql`).

use std::collections::HashMap;
use std::sync::Arc;

use deadpool_postgres::{GenericClient, Transaction};
use platform_model::devices::managed_object::ManagedObject;
use platform_model::devices::reference::{LinkKind, Reference, References, WantedParents, WantedReferences};
use platform_model::error::{Error, Noun, Result};
use platform_model::id::{ManagedObjectId, TenantId};
use platform_model::origin::Origin;
use platform_model::page::{Page, PageRequest, Position};
use platform_model::realtime::change::PublishedChange;
use platform_model::realtime::publication::{Cause, Publication};
use tokio_postgres::Row;

use crate::Database;
use crate::devices::inventory::managed_objects::{COLUMNS, find_current, from_row};
use crate::devices::inventory::server_fragments;
use crate::devices::inventory::writes::insert_managed_objects;
use crate::leases::module_leases;
use crate::query::filter::{Filtered, Order, page_of};
use crate::query::prepared::PreparedQueries;
use crate::realtime::publications::{Route, Write};
use crate::statistics::Counted;

const LIST_CHILDREN: &str = include_str!("../../../../../sql/queries/links/list_children.sql");
const LIST_ANCESTORS: &str = include_str!("../../../../../sql/queries/links/list_ancestors.sql");
const LOCK: &str = include_str!("../../../../../sql/queries/links/lock.sql");
const FIND_RING: &str = include_str!("../../../../../sql/queries/links/find_ring.sql");
const FIND: &str = include_str!("../../../../../sql/queries/links/find.sql");
const INSERT_LINKS: &str = include_str!("../../../../../sql/queries/links/insert.sql");
const DELETE: &str = include_str!("../../../../../sql/queries/links/delete.sql");
const FIND_EXISTING: &str = include_str!("../../../../../sql/queries/managed_objects/find_existing.sql");

/// The children of one kind of a parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Children {
    /// The parent.
    pub parent: ManagedObjectId,
    /// The kind of the links.
    pub kind: LinkKind,
}

/// Waits until no other transaction changes links or deletes objects in the tenant.
pub(crate) async fn lock(transaction: &Transaction<'_>, tenant: &TenantId) -> Result<()> {
    transaction.run(LOCK, &[&tenant.as_str()]).await?;
    Ok(())
}

/// Links existing objects below a parent; links that exist stay unchanged. It publishes that links changed, and UPDATE
/// of the parent, as the returned [`Route`] says. One transaction; with a fence it succeeds only while this process
/// [holds](module_leases::hold) the modules.
///
/// # Errors
/// `NotFound` for an unknown parent; `Invalid` for an unknown child, for the parent itself and for a cycle (I-04).
pub async fn add_children(
    database: &Database,
    tenant: &TenantId,
    to: Children,
    children: &[ManagedObjectId],
    by: &Origin,
) -> Result<Route> {
    let attempt = async || {
        let mut client = database.loader().await?;
        let transaction = client.transaction().await?;
        module_leases::hold_one(&transaction, tenant, by.fence()).await?;
        lock(&transaction, tenant).await?;
        check(&transaction, tenant, to, children).await?;
        insert(&transaction, tenant, to, children).await?;
        let describe = async |transaction: &Transaction<'_>| links_changed(transaction, tenant, to, by).await;
        database.commit_described(transaction, tenant, describe).await
    };
    database.until_uncontended(attempt).await
}

/// Returns what is published when the children of an object have changed.
async fn links_changed(
    client: &impl GenericClient,
    tenant: &TenantId,
    Children { parent, .. }: Children,
    by: &Origin,
) -> Result<Vec<Publication>> {
    let object = find_current(client, tenant, parent, WantedReferences::default()).await?;
    let change = PublishedChange::ManagedObjectUpdated(Arc::new(object));
    Ok(vec![Publication::LinksChanged, Publication::Change { source: parent, change, cause: Cause::of(by) }])
}

/// Creates an object below a parent, and publishes it as [`add_children`] does, with CREATE of the object before
/// (M-03). One transaction, so a child never exists without its link. The fence has the same meaning as in
/// [`add_children`].
///
/// # Errors
/// `NotFound` for an unknown parent; `Unavailable` or `Database`.
pub async fn insert_child(
    database: &Database,
    tenant: &TenantId,
    to: Children,
    child: &ManagedObject,
    by: &Origin,
) -> Result<Route> {
    let id = child.id.ok_or_else(|| Error::not_found(Noun::ManagedObject, "null"))?;
    let attempt = async || {
        let mut client = database.loader().await?;
        let transaction = client.transaction().await?;
        module_leases::hold_one(&transaction, tenant, by.fence()).await?;
        lock(&transaction, tenant).await?;
        insert_managed_objects(&transaction, &[(tenant, child)]).await?;
        check(&transaction, tenant, to, &[id]).await?;
        insert(&transaction, tenant, to, &[id]).await?;
        let describe = async |transaction: &Transaction<'_>| {
            let mut created = [child.clone()];
            fill_references(transaction, tenant, &mut created, WantedReferences::default()).await?;
            let [created] = created.map(Arc::new);
            let change = PublishedChange::ManagedObjectCreated(created);
            // In mode QUIESCENT the creation is published and the change of the parent's references is not.
            let created = Publication::Change { source: id, change, cause: Cause::of(by).notifying() };
            let mut publications = links_changed(transaction, tenant, to, by).await?;
            publications.insert(1, created);
            Ok(publications)
        };
        database.commit_described(transaction, tenant, describe).await
    };
    let route = database.until_uncontended(attempt).await?;
    database.statistics.add(tenant, Counted::InventoryCreated, 1);
    Ok(route)
}

async fn check(
    transaction: &Transaction<'_>,
    tenant: &TenantId,
    to: Children,
    children: &[ManagedObjectId],
) -> Result<()> {
    let ids: Vec<i64> = children.iter().map(|id| id.0).collect();
    if ids.contains(&to.parent.0) {
        return Err(Error::invalid_value("managedObject", to.parent, "another object than the parent"));
    }
    let mut wanted = ids.clone();
    wanted.push(to.parent.0);
    let rows = transaction.rows(FIND_EXISTING, &[&tenant.as_str(), &wanted]).await?;
    let existing: std::collections::HashSet<i64> = rows.iter().map(|row| row.get(0)).collect();
    if !existing.contains(&to.parent.0) {
        return Err(Error::not_found(Noun::ManagedObject, to.parent));
    }
    if let Some(unknown) = ids.iter().find(|id| !existing.contains(id)) {
        return Err(Error::invalid_value("managedObject", unknown, "an existing managed object"));
    }
    if !to.kind.is_hierarchy() {
        return Ok(());
    }
    let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 3] = [&tenant.as_str(), &to.parent.0, &ids];
    match transaction.find(FIND_RING, &parameters).await? {
        None => Ok(()),
        Some(row) => Err(Error::invalid_value(
            "managedObject",
            row.get::<_, i64>(0),
            "an object that is not an ancestor of its new parent",
        )),
    }
}

async fn insert(
    transaction: &Transaction<'_>,
    tenant: &TenantId,
    to: Children,
    children: &[ManagedObjectId],
) -> Result<()> {
    let links: Vec<_> = children.iter().map(|child| (to.parent, *child)).collect();
    insert_links(transaction, tenant, to.kind, &links).await
}

/// Inserts links in this order, as part of the caller's transaction, which holds the [`lock`]. The caller ensures that
/// both objects exist and that no cycle arises.
pub(crate) async fn insert_links(
    client: &impl GenericClient,
    tenant: &TenantId,
    kind: LinkKind,
    links: &[(ManagedObjectId, ManagedObjectId)],
) -> Result<()> {
    if links.is_empty() {
        return Ok(());
    }
    let (parents, children): (Vec<i64>, Vec<i64>) =
        links.iter().map(|(parent, child)| (parent.0, child.0)).unzip();
    client.run(INSERT_LINKS, &[&tenant.as_str(), &kind.children(), &parents, &children]).await?;
    Ok(())
}

/// Removes the link of a child, and publishes it as [`add_children`] does. Returns `None` when it was not linked. The
/// objects stay. The fence has the same meaning as in [`add_children`].
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn remove_child(
    database: &Database,
    tenant: &TenantId,
    from: Children,
    child: ManagedObjectId,
    by: &Origin,
) -> Result<Option<Route>> {
    let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 4] =
        [&tenant.as_str(), &from.kind.children(), &from.parent.0, &child.0];
    let attempt = async || {
        let mut client = database.loader().await?;
        let statement = &client.prepare_cached(DELETE).await?;
        let write = Write { tenant, fence: by.fence(), statement, parameters: &parameters };
        let describe = async |transaction: &Transaction<'_>, _: &[Row]| {
            links_changed(transaction, tenant, from, by).await
        };
        database.run_published(&mut client, write, describe).await
    };
    let (removed, route) = database.until_committed(attempt).await?;
    Ok((!removed.is_empty()).then_some(route))
}

/// Returns whether an object is linked below a parent.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn is_child(
    database: &Database,
    tenant: &TenantId,
    of: Children,
    child: ManagedObjectId,
) -> Result<bool> {
    let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 4] =
        [&tenant.as_str(), &of.kind.children(), &of.parent.0, &child.0];
    Ok(database.reader().await?.find(FIND, &parameters).await?.is_some())
}

/// Returns a page of the children of an object, in the order in which they were added.
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`.
pub async fn list_children(
    database: &Database,
    tenant: &TenantId,
    of: Children,
    request: &PageRequest,
) -> Result<Page<ManagedObject>> {
    let client = database.reader().await?;
    let from = "links l JOIN managed_objects o ON o.tenant = l.tenant AND o.id = l.child";
    let mut filtered = Filtered::new(from, "l.tenant", tenant.as_str());
    filtered.and("l.parent = $", of.parent.0);
    filtered.and("l.kind = $", of.kind.children());
    let count = filtered.total(&client, request.total).await?;
    let columns = format!("{COLUMNS}, l.position");
    let rows = client
        .rows(&filtered.page(&columns, Order::Id("l.position"), request), &filtered.parameters())
        .await?;
    let page = page_of(rows, request, |row| Position::of_id(row.get("position")));
    let mut members = page.members.iter().map(from_row).collect::<Result<Vec<_>>>()?;
    fill_references(&*client, tenant, &mut members, WantedReferences::default()).await?;
    Ok(Page { members, next: page.next, count })
}

/// Adds the references and the server's fragments to objects that were read.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn add_references(
    database: &Database,
    tenant: &TenantId,
    objects: &mut [ManagedObject],
    wanted: WantedReferences,
) -> Result<()> {
    if objects.is_empty() {
        return Ok(());
    }
    let client = database.reader().await?;
    fill_references(&*client, tenant, objects, wanted).await
}

/// Does the same as [`add_references`], over a given connection.
pub(crate) async fn fill_references(
    client: &impl GenericClient,
    tenant: &TenantId,
    objects: &mut [ManagedObject],
    wanted: WantedReferences,
) -> Result<()> {
    let ids: Vec<i64> = objects.iter().filter_map(|object| object.id).map(|id| id.0).collect();
    let (mut of, told) = futures_util::future::try_join(
        references(client, tenant, &ids, wanted),
        server_fragments::load(client, tenant, &ids),
    )
    .await?;
    for object in objects {
        server_fragments::complete(object, &told);
        object.references = object.id.and_then(|id| of.remove(&id.0)).unwrap_or_default();
    }
    Ok(())
}

/// Returns the references of some objects, by id. Children and parents are queried in one round trip.
pub(crate) async fn references(
    client: &impl GenericClient,
    tenant: &TenantId,
    ids: &[i64],
    wanted: WantedReferences,
) -> Result<HashMap<i64, References>> {
    let tenant = tenant.as_str();
    let children = async {
        if !wanted.children || ids.is_empty() {
            return Ok(Vec::new());
        }
        client.rows(LIST_CHILDREN, &[&tenant, &ids]).await
    };
    let parents = async {
        if wanted.parents == WantedParents::None || ids.is_empty() {
            return Ok(Vec::new());
        }
        let named = wanted.parents == WantedParents::Named;
        client.rows(LIST_ANCESTORS, &[&tenant, &ids, &named]).await
    };
    let (children, parents) = futures_util::future::try_join(children, parents).await?;
    let mut of: HashMap<i64, References> = HashMap::new();
    for row in children {
        let Some(kind) = LinkKind::of_children(row.get(1)) else { continue };
        of.entry(row.get(0)).or_default().add_child(kind, reference(&row));
    }
    for row in parents {
        let Some(kind) = LinkKind::of_children(row.get(1)) else { continue };
        of.entry(row.get(0)).or_default().add_parent(kind, reference(&row));
    }
    Ok(of)
}

fn reference(row: &tokio_postgres::Row) -> Reference {
    Reference { id: ManagedObjectId(row.get(2)), name: row.get(3) }
}
