//! Work in the background: the availability of devices, bulk changes, and the removal of abandoned uploads.
//!
//! - Availability: [`silence`] raises alarms for devices that stopped sending.
//! - Bulk work consists of small steps and survives a restart: [`bulk_alarm_update`] and [`bulk_operation`]. [`leases`]
//!   ensure that one of several servers runs it. [`bulk_registration`] runs within its request and also in steps, but a
//!   restart ends it.
//! - [`abandoned_uploads`] deletes files of events whose upload was not completed, [`retention`] data that is too old.
//! - [`certificate_expiry`] raises alarms about certificates that are about to end.
//! - [`usage`] measures how many devices tenants have and how many bytes they store.

pub mod abandoned_uploads;
pub(crate) mod bulk_alarm_update;
pub(crate) mod bulk_operation;
pub mod bulk_registration;
pub mod certificate_expiry;
mod leases;
pub mod retention;
pub mod silence;
pub mod usage;
