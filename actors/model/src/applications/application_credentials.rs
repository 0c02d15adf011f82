//! The credentials of a microservice: those of its bootstrap user or of a service user of one subscriber (W-10, W-11).

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::applications::application::Secret;
use crate::id::TenantId;
use crate::links::Linked;

/// A user of a microservice with its password, shown only to the microservice and its owner.
#[derive(Debug, Clone)]
pub struct ApplicationCredentials {
    /// The tenant of the user.
    pub tenant: TenantId,
    /// The name of the user.
    pub name: String,
    /// The password of the user.
    pub password: Secret,
}

impl Serialize for Linked<'_, ApplicationCredentials> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ApplicationCredentials { tenant, name, password } = self.value;
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("tenant", tenant.as_str())?;
        map.serialize_entry("name", name)?;
        map.serialize_entry("password", password.as_str())?;
        map.end()
    }
}
