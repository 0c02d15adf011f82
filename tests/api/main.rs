//! The server as its clients see it: every rule of docs/rules.md that this server keeps, on a real PostgreSQL.
//!
//! This target has the nouns that devices and their applications write and read, and the running program. The other
//! targets are `accounts`, `notifications` and `extensions`, in the files of these names beside this one. A test has a
//! tenant of its own on a server that its noun shares, or a server with a database of its own; see [`harness`]. The
//! files follow docs/rules.md: [`conventions`] for what all have in common, one file or folder per noun, [`operating`]
//! and [`process`] for what an operator sees. [`api_reference`] and [`browser`] run programs of others for minutes;
//! their names come early, so that they run beside the other tests.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so by its panic")]
#![allow(clippy::large_futures, reason = "a test holds one of them")]
#![allow(
    clippy::duplicate_mod,
    reason = "tests of held connections run on both transports, see `harness::server`"
)]

use platform_test_harness as harness;

mod alarms;
mod api_reference;
mod application_keys;
mod audit;
mod availability;
mod browser;
mod bulk_operations;
mod conventions;
mod database;
mod documentation;
mod entry;
mod event_binaries;
mod events;
mod full_disk;
mod identity;
mod inventory;
mod inventory_binaries;
mod jobs;
mod lifecycle;
mod matrix;
mod measurements;
mod operating;
mod operation_diagnosis;
mod operations;
mod options;
mod own_tree;
mod process;
mod retention;
mod servers;
mod upgrade;
