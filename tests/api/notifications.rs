//! The tests of notifications and transports: long polls on both transports, WebSockets, the CSV protocol, TLS;
//! and of the programs of others that use them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so by its panic")]
#![allow(clippy::large_futures, reason = "a test holds one of them")]
#![allow(
    clippy::duplicate_mod,
    reason = "what is about held polls runs on both transports, and at two servers, see `harness::server`"
)]

use platform_test_harness as harness;

mod clients;
mod consumers;
#[path = "consumers/mod.rs"]
mod consumers_at_two_servers;
mod csv;
mod lane;
mod realtime;
#[path = "realtime/mod.rs"]
mod realtime_at_two_servers;
#[path = "realtime/without_lane.rs"]
mod realtime_without_lane;
#[path = "../samples/mod.rs"]
mod samples;
mod several_servers;
mod tls;
mod traces;
mod websocket;
#[path = "websocket/mod.rs"]
mod websocket_at_two_servers;
