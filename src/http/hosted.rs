//! What every answer below `/apps` carries, errors too: files there were written by strangers, and the browsers of those who
//! open them hold credentials for this server.
//!
//! The policy puts their pages into a sandbox without an origin. So their scripts are another site's: a browser adds no stored
//! credentials to what they ask for, and shows them no answer to what it added some to; see [`cors`](super::cors).

use actix_web::http::header::{self, HeaderMap, HeaderName, HeaderValue};

use crate::server::Edge;

/// Where hosted applications are.
const APPS: &str = "/apps";

/// Whether a path is where hosted applications are.
pub fn is_below_apps(path: &str) -> bool {
    path.strip_prefix(APPS).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Adds what confines a page to itself.
pub fn confine(edge: &Edge, headers: &mut HeaderMap) {
    headers.insert(header::CONTENT_SECURITY_POLICY, edge.hosted_policy.clone());
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    // A page of no origin is a stranger to its own files.
    let policy = HeaderName::from_static("cross-origin-resource-policy");
    headers.insert(policy, HeaderValue::from_static("cross-origin"));
}
