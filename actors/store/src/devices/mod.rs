//! Devices and other managed objects: the inventory, the registration of devices, their users and their availability,
//! bulk operations, and the diagnosis of operations, which asks what the inventory knows of the device.

pub mod availability;
pub mod bulk;
pub mod certificates;
pub mod credentials;
pub mod groups;
pub mod inventory;
pub(crate) mod names;
pub mod new_requests;
pub mod operation_diagnosis;
pub mod placements;
pub mod presence;
pub mod users;
