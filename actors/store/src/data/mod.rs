//! The data that devices send and receive over time: alarms, events, measurements, operations, their files, and audit
//! records.

pub mod alarms;
pub mod audit_records;
pub mod binaries;
pub(crate) mod deletion;
pub mod events;
pub mod measurements;
pub mod operations;
