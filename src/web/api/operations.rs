//! `/devicecontrol/operations` (docs/rules.md#operations; O-01 to O-10).

use std::sync::Arc;

use actix_web::{HttpMessage, HttpRequest, HttpResponse, web};
use platform_actors::Platform;
use platform_actors::device::{QueueOperation, UpdateOperation};
use platform_model::access::{Api, Authority};
use platform_model::data::operation::{
    NewOperation, Operation, OperationFilter, OperationPatch, OperationStatus,
};
use platform_model::error::Noun;
use platform_model::id::{BulkOperationId, ManagedObjectId, OperationId};
use platform_model::origin::Origin;
use platform_model::page::{Page, PageRequest, TimeOrder};
use platform_model::role;
use platform_store::Database;
use platform_store::data::operations::collection;

use crate::auth::Caller;
use crate::http::body::UnreadBody;
use crate::http::component::Component;
use crate::http::error::{ApiError, Result};
use crate::http::idempotency::once;
use crate::http::paging::Listing;
use crate::http::query::Query;
use crate::http::{RequestHead, reply};

/// The status an operation must be in to be changed. It is an extension of requests that the server makes to
/// itself; a request from a socket cannot carry it (H-07).
#[derive(Debug, Clone, Copy)]
pub(crate) struct OnlyFrom(pub(crate) OperationStatus);

/// `POST /devicecontrol/operations`: queues an operation for a device. Its status is always PENDING (O-04).
///
/// # Errors
/// 403 without the role, ownership or a permission; 422 for an invalid body, an unknown device, or a device
/// without an agent (O-01); 503 when it cannot be stored now.
pub async fn create(
    caller: Caller,
    head: RequestHead,
    body: UnreadBody,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let origin = caller.origin(&head, role::DEVICE_CONTROL_ADMIN, Api::Operation)?;
    let (media_type, body) = body.object(&["operation"]).await?;
    let mode = origin.mode;
    let response =
        once(&head, &caller.tenant, media_type, (origin, body), async |origin, body, media_type| {
            let operation = Arc::new(NewOperation::parse(body)?);
            let (device, links) = (operation.device, origin.links.clone());

            let message = QueueOperation { operation, origin: Arc::new(origin) };
            let operation = platform.tenant(&caller.tenant).ask_device(device, message).await?;

            Ok(reply::created(&head, media_type, links.operation(operation.id), &operation, &links))
        })
        .await?;
    Ok(reply::with_first_revision(response, mode))
}

/// `GET /devicecontrol/operations`: returns a page of operations in the order they were queued (O-06). A
/// caller without ROLE_DEVICE_CONTROL_READ gets those of a `deviceId` or `agentId` it owns (U-10a), or those
/// its device permissions cover (P-07).
///
/// # Errors
/// 403 without any of these, 422 for an invalid parameter, 413 when the query takes too long.
pub async fn list(caller: Caller, head: RequestHead, platform: Component<Platform>) -> Result<HttpResponse> {
    let query = Query::parse(head.query_string());
    let authority = authority(&caller, &platform, &query).await?;
    let listing = Listing::new(&head, head.accepted("operationCollection")?, query)?;
    let page = page(&caller, platform.database(), &listing.query, &listing.request, &authority).await?;
    listing.respond("operations", &page)
}

/// Returns the authority by which a caller reads the collection.
///
/// # Errors
/// 403 without the role, ownership of the device or the agent, or a device permission.
pub(crate) async fn authority(caller: &Caller, platform: &Platform, query: &Query) -> Result<Authority> {
    let sources = ["deviceId", "agentId"];
    caller.reads_collection(platform, role::DEVICE_CONTROL_READ, Api::Operation, query, &sources).await
}

/// Returns the page of the collection that a query describes.
///
/// # Errors
/// 422 for an invalid parameter, 413 when the query takes too long.
pub(crate) async fn page(
    caller: &Caller,
    database: &Database,
    query: &Query,
    request: &PageRequest,
    authority: &Authority,
) -> Result<Page<Operation>> {
    let Some(filter) = filter(query)? else { return Ok(request.empty()) };
    let tenant = &caller.tenant;
    Ok(collection::list_operations(database, tenant, &filter, authority, request).await?)
}

