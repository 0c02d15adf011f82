//! `/s`: the compact CSV protocol (docs/rules.md#csv-protocol).
//!
//! Reading order: [`line`] (records and lines), [`engine`] (from a body to a response, whatever the
//! transport), [`template_set`] with [`request_template`] and [`response_template`] (templates that a tenant
//! registered), [`static_templates`] (built-in rows), [`rest_caller`] (one row is one REST call),
//! [`realtime`] (rows 80 to 84 and 88).

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

use std::sync::Arc;

use actix_web::http::header::{self, HeaderValue};
use actix_web::{HttpRequest, HttpResponse};
use platform_actors::Platform;
use tokio::sync::Semaphore;

use crate::auth::AnyCaller;
use crate::http::RequestHead;
use crate::http::body::UnreadBody;
use crate::http::compatibility::ClientCompatibility;
use crate::http::component::Component;
use crate::http::error::Result;

use engine::Engine;
pub(crate) use line::Records;
use rows::OVERLAPPING;
use static_templates::ActingDevices;
use template_sets::TemplateSets;

/// The largest request body in bytes: 1 MB (S-04).
const BODY_BYTES: usize = 1 << 20;
/// The media type of every response of the protocol (S-01).
pub(crate) const MEDIA_TYPE: &str = "text/plain;charset=UTF-8";

/// The parts of the server that the protocol uses, and its caches.
pub struct Csv {
    platform: Arc<Platform>,
    /// Whether lines and responses are those that existing clients expect (C-20).
    compatibility: ClientCompatibility,
    templates: TemplateSets,
    /// The devices on whose behalf rows act.
    devices: ActingDevices,
    /// Permits for rows that are processed concurrently with the row before them.
    overlaps: Semaphore,
}

impl Csv {
    /// Creates the state of the protocol, with empty caches.
    pub fn new(platform: Arc<Platform>, compatibility: ClientCompatibility) -> Self {
        Self {
            platform,
            compatibility,
            templates: TemplateSets::default(),
            devices: ActingDevices::default(),
            overlaps: Semaphore::new(OVERLAPPING),
        }
    }
}

/// `POST /s`: registers templates, checks whether they exist, or executes rows in order. The status is always
/// 200: an error in a row is a line of the response (S-04). Without `Accept` the response is empty, except
/// with `--client-compatibility` (C-20).
///
/// # Errors
/// 401 for invalid credentials; 413 for a body over 1 MB.
pub async fn create(
    AnyCaller(caller): AnyCaller,
    request: HttpRequest,
    head: RequestHead,
    body: UnreadBody,
    csv: Component<Csv>,
) -> Result<HttpResponse> {
    let body = body.read(BODY_BYTES).await?;
    let engine = Engine::new(&csv, &caller, &request);
    // The future is boxed so that those of all other requests stay small.
    let text = Box::pin(engine.respond(&body)).await;
    let mut response = HttpResponse::Ok();
    let has_body = head.has_accept() || csv.compatibility.is_on();
    if !has_body || text.is_empty() {
        // An empty response has no `Content-Type`: that header would be an eighth of the bytes a measurement
        // costs.
        return Ok(response.finish());
    }
    Ok(response.insert_header((header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE))).body(text))
}
