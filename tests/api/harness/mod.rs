//! The foundation of every test: a PostgreSQL of the test process, a server per test, and clients.
//!
//! Reading order: [`TestServer`] (start one), [`Caller`] (REST), [`Session`] (long polling), [`Socket`]
//! (WebSocket), [`RawConnection`] (bytes that no client library sends), [`Program`] (the real binary).

mod archive;
mod bayeux;
mod json;
mod postgres;
mod private_postgres;
mod program;
mod raw;
mod rest;
mod server;
mod websocket;

use std::time::{Duration, Instant};

pub(crate) use archive::{Entry, LINK, archive, end_of_archive, form, service_archive, upload, web_archive};
pub(crate) use bayeux::{REALTIME, Session, notifications, reply};
pub(crate) use json::{SERVER_MEMBERS, ids, member_texts, redacted, without};
pub(crate) use postgres::TestDatabase;
pub(crate) use private_postgres::PrivatePostgres;
pub(crate) use program::{Program, run, scratch};
pub(crate) use raw::RawConnection;
pub(crate) use rest::{Answer, Caller, MEDIA, Request, alarm_of, event_of, measurement_of, token};
pub(crate) use server::{ADMIN_PASSWORD, BOOTSTRAP_PASSWORD, TestServer};
pub(crate) use websocket::{Socket, connect, handshake, subscribe};

/// The timeout of anything a test expects at once.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Returns the output of a future that must not take longer than [`PATIENCE`].
pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    within(PATIENCE, what, future).await
}

/// Returns the output of a future that must not take longer than `limit`.
pub(crate) async fn within<T>(limit: Duration, what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(limit, Box::pin(future)).await {
        Ok(outcome) => outcome,
        Err(_) => panic!("waited {limit:?} in vain for {what}"),
    }
}

/// Calls `attempt` until it returns something, at most for [`PATIENCE`].
pub(crate) async fn eventually<T>(what: &str, attempt: impl AsyncFnMut() -> Option<T>) -> T {
    eventually_within(PATIENCE, what, attempt).await
}

/// Calls `attempt` until it returns something, at most for `limit`.
pub(crate) async fn eventually_within<T>(
    limit: Duration,
    what: &str,
    mut attempt: impl AsyncFnMut() -> Option<T>,
) -> T {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(found) = attempt().await {
            return found;
        }
        assert!(Instant::now() < deadline, "waited {limit:?} in vain for {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
