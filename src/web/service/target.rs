//! The path and query of a request to a microservice, as the client sent them, below the address that the operator
//! set (W-14).
//!
//! Routes are matched by a path with collapsed slashes. A microservice has its own rules for paths, so it
//! receives every byte after its context path unchanged, with the query.

use std::borrow::Cow;

use actix_web::http::{StatusCode, Uri};
use actix_web::{HttpMessage, HttpRequest};
use percent_encoding::percent_decode;
use platform_model::applications::service_address::ServiceAddress;

use crate::http::error::{ApiError, Result};
use crate::http::path::AsReceived;

/// How often a path is decoded in search of segments that leave the base, because some servers decode twice.
const DECODINGS: usize = 3;

/// The path and query that a client sent after the context path.
#[derive(Debug)]
pub(super) struct Target(String);

impl Target {
    /// Returns the target of a request.
    ///
    /// # Errors
    /// 400 for a path that could leave the base of the microservice in any encoding.
    pub(super) fn of(request: &HttpRequest) -> Result<Self> {
        match request.extensions().get::<AsReceived>() {
            Some(AsReceived(uri)) => Self::read(uri),
            None => Self::read(request.uri()),
        }
    }

    fn read(uri: &Uri) -> Result<Self> {
        let path = below(uri.path());
        if leaves_base(path) {
            return Err(bad_request("The path of a microservice must not have segments '.' or '..'"));
        }
        let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
        Ok(Self(format!("{path}{query}")))
    }

    /// Returns the complete address.
    ///
    /// # Errors
    /// 400 for bytes that are not allowed in an address.
    pub(super) fn at(&self, address: &ServiceAddress) -> Result<hyper::Uri> {
        let between = if address.base().is_empty() && !self.0.starts_with('/') { "/" } else { "" };
        let text = format!("{address}{between}{}", self.0);
        text.parse()
            .map_err(|_| bad_request("The path contains characters that are not allowed in an address"))
    }
}

fn bad_request(why: &str) -> ApiError {
    ApiError::Http(StatusCode::BAD_REQUEST, why.into())
}

/// Returns the path after `/service/<contextPath>`: empty, or with exactly one slash in front. Repeated slashes there
/// belong to neither side.
fn below(path: &str) -> &str {
    let mut rest = path;
    for _segment in ["service", "its context path"] {
        rest = rest.trim_start_matches('/');
        rest = &rest[rest.find('/').unwrap_or(rest.len())..];
    }
    let repeated = rest.len() - rest.trim_start_matches('/').len();
    &rest[repeated.saturating_sub(1)..]
}

/// Returns whether any server would see a segment `.` or `..` in the path: encoded, between backslashes, or followed
/// by parameters.
fn leaves_base(path: &str) -> bool {
    let mut decoded = Cow::from(path.as_bytes());
    for _ in 0..DECODINGS {
        if has_dot_segment(&decoded) {
            return true;
        }
        if !decoded.contains(&b'%') {
            return false;
        }
        decoded = percent_decode(&decoded).collect::<Vec<u8>>().into();
    }
    has_dot_segment(&decoded)
}

fn has_dot_segment(path: &[u8]) -> bool {
    let mut segments = path.split(|byte| matches!(byte, b'/' | b'\\'));
    segments.any(|segment| {
        let name = segment.split(|byte| *byte == b';').next().unwrap_or_default();
        matches!(name.trim_ascii(), b"." | b"..")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(uri: &str, address: &str) -> Option<String> {
        let target = Target::read(&uri.parse().expect(uri)).ok()?;
        Some(target.at(&ServiceAddress::parse(address).expect(address)).ok()?.to_string())
    }

    #[test]
    fn path_and_query_are_kept_byte_for_byte_below_the_base() {
        for (uri, target) in [
            ("/service/rules", "http://h:1/"),
            ("/service/rules/", "http://h:1/"),
            ("/service/rules?a=/../b", "http://h:1/?a=/../b"),
            ("/service/rules/a%2Fb/%C3%A4//c/?x=%20&y=%%", "http://h:1/a%2Fb/%C3%A4//c/?x=%20&y=%%"),
            ("//service//rules//a", "http://h:1/a"),
            ("/service/rules//evil.example.com/", "http://h:1/evil.example.com/"),
            ("/service/rules/...", "http://h:1/..."),
            ("/service/rules/a..b/.c/d.", "http://h:1/a..b/.c/d."),
            ("/service/rules/;a=.", "http://h:1/;a=."),
            ("http://other/service/rules/x", "http://h:1/x"),
        ] {
            assert_eq!(asked(uri, "http://h:1").as_deref(), Some(target), "{uri}");
        }
        assert_eq!(asked("/service/rules", "http://h:1/b").as_deref(), Some("http://h:1/b"));
        assert_eq!(asked("/service/rules?q", "http://h:1/b").as_deref(), Some("http://h:1/b?q"));
        assert_eq!(asked("/service/rules/", "http://h:1/b").as_deref(), Some("http://h:1/b/"));
        assert_eq!(asked("/service/rules/x", "http://h:1/b/").as_deref(), Some("http://h:1/b/x"));
    }

    #[test]
    fn nothing_leads_out_of_the_base() {
        for path in [
            "..",
            ".",
            "a/..",
            "a/./b",
            "../../etc",
            "%2e%2e",
            ".%2E/x",
            "%2e",
            "..%2f..",
            "a%2f..%2fb",
            "..%5c",
            "a%5C..",
            "..;/a",
            "a/..;x=1/b",
            "%2e%2e%3b/a",
            "%252e%252e/a",
            "..%252fa",
            "%25252e%25252e",
            "%2e%2e%20/x",
        ] {
            assert_eq!(asked(&format!("/service/rules/{path}"), "http://h:1/base"), None, "{path}");
        }
    }
}
