//! An application as it is answered (docs/rules.md#applications-and-microservices; W-06, W-07).

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::{Application, ApplicationType};
use crate::model::id::TenantId;
use crate::model::links::{Linked, Links};
use crate::model::timestamp::Timestamp;

/// An application as somebody sees it.
#[derive(Debug, Clone)]
pub struct ShownApplication {
    /// What everybody sees who sees it at all.
    pub application: Application,
    /// Its key, for its owner only (W-06).
    pub key: Option<String>,
    /// How a microservice is, when that is known.
    pub health: Option<Health>,
}

/// How a microservice is.
#[derive(Debug, Clone, Serialize)]
pub struct Health {
    /// In one word.
    pub status: HealthStatus,
    /// Since when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// What a person should know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Whether a microservice answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum HealthStatus {
    /// It answers.
    Up,
    /// It does not.
    Down,
    /// Nobody asked it yet, or nobody can.
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
