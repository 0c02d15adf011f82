//! The real binary, as an operator runs it.

mod backup;
mod bulk_operations;
mod bulk_updates;
mod client;
mod commands;
mod crash;
mod data_directory;
mod demo;
mod doctor;
mod full_disk;
mod links;
mod log;
mod memory;
mod modules;
mod monitoring;
mod postgres_versions;
mod private_postgres;
mod readme;
mod refused_start;
mod secret_key;
mod setup;
mod start;
mod stop;
mod systemd;
mod tenant_transfer;

use crate::harness::prelude::*;
