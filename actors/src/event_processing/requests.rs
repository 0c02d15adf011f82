//! Requests that modules send to other servers (`SendRequest`, Q-07). This crate knows no HTTP: the edge sends them.

use tokio::sync::oneshot;

use crate::model::id::{ManagedObjectId, TenantId};

/// Headers that no module may set: they say how a message is framed and whom it reaches, so whoever set them could send a second
/// request in the first, or reach another host than the one that is allowed.
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

/// A request that a module asks for. Nothing in it breaks out of its place; the edge allows hosts and
/// methods, and makes a request of it.
#[derive(Debug)]
pub struct OutboundRequest {
    /// Whose module asks.
    pub tenant: TenantId,
    /// Where to.
    pub url: String,
    /// As written, in any case.
    pub method: String,
    /// The body; none without.
    pub body: Option<String>,
    /// Value of `Authorization`.
    pub authorization: Option<String>,
    /// Value of `Content-Type`.
    pub content_type: Option<String>,
    /// Other headers, in order.
    pub headers: Vec<(String, String)>,
    /// The managed object the answer is about.
    pub source: Option<ManagedObjectId>,
    /// Where the answer goes, which becomes an event of `ResponseReceived`.
    pub answer: oneshot::Sender<OutboundResponse>,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboundResponse {
    /// Status of the answer; 0 when there was none, or the request is not allowed.
    pub status: u16,
    /// The body as text; or why there was no answer.
    pub body: String,
}
