//! Tenants: the customers of one deployment, strictly apart (Z-01).

use crate::error::{Error, Result};
use crate::model::id::TenantId;

/// A tenant. Its id is fixed; its domain is the host name its users may come by, and is separate (C-01).
#[derive(Debug, Clone)]
pub struct Tenant {
    /// Fixed id, the prefix in `tenant/user`.
    pub id: TenantId,
    /// Host name that means this tenant.
    pub domain: String,
    /// Whose tenant it is, in words.
    pub company: String,
    /// Suspended tenants are answered 403.
    pub status: TenantStatus,
}

/// Whether a tenant is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TenantStatus {
    /// Served.
    Active,
    /// Every request of it is answered 403.
    Suspended,
}

impl TenantStatus {
    /// The word of the document.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "ACTIVE",
            Self::Suspended => "SUSPENDED",
        }
    }
}

/// Checks a tenant's domain: at most 256 characters, first label of at least 2 lower-case letters, digits,
/// hyphens or underscores, starting with a letter, no hyphen at its ends (Z-01).
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
        && text.bytes().all(rest_allowed);
    match valid {
        true => Ok(text.to_owned()),
        false => Err(Error::invalid_value(
            "domain",
            text,
            "a lower-case host name whose first label starts with a letter",
        )),
    }
}
