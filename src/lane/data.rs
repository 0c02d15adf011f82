//! Data that devices send on the fast lane: the handlers are those behind actix-http, without its routing.

use std::time::Instant;

use actix_web::HttpResponse;
use actix_web::http::header;
use platform_store::shares;

use super::NewData;
use super::request::Request;
use super::response::{LaneResponse, Outgoing, count, for_pages, identify};
use crate::api::{alarms, events, measurements};
use crate::auth::Caller;
use crate::http::body::WholeBody;
use crate::http::error::Result;
use crate::http::head::Head;
use crate::http::held_bytes::{HeldBytes, LARGE};
use crate::request_log::{RequestLog, X_REQUEST_ID};

/// Creates what a request contains, and returns the response. What [`middleware`](crate::middleware) does for every other
/// request is done here, as far as a request of the lane can need it.
pub(super) async fn create(new: NewData, known: Option<Result<Caller>>, request: Request) -> LaneResponse {
    let begun = Instant::now();
    let log = request.state::<RequestLog>();
    let id = log.id(&request);
    let (caller, closes) = identify(known, &request).await;
    let identity = caller.as_ref().ok().map(Caller::identity);
    let created = match caller {
        Ok(caller) => shares::of_request(create_by(new, caller, &request)).await,
        Err(error) => Err(error),
    };
    let mut response = created.unwrap_or_else(|error| error.answer(&request));
    let (path, took) = (&request.lane.paths[request.outline.path], begun.elapsed());
    path.durations.record(response.status(), took);
    log.completed(&request, response.status(), identity.as_deref(), &id, took);
    if let Some(identity) = identity.as_deref() {
        count(identity, &request);
    }
    response.headers_mut().insert(X_REQUEST_ID, id);
    let for_pages = for_pages(&request).await;
    LaneResponse::Now(Outgoing::rendered(response, closes, for_pages, &request.lane.config), closes)
}

/// The longest body whose objects the response may repeat. With their links they may be ten times longer, and the memory
/// of large responses is limited elsewhere.
const REPEATED: usize = LARGE / 16;

/// Returns the longest body that the lane accepts from a request for data.
pub(super) fn longest_body(request: &Request) -> usize {
    if request.has(&header::ACCEPT) { REPEATED } else { LARGE }
}

async fn create_by(new: NewData, caller: Caller, request: &Request) -> Result<HttpResponse> {
    request.state::<HeldBytes>().check(request)?;
    caller.count_request()?;
    shares::charge(&caller.tenant);
    let body = WholeBody(request.body());
    match new {
        NewData::Measurements => measurements::create_of(&caller, request, body, None).await,
        NewData::Alarm => alarms::create_of(&caller, request, body).await,
        NewData::Event => events::create_of(&caller, request, body, None).await,
    }
}
