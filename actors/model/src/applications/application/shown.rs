//! The representation of an application in responses (docs/rules.md#applications-and-microservices; W-06, W-07).

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::{Application, ApplicationType};
use crate::id::TenantId;
use crate::links::{Linked, Links};
use crate::timestamp::Timestamp;

/// An application with the data that its viewer may see.
#[derive(Debug, Clone)]
pub struct ShownApplication {
    /// The application, visible to every viewer.
    pub application: Application,
    /// The key, for the owner only (W-06).
    pub key: Option<String>,
    /// The health of a microservice, when it is known.
    pub health: Option<Health>,
}

/// The health of a microservice.
#[derive(Debug, Clone, Serialize)]
pub struct Health {
    /// The status as one word.
    pub status: HealthStatus,
    /// The time since which the microservice has this status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// A description for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// The health status of a microservice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum HealthStatus {
    /// It responds.
    Up,
    /// It does not respond.
    Down,
    /// It was not probed yet or cannot be probed.
    Unknown,
}

impl Serialize for Linked<'_, ShownApplication> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Linked { value: ShownApplication { application, key, health }, links } = *self;
        let is_own = key.is_some();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("self", &links.application(application.id))?;
        map.serialize_entry("id", &application.id)?;
        map.serialize_entry("name", &application.name)?;
        map.serialize_entry("type", application.kind.as_str())?;
        map.serialize_entry("availability", application.availability.as_str())?;
        map.serialize_entry("owner", &Owner::of(&application.owner, links))?;
        for (name, value) in [
            ("key", key.as_ref()),
            ("contextPath", application.context_path.as_ref()),
            ("resourcesUrl", application.resources_url.as_ref()),
            ("resourcesUsername", application.resources_username.as_ref().filter(|_| is_own)),
            ("externalUrl", application.external_url.as_ref()),
        ] {
            if let Some(value) = value {
                map.serialize_entry(name, value)?;
            }
        }
        if matches!(application.kind, ApplicationType::Hosted | ApplicationType::Microservice) {
            if let Some(version) = &application.active_version {
                map.serialize_entry("activeVersionId", version)?;
            }
            if let Some(manifest) = &application.manifest {
                map.serialize_entry("manifest", manifest)?;
            }
            map.serialize_entry("requiredRoles", &application.required_roles)?;
            map.serialize_entry("roles", &application.roles)?;
        }
        if let Some(health) = health {
            map.serialize_entry("health", health)?;
        }
        map.end()
    }
}

/// The tenant that owns an application (W-07).
#[derive(Serialize)]
struct Owner<'a> {
    #[serde(rename = "self")]
    link: String,
    tenant: OwningTenant<'a>,
}

#[derive(Serialize)]
struct OwningTenant<'a> {
    id: &'a str,
}

impl<'a> Owner<'a> {
    fn of(tenant: &'a TenantId, links: &Links) -> Self {
        Self { link: links.tenant(tenant), tenant: OwningTenant { id: tenant.as_str() } }
    }
}
