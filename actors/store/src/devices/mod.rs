//! Devices: their registration, their users, and their availability.

pub mod availability;
pub mod bulk;
pub mod credentials;
pub mod inventory;
pub(crate) mod names;
pub mod new_requests;
pub mod operation_diagnosis;
pub mod placements;
pub mod presence;
pub mod users;
