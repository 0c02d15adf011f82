//! The applications of every new deployment (docs/rules.md#applications-and-microservices; W-16).

use super::{Application, ApplicationType, Availability, NewApplication, Secret};
use crate::id::{ApplicationId, TenantId};

/// Their names and types. A web application is installed by an upload, a microservice by setting its address; the other
/// applications only show that a feature is enabled.
pub const STANDARD: [(&str, ApplicationType); 8] = [
    ("administration", ApplicationType::Hosted),
    ("cockpit", ApplicationType::Hosted),
    ("devicemanagement", ApplicationType::Hosted),
    ("cep", ApplicationType::Microservice),
    ("device-simulator", ApplicationType::Microservice),
    ("smartrule", ApplicationType::Microservice),
    ("feature-cep-custom-rules", ApplicationType::External),
    ("feature-fieldbus4", ApplicationType::External),
];

impl NewApplication {
    /// Returns one of the [`STANDARD`] applications, which every tenant may see.
    pub fn standard(
        name: &str,
        kind: ApplicationType,
        id: ApplicationId,
        owner: TenantId,
        key: Secret,
    ) -> Self {
        let is_served = kind != ApplicationType::External;
        let application = Application {
            id,
            owner,
            name: name.to_owned(),
            kind,
            availability: Availability::Market,
            context_path: is_served.then(|| name.to_owned()),
            resources_url: (kind == ApplicationType::Hosted).then(|| "/".to_owned()),
            resources_username: None,
            external_url: None,
            required_roles: Vec::new(),
            roles: Vec::new(),
            manifest: None,
            active_version: None,
            route: None,
        };
        Self { application, key, resources_password: None }
    }
}
