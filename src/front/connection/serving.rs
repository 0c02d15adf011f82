//! The future that serves one connection, stage after stage. Each stage frees the memory of the one before it: a
//! WebSocket is idle for hours and needs nothing of the TLS handshake, the fast lane or actix-http.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use actix_http::error::DispatchError;
use futures_util::future::LocalBoxFuture;

use super::Stream;
use super::handle::ConnectionHandle;
use crate::telemetry;

/// Serves a connection until it ends. `L` is the future of a connection of the fast lane; it resolves to `None` when
/// the connection ended normally.
pub enum Serving<L> {
    /// The TLS handshake; resolves to the next stage.
    Entering(LocalBoxFuture<'static, io::Result<Self>>),
    /// The fast lane. The function passes the connection to actix-http, with the bytes that were read but not
    /// processed.
    Lane(L, ToHttp),
    /// actix-http serves the requests.
    Http(OverHttp),
    /// The bytes of an upgraded connection are transferred.
    Upgraded(LocalBoxFuture<'static, ()>),
}

/// A connection that leaves the fast lane.
pub struct HandedOver {
    /// The byte stream.
    pub stream: Stream,
    /// The bytes that were read but not processed.
    pub unread: Vec<u8>,
    /// The address of the peer, as the operating system reports it.
    pub peer: Option<SocketAddr>,
    /// The reason.
    pub why: Why,
}

/// The reason why a connection leaves the fast lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The next request is not one that the lane supports.
    Foreign,
    /// The next request did not arrive in time.
    Late,
    /// The client sends HTTP without TLS to a server that serves HTTPS only.
    Plain,
}

impl HandedOver {
    /// Returns a connection that the fast lane has not served.
    pub fn unserved(stream: Stream, peer: Option<SocketAddr>, why: Why) -> Self {
        Self { stream, unread: Vec::new(), peer, why }
    }
}

/// Passes a connection to actix-http.
pub type ToHttp = Rc<dyn Fn(HandedOver) -> OverHttp>;

/// A connection that actix-http serves. When it has upgraded the connection, `handle` contains the next stage.
pub struct OverHttp {
    /// The handle by which routes reach the connection of a request.
    pub handle: ConnectionHandle,
    /// Resolves when actix-http has finished with the connection.
    pub served: LocalBoxFuture<'static, Result<(), DispatchError>>,
}

impl<L: Future<Output = io::Result<Option<HandedOver>>> + Unpin> Future for Serving<L> {
    type Output = Result<(), DispatchError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            let next = match &mut *self {
                Self::Entering(entering) => ready!(entering.as_mut().poll(cx))?,
                Self::Lane(lane, to_http) => match ready!(Pin::new(&mut *lane).poll(cx))? {
                    Some(left) => Self::Http(to_http(left)),
                    None => return Poll::Ready(Ok(())),
                },
                Self::Http(http) => {
                    let served = ready!(http.served.as_mut().poll(cx));
                    match http.handle.take_upgraded() {
                        Some(upgraded) => Self::Upgraded(upgraded),
                        None => return Poll::Ready(served.inspect_err(telemetry::count_faulty_connection)),
                    }
                }
                Self::Upgraded(upgraded) => return upgraded.as_mut().poll(cx).map(Ok),
            };
            *self = next;
        }
    }
}
