//! Devices: their registration, their users, and their availability.

pub mod availability;
pub mod credentials;
pub mod new_requests;
pub mod placements;
pub mod presence;
pub mod users;
