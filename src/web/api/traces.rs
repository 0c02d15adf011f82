//! `/notification/traces`: for a limited time, all servers record what happens to the notifications of a tenant
//! (docs/rules.md#traces-and-diagnosis; B-37).

use std::sync::Arc;

use actix_web::http::header;
use actix_web::{HttpResponse, web};
use platform_actors::{FoundRecords, Platform};
use platform_model::error::{Error, Noun};
use platform_model::id::TraceId;
use platform_model::links::Linked;
use platform_model::page::Page;
use platform_model::realtime::trace::record::{RecordFilter, TraceRecord};
use platform_model::realtime::trace::{NewTrace, Trace};
use platform_model::role;
use platform_store::traces;
use serde::Serialize;

use crate::auth::Caller;
use crate::http::body::UnreadBody;
use crate::http::component::Component;
use crate::http::error::Result;
use crate::http::paging::Listing;
use crate::http::query::Query;
use crate::http::{RequestHead, reply};

/// The media type of a trace, without its prefix.
const TYPE: &str = "notificationTrace";
/// The most records of one response.
const MOST_RECORDS: usize = 1000;

/// `GET /notification/traces`: returns the running traces of the tenant, by id.
///
/// # Errors
/// 403 without ROLE_NOTIFICATION_ADMIN, 422 for an invalid parameter.
pub async fn list(caller: Caller, head: RequestHead, platform: Component<Platform>) -> Result<HttpResponse> {
    caller.require(role::NOTIFICATION_ADMIN)?;
    let listing = Listing::of(&head, "notificationTraceCollection")?;
    let running = traces::list_running(platform.database(), Some(&caller.tenant)).await?;
    let (size, skipped) = (listing.request.size as usize, listing.request.offset() as usize);
    let count = listing.request.count_of(running.len() as i64);
    let running = running.into_iter().map(|(_, trace)| trace);
    let members: Vec<Trace> = running.skip(skipped).take(size).collect();
    listing.respond("traces", &Page { members, next: None, count })
}

/// `POST /notification/traces`: begins a trace at all servers.
///
/// # Errors
/// 403 without ROLE_NOTIFICATION_ADMIN, 422 for an invalid body and for more than 50 traces.
pub async fn create(
    caller: Caller,
    head: RequestHead,
    body: UnreadBody,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let administration = caller.administers_traces(&platform)?;
    head.check_mode()?;
    let (media_type, new) = body.parse(&[TYPE], NewTrace::parse).await?;
    let (database, id) = (platform.database(), platform.next_id()?);
    let trace = traces::insert_trace(database, &administration, (id, &caller.user), &new).await?;
    let links = head.links();
    let location = links.trace(trace.id);
    Ok(reply::created(&head, media_type, location, &Arc::new(trace), &links))
}

/// `GET /notification/traces/<id>`: returns a running trace.
///
/// # Errors
/// 403 without ROLE_NOTIFICATION_ADMIN, 404 for an unknown trace and for one that has ended.
pub async fn get(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    caller.require(role::NOTIFICATION_ADMIN)?;
    let media_type = head.accepted(TYPE)?;
    let trace = find(&caller, &platform, &path).await?;
    Ok(reply::found(media_type, &trace, &head.links()))
}

/// `DELETE /notification/traces/<id>`: ends a trace before its time.
///
/// # Errors
/// 403 without ROLE_NOTIFICATION_ADMIN, 404 for an unknown trace and for one that has ended.
pub async fn remove(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let administration = caller.administers_traces(&platform)?;
    head.check_mode()?;
    traces::delete_trace(platform.database(), &administration, TraceId::parse(&path)?).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// `GET /notification/traces/<id>/records`: returns what all servers recorded about the subject of a trace since
/// `dateFrom`, oldest first, at most 1000 records.
///
/// # Errors
/// 403 without ROLE_NOTIFICATION_ADMIN, 404 for an unknown trace, for one that was ended and for one that has ended by
/// itself for 10 seconds, 422 for an invalid parameter.
pub async fn list_records(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    caller.require(role::NOTIFICATION_ADMIN)?;
    let media_type = head.accepted("notificationTraceRecords")?;
    let since = Query::parse(head.query_string()).time("dateFrom")?;
    let trace = traces::find_readable(platform.database(), &caller.tenant, TraceId::parse(&path)?).await?;
    let filter = RecordFilter { limit: MOST_RECORDS, ..RecordFilter::of_trace(&trace.subject, since) };
    let FoundRecords { records, missing } = platform.list_records(&caller.tenant, &filter).await?;
    let links = head.links();
    let records = records.iter().map(|value| Linked { value, links: &links }).collect();
    let body = Records { records, missing_servers: &missing };
    let json = serde_json::to_vec(&body).expect("all keys are strings");
    Ok(HttpResponse::Ok().insert_header((header::CONTENT_TYPE, media_type)).body(json))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Records<'a> {
    records: Vec<Linked<'a, TraceRecord>>,
    missing_servers: &'a [String],
}

async fn find(caller: &Caller, platform: &Platform, id: &str) -> Result<Trace> {
    let id = TraceId::parse(id)?;
    let running = traces::list_running(platform.database(), Some(&caller.tenant)).await?;
    let found = running.into_iter().map(|(_, trace)| trace).find(|trace| trace.id == id);
    Ok(found.ok_or_else(|| Error::not_found(Noun::Trace, id.to_string()))?)
}
