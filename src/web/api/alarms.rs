//! `/alarm/alarms` (docs/rules.md#alarms; ).

use std::sync::Arc;

use actix_web::http::header;
use actix_web::{HttpResponse, web};
use platform_actors::BulkProgress;
use platform_actors::Platform;
use platform_actors::device::{RaiseAlarm, UpdateAlarm};
use platform_model::access::{Api, Authority};
use platform_model::data::alarm::{
    Alarm, AlarmFilter, AlarmPatch, AlarmStatus, NewAlarm, Severity, bulk_status,
};
use platform_model::error::{Error, Noun};
use platform_model::id::{AlarmId, ManagedObjectId};
use platform_model::origin::Origin;
use platform_model::page::{Page, PageRequest, TimeOrder};
use platform_model::role;
use platform_store::Database;
use platform_store::data::alarms::bulk_updates::NewBulkAlarmUpdate;
use platform_store::data::alarms::collection;

use crate::auth::Caller;
use crate::http::body::{JsonBody, UnreadBody, object_of};
use crate::http::component::Component;
use crate::http::error::{ApiError, Result};
use crate::http::head::Head;
use crate::http::paging::Listing;
use crate::http::query::Query;
use crate::http::{RequestHead, reply};

/// `POST /alarm/alarms`: raises an alarm, or counts a repetition of one. The status is 201 either way.
///
/// # Errors
/// 403 without the role or ownership, 422 for an invalid body or an unknown source, 503 when it cannot be
/// stored now.
pub async fn create(caller: Caller, head: RequestHead, body: UnreadBody) -> Result<HttpResponse> {
    create_of(&caller, &head, body).await
}

/// Raises an alarm as [`create`] does, for both HTTP servers.
///
/// # Errors
/// The errors of [`create`].
pub(crate) async fn create_of(
    caller: &Caller,
    head: &impl Head,
    body: impl JsonBody,
) -> Result<HttpResponse> {
    let origin = caller.origin(head, role::ALARM_ADMIN, Api::Alarm)?;
    let (media_type, body) = object_of(head, body, &["alarm"]).await?;
    let alarm = Arc::new(NewAlarm::parse(body)?);
    let (source, links, stores) = (alarm.source, origin.links.clone(), origin.mode.stores());

    let message = RaiseAlarm { alarm, origin: Arc::new(origin) };
    let alarm = head.state::<Platform>().tenant(&caller.tenant).ask_device(source, message).await?;

    let response = reply::created(head, media_type, links.alarm(alarm.id), &alarm, &links);
    Ok(if stores { reply::with_revision(response, alarm.revision) } else { response })
}

/// `GET /alarm/alarms`: returns a page of alarms, newest first. A caller without ROLE_ALARM_READ gets
/// those of a `source` it owns (U-10a), or those its device permissions cover (P-07).
///
/// # Errors
/// 403 without any of these, 422 for an invalid parameter, 413 when the query takes too long.
pub async fn list(caller: Caller, head: RequestHead, platform: Component<Platform>) -> Result<HttpResponse> {
    let query = Query::parse(head.query_string());
    let authority = authority(&caller, &platform, &query).await?;
    let listing = Listing::new(&head, head.accepted("alarmCollection")?, query)?;
    let page = page(&caller, platform.database(), &listing.query, &listing.request, &authority).await?;
    listing.respond("alarms", &page)
}

/// Returns the authority by which a caller reads the collection.
///
/// # Errors
/// 403 without the role, ownership of the source or a device permission.
pub(crate) async fn authority(caller: &Caller, platform: &Platform, query: &Query) -> Result<Authority> {
    caller.reads_collection(platform, role::ALARM_READ, Api::Alarm, query, &["source"]).await
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
) -> Result<Page<Alarm>> {
    let Some(filter) = filter(query)? else { return Ok(request.empty()) };
    let tenant = &caller.tenant;
    Ok(collection::list_alarms(database, tenant, &filter, authority, request).await?)
}

/// `GET /alarm/alarms/count`: returns the number of alarms that match the filters of the collection, as text
/// (C-18). The number is exact up to a million and estimated beyond (P-03). A caller without ROLE_ALARM_READ
/// gets the number of alarms that [`list`] would list.
///
/// # Errors
/// The errors of [`list`].
pub async fn count(caller: Caller, head: RequestHead, platform: Component<Platform>) -> Result<HttpResponse> {
    let query = Query::parse(head.query_string());
    let authority = authority(&caller, &platform, &query).await?;
    let database = platform.database();
    let count = match filter(&query)? {
        Some(filter) => collection::count_alarms(database, &caller.tenant, &filter, &authority).await?,
        None => 0,
    };
    Ok(HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, "text/plain;charset=UTF-8"))
        .body(count.to_string()))
}

/// `GET /alarm/alarms/<id>`: returns an alarm.
///
/// # Errors
/// 403 without ROLE_ALARM_READ, ownership of the source (U-10a) or a device permission, 404 for an unknown
/// id.
pub async fn get(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let authority = caller.reads(role::ALARM_READ, Api::Alarm);
    let media_type = head.accepted("alarm")?;
    let database = platform.database();
    let alarm =
        platform_store::data::alarms::get_alarm(database, &caller.tenant, AlarmId::parse(&path)?).await?;
    caller
        .reaches_data_of(&platform, alarm.source, &authority, |name| alarm.fragments.get(name).is_some())
        .await?;
    Ok(reply::with_revision(reply::found(media_type, &alarm, &head.links()), alarm.revision))
}

