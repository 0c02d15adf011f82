//! `/alarm/alarms` (document 2, Alarms; rulings ).

use std::sync::Arc;

use actix_web::{HttpResponse, web};
use platform_actors::device::{RaiseAlarm, UpdateAlarm};
use platform_actors::model::access::{Api, Authority, Ownership, Permission};
use platform_actors::model::alarm::{AlarmFilter, AlarmPatch, AlarmStatus, NewAlarm, Severity, TimeOrder};
use platform_actors::model::id::{AlarmId, ManagedObjectId};
use platform_actors::model::role;
use platform_actors::store;
use platform_actors::{Error, Noun};

use crate::auth::Caller;
use crate::http::body::Unread;
use crate::http::error::{ApiError, Result};
use crate::http::paging::page_request;
use crate::http::query::Query;
use crate::http::{Wire, reply};
use crate::server::Edge;

/// `POST /alarm/alarms`: raises an alarm, or counts a repetition. 201 either way.
///
/// # Errors
/// 403 without role or ownership, 422 for a wrong body or an unknown source, 503 when it cannot be stored now.
pub async fn create(caller: Caller, wire: Wire, body: Unread, edge: web::Data<Edge>) -> Result<HttpResponse> {
    let origin = caller.origin(&wire, role::ALARM_ADMIN, Api::Alarm)?;
    let media_type = wire.accepted("alarm")?;
    wire.check_content_type(&["alarm"])?;
    let alarm = Arc::new(NewAlarm::parse(body.json(edge.limits().body_bytes).await?)?);
    let (source, links) = (alarm.source, origin.links.clone());

    let message = RaiseAlarm { alarm, origin: Arc::new(origin) };
    let alarm = edge.platform.tenant(&caller.tenant).ask_device(source, message).await?;

    Ok(reply::created(&wire, media_type, links.alarm(alarm.id), &alarm, &links))
}

/// `GET /alarm/alarms`: a page of alarms, newest first. Without ROLE_ALARM_READ those that device permissions name
/// (P-07).
///
/// # Errors
/// 403 with neither the role nor any such permission, 422 for a wrong parameter, 413 when the query takes too long.
pub async fn list(caller: Caller, wire: Wire, edge: web::Data<Edge>) -> Result<HttpResponse> {
    let authority = reading(&caller)?;
    let media_type = wire.accepted("alarmCollection")?;
    let query = Query::parse(wire.query_string());
    let request = page_request(&query)?;
    let page = match filter(&query)? {
        Some(filter) => {
            let database = edge.platform.database();
            store::alarm_collection::list_alarms(database, &caller.tenant, &filter, &authority, &request)
                .await?
        }
        None => request.empty(),
    };
    reply::page(&wire, media_type, "alarms", &page, (&request, &query))
}

/// `GET /alarm/alarms/<id>`.
///
/// # Errors
/// 403 without ROLE_ALARM_READ, 404 for an unknown id.
pub async fn get(
    caller: Caller,
    wire: Wire,
    path: web::Path<String>,
    edge: web::Data<Edge>,
) -> Result<HttpResponse> {
    let authority = reading(&caller)?;
    let media_type = wire.accepted("alarm")?;
    let database = edge.platform.database();
    let alarm = store::alarms::get_alarm(database, &caller.tenant, AlarmId::parse(&path)?).await?;
    let by = (&authority, &*caller.user, Ownership::Ignored);
    let has_fragment = |_: &_, name: &str| alarm.fragments.get(name).is_some();
    store::access::authorize(database, &caller.tenant, alarm.source, by, has_fragment).await?;
    Ok(reply::found(media_type, &alarm, &wire.links()))
}

/// `PUT /alarm/alarms/<id>`: changes text, status, severity and fragments; ignores the rest.
///
/// # Errors
/// 403 without role or ownership, 404 for an unknown id, 409 when a second alarm of its type would be open, 422 for a
/// wrong body.
pub async fn update(
    caller: Caller,
    wire: Wire,
    path: web::Path<String>,
    body: Unread,
    edge: web::Data<Edge>,
) -> Result<HttpResponse> {
    let origin = caller.origin(&wire, role::ALARM_ADMIN, Api::Alarm)?;
    let media_type = wire.accepted("alarm")?;
    wire.check_content_type(&["alarm"])?;
    let patch = Arc::new(AlarmPatch::parse(body.json(edge.limits().body_bytes).await?)?);
    let id = AlarmId::parse(&path)?;
    let links = origin.links.clone();

    let alarm = Arc::new(store::alarms::get_alarm(edge.platform.database(), &caller.tenant, id).await?);
    let source = alarm.source;
    let message = UpdateAlarm { alarm, patch, origin: Arc::new(origin) };
    let alarm =
        edge.platform.tenant(&caller.tenant).ask_device(source, message).await.map_err(|e| gone(e, id))?;

    Ok(reply::updated(&wire, media_type, &alarm, &links))
}

/// By what right the caller reads alarms; ownership does not count.
fn reading(caller: &Caller) -> Result<Authority> {
    match caller.authority(role::ALARM_READ, Api::Alarm, Permission::Read) {
        Authority::Limited(grants) if grants.is_empty() => Err(ApiError::forbidden()),
        authority => Ok(authority),
    }
}

/// An alarm goes with its source: a source that vanished meanwhile means the alarm has.
fn gone(error: Error, id: AlarmId) -> ApiError {
    match error {
        Error::NotFound { noun: Noun::ManagedObject, .. } => Error::not_found(Noun::Alarm, id).into(),
        other => other.into(),
    }
}

/// Reads the filters of A-01; `None` when no alarm can match them.
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
    let order = match query.flag("revert")? {
        Some(true) => TimeOrder::OldestFirst,
        _ => TimeOrder::NewestFirst,
    };
    let (date_from, date_to) = (query.time("dateFrom")?, query.time("dateTo")?);
    let types = query.list("type").into_iter().map(ToOwned::to_owned).collect();
    // A source that is no id is no error of the caller: it has no alarms.
    let Ok(source) = source else { return Ok(None) };
    Ok(Some(AlarmFilter { with_descendants, statuses, severities, types, source, date_from, date_to, order }))
}
