//! The programs in samples/ run against the real server and through its restarts, as for somebody who copied them.
//!
//! Where Python, a C compiler or libcurl is missing, the test prints that and passes, unless
//! `PLATFORM_CLIENT_SUITE=required` is set, as in CI. tests/api/browser.rs opens the page in samples/dashboard.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so by its panic")]
#![allow(clippy::large_futures, reason = "a test holds one of them")]

mod bridges;
mod devices;
mod microservice;
mod receiver;
mod stage;
