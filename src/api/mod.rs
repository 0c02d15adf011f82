//! The REST interfaces, one file per resource of document 2. None imports another.

pub mod alarms;
pub mod application_binaries;
pub mod applications;
pub mod audit;
pub mod bulk_operations;
pub mod bulk_registration;
pub mod current_user;
pub mod device_credentials;
pub mod entry;
pub mod event_binaries;
pub mod events;
pub mod groups;
pub mod hosted_applications;
pub mod identity;
pub mod inventory;
pub mod inventory_binaries;
pub mod inventory_children;
pub mod measurement_series;
pub mod measurements;
pub mod new_device_requests;
pub mod operation_diagnosis;
pub mod operations;
pub mod options;
pub mod roles;
pub mod tenants;
pub mod users;