/// `PUT /alarm/alarms/<id>`: changes text, status, severity and fragments; ignores the rest.
///
/// # Errors
/// 403 without the role or ownership, 404 for an unknown id, 412 for another revision than `If-Match` allows, 409
/// when a second alarm of its type would be open, 422 for an invalid body.
pub async fn update(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    body: UnreadBody,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let origin =
        Origin { precondition: head.precondition()?, ..caller.origin(&head, role::ALARM_ADMIN, Api::Alarm)? };
    let id = AlarmId::parse(&path)?;
    let alarm =
        Arc::new(platform_store::data::alarms::get_alarm(platform.database(), &caller.tenant, id).await?);
    caller
        .reaches_data_of(&platform, alarm.source, &origin.authority, |name| {
            alarm.fragments.get(name).is_some()
        })
        .await?;
    let (media_type, patch) = body.parse(&["alarm"], |body| AlarmPatch::parse(body).map(Arc::new)).await?;
    let (source, links) = (alarm.source, origin.links.clone());

    let message = UpdateAlarm { alarm, patch, origin: Arc::new(origin) };
    let alarm = platform
        .tenant(&caller.tenant)
        .ask_device(source, message)
        .await
        .map_err(|e| ApiError::gone_with_source(e, Noun::Alarm, id))?;

    Ok(reply::with_revision(reply::updated(&head, media_type, &alarm, &links), alarm.revision))
}

/// The filters of which a bulk PUT needs at least one.
const BULK_FILTERS: &str = "status, source, resolved, severity, dateFrom, dateTo";

/// `PUT /alarm/alarms?<filters>`: changes the status of every alarm that matches, including those of devices
/// under maintenance. Returns 200 when the update finishes within half a second, and otherwise 202
/// while it continues in the background. Alarms that are raised later do not change, and neither does an
/// alarm that would become a second open alarm of its source and type. In mode TRANSIENT nothing changes.
///
/// # Errors
/// 403 without ROLE_ALARM_ADMIN, 422 without a filter, for an unknown filter (C-19) and for a body with
/// anything but a status.
pub async fn update_many(
    caller: Caller,
    head: RequestHead,
    body: UnreadBody,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    caller.require(role::ALARM_ADMIN)?;
    let mode = head.mode()?;
    let (_, status) = body.parse(&["alarm"], bulk_status).await?;
    let query = Query::parse(head.query_string());
    query.only_filters(&FILTERS)?;
    let filter = filter(&query)?;
    let listed = ["status", "severity"].iter().any(|name| !query.list(name).is_empty());
    let given = ["source", "resolved", "dateFrom", "dateTo"].iter().any(|name| query.get(name).is_some());
    if !listed && !given {
        let message = format!("At least one of these parameters is needed: {BULK_FILTERS}");
        return Err(Error::Invalid(message).into());
    }
    let Some(filter) = filter.filter(|_| mode.stores()) else { return Ok(HttpResponse::Ok().finish()) };

    let (user, links) = (caller.user.clone(), head.links());
    let application = caller.sent_by().map(|name| name.to_string());
    let new = NewBulkAlarmUpdate { filter, status, user, application, links };
    Ok(match platform.update_alarms(&caller.tenant, new).await? {
        BulkProgress::Finished => HttpResponse::Ok().finish(),
        BulkProgress::GoesOn => HttpResponse::Accepted().finish(),
    })
}

/// `DELETE /alarm/alarms?<filters>`: deletes everything that matches the filters of GET, or all when there
/// are none. Returns 204 when all are deleted. If the client disconnects earlier, the rest stays.
///
/// # Errors
/// 403 without ROLE_ALARM_ADMIN, 422 for an invalid or unknown parameter (C-19).
pub async fn remove_many(
    caller: Caller,
    head: RequestHead,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    caller.require(role::ALARM_ADMIN)?;
    let mode = head.mode()?;
    let query = Query::parse(head.query_string());
    query.only_filters(&FILTERS)?;
    let filter = filter(&query)?;
    if let Some(filter) = filter.filter(|_| mode.stores()) {
        platform.tenant(&caller.tenant).delete_alarms(&filter, &head.links()).await?;
    }
    Ok(HttpResponse::NoContent().finish())
}

/// The filters of A-01.
const FILTERS: [&str; 11] = [
    "status",
    "source",
    "withSourceAssets",
    "withSourceDevices",
    "withAssets",
    "withDevices",
    "resolved",
    "severity",
    "type",
    "dateFrom",
    "dateTo",
];

/// Parses the filters of A-01. Returns `None` when no alarm can match them.
fn filter(query: &Query) -> Result<Option<AlarmFilter>> {
    let mut statuses =
        query.list("status").into_iter().map(AlarmStatus::parse).collect::<Result<Vec<_>, _>>()?;
    if let Some(resolved) = query.flag("resolved")? {
        let wanted = |status: &AlarmStatus| status.is_open() != resolved;
        let all = [AlarmStatus::Active, AlarmStatus::Acknowledged, AlarmStatus::Cleared];
        let given = if statuses.is_empty() { all.to_vec() } else { statuses };
        statuses = given.into_iter().filter(wanted).collect();
        if statuses.is_empty() {
            return Ok(None);
        }
    }
    let with_descendants = query.with_descendants()?;
    let source = query.get("source").map(ManagedObjectId::parse).transpose();
    let severities = query.list("severity").into_iter().map(Severity::parse).collect::<Result<_, _>>()?;
    let order = query.time_order(TimeOrder::NewestFirst)?;
    let (date_from, date_to) = (query.time("dateFrom")?, query.time("dateTo")?);
    let types = query.list("type").into_iter().map(ToOwned::to_owned).collect();
    // A source that is not an id is not an error: it has no alarms.
    let Ok(source) = source else { return Ok(None) };
    Ok(Some(AlarmFilter { with_descendants, statuses, severities, types, source, date_from, date_to, order }))
}
