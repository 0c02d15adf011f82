//! What a request says before its body, whichever transport read it: the common one, or the fast lane.

use std::net::IpAddr;

use actix_web::http::Method;
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::{HttpRequest, web};

use super::edge;
use crate::server::Edge;

/// Forwarded by proxies (C-15).
pub(crate) static X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
/// Forwarded by proxies (C-15).
pub(crate) static X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
/// Forwarded by proxies (C-15).
pub(crate) static X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
/// The method that is meant (C-06).
pub(crate) static X_HTTP_METHOD: HeaderName = HeaderName::from_static("x-http-method");

/// A request without its body.
pub trait Head {
    /// What the server holds.
    fn edge(&self) -> &web::Data<Edge>;

    /// The method as it is routed.
    fn method(&self) -> &Method;

    /// The path as it is routed.
    fn path(&self) -> &str;

    /// The values of a header, each as it came.
    fn values<'h>(&'h self, name: &'h HeaderName) -> impl DoubleEndedIterator<Item = &'h [u8]>;

    /// Host and port of a request that names them in its first line.
    fn target_authority(&self) -> Option<&str>;

    /// The address of the other end of the connection.
    fn peer(&self) -> Option<IpAddr>;

    /// The first value of a header.
    fn header(&self, name: &HeaderName) -> Option<&[u8]>;

    /// Whether a header came.
    fn has(&self, name: &HeaderName) -> bool {
        self.header(name).is_some()
    }
}

impl Head for HttpRequest {
    fn edge(&self) -> &web::Data<Edge> {
        edge(self)
    }

    fn method(&self) -> &Method {
        self.method()
    }

    fn path(&self) -> &str {
        self.path()
    }

    fn values<'h>(&'h self, name: &'h HeaderName) -> impl DoubleEndedIterator<Item = &'h [u8]> {
        self.headers().get_all(name).map(HeaderValue::as_bytes)
    }

    fn target_authority(&self) -> Option<&str> {
        self.uri().authority().map(|authority| authority.as_str())
    }

    fn peer(&self) -> Option<IpAddr> {
        self.peer_addr().map(|peer| peer.ip())
    }

    fn header(&self, name: &HeaderName) -> Option<&[u8]> {
        self.headers().get(name).map(HeaderValue::as_bytes)
    }
}

/// The value of a header, when it is text.
pub(crate) fn text(value: &[u8]) -> Option<&str> {
    let is_text = value.iter().all(|byte| (b' '..=b'~').contains(byte) || *byte == b'\t');
    is_text.then(|| str::from_utf8(value).ok())?
}
