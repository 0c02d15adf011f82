//! `/inventory/managedObjects` (document 2, Inventory; rulings I-01 to I-16).

use std::collections::HashSet;
use std::sync::Arc;

use actix_web::{HttpResponse, web};
use platform_actors::device::{DeleteManagedObject, NewObject, UpdateManagedObject};
use platform_actors::model::access::{Api, Ownership, Permission};
use platform_actors::model::id::ManagedObjectId;
use platform_actors::model::inventory_query::InventoryQuery;
use platform_actors::model::managed_object::{
    ManagedObject, ManagedObjectFilter, ManagedObjectPatch, NewManagedObject,
};
use platform_actors::model::role;
use platform_actors::naming::naming;
use platform_actors::store;
use platform_actors::store::access::Source;

use crate::auth::Caller;
use crate::http::body::Unread;
use crate::http::error::{ApiError, Result};
use crate::http::paging::page_request;
use crate::http::query::Query;
use crate::http::{Wire, reply};
use crate::server::Edge;

/// `POST /inventory/managedObjects`: creates an object that belongs to the caller.
///
/// # Errors
/// 403 without ROLE_INVENTORY_ADMIN or ROLE_INVENTORY_CREATE, 422 for a wrong body, 503 when it cannot be stored now.
pub async fn create(caller: Caller, wire: Wire, body: Unread, edge: web::Data<Edge>) -> Result<HttpResponse> {
    if !caller.roles.has(role::INVENTORY_ADMIN) {
        caller.require(role::INVENTORY_CREATE)?;
    }
    let origin = caller.origin(&wire, role::INVENTORY_ADMIN, Api::ManagedObject)?;
    let media_type = wire.accepted("managedObject")?;
    wire.check_content_type(&["managedObject"])?;
    let object = NewManagedObject::parse(body.json(edge.limits().body_bytes).await?)?;
    let links = origin.links.clone();

    let object =
        edge.platform.tenant(&caller.tenant).create_managed_object(NewObject { object, origin }).await?;

    Ok(reply::created(&wire, media_type, links.managed_object(object.id), &object, &links))
}

/// `GET /inventory/managedObjects`: a page of objects by ascending id, filtered by I-07 and I-08; without
/// ROLE_INVENTORY_READ only what the caller owns, what device permissions name and what is global (I-05, P-07).
///
/// # Errors
/// 422 for a wrong parameter or query, 413 when it takes too long.
pub async fn list(caller: Caller, wire: Wire, edge: web::Data<Edge>) -> Result<HttpResponse> {
    let authority = caller.authority(role::INVENTORY_READ, Api::ManagedObject, Permission::Read);
    let media_type = wire.accepted("managedObjectCollection")?;
    let query = Query::parse(wire.query_string());
    let request = page_request(&query)?;
    let filter = filter(&query)?;
    let (database, by) = (edge.platform.database(), (&authority, &*caller.user));
    let page =
        store::inventory_collection::list_managed_objects(database, &caller.tenant, &filter, by, &request)
            .await?;
    reply::page(&wire, media_type, "managedObjects", &page, (&request, &query))
}

/// Reads the filters of I-07.
fn filter(query: &Query) -> Result<ManagedObjectFilter> {
    let text = |name: &str| query.get(name).map(ToOwned::to_owned);
    let mut filter = ManagedObjectFilter {
        type_: text("type"),
        fragment_type: text("fragmentType"),
        // Every word starts with nothing.
        text: text("text").filter(|text| !text.is_empty()),
        owner: text("owner"),
        query: query.get("query").map(InventoryQuery::parse).transpose()?,
        ..ManagedObjectFilter::default()
    };
    if query.get("ids").is_some() {
        // Ids that are none name nothing: they are dropped like unknown ones (I-07). An object is given once.
        let ids = query.list("ids").into_iter().filter_map(|id| ManagedObjectId::parse(id).ok());
        let mut known = HashSet::new();
        filter.ids = Some(ids.filter(|id| known.insert(*id)).collect());
    }
    for (name, child) in [
        ("childDeviceId", &mut filter.child_device),
        ("childAssetId", &mut filter.child_asset),
        ("childAdditionId", &mut filter.child_addition),
    ] {
        match query.get(name).map(ManagedObjectId::parse) {
            Some(Ok(id)) => *child = Some(id),
            // What is no id has no parents.
            Some(Err(_)) => filter.ids = Some(Vec::new()),
            None => {}
        }
    }
    Ok(filter)
}

