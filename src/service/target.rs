//! What is asked of a microservice: the path as the client sent it, below the address that the operator set (W-14).
//!
//! Routes are found by a path in which slashes are collapsed. A microservice has rules of its own for its paths, so it
//! gets every byte behind the slash after its context path as it came, the query too.

use std::borrow::Cow;

use actix_web::http::{StatusCode, Uri};
use actix_web::{HttpMessage, HttpRequest};
use percent_encoding::percent_decode;
use platform_actors::model::service_address::ServiceAddress;

use crate::http::error::{ApiError, Result};
use crate::http::middleware::AsReceived;

/// How often a path is decoded to find what would lead out of the base: some servers decode twice.
const DECODED: usize = 3;

/// What a client wrote behind the context path: path and query.
#[derive(Debug)]
pub(super) struct Asked(String);

impl Asked {
    /// Of a request.
    ///
    /// # Errors
    /// 400 for a path that could lead out of the base of the microservice, however it is spelled.
    pub(super) fn of(request: &HttpRequest) -> Result<Self> {
        match request.extensions().get::<AsReceived>() {
            Some(AsReceived(uri)) => Self::read(uri),
            None => Self::read(request.uri()),
        }
    }

    fn read(uri: &Uri) -> Result<Self> {
        let path = below(uri.path());
        if leads_out(path) {
            return Err(refused("The path of a microservice must not have segments '.' or '..'"));
        }
        let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
        Ok(Self(format!("{path}{query}")))
    }

    /// The whole address.
    ///
    /// # Errors
    /// 400 for bytes that may stand in no address.
    pub(super) fn at(&self, address: &ServiceAddress) -> Result<hyper::Uri> {
        let between = if address.base().is_empty() && !self.0.starts_with('/') { "/" } else { "" };
        let text = format!("{address}{between}{}", self.0);
        text.parse().map_err(|_| refused("The path has characters that may stand in no address"))
    }
}

fn refused(why: &str) -> ApiError {
    ApiError::Http(StatusCode::BAD_REQUEST, why.into())
}

/// What stands behind `/service/<contextPath>`: nothing, or a path with one slash in front. Slashes that are repeated there
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

/// Whether some server would read a segment `.` or `..` in it: encoded, between backslashes, or with parameters behind.
fn leads_out(path: &str) -> bool {
    let mut decoded = Cow::from(path.as_bytes());
    for _ in 0..DECODED {
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
        let asked = Asked::read(&uri.parse().expect(uri)).ok()?;
        Some(asked.at(&ServiceAddress::parse(address).expect(address)).ok()?.to_string())
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
