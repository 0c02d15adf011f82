//! HTTP conventions that all interfaces share (docs/rules.md#conventions).

pub(crate) mod address;
pub mod body;
pub mod compatibility;
pub mod component;
pub mod compression;
pub mod encoding;
pub mod error;
pub mod file;
pub mod head;
pub mod held_bytes;
pub mod hosted;
pub(crate) mod idempotency;
pub mod multipart;
pub(crate) mod negotiation;
pub mod paging;
mod part_heads;
pub mod path;
pub mod presented;
pub mod query;
pub mod range;
pub mod reply;
pub mod spool;

use std::borrow::Cow;
use std::future::pending;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use actix_web::http::Method;
use actix_web::http::header::{self, HeaderName};
use actix_web::{FromRequest, HttpMessage, HttpRequest, dev, web};
use platform_actors::writes::PublicationTurn;
use platform_model::links::Links;
use platform_model::naming::naming;
use platform_model::origin::ProcessingMode;
use platform_model::precondition::Precondition;
use platform_model::units::SystemOfUnits;
use tokio::time::sleep;

pub use address::{authority, base, client_address};

use error::{ApiError, Result};
use head::{Has, Head, Registered, text};
use negotiation::MediaRange;
use platform_front::connection::{ConnectionHandle, FOR_A_SILENT_PEER};
use platform_front::tls::ClientCertificate;

/// The headers of a request, parsed when they are needed.
#[derive(Debug, Clone)]
pub struct RequestHead {
    request: HttpRequest,
}

impl RequestHead {
    /// Creates the view of a request.
    pub(crate) fn of(request: &HttpRequest) -> Self {
        Self { request: request.clone() }
    }

    /// Returns the base for links, which begins with the address the client used (C-15).
    pub fn links(&self) -> Links {
        Links::new(base(&self.request))
    }

    /// Takes the turn of a CSV row that runs concurrently with others (S-03a). It can be taken once.
    pub(crate) fn take_turn(&self) -> Option<PublicationTurn> {
        self.request.extensions_mut().remove()
    }

    /// Resolves some time after the client has closed the connection, or its half of it. Such a client may still read
    /// (B-24), so only work that lasts long ends then. It must be awaited by the handler itself.
    pub(crate) async fn client_left(&self) {
        // Calls of CSV rows have no connection of their own.
        let Some(connection) = self.request.conn_data::<ConnectionHandle>() else { return pending().await };
        connection.peer_ends().await;
        sleep(FOR_A_SILENT_PEER).await;
    }

    /// Returns the query string unchanged.
    pub fn query_string(&self) -> &str {
        self.request.query_string()
    }

    /// Returns the path by which the request was routed.
    pub fn path(&self) -> &str {
        self.request.path()
    }

    /// Returns the header `X-Platform-Processing-Mode`, for resources that always notify (M-01, M-03).
    ///
    /// # Errors
    /// `Invalid` names the value and the allowed ones.
    pub fn mode(&self) -> Result<ProcessingMode> {
        Ok(self.given_mode()?.with_notifications()?)
    }

    /// Returns the header `X-Platform-Processing-Mode`, for changes of child references. QUIESCENT suppresses their
    /// notifications (M-03).
    ///
    /// # Errors
    /// `Invalid` names the value and the allowed ones.
    pub fn child_reference_mode(&self) -> Result<ProcessingMode> {
        Ok(self.given_mode()?.of_child_references()?)
    }

    /// Validates the header `X-Platform-Processing-Mode`, for resources without processing modes, where its value has
    /// no effect (M-05).
    ///
    /// # Errors
    /// `Invalid` names a value that is not a mode (M-01).
    pub fn check_mode(&self) -> Result<()> {
        self.given_mode().map(drop)
    }

    /// Returns the header `If-Match`; without it a write has no condition (C-23).
    ///
    /// # Errors
    /// `Invalid` names the value and what is allowed.
    pub fn precondition(&self) -> Result<Option<Precondition>> {
        negotiation::precondition(&self.request)
    }

    fn given_mode(&self) -> Result<ProcessingMode> {
        negotiation::processing_mode(&self.request)
    }

    /// Returns the header `Content-Type`, if it is text.
    pub fn content_type(&self) -> Option<&str> {
        self.request.headers().get(header::CONTENT_TYPE)?.to_str().ok()
    }

    /// Returns the media type of the body, see [`essence`].
    pub fn body_type(&self) -> &str {
        essence(&self.request)
    }

    /// Returns the headers unchanged.
    pub fn headers(&self) -> &header::HeaderMap {
        self.request.headers()
    }

    /// Returns whether the client sent `Accept`. Without it, the response to a POST or PUT has no body (C-08).
    pub fn has_accept(&self) -> bool {
        negotiation::has_accept(&self.request)
    }

    /// Returns the content type of the response: `{mt}<name>+json`, or plain JSON when the client accepts only that
    /// (C-08).
    ///
    /// # Errors
    /// `NotAcceptable` when the client accepts neither, or a version other than 0.9.
    pub fn accepted(&self, name: &str) -> Result<String> {
        negotiation::accepted(&self.request, name)
    }

