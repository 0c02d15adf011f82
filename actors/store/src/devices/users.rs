//! Users of devices in PostgreSQL, which registration creates or gives another password (N-08, N-12, N-13).

use std::collections::{HashMap, HashSet};

use deadpool_postgres::GenericClient;
use platform_model::error::{Error, Noun, Result};
use platform_model::id::TenantId;
use platform_model::role;
use platform_model::users::group::DEVICES;

use crate::query::prepared::PreparedQueries;
use crate::realtime::announcements::Announcements;

const LIST_OTHERS: &str = include_str!("../../../../sql/queries/device_users/list_others.sql");
const PUT: &str = include_str!("../../../../sql/queries/device_users/put.sql");

/// The desired state of a user of a device.
#[derive(Debug, Clone)]
pub struct DeviceUser {
    /// The tenant of the device.
    pub tenant: TenantId,
    /// `device_<id>`.
    pub name: String,
    /// The hash of the password; `None` for a device that logs in with a certificate (N-12b).
    pub password_hash: Option<String>,
}

/// The outcome of storing a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PutOutcome {
    /// The user was created.
    Created,
    /// The user existed and got a new password; every server process is notified.
    PasswordReplaced,
}

/// Returns those of the given users that have more rights than a device. Registration does not set their passwords
/// (N-08a).
pub(crate) async fn list_others(
    client: &impl GenericClient,
    tenant: &TenantId,
    names: &[&str],
) -> Result<HashSet<String>> {
    let roles = role::of_new_user();
    let roles: Vec<&str> = roles.names().collect();
    let rows = client.rows(LIST_OTHERS, &[&tenant.as_str(), &names, &DEVICES, &roles]).await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// Returns why registration does not set the password of a user.
pub(crate) fn refusal(name: &str) -> String {
    format!(
        "User '{name}' exists and has more rights than the group '{DEVICES}' grants; registration does not set its \
         password"
    )
}

/// Returns the same reason as an error of a request for one device.
pub(crate) fn refused(name: &str) -> Error {
    Error::Conflict { noun: Noun::NewDeviceRequest, message: refusal(name) }
}

/// Creates or updates users as part of the caller's transaction; each name occurs once. Returns the outcomes by tenant
/// and name. A user is left out when its tenant is unknown, when it has more rights than a device, or when it exists
/// and the row has no password.
pub(crate) async fn put_device_users(
    client: &impl GenericClient,
    announcements: &Announcements,
    users: &[DeviceUser],
) -> Result<HashMap<(TenantId, String), PutOutcome>> {
    if users.is_empty() {
        return Ok(HashMap::new());
    }
    let tenants: Vec<&str> = users.iter().map(|user| user.tenant.as_str()).collect();
    let names: Vec<&str> = users.iter().map(|user| &*user.name).collect();
    let hashes: Vec<Option<&str>> = users.iter().map(|user| user.password_hash.as_deref()).collect();
    let roles = role::of_new_user();
    let roles: Vec<&str> = roles.names().collect();
    let rows = client.rows(PUT, &[&tenants, &names, &hashes, &roles, &DEVICES]).await?;
    let mut outcomes = HashMap::with_capacity(rows.len());
    for row in rows {
        let (tenant, name) = (TenantId::parse(row.get(0))?, row.get::<_, String>(1));
        let put = if row.get(2) { PutOutcome::Created } else { PutOutcome::PasswordReplaced };
        outcomes.insert((tenant, name), put);
    }
    for ((tenant, name), _) in outcomes.iter().filter(|(_, put)| **put == PutOutcome::PasswordReplaced) {
        announcements.add_user(tenant, name);
    }
    Ok(outcomes)
}
