//! The applications every deployment starts with (docs/rules.md#applications-and-microservices; W-16).

use super::{Application, ApplicationType, Availability, NewApplication, Secret};
use crate::model::id::{ApplicationId, TenantId};

/// Their names and types. Web applications are put into place by an upload, microservices by a route, and the others are
/// signs of what is switched on.
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
    /// One of [`STANDARD`]: every tenant may see it.
    pub fn standard(
        (name, kind): (&str, ApplicationType),
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
