//! The roles of the platform (U-03, U-09). ADMIN does not imply READ; each role is checked literally.

mod held;

use std::sync::Arc;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

pub use self::held::referred;
pub use self::held::{RoleHolder, RoleReference, RoleSet, references};

use crate::access::{Api, Permission};
use crate::error::{Error, Noun, Result};
use crate::links::Linked;

/// Reading alarms.
pub const ALARM_READ: &str = "ROLE_ALARM_READ";
/// Writing alarms of any source.
pub const ALARM_ADMIN: &str = "ROLE_ALARM_ADMIN";
/// Reading events.
pub const EVENT_READ: &str = "ROLE_EVENT_READ";
/// Writing events of any source.
pub const EVENT_ADMIN: &str = "ROLE_EVENT_ADMIN";
/// Reading measurements.
pub const MEASUREMENT_READ: &str = "ROLE_MEASUREMENT_READ";
/// Writing measurements of any source.
pub const MEASUREMENT_ADMIN: &str = "ROLE_MEASUREMENT_ADMIN";
/// Reading audit records.
pub const AUDIT_READ: &str = "ROLE_AUDIT_READ";
/// Writing and deleting audit records.
pub const AUDIT_ADMIN: &str = "ROLE_AUDIT_ADMIN";
/// Reading the inventory.
pub const INVENTORY_READ: &str = "ROLE_INVENTORY_READ";
/// Changing any managed object.
pub const INVENTORY_ADMIN: &str = "ROLE_INVENTORY_ADMIN";
/// Creating managed objects.
pub const INVENTORY_CREATE: &str = "ROLE_INVENTORY_CREATE";
/// Reading external ids.
pub const IDENTITY_READ: &str = "ROLE_IDENTITY_READ";
/// Writing external ids of any object.
pub const IDENTITY_ADMIN: &str = "ROLE_IDENTITY_ADMIN";
/// Reading operations.
pub const DEVICE_CONTROL_READ: &str = "ROLE_DEVICE_CONTROL_READ";
/// Writing operations of any device, registering devices.
pub const DEVICE_CONTROL_ADMIN: &str = "ROLE_DEVICE_CONTROL_ADMIN";
/// Reading bulk operations.
pub const BULK_OPERATION_READ: &str = "ROLE_BULK_OPERATION_READ";
/// Writing bulk operations.
pub const BULK_OPERATION_ADMIN: &str = "ROLE_BULK_OPERATION_ADMIN";
/// Collecting device credentials; the bootstrap user's only right (N-09).
pub const DEVICE_BOOTSTRAP: &str = "ROLE_DEVICE_BOOTSTRAP";
/// Reading users, groups and roles.
pub const USER_MANAGEMENT_READ: &str = "ROLE_USER_MANAGEMENT_READ";
/// Writing users and groups.
pub const USER_MANAGEMENT_ADMIN: &str = "ROLE_USER_MANAGEMENT_ADMIN";
/// Creating and managing sub-users of one's own.
pub const USER_MANAGEMENT_CREATE: &str = "ROLE_USER_MANAGEMENT_CREATE";
/// Reading one's own user.
pub const USER_MANAGEMENT_OWN_READ: &str = "ROLE_USER_MANAGEMENT_OWN_READ";
/// Changing one's own user.
pub const USER_MANAGEMENT_OWN_ADMIN: &str = "ROLE_USER_MANAGEMENT_OWN_ADMIN";
/// Resetting passwords.
pub const USER_MANAGEMENT_PASSWORD_RESET: &str = "ROLE_USER_MANAGEMENT_PASSWORD_RESET";
/// Administering the account.
pub const ACCOUNT_ADMIN: &str = "ROLE_ACCOUNT_ADMIN";
/// Reading tenants.
pub const TENANT_MANAGEMENT_READ: &str = "ROLE_TENANT_MANAGEMENT_READ";
/// Writing and deleting tenants.
pub const TENANT_MANAGEMENT_ADMIN: &str = "ROLE_TENANT_MANAGEMENT_ADMIN";
/// Creating tenants.
pub const TENANT_MANAGEMENT_CREATE: &str = "ROLE_TENANT_MANAGEMENT_CREATE";
/// Changing tenants.
pub const TENANT_MANAGEMENT_UPDATE: &str = "ROLE_TENANT_MANAGEMENT_UPDATE";
/// Administering one's own tenant.
pub const TENANT_ADMIN: &str = "ROLE_TENANT_ADMIN";
/// Reading usage statistics.
pub const TENANT_STATISTICS_READ: &str = "ROLE_TENANT_STATISTICS_READ";
/// Reading options.
pub const OPTION_MANAGEMENT_READ: &str = "ROLE_OPTION_MANAGEMENT_READ";
/// Writing options.
pub const OPTION_MANAGEMENT_ADMIN: &str = "ROLE_OPTION_MANAGEMENT_ADMIN";
/// Reading applications.
pub const APPLICATION_MANAGEMENT_READ: &str = "ROLE_APPLICATION_MANAGEMENT_READ";
/// Writing applications.
pub const APPLICATION_MANAGEMENT_ADMIN: &str = "ROLE_APPLICATION_MANAGEMENT_ADMIN";
/// Another name for reading the application interface.
pub const APPLICATION_READ: &str = "ROLE_APPLICATION_READ";
/// Reading event-processing modules.
pub const CEP_MANAGEMENT_READ: &str = "ROLE_CEP_MANAGEMENT_READ";
/// Writing event-processing modules.
pub const CEP_MANAGEMENT_ADMIN: &str = "ROLE_CEP_MANAGEMENT_ADMIN";
/// Receiving the output of event-processing modules.
pub const NOTIFICATION_READ: &str = "ROLE_NOTIFICATION_READ";
/// Tracing notifications, and asking why they did not arrive (B-37).
pub const NOTIFICATION_ADMIN: &str = "ROLE_NOTIFICATION_ADMIN";
/// Reading smart rules.
pub const SMARTRULE_READ: &str = "ROLE_SMARTRULE_READ";
/// Writing smart rules.
pub const SMARTRULE_ADMIN: &str = "ROLE_SMARTRULE_ADMIN";
/// Reading retention rules.
pub const RETENTION_RULE_READ: &str = "ROLE_RETENTION_RULE_READ";
/// Writing retention rules.
pub const RETENTION_RULE_ADMIN: &str = "ROLE_RETENTION_RULE_ADMIN";
/// Reading data brokers.
pub const DATA_BROKER_READ: &str = "ROLE_DATA_BROKER_READ";
/// Writing data brokers.
pub const DATA_BROKER_ADMIN: &str = "ROLE_DATA_BROKER_ADMIN";
/// Using device simulators.
pub const SIMULATOR_ADMIN: &str = "ROLE_SIMULATOR_ADMIN";
/// Reading text messages.
pub const SMS_READ: &str = "ROLE_SMS_READ";
/// Sending text messages.
pub const SMS_ADMIN: &str = "ROLE_SMS_ADMIN";
/// Internal; it is never assigned.
pub const SYSTEM: &str = "ROLE_SYSTEM";

