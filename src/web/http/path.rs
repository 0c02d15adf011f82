//! Paths are routed in a normalized form.

use actix_web::http::uri::{PathAndQuery, Uri};
use bytes::Bytes;

/// The original address of a request that is routed by a normalized one, stored in its extensions.
#[derive(Debug, Clone)]
pub struct AsReceived(pub Uri);

/// Returns the normalized address if it differs from the original: a trailing slash is removed, and repeated slashes
/// become one.
pub fn collapsed(uri: &Uri) -> Option<Uri> {
    let path = uri.path();
    if path.len() < 2 || !(path.contains("//") || path.ends_with('/')) {
        return None;
    }
    let mut collapsed = String::with_capacity(path.len());
    path.split('/').filter(|segment| !segment.is_empty()).for_each(|segment| {
        collapsed.push('/');
        collapsed.push_str(segment);
    });
    if collapsed.is_empty() {
        collapsed.push('/');
    }
    if let Some(query) = uri.query() {
        collapsed.push('?');
        collapsed.push_str(query);
    }
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = PathAndQuery::from_maybe_shared(Bytes::from(collapsed)).ok();
    Uri::from_parts(parts).ok()
}
