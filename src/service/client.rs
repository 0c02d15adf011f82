//! Connections to microservices: HTTP/1.1, kept for a while, of one thread.

use std::time::Duration;

use hyper::body::Body;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::{TokioExecutor, TokioTimer};

/// A service that does not take a connection within this time is away; the next attempt costs its client as much.
const CONNECT: Duration = Duration::from_secs(5);
/// Less than servers commonly keep an idle connection, so that it is mostly us who close it.
const IDLE: Duration = Duration::from_secs(4);
/// Idle connections that are kept to one address, by each thread.
const KEPT: usize = 128;
/// Bytes of an answer's head, and of what is read ahead of its body.
const READ_AHEAD: usize = 64 << 10;
/// TCP keep-alive finds peers that vanished without a word behind an open socket.
const TCP_KEEP_ALIVE: Duration = Duration::from_secs(60);

/// The connections of one thread: each lives on the runtime that opened it.
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

/// Whether a connection ended before anything of an answer came, as one does that was closed by its other side at the moment
/// it was used again.
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
