//! Conventions that all resources share (docs/rules.md#conventions).

mod addresses;
mod closed_bodies;
mod compression;
mod cors;
mod dates;
mod empty_filters;
mod errors;
mod hostile_bodies;
mod links;
mod media_types;
mod methods;
mod nulls;
mod order_of_checks;
mod paging;
mod preconditions;
mod processing_modes;
mod repetitions;
mod total_pages;
mod years;

use crate::harness::prelude::*;