    /// Returns the same as [`RequestHead::accepted`], but only when the client names one of the types: many clients
    /// always send `*/*`.
    ///
    /// # Errors
    /// The errors of [`RequestHead::accepted`].
    pub fn accepted_by_name(&self, name: &str) -> Result<Option<String>> {
        let media_type = self.accepted(name)?;
        let vendor = naming().media_type(name);
        let names = |text: Cow<'_, str>| {
            let mut ranges = text.split(',').filter_map(MediaRange::parse);
            ranges.any(|range| range.is(&vendor) || range.is("application/json"))
        };
        Ok(negotiation::accept_of(&self.request).any(names).then_some(media_type))
    }

    /// Returns whether the client prefers this media type to the JSON type of this name (G-09, Q-03): of the available
    /// types, it is the first that the client accepts.
    pub fn prefers(&self, media_type: &str, name: &str) -> bool {
        let vendor = naming().media_type(name);
        let json = [&*vendor, "application/json", "application/*", "*/*"];
        let text: Vec<_> = negotiation::accept_of(&self.request).collect();
        let is_known =
            |range: &MediaRange<'_>| range.is(media_type) || json.iter().any(|known| range.is(known));
        let mut ranges = text.iter().flat_map(|value| value.split(',')).filter_map(MediaRange::parse);
        ranges.find(is_known).is_some_and(|range| range.is(media_type))
    }

    /// Returns the content type of plain JSON without a type of its own.
    ///
    /// # Errors
    /// `NotAcceptable` when the client accepts no JSON.
    pub fn accepted_json(&self) -> Result<&'static str> {
        let text: Vec<_> = negotiation::accept_of(&self.request).collect();
        let mut ranges = text.iter().flat_map(|value| value.split(',')).filter_map(MediaRange::parse);
        let json = ["application/json", "application/*", "*/*"];
        if text.is_empty() || ranges.any(|range| json.iter().any(|known| range.is(known))) {
            Ok("application/json;charset=UTF-8")
        } else {
            Err(ApiError::NotAcceptable(format!(
                "Not acceptable: {}; available: application/json",
                text.join(",")
            )))
        }
    }

    /// Returns the header `X-Platform-System-Of-Units`, which selects the units of numbers in the response. Without it,
    /// numbers are returned as they were sent (G-10).
    ///
    /// # Errors
    /// `Invalid` names the value and the allowed ones.
    pub fn system_of_units(&self) -> Result<Option<SystemOfUnits>> {
        let value = self.request.headers().get(naming().header("System-Of-Units"));
        let parse =
            |value: &header::HeaderValue| SystemOfUnits::parse(&String::from_utf8_lossy(value.as_bytes()));
        Ok(value.map(parse).transpose()?)
    }

    /// Checks the media type of a body against the names that this resource supports. An absent type and plain JSON are
    /// always supported (C-09).
    ///
    /// # Errors
    /// `UnsupportedMediaType` names the type and the supported ones.
    pub fn check_content_type(&self, names: &[&str]) -> Result<()> {
        negotiation::check_content_type(&self.request, names)
    }
}

impl<T: Registered> Has<T> for RequestHead {
    fn component(&self) -> &web::Data<T> {
        self.request.component()
    }
}

impl Head for RequestHead {
    fn method(&self) -> &Method {
        self.request.method()
    }

    fn path(&self) -> &str {
        self.request.path()
    }

    fn values<'h>(&'h self, name: &'h HeaderName) -> impl DoubleEndedIterator<Item = &'h [u8]> {
        self.request.values(name)
    }

    fn target_authority(&self) -> Option<&str> {
        self.request.target_authority()
    }

    fn peer(&self) -> Option<IpAddr> {
        self.request.peer()
    }

    fn certificate(&self) -> Option<Arc<ClientCertificate>> {
        self.request.certificate()
    }

    fn header(&self, name: &HeaderName) -> Option<&[u8]> {
        self.request.header(name)
    }
}

/// Returns the media type of a body without its parameters, as it was written, or an empty string when there is none.
pub fn essence(head: &impl Head) -> &str {
    let content_type = head.header(&header::CONTENT_TYPE).and_then(text).unwrap_or_default();
    content_type.split(';').next().unwrap_or_default().trim()
}

impl FromRequest for RequestHead {
    type Error = ApiError;
    type Future = std::future::Ready<Result<Self>>;

    fn from_request(request: &HttpRequest, _: &mut dev::Payload) -> Self::Future {
        std::future::ready(Ok(Self::of(request)))
    }
}

/// Returns the header `X-Platform-Application-Key`, if it is text and not empty (C-05).
pub fn application_key(head: &impl Head) -> Option<&str> {
    text(head.header(application_key_header())?).map(str::trim).filter(|key| !key.is_empty())
}

/// Returns the name of the header `X-Platform-Application-Key` with the vendor's prefix.
pub(crate) fn application_key_header() -> &'static HeaderName {
    static NAME: OnceLock<HeaderName> = OnceLock::new();
    NAME.get_or_init(|| {
        let name = naming().header("Application-Key");
        HeaderName::from_bytes(name.as_bytes()).expect("header names are checked at start")
    })
}
