//! The tests of accounts: tenants, users and groups, their credentials and tokens, the registration of devices.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so by its panic")]
#![allow(clippy::large_futures, reason = "a test holds one of them")]

use platform_test_harness as harness;

mod access_tokens;
mod account_limits;
mod authentication;
mod bulk_registration;
mod callers;
mod device_certificates;
mod device_registration;
mod groups;
mod regions;
mod sessions;
mod statistics;
mod tenants;
mod users;
