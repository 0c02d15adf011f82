//! The server as its clients see it: every rule of docs/rules.md that this server keeps, on a real PostgreSQL.
//!
//! Each test starts a server on any free port, with a database of its own; see [`harness`]. The files follow
//! docs/rules.md: [`conventions`] for what all have in common, one file or folder per noun, [`realtime`] for notifications,
//! [`operating`] and [`process`] for what an operator sees.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so by its panic")]
#![allow(clippy::large_futures, reason = "a test holds one of them")]
#![allow(
    clippy::duplicate_mod,
    reason = "what is about held polls runs on both transports, see `harness::server`"
)]

mod access_tokens;
mod account_limits;
mod alarms;
mod application_binaries;
mod application_keys;
mod applications;
mod audit;
mod authentication;
mod availability;
mod bulk_operations;
mod bulk_registration;
mod callers;
mod conventions;
mod csv;
mod device_registration;
mod entry;
mod event_binaries;
mod events;
mod full_disk;
mod groups;
mod harness;
mod hosted_applications;
mod identity;
mod inventory;
mod inventory_binaries;
mod lane;
mod lifecycle;
mod matrix;
mod measurements;
mod microservices;
mod module_streams;
mod modules;
mod operating;
mod operation_diagnosis;
mod operations;
mod options;
mod own_tree;
mod process;
mod realtime;
#[path = "realtime/mod.rs"]
mod realtime_without_lane;
mod regions;
mod service;
mod tenants;
mod tls;
mod users;
mod websocket;
