//! Certificates of devices in PostgreSQL: the authorities that tenants trust, the certificates that have logged in a
//! device, and those that are revoked (C-28 to C-33).

pub mod authorities;
pub mod device_certificates;
pub mod enrollments;
pub mod expiry;
pub mod first_uses;
pub mod revocations;
