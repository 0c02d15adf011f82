//! What a microservice logs in with: as its bootstrap user, or as a service user of one subscriber (W-10, W-11).

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::model::application::Secret;
use crate::model::id::TenantId;
use crate::model::links::Linked;

/// A user of a microservice with its password, for the microservice and its owner alone.
#[derive(Debug, Clone)]
pub struct ApplicationCredentials {
    /// Whose user it is.
    pub tenant: TenantId,
    /// Its name there.
    pub name: String,
    /// Its password.
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
