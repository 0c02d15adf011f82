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
use crate::lane::Connected;
use crate::telemetry;

/// Serves a connection until it ends.
pub(crate) enum Serving {
    /// The TLS handshake; resolves to the next stage.
    Entering(LocalBoxFuture<'static, io::Result<Serving>>),
    /// The fast lane. The function passes the connection to actix-http, with the bytes that were read but not
    /// processed.
    Lane(Connected, ToHttp),
    /// actix-http serves the requests.
    Http(OverHttp),
    /// The bytes of an upgraded connection are transferred.
    Upgraded(LocalBoxFuture<'static, ()>),
}

/// Passes a connection to actix-http.
pub(crate) type ToHttp = Rc<dyn Fn(Stream, Vec<u8>, Option<SocketAddr>) -> OverHttp>;

/// A connection that actix-http serves. When it has upgraded the connection, `handle` contains the next stage.
pub(crate) struct OverHttp {
    pub(crate) handle: ConnectionHandle,
    pub(crate) served: LocalBoxFuture<'static, Result<(), DispatchError>>,
}

impl Future for Serving {
    type Output = Result<(), DispatchError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            let next = match &mut *self {
                Self::Entering(entering) => ready!(entering.as_mut().poll(cx))?,
                Self::Lane(lane, to_http) => match ready!(Pin::new(&mut *lane).poll(cx))? {
                    Some((stream, unread)) => Self::Http(to_http(stream, unread, lane.peer())),
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
