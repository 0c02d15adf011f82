//! The blocks of parents of a managed object: `deviceParents`, `assetParents`, `additionParents`. Everything that their
//! `self` names can be read (I-03b); links are changed at the parent, by the child endpoints.

use actix_web::{HttpResponse, web};
use platform_actors::Platform;
use platform_model::access::Authority;
use platform_model::devices::children::ManagedObjectReference;
use platform_model::devices::managed_object::{ManagedObject, ManagedObjectFilter};
use platform_model::devices::reference::{LinkKind, WantedReferences};
use platform_model::error::{Error, Noun};
use platform_model::id::ManagedObjectId;
use platform_model::page::{Page, PageRequest, TotalPages};
use platform_store::devices::inventory::collection::list_managed_objects;
use platform_store::devices::inventory::links::add_references;

use crate::auth::Caller;
use crate::http::component::Component;
use crate::http::error::{ApiError, Result};
use crate::http::paging::Listing;
use crate::http::{RequestHead, reply};

/// `GET /inventory/managedObjects/<id>/assetParents` and its siblings: returns a page of references with the complete
/// parents and their ancestors, in the order of the block in the object. A caller without the role for the inventory
/// gets those that it may read (P-07).
///
/// # Errors
/// 403 for an object the caller may not see, 404 for an unknown object, 422 for an invalid parameter.
pub async fn list(
    caller: Caller,
    head: RequestHead,
    path: web::Path<(String, String)>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let listing = Listing::of(&head, "managedObjectReferenceCollection")?;
    let block = Parents::find(&caller, &platform, &path.0, &path.1).await?;
    let ids = block.ids.iter().map(|id| (*id, id.to_string())).collect();
    let Page { members, next, count } = listing.request.cut(ids, |(_, name)| name);
    let ids: Vec<_> = members.into_iter().map(|(id, _)| id).collect();
    let mut members = Vec::new();
    for object in read(&caller, &platform, ids).await? {
        if caller.may_see(&platform, &object).await? {
            members.push(block.reference(object));
        }
    }
    listing.respond("references", &Page { members, next, count })
}

/// `GET /inventory/managedObjects/<id>/assetParents/<parent>` and its siblings: returns a reference to a parent or an
/// ancestor.
///
/// # Errors
/// 403 for an object the caller may not see, 404 for an unknown object and for one that the block does not have.
pub async fn get(
    caller: Caller,
    head: RequestHead,
    path: web::Path<(String, String, String)>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let media_type = head.accepted("managedObjectReference")?;
    let parent = ManagedObjectId::parse(&path.2)?;
    let block = Parents::find(&caller, &platform, &path.0, &path.1).await?;
    if !block.ids.contains(&parent) {
        return Err(Error::not_found(Noun::Link, parent).into());
    }
    let reference = block.reference(caller.sees(&platform, parent, WantedReferences::default()).await?);
    Ok(reply::found(media_type, &reference, &head.links()))
}

/// A block of parents.
struct Parents {
    of: ManagedObjectId,
    kind: LinkKind,
    /// The parents and their ancestors, in the order in which the object shows them.
    ids: Vec<ManagedObjectId>,
}

impl Parents {
    async fn find(caller: &Caller, platform: &Platform, id: &str, block: &str) -> Result<Self> {
        let kind = LinkKind::of_parents(block).ok_or_else(|| ApiError::NoSuchPath(block.to_owned()))?;
        let of = ManagedObjectId::parse(id)?;
        let object = caller.sees(platform, of, WantedReferences::default()).await?;
        let ids = object.references.parents(kind).iter().map(|parent| parent.id).collect();
        Ok(Self { of, kind, ids })
    }

    fn reference(&self, object: ManagedObject) -> ManagedObjectReference {
        ManagedObjectReference { block: self.kind.parents(), of: self.of, object }
    }
}

/// Reads objects in this order, with their references.
async fn read(caller: &Caller, platform: &Platform, ids: Vec<ManagedObjectId>) -> Result<Vec<ManagedObject>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let (database, tenant) = (platform.database(), &caller.tenant);
    let size = u32::try_from(ids.len()).unwrap_or(u32::MAX);
    let whole = PageRequest { size, current: 1, after: None, total: TotalPages::Omitted };
    let filter = ManagedObjectFilter { ids: Some(ids), ..ManagedObjectFilter::default() };
    let page = list_managed_objects(database, tenant, &filter, &Authority::Role, &caller.user, &whole);
    let mut objects = page.await?.members;
    add_references(database, tenant, &mut objects, WantedReferences::default()).await?;
    Ok(objects)
}
