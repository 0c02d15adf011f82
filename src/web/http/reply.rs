//! Creates responses: status, media type, and an optional body.

use std::collections::BTreeMap;
use std::sync::Arc;

use actix_web::HttpResponse;
use actix_web::http::header;
use platform_model::idempotency::FirstResponse;
use platform_model::links::{Linked, Links, encode, encode_members};
use platform_model::origin::ProcessingMode;
use platform_model::precondition::FIRST_REVISION;
use serde::Serialize;

use crate::http::RequestHead;
use crate::http::head::Head;
use crate::http::negotiation::has_accept;

/// Returns a 201 with `Location`, and with the object when the client sent `Accept` (C-08). `media_type` is the
/// accepted type.
pub(crate) fn created<T>(
    head: &impl Head,
    media_type: String,
    location: String,
    value: &Arc<T>,
    links: &Links,
) -> HttpResponse
where
    for<'a> Linked<'a, T>: Serialize,
{
    let mut response = HttpResponse::Created();
    response.insert_header((header::LOCATION, location));
    with_body_if_wanted(head, response, media_type, || encode(&**value, links))
}

/// Returns the response to a request that an earlier one repeats, with its body when the client sent `Accept` (C-24).
pub(crate) fn repeated(head: &impl Head, media_type: String, first: FirstResponse) -> HttpResponse {
    let mut response = HttpResponse::Created();
    if let Some(location) = first.location {
        response.insert_header((header::LOCATION, location));
    }
    with_body_if_wanted(head, response, media_type, || first.body)
}

/// Returns a 201 with `Location` and an object that contains a secret. It has a body whether or not the client sent
/// `Accept`, because the secret is never shown again; and no cache keeps it.
pub(crate) fn issued<T>(media_type: String, location: String, value: &T, links: &Links) -> HttpResponse
where
    for<'a> Linked<'a, T>: Serialize,
{
    let mut created = HttpResponse::Created();
    created.insert_header((header::LOCATION, location)).insert_header((header::CONTENT_TYPE, media_type));
    confidential(created.body(encode(value, links)))
}

/// Marks a response that contains secrets: no cache keeps it, and it is never compressed, because the length of a
/// compressed response says something about its content (C-22).
pub(crate) fn confidential(mut response: HttpResponse) -> HttpResponse {
    response.headers_mut().insert(header::CACHE_CONTROL, header::HeaderValue::from_static("no-store"));
    response
}

/// Returns a 201 for several objects that were created together, with the objects as `{<name>: [...]}` when the client
/// sent `Accept` (G-02).
pub(crate) fn created_together<T>(
    head: &impl Head,
    media_type: String,
    name: &'static str,
    values: &[Arc<T>],
    links: &Links,
) -> HttpResponse
where
    for<'a> Linked<'a, T>: Serialize,
{
    with_body_if_wanted(head, HttpResponse::Created(), media_type, || encode_members(name, values, links))
}

/// Returns a 200 as the response to a PUT, with the object when the client sent `Accept`.
pub fn updated<T>(head: &RequestHead, media_type: String, value: &Arc<T>, links: &Links) -> HttpResponse
where
    for<'a> Linked<'a, T>: Serialize,
{
    with_body_if_wanted(head, HttpResponse::Ok(), media_type, || encode(&**value, links))
}

/// Returns a 200 with the object, as the response to a GET.
pub fn found<T>(media_type: String, value: &T, links: &Links) -> HttpResponse
where
    for<'a> Linked<'a, T>: Serialize,
{
    HttpResponse::Ok().insert_header((header::CONTENT_TYPE, media_type)).body(encode(value, links))
}

/// Marks a response whose `ETag` is a revision: unlike that of a file, it holds for a compressed body too.
pub(super) struct HasRevision;

/// Adds the revision of the object as its `ETag`, for conditional requests (C-23).
pub(crate) fn with_revision(mut response: HttpResponse, revision: i64) -> HttpResponse {
    let tag =
        header::HeaderValue::from_str(&format!("\"{revision}\"")).expect("a number is valid in a header");
    response.headers_mut().insert(header::ETAG, tag);
    response.extensions_mut().insert(HasRevision);
    response
}

/// Adds the revision of an object that a request created in this mode. An object that is not stored has none.
pub(crate) fn with_first_revision(response: HttpResponse, mode: ProcessingMode) -> HttpResponse {
    if mode.stores() { with_revision(response, FIRST_REVISION) } else { response }
}

/// Writes a collection without pages: `{self, <name>: [...]}`.
pub fn members<T>(link: &str, name: &'static str, members: &[T], links: &Links) -> Vec<u8>
where
    for<'a> Linked<'a, T>: Serialize,
{
    let members: Vec<_> = members.iter().map(|value| Linked { value, links }).collect();
    let collection = BTreeMap::from([("self", Part::Link(link)), (name, Part::Members(members))]);
    serde_json::to_vec(&collection).expect("writing to memory does not fail and all keys are strings")
}

/// The value of a member of a collection.
#[derive(Serialize)]
#[serde(untagged, bound(serialize = "Linked<'a, T>: Serialize"))]
enum Part<'a, T> {
    Link(&'a str),
    Members(Vec<Linked<'a, T>>),
}

fn with_body_if_wanted(
    head: &impl Head,
    mut response: actix_web::HttpResponseBuilder,
    media_type: String,
    body: impl FnOnce() -> Vec<u8>,
) -> HttpResponse {
    if has_accept(head) {
        response.insert_header((header::CONTENT_TYPE, media_type)).body(body())
    } else {
        response.finish()
    }
}