/// `GET /devicecontrol/operations/<id>`: returns an operation.
///
/// # Errors
/// 403 without ROLE_DEVICE_CONTROL_READ, ownership of the device (U-10a) or a device permission, 404 for an
/// unknown id.
pub async fn get(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let authority = caller.reads(role::DEVICE_CONTROL_READ, Api::Operation);
    let media_type = head.accepted("operation")?;
    let (database, id) = (platform.database(), OperationId::parse(&path)?);
    let operation = platform_store::data::operations::get_operation(database, &caller.tenant, id).await?;
    caller
        .reaches_data_of(&platform, operation.device, &authority, |name| {
            operation.fragments.get(name).is_some()
        })
        .await?;
    Ok(reply::with_revision(reply::found(media_type, &operation, &head.links()), operation.revision))
}

/// `PUT /devicecontrol/operations/<id>`: changes status, failure reason and fragments; ignores the rest
/// (O-05).
///
/// # Errors
/// 403 without the role, ownership or a permission, 404 for an unknown id, 412 for another revision than `If-Match`
/// allows, 409 when concurrent changes keep winning or the status is not that of [`OnlyFrom`], 422 for an invalid
/// body.
pub async fn update(
    caller: Caller,
    head: RequestHead,
    request: HttpRequest,
    path: web::Path<String>,
    body: UnreadBody,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let origin = Origin {
        precondition: head.precondition()?,
        ..caller.origin(&head, role::DEVICE_CONTROL_ADMIN, Api::Operation)?
    };
    let (database, id) = (platform.database(), OperationId::parse(&path)?);
    let operation =
        Arc::new(platform_store::data::operations::get_operation(database, &caller.tenant, id).await?);
    let has_fragment = |name: &str| operation.fragments.get(name).is_some();
    caller.reaches_data_of(&platform, operation.device, &origin.authority, has_fragment).await?;
    let (media_type, patch) =
        body.parse(&["operation"], |body| OperationPatch::parse(body).map(Arc::new)).await?;
    let only_from = request.extensions().get::<OnlyFrom>().map(|OnlyFrom(status)| *status);
    let (device, links) = (operation.device, origin.links.clone());

    let message = UpdateOperation { operation, patch, only_from, origin: Arc::new(origin) };
    let operation = platform
        .tenant(&caller.tenant)
        .ask_device(device, message)
        .await
        .map_err(|e| ApiError::gone_with_source(e, Noun::Operation, id))?;

    Ok(reply::with_revision(reply::updated(&head, media_type, &operation, &links), operation.revision))
}

/// `DELETE /devicecontrol/operations?<filters>`: deletes everything that matches the filters of GET, or all
/// when there are none (O-08). Returns 204 when all are deleted. If the client disconnects earlier, the rest
/// stays. In mode TRANSIENT nothing is deleted.
///
/// # Errors
/// 403 without ROLE_DEVICE_CONTROL_ADMIN, 422 for an invalid or unknown parameter (C-19).
pub async fn remove_many(
    caller: Caller,
    head: RequestHead,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    caller.require(role::DEVICE_CONTROL_ADMIN)?;
    let mode = head.mode()?;
    let query = Query::parse(head.query_string());
    query.only_filters(&FILTERS)?;
    let filter = filter(&query)?;
    if let Some(filter) = filter.filter(|_| mode.stores()) {
        platform.tenant(&caller.tenant).delete_operations(&filter, &head.links()).await?;
    }
    Ok(HttpResponse::NoContent().finish())
}

/// The filters of O-06.
const FILTERS: [&str; 7] =
    ["agentId", "deviceId", "bulkOperationId", "status", "fragmentType", "dateFrom", "dateTo"];

/// Parses the filters of O-06. Returns `None` when no operation can match them.
fn filter(query: &Query) -> Result<Option<OperationFilter>> {
    let agent = query.get("agentId").map(ManagedObjectId::parse).transpose();
    let device = query.get("deviceId").map(ManagedObjectId::parse).transpose();
    let bulk_operation = query.get("bulkOperationId").map(BulkOperationId::parse).transpose();
    let status = query.get("status").map(OperationStatus::parse).transpose()?;
    let fragment_type = query.fragment("fragmentType")?;
    let order = query.time_order(TimeOrder::OldestFirst)?;
    let (date_from, date_to) = (query.time("dateFrom")?, query.time("dateTo")?);
    // A value that is not an id is not an error: it has no operations.
    let (Ok(agent), Ok(device), Ok(bulk_operation)) = (agent, device, bulk_operation) else {
        return Ok(None);
    };
    Ok(Some(OperationFilter {
        agent,
        device,
        status,
        bulk_operation,
        fragment_type,
        date_from,
        date_to,
        order,
    }))
}
