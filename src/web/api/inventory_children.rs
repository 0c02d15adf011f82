//! The child endpoints of a managed object: `childDevices`, `childAssets`, `childAdditions` (docs/rules.md#inventory;
//! I-03 to I-05).

use std::sync::Arc;

use actix_web::http::header;
use actix_web::{HttpResponse, web};
use platform_actors::Platform;
use platform_actors::device::{AddChildren, CreateChild, RemoveChild};
use platform_model::access::{Api, Permission};
use platform_model::devices::children::{ManagedObjectReference, NewChildren};
use platform_model::devices::managed_object::{ManagedObject, NewManagedObject};
use platform_model::devices::reference::{LinkKind, WantedReferences};
use platform_model::error::{Error, Noun};
use platform_model::id::ManagedObjectId;
use platform_model::origin::Origin;
use platform_model::role;
use platform_store;
use platform_store::devices::inventory::links::Children;

use crate::auth::Caller;
use crate::http::body::UnreadBody;
use crate::http::component::Component;
use crate::http::error::{ApiError, Result};
use crate::http::paging::Listing;
use crate::http::{RequestHead, reply};

/// The id of the parent and the name of the child collection.
type Path = web::Path<(String, String)>;
/// The same, and the id of the child.
type ChildPath = web::Path<(String, String, String)>;

/// `GET /inventory/managedObjects/<id>/childDevices` and its siblings: returns a page of references with the
/// complete children, in the order they were added. A caller without the role for the inventory gets the
/// children it may read (P-07).
///
/// # Errors
/// 403 for a parent the caller may not see, 404 for an unknown parent, 422 for an invalid parameter.
pub async fn list(
    caller: Caller,
    head: RequestHead,
    path: Path,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let listing = Listing::of(&head, "managedObjectReferenceCollection")?;
    let of = children(&path.0, &path.1)?;
    caller.sees(&platform, of.parent, WantedReferences::NONE).await?;
    let database = platform.database();
    let mut page = platform_store::devices::inventory::links::list_children(
        database,
        &caller.tenant,
        of,
        &listing.request,
    )
    .await?;
    for child in std::mem::take(&mut page.members) {
        if caller.may_see(&platform, &child).await? {
            page.members.push(child);
        }
    }
    let page = page.map(|child| ManagedObjectReference::to_child(of.kind, of.parent, child));
    listing.respond("references", &page)
}

/// `GET /inventory/managedObjects/<id>/childDevices/<child>` and its siblings: returns a reference.
///
/// # Errors
/// 403 for an object the caller may not see, 404 for an unknown parent, child or link.
pub async fn get(
    caller: Caller,
    head: RequestHead,
    path: ChildPath,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let media_type = head.accepted("managedObjectReference")?;
    let (of, child) = (children(&path.0, &path.1)?, ManagedObjectId::parse(&path.2)?);
    caller.sees(&platform, of.parent, WantedReferences::NONE).await?;
    let reference = reference(&platform, &caller, of, child).await?;
    Ok(reply::found(media_type, &reference, &head.links()))
}

/// `POST /inventory/managedObjects/<id>/childDevices` and its siblings: adds one or several existing objects
/// as children, or creates an object and adds it. Returns 201, also for existing children (I-04). The
/// response to a reference is the reference; the response to a complete object is the object (I-03a), unless
/// the client accepts only references.
///
/// # Errors
/// 403 unless the caller may write both objects, 404 for an unknown parent, 422 for an unknown child, for the
/// parent itself and for a cycle.
pub async fn create(
    caller: Caller,
    head: RequestHead,
    path: Path,
    body: UnreadBody,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let mode = head.child_reference_mode()?;
    let origin = Origin { mode, ..caller.origin(&head, role::INVENTORY_ADMIN, Api::ManagedObject)? };
    let names = ["managedObjectReference", "managedObject", "managedObjectReferenceCollection"];
    head.check_content_type(&names)?;
    // The parent is checked before the body is read, so that a caller who may not write the parent learns
    // nothing (E-04).
    let of = children(&path.0, &path.1)?;
    let authority = caller.authority(role::INVENTORY_ADMIN, Api::ManagedObject, Permission::Admin);
    caller.finds(&platform, of.parent, &authority).await?;
    let body = NewChildren::parse(body.json(platform.limits().body_bytes).await?)?;
    let request = ChildRequest { caller: &caller, of, origin: Arc::new(origin) };
    match body {
        NewChildren::One(child) => request.add_one(&head, &platform, child).await,
        NewChildren::Several(children) => request.add_several(&head, &platform, children).await,
        NewChildren::Created(object) => request.create(&head, &platform, *object).await,
    }
}

