//! The programs in samples/ run against the real server and through its restarts, as for somebody who copied them.
//!
//! Where Python, a C compiler or libcurl is missing, the test prints that and passes, unless
//! `PLATFORM_CLIENT_SUITE=required` is set, as in CI. tests/api/browser.rs opens the page in samples/dashboard.
//!
//! These tests mostly wait for pauses of the programs, so they are part of the target `notifications`, where others run
//! beside them.

mod bridges;
mod devices;
mod microservice;
mod receiver;
mod stage;
