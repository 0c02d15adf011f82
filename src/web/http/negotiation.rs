//! Content negotiation for both HTTP servers: the media types of bodies and responses, and the processing mode (C-08,
//! C-09, M-01), and the condition of a write (C-23).

use std::borrow::Cow;
use std::sync::OnceLock;

use actix_web::http::header::{self, HeaderName};
use platform_model::naming::naming;
use platform_model::origin::ProcessingMode;
use platform_model::precondition::Precondition;

use super::error::{ApiError, Result};
use super::head::Head;

/// Returns the header `X-Platform-Processing-Mode`; without it a request is stored and published.
///
/// # Errors
/// `Invalid` names the value and the allowed ones.
pub(crate) fn processing_mode(head: &impl Head) -> Result<ProcessingMode> {
    static NAME: OnceLock<HeaderName> = OnceLock::new();
    let name = NAME.get_or_init(|| {
        let name = naming().header("Processing-Mode");
        HeaderName::from_bytes(name.as_bytes()).expect("header names are checked at start")
    });
    match head.header(name) {
        Some(value) => Ok(ProcessingMode::parse(&String::from_utf8_lossy(value))?),
        None => Ok(ProcessingMode::Persistent),
    }
}

/// Returns the header `If-Match`; without it a write has no condition (C-23).
///
/// # Errors
/// `Invalid` names the value and what is allowed.
pub(crate) fn precondition(head: &impl Head) -> Result<Option<Precondition>> {
    let values: Vec<_> = head.values(&header::IF_MATCH).map(String::from_utf8_lossy).collect();
    if values.is_empty() {
        return Ok(None);
    }
    Ok(Precondition::parse(&values.join(","))?)
}

/// Returns whether the client sent `Accept`. Without it, the response to a POST or PUT has no body (C-08). An empty one
/// counts as absent (G-03a).
pub(crate) fn has_accept(head: &impl Head) -> bool {
    accept_of(head).next().is_some()
}

/// Returns the values of `Accept` that are not empty.
pub(super) fn accept_of(head: &impl Head) -> impl Iterator<Item = Cow<'_, str>> {
    let is_given = |value: &&[u8]| !value.trim_ascii().is_empty();
    head.values(&header::ACCEPT).filter(is_given).map(String::from_utf8_lossy)
}

/// Returns the content type of the response: `{mt}<name>+json`, or plain JSON when the client accepts only that (C-08).
///
/// # Errors
/// `NotAcceptable` when the client accepts neither, or a version other than 0.9.
pub(crate) fn accepted(head: &impl Head, name: &str) -> Result<String> {
    let vendor = naming().media_type(name);
    let versioned = || format!("{vendor};ver=0.9;charset=UTF-8");
    let text: Vec<_> = accept_of(head).collect();
    if text.is_empty() {
        return Ok(versioned());
    }
    let ranges = || text.iter().flat_map(|value| value.split(',')).filter_map(MediaRange::parse);
    if ranges().any(|range| range.has_version_0_9() && (range.is(&vendor) || range.is("*/*"))) {
        return Ok(versioned());
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

/// Checks the media type of a body against the names that a resource supports. An absent type and plain JSON are always
/// supported (C-09).
///
/// # Errors
/// `UnsupportedMediaType` names the type and the supported ones.
pub(crate) fn check_content_type(head: &impl Head, names: &[&str]) -> Result<()> {
    let Some(value) = head.header(&header::CONTENT_TYPE) else { return Ok(()) };
    let text = String::from_utf8_lossy(value);
    let known = MediaRange::parse(&text).is_some_and(|range| {
        range.is("application/json")
            || (range.has_version_0_9() && names.iter().any(|name| range.is(&naming().media_type(name))))
    });
    if known || text.trim().is_empty() {
        Ok(())
    } else {
        let allowed: Vec<String> = names.iter().map(|name| naming().media_type(name)).collect();
        let allowed = allowed.join(", ");
        let message = format!("Unsupported type of body: {text}; allowed: {allowed} and application/json");
        Err(ApiError::UnsupportedMediaType(message))
    }
}

/// A media type with its `ver` parameter. The comparison ignores case, and the order of parameters and whitespace does
/// not matter (C-08).
pub(super) struct MediaRange<'a> {
    essence: &'a str,
    version: Option<&'a str>,
}

impl<'a> MediaRange<'a> {
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let mut parts = text.split(';').map(str::trim);
        let essence = parts.next().filter(|essence| !essence.is_empty())?;
        let version = parts
            .filter_map(|parameter| parameter.split_once('='))
            .find(|(name, _)| name.trim().eq_ignore_ascii_case("ver"))
            .map(|(_, version)| version.trim().trim_matches('"'));
        Some(Self { essence, version })
    }

    pub(super) fn is(&self, media_type: &str) -> bool {
        self.essence.eq_ignore_ascii_case(media_type)
    }

    pub(super) fn has_version_0_9(&self) -> bool {
        self.version.is_none_or(|version| version == "0.9")
    }
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
