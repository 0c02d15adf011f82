//! Roles: what a user may do (U-03, U-09). ADMIN does not imply READ; each is checked literally.

use std::sync::Arc;

/// Reading alarms.
pub const ALARM_READ: &str = "ROLE_ALARM_READ";
/// Writing alarms of any source.
pub const ALARM_ADMIN: &str = "ROLE_ALARM_ADMIN";
/// Reading the inventory.
pub const INVENTORY_READ: &str = "ROLE_INVENTORY_READ";
/// Changing any managed object.
pub const INVENTORY_ADMIN: &str = "ROLE_INVENTORY_ADMIN";
/// Creating managed objects.
pub const INVENTORY_CREATE: &str = "ROLE_INVENTORY_CREATE";
/// Reading events.
pub const EVENT_READ: &str = "ROLE_EVENT_READ";
/// Reading measurements.
pub const MEASUREMENT_READ: &str = "ROLE_MEASUREMENT_READ";
/// Reading operations.
pub const DEVICE_CONTROL_READ: &str = "ROLE_DEVICE_CONTROL_READ";
/// Receiving the output of event-processing modules.
pub const NOTIFICATION_READ: &str = "ROLE_NOTIFICATION_READ";
/// Collecting device credentials; the bootstrap user's only right (N-09).
pub const DEVICE_BOOTSTRAP: &str = "ROLE_DEVICE_BOOTSTRAP";

/// Every role a user can be given, and the bootstrap user's own (U-09).
pub const ALL: [&str; 49] = [
    ALARM_READ,
    ALARM_ADMIN,
    EVENT_READ,
    "ROLE_EVENT_ADMIN",
    MEASUREMENT_READ,
    "ROLE_MEASUREMENT_ADMIN",
    "ROLE_AUDIT_READ",
    "ROLE_AUDIT_ADMIN",
    INVENTORY_READ,
    INVENTORY_ADMIN,
    INVENTORY_CREATE,
    "ROLE_IDENTITY_READ",
    "ROLE_IDENTITY_ADMIN",
    DEVICE_CONTROL_READ,
    "ROLE_DEVICE_CONTROL_ADMIN",
    "ROLE_BULK_OPERATION_READ",
    "ROLE_BULK_OPERATION_ADMIN",
    DEVICE_BOOTSTRAP,
    "ROLE_USER_MANAGEMENT_READ",
    "ROLE_USER_MANAGEMENT_ADMIN",
    "ROLE_USER_MANAGEMENT_CREATE",
    "ROLE_USER_MANAGEMENT_OWN_READ",
    "ROLE_USER_MANAGEMENT_OWN_ADMIN",
    "ROLE_USER_MANAGEMENT_PASSWORD_RESET",
    "ROLE_ACCOUNT_ADMIN",
    "ROLE_TENANT_MANAGEMENT_READ",
    "ROLE_TENANT_MANAGEMENT_ADMIN",
    "ROLE_TENANT_MANAGEMENT_CREATE",
    "ROLE_TENANT_MANAGEMENT_UPDATE",
    "ROLE_TENANT_ADMIN",
    "ROLE_TENANT_STATISTICS_READ",
    "ROLE_OPTION_MANAGEMENT_READ",
    "ROLE_OPTION_MANAGEMENT_ADMIN",
    "ROLE_APPLICATION_MANAGEMENT_READ",
    "ROLE_APPLICATION_MANAGEMENT_ADMIN",
    "ROLE_APPLICATION_READ",
    "ROLE_CEP_MANAGEMENT_READ",
    "ROLE_CEP_MANAGEMENT_ADMIN",
    NOTIFICATION_READ,
    "ROLE_SMARTRULE_READ",
    "ROLE_SMARTRULE_ADMIN",
    "ROLE_RETENTION_RULE_READ",
    "ROLE_RETENTION_RULE_ADMIN",
    "ROLE_DATA_BROKER_READ",
    "ROLE_DATA_BROKER_ADMIN",
    "ROLE_SIMULATOR_ADMIN",
    "ROLE_SMS_READ",
    "ROLE_SMS_ADMIN",
    "ROLE_SYSTEM",
];

/// What the group `admins` holds: all but the bootstrap and the internal role (U-10).
pub fn administrator() -> RoleSet {
    ALL.iter().copied().filter(|role| ![DEVICE_BOOTSTRAP, "ROLE_SYSTEM"].contains(role)).collect()
}

/// The roles of one user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleSet(Arc<[Box<str>]>);

impl RoleSet {
    /// Whether the role is held, literally.
    pub fn has(&self, role: &str) -> bool {
        self.0.binary_search_by(|held| (**held).cmp(role)).is_ok()
    }

    /// The roles, sorted by name.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|role| &**role)
    }
}

impl<S: Into<Box<str>>> FromIterator<S> for RoleSet {
    fn from_iter<I: IntoIterator<Item = S>>(roles: I) -> Self {
        let mut roles: Vec<Box<str>> = roles.into_iter().map(Into::into).collect();
        roles.sort_unstable();
        roles.dedup();
        Self(roles.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn administrator_holds_everything_but_bootstrap_and_system() {
        let roles = administrator();
        assert!(roles.has(ALARM_ADMIN) && roles.has(INVENTORY_READ));
        assert!(!roles.has(DEVICE_BOOTSTRAP) && !roles.has("ROLE_SYSTEM"));
    }
}
