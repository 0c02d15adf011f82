//! The credentials that a device uses after its registration (docs/rules.md#device-registration; N-08).

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::device_id::DeviceId;
use crate::id::TenantId;
use crate::links::Linked;

/// The response to an accepted device.
#[derive(Clone)]
pub struct DeviceCredentials {
    /// The device.
    pub id: DeviceId,
    /// The tenant of the device.
    pub tenant: TenantId,
    /// The password in plain text, sent only to the device.
    pub password: String,
}

impl std::fmt::Debug for DeviceCredentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeviceCredentials")
            .field("id", &self.id)
            .field("tenant", &self.tenant)
            .finish_non_exhaustive()
    }
}

impl Serialize for Linked<'_, DeviceCredentials> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Linked { value: credentials, links } = *self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("self", &links.device_credentials(credentials.id.as_str()))?;
        map.serialize_entry("id", &credentials.id)?;
        map.serialize_entry("tenantId", credentials.tenant.as_str())?;
        map.serialize_entry("username", &credentials.id.user_name())?;
        map.serialize_entry("password", &credentials.password)?;
        map.end()
    }
}
