//! Tenants: their options, limits and usage, and the ages of their data.

pub mod retention;
pub mod tenant_limits;
pub mod tenants;
pub mod usage;
