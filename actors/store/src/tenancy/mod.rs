//! Tenants: their options, limits and usage, the ages of their data, and their transfer to another deployment.

pub mod retention;
pub mod tenant_limits;
pub mod tenants;
pub mod transfer;
pub mod usage;
