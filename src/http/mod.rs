//! HTTP conventions that all interfaces share (docs/rules.md#conventions).

pub(crate) mod address;
pub mod body;
pub mod compatibility;
pub mod csv;
pub mod encoding;
pub mod error;
pub mod file;
pub mod head;
pub mod held_bytes;
pub mod hosted;
pub mod multipart;
pub mod paging;
pub mod path;
pub mod query;
pub mod reply;
pub mod spool;

use std::sync::OnceLock;

use actix_web::http::header::{self, HeaderName};
use actix_web::{FromRequest, HttpMessage, HttpRequest, dev};
use platform_actors::writes::Turn;
use platform_model::links::Links;
use platform_model::naming::naming;
use platform_model::origin::ProcessingMode;
use platform_model::units::SystemOfUnits;

pub use address::{authority, base, client_address};

use error::{ApiError, Result};
use head::{Head, text};

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
    pub(crate) fn take_turn(&self) -> Option<Turn> {
        self.request.extensions_mut().remove()
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

    /// Returns the header `X-Platform-Processing-Mode`, for measurements and events, which support all four modes
    /// (M-01, M-03).
    ///
    /// # Errors
    /// `Invalid` names the value and the allowed ones.
    pub fn data_mode(&self) -> Result<ProcessingMode> {
        self.given_mode()
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

    fn given_mode(&self) -> Result<ProcessingMode> {
        match self.request.headers().get(naming().header("Processing-Mode")) {
            Some(value) => Ok(ProcessingMode::parse(&String::from_utf8_lossy(value.as_bytes()))?),
            None => Ok(ProcessingMode::Persistent),
        }
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
        self.request.headers().contains_key(header::ACCEPT)
    }

    /// Returns the content type of the response: `{mt}<name>+json`, or plain JSON when the client accepts only that
    /// (C-08).
    ///
    /// # Errors
    /// `NotAcceptable` when the client accepts neither, or a version other than 0.9.
    pub fn accepted(&self, name: &str) -> Result<String> {
        let vendor = naming().media_type(name);
        let versioned = format!("{vendor};ver=0.9;charset=UTF-8");
        let mut headers = self.request.headers().get_all(header::ACCEPT).peekable();
        if headers.peek().is_none() {
            return Ok(versioned);
        }
        let text: Vec<_> = headers.map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
        let ranges = || text.iter().flat_map(|value| value.split(',')).filter_map(MediaRange::parse);
        if ranges().any(|range| range.has_version_0_9() && (range.is(&vendor) || range.is("*/*"))) {
            return Ok(versioned);
        }
        if ranges().any(|range| range.is("application/json") || range.is("application/*")) {
            Ok("application/json;charset=UTF-8".into())
        } else {
            Err(ApiError::NotAcceptable(format!(
                "Not acceptable: {}; available: {vendor};ver=0.9 and application/json",
                text.join(",")
            )))
        }
    }

    /// Returns the same as [`RequestHead::accepted`], but only when the client names one of the types: many clients
    /// always send `*/*`.
    ///
    /// # Errors
    /// The errors of [`RequestHead::accepted`].
    pub fn accepted_by_name(&self, name: &str) -> Result<Option<String>> {
        let media_type = self.accepted(name)?;
        let vendor = naming().media_type(name);
        let mut headers = self.request.headers().get_all(header::ACCEPT);
        let names = |value: &header::HeaderValue| {
            let text = String::from_utf8_lossy(value.as_bytes());
            let mut ranges = text.split(',').filter_map(MediaRange::parse);
            ranges.any(|range| range.is(&vendor) || range.is("application/json"))
        };
        Ok(headers.any(names).then_some(media_type))
    }

    /// Returns whether the client prefers this media type to the JSON type of this name (G-09, Q-03): of the available
    /// types, it is the first that the client accepts.
    pub fn prefers(&self, media_type: &str, name: &str) -> bool {
        let vendor = naming().media_type(name);
        let json = [&*vendor, "application/json", "application/*", "*/*"];
        let headers = self.request.headers().get_all(header::ACCEPT);
        let text: Vec<_> = headers.map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
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
        let headers = self.request.headers().get_all(header::ACCEPT);
        let text: Vec<_> = headers.map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
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
        let Some(value) = self.request.headers().get(header::CONTENT_TYPE) else { return Ok(()) };
        let text = String::from_utf8_lossy(value.as_bytes());
        let known = MediaRange::parse(&text).is_some_and(|range| {
            range.is("application/json")
                || (range.has_version_0_9() && names.iter().any(|name| range.is(&naming().media_type(name))))
        });
        if known || text.trim().is_empty() {
            Ok(())
        } else {
            let allowed: Vec<String> = names.iter().map(|name| naming().media_type(name)).collect();
            let allowed = allowed.join(", ");
            let message =
                format!("Unsupported type of body: {text}; allowed: {allowed} and application/json");
            Err(ApiError::UnsupportedMediaType(message))
        }
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

/// A media type with its `ver` parameter. The comparison ignores case, and the order of parameters and whitespace does
/// not matter (C-08).
struct MediaRange<'a> {
    essence: &'a str,
    version: Option<&'a str>,
}

impl<'a> MediaRange<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let mut parts = text.split(';').map(str::trim);
        let essence = parts.next().filter(|essence| !essence.is_empty())?;
        let version = parts
            .filter_map(|parameter| parameter.split_once('='))
            .find(|(name, _)| name.trim().eq_ignore_ascii_case("ver"))
            .map(|(_, version)| version.trim().trim_matches('"'));
        Some(Self { essence, version })
    }

    fn is(&self, media_type: &str) -> bool {
        self.essence.eq_ignore_ascii_case(media_type)
    }

    fn has_version_0_9(&self) -> bool {
        self.version.is_none_or(|version| version == "0.9")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_ranges_are_read_in_any_spelling() {
        for text in [
            "application/json",
            "Application/JSON ; charset=UTF-8;",
            "application/json;VER = 0.9 ; q=1",
            " application/json;charset=utf-8;ver=\"0.9\"",
        ] {
            let range = MediaRange::parse(text).expect(text);
            assert!(range.is("application/json") && range.has_version_0_9(), "{text}");
        }
        assert!(!MediaRange::parse("application/json;ver=1.0").expect("a range").has_version_0_9());
        assert!(MediaRange::parse(" ").is_none());
    }
}
