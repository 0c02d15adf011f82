//! The tests of extensions: event-processing modules, microservices, hosted applications.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so by its panic")]
#![allow(clippy::large_futures, reason = "a test holds one of them")]

use platform_test_harness as harness;

mod application_binaries;
mod applications;
mod hosted_applications;
mod microservices;
mod module_streams;
mod modules;
mod service;
mod vendor_names;
