//! `/event/events` (docs/rules.md#events; V-01, V-02).

use std::sync::Arc;

use actix_web::{HttpResponse, web};
use platform_actors::Platform;
use platform_actors::device::{DeleteEvent, UpdateEvent};
use platform_actors::writes::PublicationTurn;
use platform_model::access::{Api, Authority};
use platform_model::data::event::{Event, EventFilter, EventPatch, NewEvent};
use platform_model::error::Noun;
use platform_model::id::{EventId, ManagedObjectId};
use platform_model::origin::Origin;
use platform_model::page::{Page, PageRequest, TimeOrder};
use platform_model::role;
use platform_store::Database;
use platform_store::data::events::collection;

use crate::auth::Caller;
use crate::http::body::{JsonBody, UnreadBody, object_of};
use crate::http::component::Component;
use crate::http::error::{ApiError, Result};
use crate::http::head::Head;
use crate::http::idempotency::once;
use crate::http::paging::Listing;
use crate::http::query::Query;
use crate::http::{RequestHead, reply};

/// `POST /event/events`: creates an event.
///
/// # Errors
/// 403 without the role or ownership, 422 for an invalid body or an unknown source, 503 when it cannot be
/// stored now.
pub async fn create(caller: Caller, head: RequestHead, body: UnreadBody) -> Result<HttpResponse> {
    create_of(&caller, &head, body, head.take_turn()).await
}

/// Creates an event as [`create`] does, for both HTTP servers.
///
/// # Errors
/// The errors of [`create`].
pub(crate) async fn create_of(
    caller: &Caller,
    head: &impl Head,
    body: impl JsonBody,
    turn: Option<PublicationTurn>,
) -> Result<HttpResponse> {
    let origin = caller.origin_of_data(head, role::EVENT_ADMIN, Api::Event)?;
    let (media_type, body) = object_of(head, body, &["event"]).await?;
    let mode = origin.mode;
    let response =
        once(head, &caller.tenant, media_type, (origin, body), async |origin, body, media_type| {
            let event = NewEvent::parse(body)?;

            let tenant = head.state::<Platform>().tenant(&caller.tenant);
            let event = tenant.create_event(event, &origin, turn).await?;

            Ok(reply::created(head, media_type, origin.links.event(event.id), &event, &origin.links))
        })
        .await?;
    Ok(reply::with_first_revision(response, mode))
}

/// `GET /event/events`: returns a page of events, newest first (V-01). A caller without ROLE_EVENT_READ gets
/// those of a `source` it owns (U-10a), or those its device permissions cover (P-07).
///
/// # Errors
/// 403 without any of these, 422 for an invalid parameter, 413 when the query takes too long.
pub async fn list(caller: Caller, head: RequestHead, platform: Component<Platform>) -> Result<HttpResponse> {
    let query = Query::parse(head.query_string());
    let authority = authority(&caller, &platform, &query).await?;
    let listing = Listing::new(&head, head.accepted("eventCollection")?, query)?;
    let page = page(&caller, platform.database(), &listing.query, &listing.request, &authority).await?;
    listing.respond("events", &page)
}

/// Returns the authority by which a caller reads the collection.
///
/// # Errors
/// 403 without the role, ownership of the source or a device permission.
pub(crate) async fn authority(caller: &Caller, platform: &Platform, query: &Query) -> Result<Authority> {
    caller.reads_collection(platform, role::EVENT_READ, Api::Event, query, &["source"]).await
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
) -> Result<Page<Event>> {
    let Some(filter) = filter(query)? else { return Ok(request.empty()) };
    let tenant = &caller.tenant;
    Ok(collection::list_events(database, tenant, &filter, authority, request).await?)
}

/// `GET /event/events/<id>`: returns an event.
///
/// # Errors
/// 403 without ROLE_EVENT_READ, ownership of the source (U-10a) or a device permission, 404 for an unknown
/// id.
pub async fn get(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let authority = caller.reads(role::EVENT_READ, Api::Event);
    let media_type = head.accepted("event")?;
    let database = platform.database();
    let event =
        platform_store::data::events::get_event(database, &caller.tenant, EventId::parse(&path)?).await?;
    caller
        .reaches_data_of(&platform, event.source, &authority, |name| event.fragments.get(name).is_some())
        .await?;
    Ok(reply::with_revision(reply::found(media_type, &event, &head.links()), event.revision))
}

