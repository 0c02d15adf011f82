//! The data that devices send and receive over time: alarms, events, measurements, operations, their files, and audit
//! records.

pub mod alarm;
pub mod alarm_mapping;
pub mod audit_record;
pub mod binary;
pub mod bulk_operation;
pub mod event;
pub mod event_binary;
pub mod measurement;
pub mod operation;
pub mod operation_diagnosis;
