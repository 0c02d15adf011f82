//! Tenants: the customers of one deployment, strictly isolated (Z-01, Z-02).

mod change;
mod limit_values;
mod limits;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

pub use self::change::{NewTenant, TenantPatch};
pub use self::limit_values::LimitValues;
pub use self::limits::{LimitOrigin, LimitViewer, LimitsOfTenant, LimitsPatch, TenantLimit, in_force};
use crate::error::{Error, Result};
use crate::id::{MANAGEMENT, TenantId};
use crate::links::{Linked, segment};
use crate::tenancy::subscription::{ApplicationReferences, ShownReferences};
use crate::timestamp::Timestamp;

/// A tenant. Its id is fixed. Its domain is the host name of its users, independent of the id (C-01).
#[derive(Debug, Clone)]
pub struct Tenant {
    /// The fixed id, which is the prefix in `tenant/user`.
    pub id: TenantId,
    /// The host name that identifies this tenant.
    pub domain: String,
    /// The name of the company.
    pub company: String,
    /// The name of the contact.
    pub contact_name: Option<String>,
    /// The phone number of the contact.
    pub contact_phone: Option<String>,
    /// The user that was created with it.
    pub admin_name: Option<String>,
    /// The e-mail address of that user.
    pub admin_email: Option<String>,
    /// The status; requests of a suspended tenant get 403.
    pub status: TenantStatus,
    /// Whether it may have sub-tenants.
    pub allow_create_tenants: bool,
    /// The number of bytes that each of its devices may store; 0 means no limit.
    pub storage_limit_per_device: i64,
    /// Custom properties for the tenant that manages it.
    pub custom_properties: Box<RawValue>,
    /// The tenant that created it; `None` for `management`.
    pub parent: Option<String>,
    /// The time when it was created.
    pub creation_time: Timestamp,
    /// The applications it subscribes to; empty in collections.
    pub applications: ApplicationReferences,
    /// The applications it owns; empty in collections.
    pub owned_applications: ApplicationReferences,
}

impl Serialize for Linked<'_, Tenant> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Linked { value: tenant, links } = *self;
        let link = links.tenant(&tenant.id);
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("self", &link)?;
        map.serialize_entry("id", tenant.id.as_str())?;
        map.serialize_entry("domain", &tenant.domain)?;
        map.serialize_entry("company", &tenant.company)?;
        for (name, value) in [
            ("contactName", &tenant.contact_name),
            ("contactPhone", &tenant.contact_phone),
            ("adminName", &tenant.admin_name),
            ("adminEmail", &tenant.admin_email),
        ] {
            if let Some(value) = value {
                map.serialize_entry(name, value)?;
            }
        }
        map.serialize_entry("status", tenant.status.as_str())?;
        map.serialize_entry("allowCreateTenants", &tenant.allow_create_tenants)?;
        map.serialize_entry("storageLimitPerDevice", &tenant.storage_limit_per_device)?;
        map.serialize_entry("customProperties", &tenant.custom_properties)?;
        if let Some(parent) = &tenant.parent {
            map.serialize_entry("parent", parent)?;
        }
        map.serialize_entry("creationTime", &tenant.creation_time)?;
        let owned =
            format!("{}/application/applicationsByOwner/{}", links.base(), segment(tenant.id.as_str()));
        let shown =
            |references, collection| ShownReferences { references, collection, with_self: true, links };
        map.serialize_entry("applications", &shown(&tenant.applications, format!("{link}/applications")))?;
        map.serialize_entry("ownedApplications", &shown(&tenant.owned_applications, owned))?;
        map.end()
    }
}

/// The representation of the caller's tenant for each of its users (Z-02).
#[derive(Debug, Clone)]
pub struct CurrentTenant(pub Tenant);

impl Serialize for Linked<'_, CurrentTenant> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Linked { value: CurrentTenant(tenant), links } = *self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", tenant.id.as_str())?;
        map.serialize_entry("domainName", &tenant.domain)?;
        map.serialize_entry("allowCreateTenants", &tenant.may_create_tenants())?;
        if let Some(parent) = &tenant.parent {
            map.serialize_entry("parent", parent)?;
        }
        map.serialize_entry("customProperties", &tenant.custom_properties)?;
        let collection = format!("{}/applications", links.tenant(&tenant.id));
        let references = &tenant.applications;
        let shown = ShownReferences { references, collection, with_self: false, links };
        map.serialize_entry("applications", &shown)?;
        map.end()
    }
}

impl Tenant {
    /// Returns whether it may have sub-tenants; `management` always may.
    pub fn may_create_tenants(&self) -> bool {
        self.allow_create_tenants || self.id.as_str() == MANAGEMENT
    }
}

