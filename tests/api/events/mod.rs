//! Events (docs/rules.md#events; V-01, V-02).

mod create;
mod delete;
mod delete_many;
mod filters;
mod limited_pages;
mod modes;
mod notifications;
mod roles;
mod several_servers;
mod update;

use crate::harness::prelude::*;
