//! What all interfaces have in common on the wire (docs/rules.md#conventions).

pub(crate) mod address;
pub mod body;
pub mod cors;
pub mod csv;
pub mod error;
pub mod file;
pub mod head;
pub mod held_bytes;
pub mod hosted;
pub mod middleware;
pub mod multipart;
pub mod paging;
pub mod query;
pub mod reply;
pub mod spool;

use std::sync::OnceLock;

use actix_web::http::header::{self, HeaderName};
use actix_web::{FromRequest, HttpMessage, HttpRequest, dev, web};
use platform_actors::device::Turn;
use platform_actors::model::links::Links;
use platform_actors::model::origin::ProcessingMode;
use platform_actors::model::units::SystemOfUnits;
use platform_actors::naming::naming;

pub use address::{authority, base, client_address};

use crate::server::Edge;
use error::{ApiError, Result};
use head::{Head, text};

/// The headers of a request, read when they are needed.
#[derive(Debug, Clone)]
pub struct Wire {
    request: HttpRequest,
}

impl Wire {
    /// Of a request.
    pub(crate) fn of(request: &HttpRequest) -> Self {
        Self { request: request.clone() }
    }

    /// Links below the address the client used (C-15).
    pub fn links(&self) -> Links {
        Links::new(base(&self.request))
    }

    /// The turn of a row of the CSV protocol that overlaps others (S-03a). Given once.
    pub(crate) fn take_turn(&self) -> Option<Turn> {
        self.request.extensions_mut().remove()
    }

    /// The query string as it came.
    pub fn query_string(&self) -> &str {
        self.request.query_string()
    }

    /// The path as it was routed.
    pub fn path(&self) -> &str {
        self.request.path()
    }

    /// The header `X-Platform-Processing-Mode`, for resources that always notify (M-01, M-03).
    ///
    /// # Errors
    /// `Invalid` names the value and what is allowed.
    pub fn mode(&self) -> Result<ProcessingMode> {
        Ok(self.given_mode()?.with_notifications()?)
    }

    /// The header `X-Platform-Processing-Mode`, for measurements and events, which know all four (M-01, M-03).
    ///
    /// # Errors
    /// `Invalid` names the value and what is allowed.
    pub fn data_mode(&self) -> Result<ProcessingMode> {
        self.given_mode()
    }

    /// The header `X-Platform-Processing-Mode`, for changes of child references: QUIESCENT tells nobody (M-03).
    ///
    /// # Errors
    /// `Invalid` names the value and what is allowed.
    pub fn child_reference_mode(&self) -> Result<ProcessingMode> {
        Ok(self.given_mode()?.of_child_references()?)
    }

    /// The header `X-Platform-Processing-Mode`, for resources without processing modes: whatever it says changes nothing (M-05).
    ///
    /// # Errors
    /// `Invalid` names a value that is no mode (M-01).
    pub fn check_mode(&self) -> Result<()> {
        self.given_mode().map(drop)
    }

    fn given_mode(&self) -> Result<ProcessingMode> {
        match self.request.headers().get(naming().header("Processing-Mode")) {
            Some(value) => Ok(ProcessingMode::parse(&String::from_utf8_lossy(value.as_bytes()))?),
            None => Ok(ProcessingMode::Persistent),
        }
    }

    /// The header `Content-Type` of the body, as far as it is text.
    pub fn content_type(&self) -> Option<&str> {
        self.request.headers().get(header::CONTENT_TYPE)?.to_str().ok()
    }

    /// The type of the body, see [`essence`].
    pub fn body_type(&self) -> &str {
        essence(&self.request)
    }

    /// The headers as they came.
    pub fn headers(&self) -> &header::HeaderMap {
        self.request.headers()
    }

    /// Whether the client sent `Accept`: without it a POST or PUT is answered without a body (C-08).
    pub fn has_accept(&self) -> bool {
        self.request.headers().contains_key(header::ACCEPT)
    }