/// `DELETE /inventory/managedObjects/<id>/childDevices/<child>` and its siblings: removes the link; both
/// objects stay.
///
/// # Errors
/// 403 unless the caller may write one of the objects, 404 for an unknown parent or a link that does not
/// exist.
pub async fn remove(
    caller: Caller,
    head: RequestHead,
    path: ChildPath,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let mode = head.child_reference_mode()?;
    let origin = Origin { mode, ..caller.origin(&head, role::INVENTORY_ADMIN, Api::ManagedObject)? };
    let (from, child) = (children(&path.0, &path.1)?, ManagedObjectId::parse(&path.2)?);
    let message = RemoveChild { kind: from.kind, child, origin: Arc::new(origin) };
    platform.tenant(&caller.tenant).ask_device(from.parent, message).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// An authorized request to add children.
struct ChildRequest<'a> {
    caller: &'a Caller,
    of: Children,
    origin: Arc<Origin>,
}

impl ChildRequest<'_> {
    async fn add_one(
        self,
        head: &RequestHead,
        platform: &Platform,
        child: ManagedObjectId,
    ) -> Result<HttpResponse> {
        let media_type = head.accepted("managedObjectReference")?;
        let links = self.origin.links.clone();
        self.add(platform, vec![child]).await?;
        let reference = Arc::new(reference_unlinked(platform, self.caller, self.of, child).await?);
        Ok(reply::created(head, media_type, reference.link(&links), &reference, &links))
    }

    /// Responds with the collection of the added references, whose `Location` is the child collection.
    async fn add_several(
        self,
        head: &RequestHead,
        platform: &Platform,
        children: Vec<ManagedObjectId>,
    ) -> Result<HttpResponse> {
        let media_type = head.accepted("managedObjectReferenceCollection")?;
        let links = self.origin.links.clone();
        self.add(platform, children.clone()).await?;
        let block = format!("{}/{}", links.managed_object(Some(self.of.parent)), self.of.kind.children());
        let mut response = HttpResponse::Created();
        response.insert_header((header::LOCATION, block.clone()));
        if !head.has_accept() {
            return Ok(response.finish());
        }
        let mut references = Vec::with_capacity(children.len());
        for child in children {
            references.push(reference_unlinked(platform, self.caller, self.of, child).await?);
        }
        Ok(response.insert_header((header::CONTENT_TYPE, media_type)).body(reply::members(
            &block,
            "references",
            &references,
            &links,
        )))
    }

    async fn create(
        self,
        head: &RequestHead,
        platform: &Platform,
        object: NewManagedObject,
    ) -> Result<HttpResponse> {
        let (caller, Children { parent, kind }) = (self.caller, self.of);
        caller.require_any(&[role::INVENTORY_ADMIN, role::INVENTORY_CREATE])?;
        let as_object = head.accepted("managedObject");
        let as_reference = head.accepted("managedObjectReference");
        if let (Err(refusal), Err(_)) = (&as_object, &as_reference) {
            return Err(refusal.clone());
        }
        let (links, mode) = (self.origin.links.clone(), self.origin.mode);
        let message = CreateChild { kind, object: Arc::new(object), origin: self.origin };
        let child = platform.tenant(&caller.tenant).ask_device(parent, message).await?;
        match as_object {
            Ok(media_type) => {
                let location = links.managed_object(child.id);
                let response = reply::created(head, media_type, location, &child, &links);
                Ok(reply::with_first_revision(response, mode))
            }
            Err(_) => {
                let child = ManagedObject::clone(&child);
                let reference = Arc::new(ManagedObjectReference::to_child(kind, parent, child));
                Ok(reply::created(head, as_reference?, reference.link(&links), &reference, &links))
            }
        }
    }

    async fn add(&self, platform: &Platform, children: Vec<ManagedObjectId>) -> Result<()> {
        let message = AddChildren { kind: self.of.kind, children, origin: self.origin.clone() };
        Ok(platform.tenant(&self.caller.tenant).ask_device(self.of.parent, message).await?)
    }
}

fn children(parent: &str, block: &str) -> Result<Children> {
    let kind = LinkKind::of_children(block).ok_or_else(|| ApiError::NoSuchPath(block.to_owned()))?;
    Ok(Children { parent: ManagedObjectId::parse(parent)?, kind })
}

async fn reference(
    platform: &Platform,
    caller: &Caller,
    of: Children,
    child: ManagedObjectId,
) -> Result<ManagedObjectReference> {
    if !platform_store::devices::inventory::links::is_child(platform.database(), &caller.tenant, of, child)
        .await?
    {
        return Err(Error::not_found(Noun::Link, child).into());
    }
    let reference = reference_unlinked(platform, caller, of, child).await?;
    if caller.may_see(platform, &reference.object).await? {
        Ok(reference)
    } else {
        Err(ApiError::forbidden())
    }
}

/// Returns the reference without a check of the link, for a child that was just added: in mode TRANSIENT no
/// link was stored.
async fn reference_unlinked(
    platform: &Platform,
    caller: &Caller,
    of: Children,
    child: ManagedObjectId,
) -> Result<ManagedObjectReference> {
    let (database, wanted) = (platform.database(), WantedReferences::default());
    let child = platform_store::devices::inventory::managed_objects::get_managed_object(
        database,
        &caller.tenant,
        child,
        wanted,
    )
    .await?;
    Ok(ManagedObjectReference::to_child(of.kind, of.parent, child))
}
