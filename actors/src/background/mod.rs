//! Work that no request waits for: the availability of devices, bulk changes, and what is left over.
//!
//! - Availability: [`heartbeats`] writes the time of each device's last message, [`silence`] raises alarms for devices that
//!   stopped sending, [`presence`] marks device users that are connected.
//! - Bulk work goes on in small steps and survives a restart: [`bulk_alarm_update`] and [`bulk_operation`]. Of several
//!   servers one runs it: [`leases`]. [`bulk_registration`] runs within its request, but as steps of the same kind.
//! - [`abandoned_uploads`] deletes the chunks of files that nobody finished.

pub mod abandoned_uploads;
pub(crate) mod bulk_alarm_update;
pub(crate) mod bulk_operation;
pub mod bulk_registration;
pub(crate) mod heartbeats;
mod leases;
pub(crate) mod presence;
pub(crate) mod silence;
