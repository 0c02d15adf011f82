//! Requests that modules send to other servers (`SendRequest`, Q-07). This crate contains no HTTP client: the
//! HTTP layer of the server sends the requests.

use tokio::sync::oneshot;

use platform_model::id::{ManagedObjectId, TenantId};

/// Header names that modules must not set. They determine the framing and the target of a message, so setting
/// them could smuggle a second request into the first or reach a host that is not allowed.
pub const RESERVED_HEADERS: [&str; 11] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// A request that a module wants to send. Its parts are validated against header injection; the HTTP layer
/// checks that host and method are allowed, and sends it.
#[derive(Debug)]
pub struct OutboundRequest {
    /// The tenant of the module.
    pub tenant: TenantId,
    /// The URL of the request.
    pub url: String,
    /// The method as written, in any case.
    pub method: String,
    /// The body, if there is one.
    pub body: Option<String>,
    /// The value of `Authorization`.
    pub authorization: Option<String>,
    /// The value of `Content-Type`.
    pub content_type: Option<String>,
    /// The other headers, in order.
    pub headers: Vec<(String, String)>,
    /// The managed object that the response concerns.
    pub source: Option<ManagedObjectId>,
    /// The channel for the response, which becomes a `ResponseReceived` event.
    pub answer: oneshot::Sender<OutboundResponse>,
}

/// The result of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboundResponse {
    /// The status of the response; 0 if there was no response or if the request is not allowed.
    pub status: u16,
    /// The response body as text, or the reason why there was no response.
    pub body: String,
}