/// A way to log in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoginOption {
    /// Each request has a user name and a password, or a token (C-07).
    Basic,
    /// People log in with the identity provider of their tenant.
    IdentityProvider {
        /// Whether they log in to the console (C-26).
        console: bool,
        /// The log-in of the commands, if they have a client at the provider (C-34).
        commands: Option<CommandLogin>,
    },
}

/// The log-in of the commands with an identity provider, by the device authorization grant (RFC 8628).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLogin {
    /// The URL of the provider.
    pub issuer: String,
    /// The id of the client of the commands.
    pub command_client_id: String,
    /// The scopes that the commands request.
    pub scope: String,
}

impl LoginOption {
    /// Returns the id.
    pub fn id(&self) -> &'static str {
        match self {
            Self::Basic => "basic",
            Self::IdentityProvider { .. } => "oauth2",
        }
    }
}

impl Serialize for Linked<'_, LoginOption> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", self.value.id())?;
        match &self.value {
            LoginOption::Basic => {
                map.serialize_entry("type", "BASIC")?;
                map.serialize_entry("userManagementSource", "INTERNAL")?;
            }
            LoginOption::IdentityProvider { console, commands } => {
                map.serialize_entry("type", "OAUTH2")?;
                map.serialize_entry("userManagementSource", "REMOTE")?;
                if *console {
                    map.serialize_entry("initRequest", &self.links.console_sso())?;
                }
                if let Some(CommandLogin { issuer, command_client_id, scope }) = commands {
                    map.serialize_entry("issuer", issuer)?;
                    map.serialize_entry("commandClientId", command_client_id)?;
                    map.serialize_entry("scope", scope)?;
                }
            }
        }
        map.serialize_entry("visibleOnLoginPage", &true)?;
        map.end()
    }
}

/// The status of a tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TenantStatus {
    /// Its requests are served.
    Active,
    /// Every request of it gets 403.
    Suspended,
    /// It lives in another deployment now. Every request gets 503 until its domain leads there (Z-22).
    Moved,
}

impl TenantStatus {
    /// Parses the upper-case word.
    ///
    /// # Errors
    /// `Invalid` names the value and what is allowed.
    pub fn parse(word: &str) -> Result<Self> {
        match word {
            "ACTIVE" => Ok(Self::Active),
            "SUSPENDED" => Ok(Self::Suspended),
            _ => Err(Error::invalid_value("status", word, "ACTIVE, SUSPENDED")),
        }
    }

    /// Returns the word that clients read and write.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "ACTIVE",
            Self::Suspended => "SUSPENDED",
            Self::Moved => "MOVED",
        }
    }

    /// Reads the word that is stored.
    ///
    /// # Errors
    /// `Invalid` for a word that [`as_str`](Self::as_str) does not return.
    pub fn stored(word: &str) -> Result<Self> {
        if word == Self::Moved.as_str() { Ok(Self::Moved) } else { Self::parse(word) }
    }
}

/// Checks a tenant's domain: it has at most 256 characters, and its first label has at least 2 lower-case letters,
/// digits, hyphens or underscores, starts with a letter and does not end with a hyphen (Z-01).
///
/// # Errors
/// `Invalid` names the value and what is allowed.
pub fn parse_domain(text: &str) -> Result<String> {
    let label = text.split('.').next().unwrap_or_default();
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_';
    let rest_allowed = |b: u8| allowed(b) || b == b'.' || b == b':';
    let valid = text.len() <= 256
        && label.len() >= 2
        && label.as_bytes()[0].is_ascii_lowercase()
        && !label.ends_with('-')
        && label.bytes().all(allowed)
        && text.bytes().all(rest_allowed)
        && text.split('.').all(|label| !label.is_empty());
    if valid {
        Ok(text.to_owned())
    } else {
        Err(Error::invalid_value(
            "domain",
            text,
            "a lower-case host name of at most 256 characters whose first label has at least 2 and starts with a \
             letter",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_follow_the_rule_of_the_first_label() {
        for domain in ["ab", "a1.example.com", "a_b-c.example.com:8080", &format!("ab.{}", "x".repeat(253))] {
            assert!(parse_domain(domain).is_ok(), "{domain}");
        }
        for domain in [
            "",
            "a",
            "a.example.com",
            "1a.example.com",
            "-a.example.com",
            "ab-.example.com",
            "Ab.example.com",
            "ab..example.com",
            "ab.example.com.",
            "ä7.example.com",
            "ab.example.com/x",
            &"x".repeat(257),
        ] {
            assert!(parse_domain(domain).is_err(), "{domain}");
        }
    }
}
