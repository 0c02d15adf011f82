//! Polls of named consumers on the fast lane, by the same function as behind actix-http (B-29).

use std::time::Instant;

use actix_web::HttpResponse;
use actix_web::http::header;
use platform_store::shares;

use super::request::Request;
use super::response::{LaneResponse, Outgoing, for_pages, identify, record};
use crate::api::consumer_notifications;
use crate::auth::Caller;
use crate::http::error::Result;
use crate::http::head::Head;
use crate::requests::log::RequestLog;

const BEGINNING: &str = "/notification/consumers/";
const END: &str = "/notifications";

/// Returns whether a target is that of a poll whose text needs no decoding.
pub(super) fn is_poll(target: &str) -> bool {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    name_of(path).is_some_and(|name| !name.is_empty() && name.bytes().all(plain))
        && query.bytes().all(|byte| plain(byte) || b"=&".contains(&byte))
}

fn name_of(path: &str) -> Option<&str> {
    path.strip_prefix(BEGINNING)?.strip_suffix(END)
}

/// Holds a poll until there are notifications, and returns the response. Requests of the lane do not pass through
/// [`middleware`](crate::requests::middleware), so this function records metrics, log, statistics and CORS headers
/// itself.
#[expect(clippy::manual_async_fn, reason = "an async fn keeps its arguments twice while the poll is held")]
pub(super) fn poll(
    known: Option<Result<Caller>>,
    request: Request,
) -> impl Future<Output = LaneResponse> + 'static {
    async move {
        let begun = Instant::now();
        let id = request.state::<RequestLog>().id(&request);
        let (caller, closes) = identify(known, &request).await;
        let read = match &caller {
            // The future is boxed, because each layer of futures that take one by value would be as large as it.
            Ok(caller) => shares::of_request(Box::pin(read_by(caller, &request)))
                .await
                .map_err(|error| error.answer(&request)),
            Err(error) => Err(error.answer(&request)),
        };
        let mut response = read.unwrap_or_else(|refusal| refusal);
        let identity = caller.as_ref().ok().map(Caller::identity);
        record(&request, identity.as_deref(), (id, begun.elapsed()), &mut response);
        let for_pages = for_pages(&request).await;
        LaneResponse::Now(Outgoing::rendered(response, closes, for_pages, &request.lane.config), closes)
    }
}

async fn read_by(caller: &Caller, request: &Request) -> Result<HttpResponse> {
    caller.count_request()?;
    shares::charge(&caller.tenant, &caller.user);
    let (path, query) = request.target();
    let components = &request.lane.components;
    let poll = (name_of(path).unwrap_or_default(), query);
    let (media_type, text) = consumer_notifications::poll_of(caller, request, poll, &components.stop).await?;
    Ok(HttpResponse::Ok().insert_header((header::CONTENT_TYPE, media_type)).body(text))
}
