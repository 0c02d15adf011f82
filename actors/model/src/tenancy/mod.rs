//! Tenants: their options, subscriptions, statistics, limits and the ages of their data.

pub mod account_limits;
pub mod application_settings;
pub mod identity_provider;
pub mod retention;
pub mod statistics;
pub mod subscription;
pub mod tenant;
pub mod tenant_option;
pub mod usage;
