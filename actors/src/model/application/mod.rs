//! Applications: what a tenant offers to its users, or to other tenants (docs/rules.md#applications-and-microservices; W-01 to W-16).

mod change;
mod members;
mod shown;
mod standard;

use serde_json::value::RawValue;

pub use self::change::{ApplicationPatch, NewApplication};
pub(in crate::model) use self::members::is_segment;
pub use self::members::{Secret, parse_roles};
pub use self::shown::{Health, HealthStatus, ShownApplication};
pub use self::standard::STANDARD;

use crate::error::{Error, Result};
use crate::model::id::{ApplicationId, BinaryId, TenantId};

/// An application as it is stored. The key and the password of `resourcesUrl` are sealed, and not in here.
#[derive(Debug, Clone)]
pub struct Application {
    /// Fixed id, one of the whole deployment.
    pub id: ApplicationId,
    /// The tenant that may change it.
    pub owner: TenantId,
    /// Unique in its owner's tenant.
    pub name: String,
    /// What it is made of.
    pub kind: ApplicationType,
    /// Who else may see it.
    pub availability: Availability,
    /// Where it is served: `/apps/<contextPath>/` or `/service/<contextPath>/`; unique in the deployment.
    pub context_path: Option<String>,
    /// Where a hosted application's files come from, in the words of its owner; never called.
    pub resources_url: Option<String>,
    /// Who may read there.
    pub resources_username: Option<String>,
    /// Where an external application is; never called.
    pub external_url: Option<String>,
    /// Roles its service users hold (W-11).
    pub required_roles: Vec<String>,
    /// Roles it defines for users of its subscribers (U-03).
    pub roles: Vec<String>,
    /// What a microservice says of itself (W-03), or a web application of itself.
    pub manifest: Option<Box<RawValue>>,
    /// The upload that is in use.
    pub active_version: Option<BinaryId>,
    /// Where the operator says that it runs. Shown to nobody.
    pub route: Option<String>,
}

/// What an application is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ApplicationType {
    /// A link to a place elsewhere.
    External,
    /// A web application, served by this server.
    Hosted,
    /// A service that answers behind this server.
    Microservice,
    /// A rule for event processing, kept for clients that know it.
    ApamaCepRule,
}

impl ApplicationType {
    /// Reads the upper-case word.
    ///
    /// # Errors
    /// `Invalid` names the value and what is allowed.
    pub fn parse(word: &str) -> Result<Self> {
        match word {
            "EXTERNAL" => Ok(Self::External),
            "HOSTED" => Ok(Self::Hosted),
            "MICROSERVICE" => Ok(Self::Microservice),
            "APAMA_CEP_RULE" => Ok(Self::ApamaCepRule),
            _ => Err(Error::invalid_value("type", word, "EXTERNAL, HOSTED, MICROSERVICE, APAMA_CEP_RULE")),
        }
    }

    /// The word that clients read and write.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::External => "EXTERNAL",
            Self::Hosted => "HOSTED",
            Self::Microservice => "MICROSERVICE",
            Self::ApamaCepRule => "APAMA_CEP_RULE",
        }
    }
}

/// Who beside its owner may see an application (W-05).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Availability {
    /// Every tenant.
    Market,
    /// Tenants that subscribe to it.
    #[default]
    Private,
}

impl Availability {
    /// Reads the upper-case word.
    ///
    /// # Errors
    /// `Invalid` names the value and what is allowed.
    pub fn parse(word: &str) -> Result<Self> {
        match word {
            "MARKET" => Ok(Self::Market),
            "PRIVATE" => Ok(Self::Private),
            _ => Err(Error::invalid_value("availability", word, "MARKET, PRIVATE")),
        }
    }

    /// The word that clients read and write.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Market => "MARKET",
            Self::Private => "PRIVATE",
        }
    }
}

/// A user that a microservice acts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApplicationUser {
    /// The microservice.
    pub application: ApplicationId,
    /// What it does as this user.
    pub duty: Duty,
}

/// What a microservice does as one of its users.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Duty {
    /// Learns, in its owner's tenant, who subscribes to it (W-10).
    Bootstrap,
    /// Works in the tenant of a subscriber (W-11).
    Service,
}

impl Duty {
    /// What names of such users start with; the name of the application follows (W-10).
    pub fn user_prefix(self) -> &'static str {
        match self {
            Self::Bootstrap => "servicebootstrap_",
            Self::Service => "service_",
        }
    }

    /// The word that is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bootstrap => "BOOTSTRAP",
            Self::Service => "SERVICE",
        }
    }

    /// Reads the word that is stored.
    pub(crate) fn parse(word: &str) -> Option<Self> {
        match word {
            "BOOTSTRAP" => Some(Self::Bootstrap),
            "SERVICE" => Some(Self::Service),
            _ => None,
        }
    }
}

/// How a tenant stands to an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It owns it or subscribes to it, and may use it.
    Uses,
    /// It sees it on the market and does not use it.
    Sees,
}
