//! `/inventory/managedObjects` (docs/rules.md#inventory; I-01 to I-16).

use std::collections::HashSet;
use std::sync::Arc;

use actix_web::http::header;
use actix_web::{HttpResponse, web};
use platform_actors::Platform;
use platform_actors::device::{DeleteManagedObject, UpdateManagedObject};
use platform_actors::writes::NewObject;
use platform_model::access::{Api, Authority, Permission};
use platform_model::devices::inventory_query::InventoryQuery;
use platform_model::devices::managed_object::{
    Cascade, ManagedObject, ManagedObjectFilter, ManagedObjectPatch, NewManagedObject,
};
use platform_model::devices::reference::{WantedParents, WantedReferences};
use platform_model::error::Error;
use platform_model::id::ManagedObjectId;
use platform_model::naming::naming;
use platform_model::origin::Origin;
use platform_model::page::{Page, PageRequest};
use platform_model::role;
use platform_store::Database;
use platform_store::devices::inventory::{collection, links};

use crate::auth::Caller;
use crate::http::body::UnreadBody;
use crate::http::component::Component;
use crate::http::error::{ApiError, Result};
use crate::http::idempotency::once;
use crate::http::paging::Listing;
use crate::http::query::Query;
use crate::http::{RequestHead, reply};

/// `POST /inventory/managedObjects`: creates an object, owned by the caller.
///
/// # Errors
/// 403 without ROLE_INVENTORY_ADMIN or ROLE_INVENTORY_CREATE, 422 for an invalid body, 503 when it cannot be
/// stored now.
pub async fn create(
    caller: Caller,
    head: RequestHead,
    body: UnreadBody,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    caller.require_any(&[role::INVENTORY_ADMIN, role::INVENTORY_CREATE])?;
    let origin = caller.origin(&head, role::INVENTORY_ADMIN, Api::ManagedObject)?;
    let (media_type, body) = body.object(&["managedObject"]).await?;
    let mode = origin.mode;
    let response =
        once(&head, &caller.tenant, media_type, (origin, body), async |origin, body, media_type| {
            let (object, links) = (NewManagedObject::parse(body)?, origin.links.clone());

            let new = NewObject { object, origin };
            let object = platform.tenant(&caller.tenant).create_managed_object(new).await?;

            Ok(reply::created(&head, media_type, links.managed_object(object.id), &object, &links))
        })
        .await?;
    Ok(reply::with_first_revision(response, mode))
}

/// `GET /inventory/managedObjects`: returns a page of objects by ascending id, filtered by I-07 and I-08. A
/// caller without ROLE_INVENTORY_READ gets only objects that it owns, that its device permissions cover or
/// that are global (I-05, P-07).
///
/// # Errors
/// 422 for an invalid parameter or query, 413 when it takes too long.
pub async fn list(caller: Caller, head: RequestHead, platform: Component<Platform>) -> Result<HttpResponse> {
    let authority = authority(&caller);
    let listing = Listing::of(&head, "managedObjectCollection")?;
    let page = page(&caller, platform.database(), &listing.query, &listing.request, &authority).await?;
    listing.respond("managedObjects", &page)
}

/// Returns the authority by which a caller reads the collection.
pub(crate) fn authority(caller: &Caller) -> Authority {
    caller.authority(role::INVENTORY_READ, Api::ManagedObject, Permission::Read)
}

/// Returns the page of the collection that a query describes.
///
/// # Errors
/// 422 for an invalid parameter or query, 413 when it takes too long.
pub(crate) async fn page(
    caller: &Caller,
    database: &Database,
    query: &Query,
    request: &PageRequest,
    authority: &Authority,
) -> Result<Page<ManagedObject>> {
    let (filter, wanted) = (filter(query)?, wanted_references(query)?);
    let (tenant, user) = (&caller.tenant, &caller.user);
    let mut page =
        collection::list_managed_objects(database, tenant, &filter, authority, user, request).await?;
    links::add_references(database, tenant, &mut page.members, wanted).await?;
    Ok(page)
}

/// Parses the filters of I-07.
fn filter(query: &Query) -> Result<ManagedObjectFilter> {
    let text = |name: &str| query.get(name).map(ToOwned::to_owned);
    let mut filter = ManagedObjectFilter {
        type_: text("type"),
        fragment_type: query.fragment("fragmentType")?,
        // Every text starts with the empty prefix, so an empty filter is dropped.
        text: text("text").filter(|text| !text.is_empty()),
        owner: text("owner"),
        query: inventory_query(query)?,
        ..ManagedObjectFilter::default()
    };
    if query.get("ids").is_some() {
        // Invalid ids are ignored like unknown ones (I-07). An object is listed once.
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
            // An invalid id has no parents.
            Some(Err(_)) => filter.ids = Some(Vec::new()),
            None => {}
        }
    }
    Ok(filter)
}

/// Parses the parameter `query`, or `q`, which is the same query restricted to devices (I-08, C-18).
fn inventory_query(query: &Query) -> Result<Option<InventoryQuery>> {
    match (query.get("query"), query.get("q")) {
        (Some(_), Some(q)) => {
            Err(Error::invalid_value("q", q, "one of the parameters 'q' and 'query'").into())
        }
        (Some(text), None) => Ok(Some(InventoryQuery::parse(text)?)),
        (None, Some(text)) => {
            Ok(Some(InventoryQuery::parse(text)?.with_fragment(naming().fragment("IsDevice"))))
        }
        (None, None) => Ok(None),
    }
}

