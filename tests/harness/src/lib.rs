//! The foundation of every test: a PostgreSQL of the test process, servers, and clients.
//!
//! Reading order: [`TestServer`] (start one), [`Caller`] (REST), [`Session`] (long polling), [`Socket`] (WebSocket),
//! [`RawConnection`] (bytes that no client library sends), [`Program`] (the real binary). Tests import the [`prelude`];
//! many values of one kind are a [`table`]. The other public modules contain helpers for one noun that tests of other
//! nouns use, too.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue panics")]
#![allow(clippy::large_futures, reason = "a test holds one of them")]
#![allow(missing_docs, reason = "members of data that tests fill in")]

pub mod application_keys;
pub mod bulk_updates;
pub mod certificates;
pub mod csv;
mod exclusive;
pub mod issuer;
pub mod modules;
pub mod node;
pub mod operations;
pub mod python;
pub mod service;
pub mod streams;
pub mod tenants;

mod archive;
pub mod authenticator;
mod bayeux;
mod changes;
mod cluster;
mod json;
mod postgres;
mod private_postgres;
mod program;
mod raw;
pub mod reference;
mod rest;
mod round_robin;
mod server;
mod tenancy;
mod websocket;

pub mod prelude;
pub mod table;

use std::time::{Duration, Instant};

pub use archive::{Entry, LINK, archive, end_of_archive, form, service_archive, upload, web_archive};
pub use bayeux::{REALTIME, Session, notifications, reply};
pub use cluster::Cluster;
pub use json::{SERVER_MEMBERS, ids, member_texts, redacted, without};
pub use postgres::{TenantData, TestDatabase};
pub use private_postgres::PrivatePostgres;
pub use program::{
    POSTGRES_PROGRAMS, Program, free_port, other_programs_are_required, place_program, postgres_programs,
    remove_settings, run, scratch, scratch_with_data,
};
pub use raw::{RawConnection, until_the_server_knows};
pub use rest::{
    ALARMS, Caller, EVENTS, MEASUREMENTS, MEDIA, OBJECTS, Request, Response, alarm_of, event_of,
    measurement_of, token,
};
pub use server::{ADMIN_PASSWORD, BOOTSTRAP_PASSWORD, TestServer, runs_at_two_servers};
pub use websocket::{Socket, connect, handshake, subscribe};

/// The timeout of anything that a test expects at once.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Returns the output of a future that must not take longer than [`PATIENCE`].
pub async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    within(PATIENCE, what, future).await
}

/// Returns the output of a future that must not take longer than `limit`.
pub async fn within<T>(limit: Duration, what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(limit, Box::pin(future)).await {
        Ok(outcome) => outcome,
        Err(_) => panic!("waited {limit:?} in vain for {what}"),
    }
}

/// Waits until `holds` returns true, at most for [`PATIENCE`].
pub async fn until(what: &str, holds: impl AsyncFnMut() -> bool) {
    until_within(PATIENCE, what, holds).await;
}

/// Waits until `holds` returns true, at most for `limit`.
pub async fn until_within(limit: Duration, what: &str, mut holds: impl AsyncFnMut() -> bool) {
    eventually_within(limit, what, async || holds().await.then_some(())).await;
}

/// Calls `attempt` until it returns something, at most for [`PATIENCE`].
pub async fn eventually<T>(what: &str, attempt: impl AsyncFnMut() -> Option<T>) -> T {
    eventually_within(PATIENCE, what, attempt).await
}

/// Calls `attempt` until it returns something, at most for `limit`.
pub async fn eventually_within<T>(
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
