//! HTTP/1.1 connections to microservices, kept open for a while per thread.

use std::time::Duration;

use hyper::body::Body;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::{TokioExecutor, TokioTimer};

/// A service that does not accept a connection within this time is unreachable; the next attempt takes as long.
const CONNECT: Duration = Duration::from_secs(5);
/// Less than most servers keep an idle connection, so that usually this side closes it.
const IDLE: Duration = Duration::from_secs(4);
/// The most idle connections to one address per thread.
const KEPT: usize = 128;
/// The most bytes of response headers, and of the body that is read ahead.
const READ_AHEAD: usize = 64 << 10;
/// TCP keep-alive finds peers that vanished without closing the socket.
const TCP_KEEP_ALIVE: Duration = Duration::from_secs(60);

/// Creates the connection pool of one thread. Each connection belongs to the runtime that opened it.
pub(super) fn connections<B>() -> Client<HttpConnector, B>
where
    B: Body + Send + 'static,
    B::Data: Send,
{
    let mut connector = HttpConnector::new();
    connector.set_connect_timeout(Some(CONNECT));
    connector.set_nodelay(true);
    connector.set_keepalive(Some(TCP_KEEP_ALIVE));
    Client::builder(TokioExecutor::new())
        .pool_idle_timeout(IDLE)
        .pool_timer(TokioTimer::new())
        .pool_max_idle_per_host(KEPT)
        .http1_max_buf_size(READ_AHEAD)
        .build(connector)
}

/// Returns whether a connection ended before any byte of a response. This happens when the other side closes an idle
/// connection at the moment it is used again.
pub(super) fn ended_unanswered(error: &Error) -> bool {
    if error.is_connect() {
        return false;
    }
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<hyper::Error>()
            && (error.is_incomplete_message() || error.is_canceled() || error.is_closed())
        {
            return true;
        }
        if let Some(error) = error.downcast_ref::<std::io::Error>() {
            return matches!(
                error.kind(),
                std::io::ErrorKind::ConnectionReset | std::io::ErrorKind::BrokenPipe
            );
        }
        cause = error.source();
    }
    false
}
