//! The programs in samples/, as somebody who copies them runs them: against the real server, through its restarts.
//!
//! Where Python, a C compiler or libcurl is missing the test prints that and passes, unless
//! `PLATFORM_CLIENT_SUITE=required` is set, as in CI. The page in samples/dashboard is opened by tests/browser.rs.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so by its panic")]
#![allow(clippy::large_futures, reason = "a test holds one of them")]

mod devices;
mod microservice;
mod stage;
