//! The REST interfaces, one file per resource of document 2. None imports another.

pub mod alarms;
pub mod audit;
pub mod entry;
pub mod identity;
pub mod inventory;
pub mod inventory_binaries;
