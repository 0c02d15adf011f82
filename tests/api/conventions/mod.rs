//! Document 1: what all resources have in common.

mod addresses;
mod cors;
mod dates;
mod errors;
mod hostile_bodies;
mod links;
mod media_types;
mod methods;
mod nulls;
mod order_of_checks;
mod paging;
mod processing_modes;
mod total_pages;