/// Every role of the platform (U-09).
pub const ALL: [&str; 50] = [
    ALARM_READ,
    ALARM_ADMIN,
    EVENT_READ,
    EVENT_ADMIN,
    MEASUREMENT_READ,
    MEASUREMENT_ADMIN,
    AUDIT_READ,
    AUDIT_ADMIN,
    INVENTORY_READ,
    INVENTORY_ADMIN,
    INVENTORY_CREATE,
    IDENTITY_READ,
    IDENTITY_ADMIN,
    DEVICE_CONTROL_READ,
    DEVICE_CONTROL_ADMIN,
    BULK_OPERATION_READ,
    BULK_OPERATION_ADMIN,
    DEVICE_BOOTSTRAP,
    USER_MANAGEMENT_READ,
    USER_MANAGEMENT_ADMIN,
    USER_MANAGEMENT_CREATE,
    USER_MANAGEMENT_OWN_READ,
    USER_MANAGEMENT_OWN_ADMIN,
    USER_MANAGEMENT_PASSWORD_RESET,
    ACCOUNT_ADMIN,
    TENANT_MANAGEMENT_READ,
    TENANT_MANAGEMENT_ADMIN,
    TENANT_MANAGEMENT_CREATE,
    TENANT_MANAGEMENT_UPDATE,
    TENANT_ADMIN,
    TENANT_STATISTICS_READ,
    OPTION_MANAGEMENT_READ,
    OPTION_MANAGEMENT_ADMIN,
    APPLICATION_MANAGEMENT_READ,
    APPLICATION_MANAGEMENT_ADMIN,
    APPLICATION_READ,
    CEP_MANAGEMENT_READ,
    CEP_MANAGEMENT_ADMIN,
    NOTIFICATION_READ,
    NOTIFICATION_ADMIN,
    SMARTRULE_READ,
    SMARTRULE_ADMIN,
    RETENTION_RULE_READ,
    RETENTION_RULE_ADMIN,
    DATA_BROKER_READ,
    DATA_BROKER_ADMIN,
    SIMULATOR_ADMIN,
    SMS_READ,
    SMS_ADMIN,
    SYSTEM,
];

/// Returns the roles of the group `admins`: all but the bootstrap role and the internal role (U-10).
pub fn administrator() -> RoleSet {
    ALL.iter().copied().filter(|role| ![DEVICE_BOOTSTRAP, SYSTEM].contains(role)).collect()
}

