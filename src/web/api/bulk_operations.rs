//! `/devicecontrol/bulkoperations` (docs/rules.md#bulk-operations; K-01 to K-11).

use actix_web::{HttpResponse, web};
use platform_actors::Platform;
use platform_model::access::Api;
use platform_model::data::bulk_operation::{BulkOperationPatch, DeletedOnes, NewBulkOperation};
use platform_model::id::BulkOperationId;
use platform_model::role;
use platform_store::devices::bulk::operations::{
    delete_bulk_operation, get_bulk_operation, list_bulk_operations,
};

use crate::auth::Caller;
use crate::http::body::UnreadBody;
use crate::http::component::Component;
use crate::http::error::Result;
use crate::http::idempotency::once;
use crate::http::paging::Listing;
use crate::http::{RequestHead, reply};

/// `POST /devicecontrol/bulkoperations`: plans operations for the devices of a group, or for the devices
/// where an earlier bulk operation failed (K-03, K-04). Returns 201; the bulk operation starts by itself.
///
/// # Errors
/// 403 without ROLE_BULK_OPERATION_ADMIN, 422 for an invalid body, an unknown group or an unknown parent.
pub async fn create(
    caller: Caller,
    head: RequestHead,
    body: UnreadBody,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    caller.require(role::BULK_OPERATION_ADMIN)?;
    let origin = caller.origin(&head, role::BULK_OPERATION_ADMIN, Api::Operation)?;
    let (media_type, body) = body.object(&["bulkOperation"]).await?;
    once(&head, &caller.tenant, media_type, (origin, body), async |origin, body, media_type| {
        let new = NewBulkOperation::parse(body)?;

        let planned = platform.create_bulk_operation(&caller.tenant, &new, &origin);
        let bulk_operation = Box::pin(planned).await?;

        let links = origin.links;
        let location = links.bulk_operation(bulk_operation.id);
        Ok(reply::created(&head, media_type, location, &bulk_operation, &links))
    })
    .await
}

/// `GET /devicecontrol/bulkoperations`: returns a page of bulk operations by id. Deleted ones are included
/// only with `withDeleted=true` (K-07).
///
/// # Errors
/// 403 without ROLE_BULK_OPERATION_READ, 422 for an invalid parameter.
pub async fn list(caller: Caller, head: RequestHead, platform: Component<Platform>) -> Result<HttpResponse> {
    caller.require(role::BULK_OPERATION_READ)?;
    let listing = Listing::of(&head, "bulkOperationCollection")?;
    let deleted = match listing.query.flag("withDeleted")? {
        Some(true) => DeletedOnes::Shown,
        _ => DeletedOnes::Hidden,
    };
    let page = list_bulk_operations(platform.database(), &caller.tenant, deleted, &listing.request).await?;
    listing.respond("bulkOperations", &page)
}

/// `GET /devicecontrol/bulkoperations/<id>`: returns a bulk operation, even a deleted one (K-07).
///
/// # Errors
/// 403 without ROLE_BULK_OPERATION_READ, 404 for an unknown id.
pub async fn get(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    caller.require(role::BULK_OPERATION_READ)?;
    let media_type = head.accepted("bulkOperation")?;
    let (database, id) = (platform.database(), BulkOperationId::parse(&path)?);
    let bulk_operation = get_bulk_operation(database, &caller.tenant, id).await?;
    Ok(reply::found(media_type, &bulk_operation, &head.links()))
}

/// `PUT /devicecontrol/bulkoperations/<id>`: changes start, ramp and prototype. A bulk operation that has
/// started is replaced by a new one, which is returned (K-08).
///
/// # Errors
/// 403 without ROLE_BULK_OPERATION_ADMIN, 404 for an unknown id, 409 for a deleted one, 422 for an invalid
/// body or a group that does not exist any more.
pub async fn update(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    body: UnreadBody,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    caller.require(role::BULK_OPERATION_ADMIN)?;
    let origin = caller.origin(&head, role::BULK_OPERATION_ADMIN, Api::Operation)?;
    let id = BulkOperationId::parse(&path)?;
    get_bulk_operation(platform.database(), &caller.tenant, id).await?;
    let (media_type, patch) = body.parse(&["bulkOperation"], BulkOperationPatch::parse).await?;

    let bulk_operation = platform.update_bulk_operation(&caller.tenant, id, &patch, &origin).await?;

    Ok(reply::updated(&head, media_type, &bulk_operation, &origin.links))
}

/// `DELETE /devicecontrol/bulkoperations/<id>`: stops creating operations; those that were created stay
/// (K-07). Returns 204, also when the bulk operation is already deleted.
///
/// # Errors
/// 403 without ROLE_BULK_OPERATION_ADMIN, 404 for an unknown id.
pub async fn remove(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    caller.require(role::BULK_OPERATION_ADMIN)?;
    let mode = head.mode()?;
    let (database, id) = (platform.database(), BulkOperationId::parse(&path)?);
    if mode.stores() {
        delete_bulk_operation(database, &caller.tenant, id).await?
    } else {
        drop(get_bulk_operation(database, &caller.tenant, id).await?)
    }
    Ok(HttpResponse::NoContent().finish())
}