/// `GET /inventory/managedObjects/<id>`: returns an object.
///
/// # Errors
/// 403 for an object the caller may not see, 404 for an unknown id (E-04).
pub async fn get(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let media_type = head.accepted("managedObject")?;
    let id = ManagedObjectId::parse(&path)?;
    let wanted = wanted_references(&Query::parse(head.query_string()))?;
    let object = caller.sees(&platform, id, wanted).await?;
    Ok(reply::with_revision(reply::found(media_type, &object, &head.links()), object.revision))
}

/// `PUT /inventory/managedObjects/<id>`: changes the members that were sent. An empty JSON object is a
/// heartbeat (I-15).
///
/// # Errors
/// 403 without the role or ownership, or for a new owner without ROLE_INVENTORY_ADMIN; 404 for an unknown id, 412
/// for another revision than `If-Match` allows, 422 for an invalid body.
pub async fn update(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    body: UnreadBody,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let origin = Origin {
        precondition: head.precondition()?,
        ..caller.origin(&head, role::INVENTORY_ADMIN, Api::ManagedObject)?
    };
    let id = ManagedObjectId::parse(&path)?;
    caller.finds(&platform, id, &origin.authority).await?;
    let (media_type, mut patch) = body.parse(&["managedObject"], ManagedObjectPatch::parse).await?;
    if patch.owner.is_some() && !caller.roles.has(role::INVENTORY_ADMIN) {
        // A client may send back the owner it has read; that is not a change of owner.
        let (database, wanted) = (platform.database(), WantedReferences::default());
        let current = platform_store::devices::inventory::managed_objects::get_managed_object(
            database,
            &caller.tenant,
            id,
            wanted,
        )
        .await?;
        match patch.owner.take() {
            Some(owner) if owner != current.owner => return Err(ApiError::forbidden()),
            _ => {}
        }
    }
    let links = origin.links.clone();

    let message = UpdateManagedObject { patch: Arc::new(patch), origin: Arc::new(origin) };
    let object = platform.tenant(&caller.tenant).ask_device(id, message).await?;

    Ok(reply::with_revision(reply::updated(&head, media_type, &object, &links), object.revision))
}

/// `DELETE /inventory/managedObjects/<id>`: deletes the object with all its data and returns 204. The
/// subgroups of a group are deleted too; with `cascade=true` also child devices and child assets of devices
/// and groups, with `forceCascade=true` those of any object (I-10).
///
/// # Errors
/// 403 without the role or ownership, 404 for an unknown id, 412 for another revision than `If-Match` allows.
pub async fn remove(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let origin = Origin {
        precondition: head.precondition()?,
        ..caller.origin(&head, role::INVENTORY_ADMIN, Api::ManagedObject)?
    };
    let query = Query::parse(head.query_string());
    let cascade = match (query.flag("forceCascade")?, query.flag("cascade")?) {
        (Some(true), _) => Cascade::Everything,
        (_, Some(true)) => Cascade::DevicesAndGroups,
        _ => Cascade::Subgroups,
    };
    let id = ManagedObjectId::parse(&path)?;
    let message = DeleteManagedObject { cascade, origin: Arc::new(origin) };
    platform.tenant(&caller.tenant).ask_device(id, message).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// `GET /inventory/managedObjects/<id>/supportedMeasurements`: returns the fragments that the object has
/// measured, sorted (I-09).
///
/// # Errors
/// 403 for an object the caller may not see, 404 for an unknown id.
pub async fn supported_measurements(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let mut fragments: Vec<String> =
        series(&caller, &path, &platform).await?.into_iter().map(|(fragment, _)| fragment).collect();
    fragments.dedup();
    names(&head, "SupportedMeasurements", fragments)
}

/// `GET /inventory/managedObjects/<id>/supportedSeries`: returns each `<fragment>.<series>` that the object
/// has measured, sorted (I-09).
///
/// # Errors
/// 403 for an object the caller may not see, 404 for an unknown id.
pub async fn supported_series(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let series = series(&caller, &path, &platform).await?;
    let mut series: Vec<String> = series.into_iter().map(|(f, s)| format!("{f}.{s}")).collect();
    // The names must be sorted again: fragment `a-b` comes after `a`, but `a-b.x` before `a.x`.
    series.sort_unstable();
    names(&head, "SupportedSeries", series)
}

async fn series(caller: &Caller, id: &str, platform: &Platform) -> Result<Vec<(String, String)>> {
    let id = ManagedObjectId::parse(id)?;
    caller.sees(platform, id, WantedReferences::NONE).await?;
    Ok(platform_store::devices::inventory::managed_objects::list_series(
        platform.database(),
        &caller.tenant,
        id,
    )
    .await?)
}

fn names(head: &RequestHead, member: &str, names: Vec<String>) -> Result<HttpResponse> {
    let media_type = head.accepted("supportedMeasurements")?;
    let body = serde_json::json!({ naming().fragment(member): names });
    Ok(HttpResponse::Ok().insert_header((header::CONTENT_TYPE, media_type)).body(body.to_string()))
}

/// Parses which references to return: children unless `withChildren=false`; parents always, with their names
/// if `withParents=true` (I-01a, I-02).
///
/// # Errors
/// `Invalid` for a value other than true and false.
fn wanted_references(query: &Query) -> Result<WantedReferences> {
    Ok(WantedReferences {
        children: query.flag("withChildren")?.unwrap_or(true),
        parents: match query.flag("withParents")? {
            Some(true) => WantedParents::Named,
            _ => WantedParents::Unnamed,
        },
    })
}