    /// The content type to answer with: `{mt}<name>+json`, or plain JSON where only that is accepted (C-08).
    ///
    /// # Errors
    /// `NotAcceptable` when the client accepts neither, or another version than 0.9.
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
        match ranges().any(|range| range.is("application/json") || range.is("application/*")) {
            true => Ok("application/json;charset=UTF-8".into()),
            false => Err(ApiError::NotAcceptable(format!(
                "Not acceptable: {}; available: {vendor};ver=0.9 and application/json",
                text.join(",")
            ))),
        }
    }

    /// As [`Wire::accepted`], when the client names one of the types: not for `*/*`, which many send always.
    ///
    /// # Errors
    /// As [`Wire::accepted`].
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

    /// Whether the client wants this media type instead of JSON of this name (G-09, Q-03): it comes first of what the client
    /// accepts and can be given.
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

    /// The content type of what is plain JSON, of no type of its own.
    ///
    /// # Errors
    /// `NotAcceptable` when the client accepts no JSON.
    pub fn accepted_json(&self) -> Result<&'static str> {
        let headers = self.request.headers().get_all(header::ACCEPT);
        let text: Vec<_> = headers.map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
        let mut ranges = text.iter().flat_map(|value| value.split(',')).filter_map(MediaRange::parse);
        let json = ["application/json", "application/*", "*/*"];
        match text.is_empty() || ranges.any(|range| json.iter().any(|known| range.is(known))) {
            true => Ok("application/json;charset=UTF-8"),
            false => Err(ApiError::NotAcceptable(format!(
                "Not acceptable: {}; available: application/json",
                text.join(",")
            ))),
        }
    }

    /// The header `X-Platform-System-Of-Units`: in which units numbers are shown; as they were sent without it (G-10).
    ///
    /// # Errors
    /// `Invalid` names the value and what is allowed.
    pub fn system_of_units(&self) -> Result<Option<SystemOfUnits>> {
        let value = self.request.headers().get(naming().header("System-Of-Units"));
        let parse =
            |value: &header::HeaderValue| SystemOfUnits::parse(&String::from_utf8_lossy(value.as_bytes()));
        Ok(value.map(parse).transpose()?)
    }

    /// Checks the type of a body against the names this resource takes; absent and plain JSON always do (C-09).
    ///
    /// # Errors
    /// `UnsupportedMediaType` names the type and what is allowed.
    pub fn check_content_type(&self, names: &[&str]) -> Result<()> {
        let Some(value) = self.request.headers().get(header::CONTENT_TYPE) else { return Ok(()) };
        let text = String::from_utf8_lossy(value.as_bytes());
        let known = MediaRange::parse(&text).is_some_and(|range| {
            range.is("application/json")
                || (range.has_version_0_9() && names.iter().any(|name| range.is(&naming().media_type(name))))
        });
        match known || text.trim().is_empty() {
            true => Ok(()),
            false => {
                let allowed: Vec<String> = names.iter().map(|name| naming().media_type(name)).collect();
                let allowed = allowed.join(", ");
                let message =
                    format!("Unsupported type of body: {text}; allowed: {allowed} and application/json");
                Err(ApiError::UnsupportedMediaType(message))
            }
        }
    }
}

/// The type of a body without its parameters, as it was written; empty where none is said.
pub fn essence(head: &impl Head) -> &str {
    let content_type = head.header(&header::CONTENT_TYPE).and_then(text).unwrap_or_default();
    content_type.split(';').next().unwrap_or_default().trim()
}

impl FromRequest for Wire {
    type Error = ApiError;
    type Future = std::future::Ready<Result<Self>>;

    fn from_request(request: &HttpRequest, _: &mut dev::Payload) -> Self::Future {
        std::future::ready(Ok(Self::of(request)))
    }
}

/// A media type with its `ver` parameter; compared without case, whatever the order of parameters and blanks (C-08).
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

/// The header `X-Platform-Application-Key`, as far as it is text and not empty (C-05).
pub fn application_key(head: &impl Head) -> Option<&str> {
    text(head.header(application_key_header())?).map(str::trim).filter(|key| !key.is_empty())
}

/// `X-Platform-Application-Key`, in the vendor's words.
pub(crate) fn application_key_header() -> &'static HeaderName {
    static NAME: OnceLock<HeaderName> = OnceLock::new();
    NAME.get_or_init(|| {
        let name = naming().header("Application-Key");
        HeaderName::from_bytes(name.as_bytes()).expect("header names are checked at start")
    })
}

/// What every app holds.
pub fn edge(request: &HttpRequest) -> &web::Data<Edge> {
    request.app_data().expect("every app has its edge")
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
