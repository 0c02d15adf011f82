//! The REST interfaces, one file per resource of document 2. None imports another.

pub mod alarms;
pub mod current_user;
pub mod groups;
pub mod inventory;
pub mod roles;
pub mod users;
