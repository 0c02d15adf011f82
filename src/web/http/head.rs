//! The head of a request, with one interface for both HTTP servers: actix-http and the fast lane.

use std::net::IpAddr;
use std::sync::Arc;

use actix_web::http::Method;
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::{HttpMessage, HttpRequest, web};
use platform_actors::Platform;
use platform_front::connection::ConnectionHandle;
use platform_front::tls::ClientCertificate;

use super::address::AddressSettings;
use super::error::ErrorDetail;
use super::held_bytes::HeldBytes;

/// A header that proxies set (C-15).
pub(crate) static X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
/// A header that proxies set (C-15).
pub(crate) static X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
/// A header that proxies set (C-15).
pub(crate) static X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
/// The header that names the emulated method (C-06).
pub(crate) static X_HTTP_METHOD: HeaderName = HeaderName::from_static("x-http-method");

/// A header that scripts of pages set, so that a server can tell them from people.
static X_REQUESTED_WITH: HeaderName = HeaderName::from_static("x-requested-with");
/// A header by which a browser says what the response is for; `empty` for a script.
pub(crate) static SEC_FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// Requests that have a component of the server.
pub trait Has<T: 'static> {
    /// Returns the component.
    fn component(&self) -> &web::Data<T>;
}

/// A component that every request of actix-http has. The place that registers the components implements this trait, so
/// that a request for any other type does not compile.
pub trait Registered: 'static {}

/// A request without its body, with the components that HTTP itself needs.
pub trait Head: Has<AddressSettings> + Has<ErrorDetail> + Has<HeldBytes> + Has<Platform> {
    /// Returns a component of the server that requests use.
    fn state<T: 'static>(&self) -> &web::Data<T>
    where
        Self: Has<T>,
    {
        self.component()
    }

    /// Returns the method by which the request is routed.
    fn method(&self) -> &Method;

    /// Returns the path by which the request is routed.
    fn path(&self) -> &str;

    /// Returns the unmodified values of a header.
    fn values<'h>(&'h self, name: &'h HeaderName) -> impl DoubleEndedIterator<Item = &'h [u8]>;

    /// Returns the host and port from the request line, if the request line names them.
    fn target_authority(&self) -> Option<&str>;

    /// Returns the address of the peer.
    fn peer(&self) -> Option<IpAddr>;

    /// Returns the certificate that the client presented in the TLS handshake.
    fn certificate(&self) -> Option<Arc<ClientCertificate>>;

    /// Returns the first value of a header.
    fn header(&self, name: &HeaderName) -> Option<&[u8]>;

    /// Returns whether the request contains a header.
    fn has(&self, name: &HeaderName) -> bool {
        self.header(name).is_some()
    }
}

impl<T: Registered> Has<T> for HttpRequest {
    fn component(&self) -> &web::Data<T> {
        self.app_data().expect("every app has all registered components")
    }
}

impl Head for HttpRequest {
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

    /// The call of a CSV row has no connection; its certificate is that of the request with the rows.
    fn certificate(&self) -> Option<Arc<ClientCertificate>> {
        match self.conn_data::<ConnectionHandle>() {
            Some(connection) => connection.certificate(),
            None => self.extensions().get().cloned(),
        }
    }

    fn header(&self, name: &HeaderName) -> Option<&[u8]> {
        self.headers().get(name).map(HeaderValue::as_bytes)
    }
}

/// Returns whether a script of a page sent the request. The browser would ask its user for a password when a 401 has
/// `WWW-Authenticate: Basic`, and the script would wait for that (C-16b).
pub(crate) fn is_of_script(head: &impl Head) -> bool {
    head.has(&X_REQUESTED_WITH) || head.header(&SEC_FETCH_DEST).is_some_and(|value| value == b"empty")
}

/// Returns a header value if it is text.
pub(crate) fn text(value: &[u8]) -> Option<&str> {
    let is_text = value.iter().all(|byte| (b' '..=b'~').contains(byte) || *byte == b'\t');
    is_text.then(|| str::from_utf8(value).ok())?
}
