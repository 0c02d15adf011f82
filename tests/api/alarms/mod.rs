//! Alarms (docs/rules.md#alarms; ).

mod bulk_update;
mod delete;
mod filters;
mod long_bulk_update;
mod mapping;
mod raise;
mod repeat;
mod roles;
mod several_servers;
mod update;

use crate::harness::prelude::*;
