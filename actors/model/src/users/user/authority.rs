//! The authority to read and write users (U-04).

use std::net::IpAddr;
use std::sync::Arc;

use crate::access::DevicePermissions;
use crate::error::{Error, Result};
use crate::id::TenantId;
use crate::role::{self, RoleSet};

/// The tenant, the caller and the authority of one change of users or groups.
#[derive(Debug, Clone)]
pub struct Administration {
    /// The tenant whose users and groups change.
    pub tenant: TenantId,
    /// The caller, as audit records name it.
    pub by: String,
    /// The application of the request (C-05).
    pub application: Option<Arc<str>>,
    /// The authority of the caller.
    pub authority: UserAuthority,
    /// The id of the audit record, if the change creates one (Y-05).
    pub audit_record: i64,
    /// The address of the client; `None` for a command of the operator.
    pub client: Option<IpAddr>,
}

/// The name under which audit records show commands of the operator (Y-07).
pub const OPERATOR: &str = "operator";

impl Administration {
    /// Returns the authorization of a command of the operator, which may change everything.
    pub fn of_operator(tenant: TenantId, audit_record: i64) -> Self {
        let (by, authority) = (OPERATOR.to_owned(), UserAuthority::Everyone);
        Self { tenant, by, application: None, authority, audit_record, client: None }
    }

    /// Returns the same authorization for the audit log of another tenant, in which the caller is named with its
    /// tenant.
    pub fn in_log_of(&self, tenant: &TenantId) -> Self {
        let is_named_already = *tenant == self.tenant || self.by == OPERATOR || self.by.contains('/');
        let by = if is_named_already { self.by.clone() } else { format!("{}/{}", self.tenant, self.by) };
        Self { tenant: tenant.clone(), by, ..self.clone() }
    }
}

/// The authority with which a caller reads or writes users (U-04).
#[derive(Debug, Clone)]
pub enum UserAuthority {
    /// A role grants it for every user of the tenant.
    Everyone,
    /// ROLE_USER_MANAGEMENT_CREATE grants it for sub-users of the caller, who get no more rights than the caller has.
    SubUsers {
        /// The caller, who must be the owner.
        owner: Arc<str>,
        /// The caller's roles.
        roles: RoleSet,
        /// The caller's device permissions.
        permissions: DevicePermissions,
    },
}

impl UserAuthority {
    /// Ensures that the caller has authority over a user with this owner.
    ///
    /// # Errors
    /// `Forbidden`.
    pub fn reaches(&self, owner: Option<&str>) -> Result<()> {
        match self {
            Self::SubUsers { owner: caller, .. } if owner != Some(&**caller) => Err(Error::Forbidden),
            _ => Ok(()),
        }
    }

    /// Ensures that the caller may assign these roles to others.
    ///
    /// # Errors
    /// `Forbidden` for a role the caller does not have.
    pub fn may_give<'r>(&self, mut given: impl Iterator<Item = &'r str>) -> Result<()> {
        match self {
            Self::SubUsers { roles, .. } if !given.all(|role| roles.has(role)) => Err(Error::Forbidden),
            _ => Ok(()),
        }
    }

    /// Ensures that the caller may grant these device permissions to others.
    ///
    /// # Errors
    /// `Forbidden` for a permission the caller does not have.
    pub fn may_permit(&self, given: &DevicePermissions) -> Result<()> {
        match self {
            Self::SubUsers { roles, permissions, .. }
                if !given
                    .are_within(permissions, |api, permission| roles.has(role::of_api(api, permission))) =>
            {
                Err(Error::Forbidden)
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;

    #[test]
    fn sub_users_get_no_more_rights_than_their_owner_has() {
        let authority = UserAuthority::SubUsers {
            owner: "joe".into(),
            roles: [role::ALARM_READ].into_iter().collect(),
            permissions: DevicePermissions::default(),
        };
        let permissions = |json: &str| {
            DevicePermissions::parse(&RawValue::from_string(json.into()).expect("JSON")).expect("well formed")
        };
        assert!(authority.reaches(Some("joe")).is_ok() && authority.reaches(None).is_err());
        assert!(authority.may_give([role::ALARM_READ].into_iter()).is_ok());
        assert!(authority.may_give([role::ALARM_READ, role::ALARM_ADMIN].into_iter()).is_err());
        assert!(authority.may_permit(&permissions(r#"{"1":["ALARM:*:READ"]}"#)).is_ok());
        assert!(authority.may_permit(&permissions(r#"{"1":["ALARM:*:*"]}"#)).is_err());
        assert!(UserAuthority::Everyone.reaches(None).is_ok());
    }
}
