//! Bulk operations, and the registration of many devices by one file.

pub mod operations;
pub mod registration;
pub mod requests;
pub mod steps;
pub(crate) mod targets;