/// Returns whether a microservice may define a role of this name for users of its subscribers: `ROLE_…_READ`, `_ADMIN`,
/// `_CREATE` or `_UPDATE`, in capital letters, digits and underscores, except for the roles of the platform (U-03,
/// U-03a).
pub fn may_be_defined(name: &str) -> bool {
    let ends = ["_READ", "_ADMIN", "_CREATE", "_UPDATE"];
    let middle =
        name.strip_prefix("ROLE_").and_then(|rest| ends.iter().find_map(|end| rest.strip_suffix(end)));
    name.len() <= MAX_DEFINED
        && middle.is_some_and(|middle| {
            let fits = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
            !middle.is_empty() && middle.bytes().all(fits)
        })
        && !ALL.contains(&name)
}

/// The maximum number of characters of the name of a role that a microservice defines.
const MAX_DEFINED: usize = 128;

/// Returns the roles that every new user holds directly: reading and changing one's own user (U-05).
pub fn of_new_user() -> RoleSet {
    [USER_MANAGEMENT_OWN_READ, USER_MANAGEMENT_OWN_ADMIN].into_iter().collect()
}

/// Returns the role that grants for every object what a device permission grants for one (U-12).
pub fn of_api(api: Api, permission: Permission) -> &'static str {
    match (api, permission) {
        (Api::Operation, Permission::Read) => DEVICE_CONTROL_READ,
        (Api::Operation, Permission::Admin) => DEVICE_CONTROL_ADMIN,
        (Api::Alarm, Permission::Read) => ALARM_READ,
        (Api::Alarm, Permission::Admin) => ALARM_ADMIN,
        (Api::Audit, Permission::Read) => AUDIT_READ,
        (Api::Audit, Permission::Admin) => AUDIT_ADMIN,
        (Api::Event, Permission::Read) => EVENT_READ,
        (Api::Event, Permission::Admin) => EVENT_ADMIN,
        (Api::ManagedObject, Permission::Read) => INVENTORY_READ,
        (Api::ManagedObject, Permission::Admin) => INVENTORY_ADMIN,
        (Api::Measurement, Permission::Read) => MEASUREMENT_READ,
        (Api::Measurement, Permission::Admin) => MEASUREMENT_ADMIN,
    }
}

/// A role as it is returned: exactly `id`, `name`, `self` (U-03).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Role {
    /// The name, which is also the id, such as `ROLE_ALARM_READ`.
    pub name: Arc<str>,
}

impl Role {
    /// Returns a role of the platform by its name.
    ///
    /// # Errors
    /// `NotFound` for a role that does not exist.
    pub fn named(name: &str) -> Result<Self> {
        if ALL.contains(&name) {
            Ok(Self { name: name.into() })
        } else {
            Err(Error::not_found(Noun::Role, name.chars().take(64).collect::<String>()))
        }
    }

    /// Returns whether it is a role of the platform (U-09), in contrast to a role of a microservice.
    pub fn is_of_platform(&self) -> bool {
        ALL.contains(&&*self.name)
    }

    /// Returns a role of the platform that may be assigned to people and groups.
    ///
    /// # Errors
    /// `Invalid` for an unknown role, the internal role and the bootstrap role.
    pub fn assignable(name: &str) -> Result<Self> {
        match Self::named(name) {
            Ok(role) if ![SYSTEM, DEVICE_BOOTSTRAP].contains(&name) => Ok(role),
            _ => {
                let administrator = administrator();
                let allowed: Vec<&str> = administrator.names().collect();
                Err(Error::invalid_value("role", name, &allowed.join(", ")))
            }
        }
    }
}

impl Serialize for Linked<'_, Role> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Linked { value: Role { name }, links } = *self;
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("id", name)?;
        map.serialize_entry("name", name)?;
        map.serialize_entry("self", &links.role(name))?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn administrator_holds_everything_but_bootstrap_and_system() {
        let roles = administrator();
        assert!(roles.has(ALARM_ADMIN) && roles.has(INVENTORY_READ));
        assert!(!roles.has(DEVICE_BOOTSTRAP) && !roles.has(SYSTEM));
    }

    #[test]
    fn microservices_define_roles_with_known_endings_except_those_of_the_platform() {
        for name in [
            "ROLE_METER_READ",
            "ROLE_SMART_METER_ADMIN",
            "ROLE_X_CREATE",
            "ROLE_X_UPDATE",
            "ROLE_NOTIFICATION_2_ADMIN",
            "ROLE_4G_READ",
        ] {
            assert!(may_be_defined(name), "{name}");
        }
        let long = format!("ROLE_{}_READ", "X".repeat(120));
        for name in [
            "",
            "ROLE_READ",
            "ROLE__READ_",
            "ROLE_METER",
            "ROLE_meter_READ",
            "ROLE_METER2",
            "ROLE_٢_READ",
            "METER_READ",
            ALARM_READ,
            SYSTEM,
            &long,
        ] {
            assert!(!may_be_defined(name), "{name}");
        }
    }
}