/// `PUT /event/events/<id>`: changes text and fragments; ignores the rest (V-02).
///
/// # Errors
/// 403 without the role or ownership, 404 for an unknown id, 412 for another revision than `If-Match` allows, 422
/// for an invalid body.
pub async fn update(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    body: UnreadBody,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let origin = Origin {
        precondition: head.precondition()?,
        ..caller.origin_of_data(&head, role::EVENT_ADMIN, Api::Event)?
    };
    let id = EventId::parse(&path)?;
    let event =
        Arc::new(platform_store::data::events::get_event(platform.database(), &caller.tenant, id).await?);
    caller
        .reaches_data_of(&platform, event.source, &origin.authority, |name| {
            event.fragments.get(name).is_some()
        })
        .await?;
    let (media_type, patch) = body.parse(&["event"], |body| EventPatch::parse(body).map(Arc::new)).await?;
    let (source, links) = (event.source, origin.links.clone());

    let message = UpdateEvent { event, patch, origin: Arc::new(origin) };
    let event = platform
        .tenant(&caller.tenant)
        .ask_device(source, message)
        .await
        .map_err(|e| ApiError::gone_with_source(e, Noun::Event, id))?;

    Ok(reply::with_revision(reply::updated(&head, media_type, &event, &links), event.revision))
}

/// `DELETE /event/events/<id>`: deletes an event and its file, and returns 204.
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
        ..caller.origin_of_data(&head, role::EVENT_ADMIN, Api::Event)?
    };
    let id = EventId::parse(&path)?;
    let event =
        Arc::new(platform_store::data::events::get_event(platform.database(), &caller.tenant, id).await?);
    let source = event.source;
    let message = DeleteEvent { event, origin: Arc::new(origin) };
    platform
        .tenant(&caller.tenant)
        .ask_device(source, message)
        .await
        .map_err(|e| ApiError::gone_with_source(e, Noun::Event, id))?;
    Ok(HttpResponse::NoContent().finish())
}

/// `DELETE /event/events`: deletes everything that matches the filters of GET, or all when there are none.
/// Returns 204 when all are deleted. If the client disconnects earlier, the rest stays.
///
/// # Errors
/// 403 without ROLE_EVENT_ADMIN, 422 for an invalid or unknown parameter (C-19).
pub async fn remove_many(
    caller: Caller,
    head: RequestHead,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    caller.require(role::EVENT_ADMIN)?;
    let origin = caller.origin_of_data(&head, role::EVENT_ADMIN, Api::Event)?;
    let query = Query::parse(head.query_string());
    query.only_filters(&FILTERS)?;
    let filter = filter(&query)?;
    if let (Some(filter), true) = (filter, origin.mode.stores()) {
        platform.tenant(&caller.tenant).delete_events(&filter, &origin).await?;
    }
    Ok(HttpResponse::NoContent().finish())
}

/// The filters of V-01.
const FILTERS: [&str; 9] = [
    "source",
    "withSourceAssets",
    "withSourceDevices",
    "withAssets",
    "withDevices",
    "type",
    "fragmentType",
    "dateFrom",
    "dateTo",
];

/// Parses the filters of V-01. Returns `None` when no event can match them.
fn filter(query: &Query) -> Result<Option<EventFilter>> {
    let with_descendants = query.with_descendants()?;
    let fragment_type = query.fragment("fragmentType")?;
    let source = query.get("source").map(ManagedObjectId::parse).transpose();
    let order = query.time_order(TimeOrder::NewestFirst)?;
    let (date_from, date_to) = (query.time("dateFrom")?, query.time("dateTo")?);
    // A source that is not an id is not an error: it has no events.
    let Ok(source) = source else { return Ok(None) };
    let type_ = query.get("type").map(ToOwned::to_owned);
    Ok(Some(EventFilter { type_, fragment_type, source, with_descendants, date_from, date_to, order }))
}
