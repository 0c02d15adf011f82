//! Users of a tenant (document 2, Users; U-06, U-08).

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::model::access::DevicePermissions;
use crate::model::id::TenantId;
use crate::model::role::RoleSet;

/// A user as authentication needs it.
#[derive(Debug, Clone)]
pub struct User {
    /// Whose user it is.
    pub tenant: TenantId,
    /// Name and id, compared exactly (U-06).
    pub name: Arc<str>,
    /// Tagged hash; never leaves the server. `None`: nobody can log in as this user yet (U-07).
    pub password_hash: Option<String>,
    /// Disabled users are answered 401.
    pub enabled: bool,
    /// What the user may do: held directly and by groups.
    pub roles: RoleSet,
    /// What the user may do to single devices: held directly and by groups (U-12).
    pub permissions: DevicePermissions,
}

/// Checks a user name: 1 to 1000 characters, no whitespace, `/`, `+`, `$`, `:` or full-width characters (U-08).
///
/// # Errors
/// `Invalid` names the value and what is allowed.
pub fn parse_user_name(text: &str) -> Result<Arc<str>> {
    let forbidden = |c: char| {
        c.is_whitespace() || c.is_control() || "/+$:".contains(c) || ('\u{ff01}'..='\u{ffe6}').contains(&c)
    };
    match !text.is_empty() && text.chars().count() <= 1000 && text.len() <= 2000 && !text.contains(forbidden)
    {
        true => Ok(text.into()),
        false => Err(Error::invalid_value(
            "userName",
            text,
            "1 to 1000 characters, no whitespace, '/', '+', '$', ':'",
        )),
    }
}

/// Checks a password: 6 to 32 Latin-1 characters (U-08). The value is never repeated in the error.
///
/// # Errors
/// `Invalid` says what is allowed.
pub fn parse_password(text: &str) -> Result<&str> {
    match (6..=32).contains(&text.chars().count()) && text.chars().all(|c| (' '..='\u{ff}').contains(&c)) {
        true => Ok(text),
        false => {
            Err(Error::Invalid("Invalid value of 'password'; allowed: 6 to 32 Latin-1 characters".into()))
        }
    }
}
