//! Requests of the fast lane that create data of devices. They use the same handlers as behind actix-http, but not its
//! routing.

use std::time::Instant;

use actix_web::HttpResponse;
use actix_web::http::header;
use platform_store::shares;

use super::NewData;
use super::request::Request;
use super::response::{LaneResponse, Outgoing, for_pages, identify, record};
use crate::api::{alarms, events, measurements};
use crate::auth::Caller;
use crate::http::body::WholeBody;
use crate::http::error::Result;
use crate::http::head::Head;
use crate::http::held_bytes::{HeldBytes, LARGE};
use crate::requests::log::RequestLog;

/// Creates the objects in the request and returns the response. Requests of the lane do not pass through
/// [`middleware`](crate::requests::middleware), so this function records metrics, log, statistics and CORS headers
/// itself.
pub(super) async fn create(new: NewData, known: Option<Result<Caller>>, request: Request) -> LaneResponse {
    let begun = Instant::now();
    let id = request.state::<RequestLog>().id(&request);
    let (caller, closes) = identify(known, &request).await;
    let identity = caller.as_ref().ok().map(Caller::identity);
    let created = match caller {
        Ok(caller) => shares::of_request(create_by(new, caller, &request)).await,
        Err(error) => Err(error),
    };
    let mut response = created.unwrap_or_else(|error| error.answer(&request));
    record(&request, identity.as_deref(), (id, begun.elapsed()), &mut response);
    let for_pages = for_pages(&request).await;
    LaneResponse::Now(Outgoing::rendered(response, closes, for_pages, &request.lane.config), closes)
}

/// The longest body of a request whose response contains the created objects. With their links, the objects may be ten
/// times as long as the body, and only actix-http's handlers limit the memory of large responses.
const REPEATED: usize = LARGE / 16;

/// Returns the longest body that the lane accepts from a request for data.
pub(super) fn longest_body(request: &Request) -> usize {
    if request.has(&header::ACCEPT) { REPEATED } else { LARGE }
}

async fn create_by(new: NewData, caller: Caller, request: &Request) -> Result<HttpResponse> {
    request.state::<HeldBytes>().check(request)?;
    caller.count_request()?;
    shares::charge(&caller.tenant, &caller.user);
    let body = WholeBody(request.body());
    match new {
        NewData::Measurements => measurements::create_of(&caller, request, body, None).await,
        NewData::Alarm => alarms::create_of(&caller, request, body).await,
        NewData::Event => events::create_of(&caller, request, body, None).await,
    }
}
