//! Devices and other managed objects: the inventory, external ids, and the registration of devices.

pub mod availability;
pub mod bulk_registration;
pub mod children;
pub mod device_certificate;
pub mod device_credentials;
pub mod external_id;
pub mod inventory_query;
pub mod managed_object;
pub mod new_device_request;
pub mod reference;
pub mod trusted_certificate;
