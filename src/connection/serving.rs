//! The future that serves one connection, stage after stage. Each stage frees the memory of the one before it: a
//! WebSocket is idle for hours and needs nothing of the TLS handshake, the fast lane or actix-http.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use actix_http::error::DispatchError;
use futures_util::future::LocalBoxFuture;

use super::handle::ConnectionHandle;
use crate::telemetry;

/// Serves a connection until it ends.
pub(crate) enum Serving {
    /// The TLS handshake and the fast lane; resolves to the next stage unless the connection ended.
    Entering(LocalBoxFuture<'static, io::Result<Option<OverHttp>>>),
    /// actix-http serves the requests.
    Http(OverHttp),
    /// The bytes of an upgraded connection are transferred.
    Upgraded(LocalBoxFuture<'static, ()>),
}

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
                Self::Entering(entering) => match ready!(entering.as_mut().poll(cx))? {
                    Some(http) => Self::Http(http),
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
