//! Bulk operations, and the registration of many devices by one file.

pub(crate) mod group_paths;
pub mod operations;
pub mod registration;
pub mod requests;
pub mod steps;
pub(crate) mod targets;