/// `GET /inventory/managedObjects/<id>`.
///
/// # Errors
/// 403 for an object the caller may not see, 404 for an unknown id (E-04).
pub async fn get(
    caller: Caller,
    wire: Wire,
    path: web::Path<String>,
    edge: web::Data<Edge>,
) -> Result<HttpResponse> {
    let media_type = wire.accepted("managedObject")?;
    let object = find(&edge, &caller, &path).await?;
    let global = object.fragments.get(&naming().fragment("Global")).is_some();
    if !global {
        let authority = caller.authority(role::INVENTORY_READ, Api::ManagedObject, Permission::Read);
        let by = (&authority, &*caller.user, Ownership::Counts);
        let id = ManagedObjectId::parse(&path)?;
        store::access::authorize(edge.platform.database(), &caller.tenant, id, by, Source::has_fragment)
            .await?;
    }
    Ok(reply::found(media_type, &object, &wire.links()))
}

/// `PUT /inventory/managedObjects/<id>`: changes what was sent; an empty body object is a heartbeat (I-15).
///
/// # Errors
/// 403 without role or ownership, or for a new owner without ROLE_INVENTORY_ADMIN; 404 for an unknown id, 422 for a
/// wrong body.
pub async fn update(
    caller: Caller,
    wire: Wire,
    path: web::Path<String>,
    body: Unread,
    edge: web::Data<Edge>,
) -> Result<HttpResponse> {
    let origin = caller.origin(&wire, role::INVENTORY_ADMIN, Api::ManagedObject)?;
    let media_type = wire.accepted("managedObject")?;
    wire.check_content_type(&["managedObject"])?;
    let mut patch = ManagedObjectPatch::parse(body.json(edge.limits().body_bytes).await?)?;
    let id = ManagedObjectId::parse(&path)?;
    if patch.owner.is_some() && !caller.roles.has(role::INVENTORY_ADMIN) {
        // Sending back the owner one has read is no change of owner.
        let current = find(&edge, &caller, &path).await?;
        match patch.owner.take() {
            Some(owner) if owner != current.owner => return Err(ApiError::forbidden()),
            _ => {}
        }
    }
    let links = origin.links.clone();

    let message = UpdateManagedObject { patch: Arc::new(patch), origin: Arc::new(origin) };
    let object = edge.platform.tenant(&caller.tenant).ask_device(id, message).await?;

    Ok(reply::updated(&wire, media_type, &object, &links))
}

/// `DELETE /inventory/managedObjects/<id>`: 204 when the object and all its data are gone (I-10).
///
/// # Errors
/// 403 without role or ownership, 404 for an unknown id.
pub async fn remove(
    caller: Caller,
    wire: Wire,
    path: web::Path<String>,
    edge: web::Data<Edge>,
) -> Result<HttpResponse> {
    let origin = Arc::new(caller.origin(&wire, role::INVENTORY_ADMIN, Api::ManagedObject)?);
    let id = ManagedObjectId::parse(&path)?;
    edge.platform.tenant(&caller.tenant).ask_device(id, DeleteManagedObject { origin }).await?;
    Ok(HttpResponse::NoContent().finish())
}

async fn find(edge: &Edge, caller: &Caller, id: &str) -> Result<ManagedObject> {
    let id = ManagedObjectId::parse(id)?;
    Ok(store::managed_objects::get_managed_object(edge.platform.database(), &caller.tenant, id).await?)
}
