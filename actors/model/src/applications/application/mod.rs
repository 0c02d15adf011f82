//! Applications, which a tenant offers to its users or to other tenants (docs/rules.md#applications-and-microservices;
//! W-01 to W-16).

mod change;
mod members;
mod shown;
mod standard;

use serde_json::value::RawValue;

pub use self::change::{ApplicationPatch, NewApplication};
pub(crate) use self::members::is_segment;
pub use self::members::{Secret, parse_roles};
pub use self::shown::{Health, HealthStatus, ShownApplication};
pub use self::standard::STANDARD;

use crate::error::{Error, Result};
use crate::id::{ApplicationId, BinaryId, TenantId};

/// An application as it is stored, without the key and the password of `resourcesUrl`, which are stored encrypted.
#[derive(Debug, Clone)]
pub struct Application {
    /// The fixed id, unique in the deployment.
    pub id: ApplicationId,
    /// The tenant that may change it.
    pub owner: TenantId,
    /// The name, unique in its owner's tenant.
    pub name: String,
    /// The type of the application.
    pub kind: ApplicationType,
    /// The tenants that may see it, besides its owner.
    pub availability: Availability,
    /// The path segment at which it is served, unique in the deployment: `/apps/<contextPath>/` or
    /// `/service/<contextPath>/`.
    pub context_path: Option<String>,
    /// The address of a hosted application's files, as its owner wrote it; the server never calls it.
    pub resources_url: Option<String>,
    /// The user name for that address.
    pub resources_username: Option<String>,
    /// The address of an external application; the server never calls it.
    pub external_url: Option<String>,
    /// The roles that its service users hold (W-11).
    pub required_roles: Vec<String>,
    /// The roles it defines for users of its subscribers (U-03).
    pub roles: Vec<String>,
    /// The manifest of the uploaded archive (W-03).
    pub manifest: Option<Box<RawValue>>,
    /// The uploaded version that is active.
    pub active_version: Option<BinaryId>,
    /// The address at which the microservice runs, set by the operator. It is never shown.
    pub route: Option<String>,
}

/// The type of an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ApplicationType {
    /// A link to another place.
    External,
    /// A web application, served by this server.
    Hosted,
    /// A service behind this server.
    Microservice,
    /// An event-processing rule, kept for clients that know this type.
    ApamaCepRule,
}

impl ApplicationType {
    /// Parses the upper-case word.
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

    /// Returns the word that clients read and write.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::External => "EXTERNAL",
            Self::Hosted => "HOSTED",
            Self::Microservice => "MICROSERVICE",
            Self::ApamaCepRule => "APAMA_CEP_RULE",
        }
    }
}

/// The tenants that may see an application, besides its owner (W-05).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Availability {
    /// Every tenant.
    Market,
    /// Only tenants that subscribe to it.
    #[default]
    Private,
}

impl Availability {
    /// Parses the upper-case word.
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

    /// Returns the word that clients read and write.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Market => "MARKET",
            Self::Private => "PRIVATE",
        }
    }
}

/// The identity of a user that a microservice uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApplicationUser {
    /// The microservice.
    pub application: ApplicationId,
    /// The purpose of the user.
    pub purpose: UserPurpose,
}

/// The purpose of a user of a microservice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserPurpose {
    /// In its owner's tenant, the microservice lists its subscribers as this user (W-10).
    Bootstrap,
    /// The microservice works in the tenant of a subscriber as this user (W-11).
    Service,
}

impl UserPurpose {
    /// Returns the prefix of the names of such users; the name of the application follows (W-10).
    pub fn user_prefix(self) -> &'static str {
        match self {
            Self::Bootstrap => "servicebootstrap_",
            Self::Service => "service_",
        }
    }

    /// Returns the word that is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bootstrap => "BOOTSTRAP",
            Self::Service => "SERVICE",
        }
    }

    /// Parses the word that is stored.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "BOOTSTRAP" => Some(Self::Bootstrap),
            "SERVICE" => Some(Self::Service),
            _ => None,
        }
    }
}

/// The relation of a tenant to an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TenantRelation {
    /// The tenant owns it or subscribes to it, and may use it.
    Uses,
    /// The tenant sees it on the market and does not use it.
    Sees,
}
