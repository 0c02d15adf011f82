//! `/s`: the compact CSV protocol (docs/rules.md#csv-protocol).
//!
//! Reading order: [`line`] (records in, records out), [`engine`] (a body in, an answer out, whatever the transport),
//! [`template_set`] with [`request_template`] and [`response_template`] (what a tenant registered), [`static_templates`] (what
//! is built in), [`rest_caller`] (one row is one REST call), [`realtime`] (rows 80 to 84).

mod bootstrap;
mod engine;
#[cfg(test)]
mod fuzz;
mod groups;
mod json_path;
mod kind;
mod line;
mod named_objects;
pub(crate) mod realtime;
mod refusal;
mod registration;
mod request_template;
mod response_template;
pub(crate) mod rest_caller;
mod rows;
mod static_templates;
mod template_flaw;
mod template_set;
mod template_sets;
mod value;

use actix_web::http::header::{self, HeaderValue};
use actix_web::{HttpRequest, HttpResponse, web};

pub(crate) use rows::OVERLAPPING;
pub(crate) use static_templates::ActingDevices;
pub(crate) use template_sets::TemplateSets;

use crate::auth::AnyCaller;
use crate::http::Wire;
use crate::http::body::Unread;
use crate::http::error::Result;
use crate::server::Edge;
use engine::Engine;

/// Bytes of a body: 1 MB (S-04).
const BODY_BYTES: usize = 1 << 20;
/// Every answer of the protocol (S-01).
pub(crate) const MEDIA_TYPE: &str = "text/plain;charset=UTF-8";

/// `POST /s`: registers templates, looks for them, or carries out rows one after the other. Always 200: what goes wrong in a
/// row is a line of the answer (S-04). Without `Accept` the answer is empty, unless clients are to be served as they are
/// (C-20).
///
/// # Errors
/// 401; 413 for a body over 1 MB.
pub async fn create(
    AnyCaller(caller): AnyCaller,
    request: HttpRequest,
    wire: Wire,
    body: Unread,
    edge: web::Data<Edge>,
) -> Result<HttpResponse> {
    let body = body.read(BODY_BYTES).await?;
    let engine = Engine::new(&edge, &caller, &request);
    // On the heap, so that the path of every other request stays small.
    let answer = Box::pin(engine.answer(&body)).await;
    let mut response = HttpResponse::Ok();
    let told = wire.has_accept() || edge.client_compatibility;
    if !told || answer.is_empty() {
        // Nothing has no type: of what a measurement costs on the wire it would be an eighth.
        return Ok(response.finish());
    }
    Ok(response.insert_header((header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE))).body(answer))
}
