//! By what right users are read and written (U-04).

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::model::access::DevicePermissions;
use crate::model::id::TenantId;
use crate::model::role::{self, RoleSet};

/// One change of users or groups: where, by whom, by what right.
#[derive(Debug, Clone)]
pub struct Administration {
    /// Whose users and groups.
    pub tenant: TenantId,
    /// Who asks, as audit records name them.
    pub by: String,
    /// Through which application (C-05).
    pub application: Option<Arc<str>>,
    /// By what right.
    pub authority: UserAuthority,
    /// Id of the audit record, when the change makes one (Y-05).
    pub audit_record: i64,
}

/// By what right somebody reads or writes users (U-04).
#[derive(Debug, Clone)]
pub enum UserAuthority {
    /// A role grants it on every user of the tenant.
    Everyone,
    /// ROLE_USER_MANAGEMENT_CREATE: on sub-users of one's own, to whom nobody gives more than they have.
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
    /// Whether it reaches a user with this owner.
    ///
    /// # Errors
    /// `Forbidden`.
    pub fn reaches(&self, owner: Option<&str>) -> Result<()> {
        match self {
            Self::SubUsers { owner: caller, .. } if owner != Some(&**caller) => Err(Error::Forbidden),
            _ => Ok(()),
        }
    }

    /// Whether these roles may be given to others.
    ///
    /// # Errors
    /// `Forbidden` for a role the caller does not have.
    pub fn may_give<'r>(&self, mut given: impl Iterator<Item = &'r str>) -> Result<()> {
        match self {
            Self::SubUsers { roles, .. } if !given.all(|role| roles.has(role)) => Err(Error::Forbidden),
            _ => Ok(()),
        }
    }

    /// Whether these device permissions may be given to others.
    ///
    /// # Errors
    /// `Forbidden` for one the caller does not have.
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
    fn sub_users_are_given_no_more_than_their_owner_has() {
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
