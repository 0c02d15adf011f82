//! The REST interfaces, one file per resource of document 2. None imports another.

pub mod alarms;
pub mod inventory;
pub mod options;
pub mod tenants;
