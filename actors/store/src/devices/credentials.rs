//! Credentials of devices in PostgreSQL, from the first poll to the first use (N-01, N-02, N-04, N-08).
//!
//! Passwords arrive here hashed and encrypted; the database has neither key. The encrypted password is kept so that a
//! lost response can be repeated. It is deleted with the request, when the device authenticates or when the request
//! expires.

use std::time::Duration;

use deadpool_postgres::GenericClient;
use platform_model::device_id::DeviceId;
use platform_model::devices::new_device_request::RequestStatus;
use platform_model::error::{Error, Noun, Result};
use platform_model::id::TenantId;
use time::OffsetDateTime;

use crate::Database;
use crate::devices::new_requests::{lock, not_found};
use crate::devices::placements;
use crate::devices::users::{self, DeviceUser, put_device_users};
use crate::query::prepared::PreparedQueries;
use crate::realtime::announcements::change_over;

const FIND: &str = include_str!("../../../../sql/queries/device_credentials/find.sql");
const AWAIT_ACCEPTANCE: &str =
    include_str!("../../../../sql/queries/device_credentials/await_acceptance.sql");
const KEEP: &str = include_str!("../../../../sql/queries/device_credentials/keep.sql");
const FORGET: &str = include_str!("../../../../sql/queries/device_credentials/forget.sql");
const SWEEP: &str = include_str!("../../../../sql/queries/device_credentials/sweep.sql");

/// The state of an accepted device.
#[derive(Debug, Clone)]
pub enum Admitted {
    /// The device was accepted and has no credentials yet.
    Accepted(TenantId),
    /// The device got its credentials before.
    Issued(Issued),
}

/// Credentials that a device got before.
#[derive(Debug, Clone)]
pub struct Issued {
    /// The tenant of the device.
    pub tenant: TenantId,
    /// The encrypted password as [`issue`] stored it.
    pub sealed: String,
    /// The hash of the password that the user of the device has now. The user may have another password or be deleted.
    pub hash: Option<String>,
}

/// A new password of a device.
#[derive(Clone, Copy)]
pub struct NewPassword<'p> {
    /// The hash, for the user.
    pub hash: &'p str,
    /// The encrypted password, for the request.
    pub sealed: &'p str,
    /// The time for which the request keeps the encrypted password.
    pub kept: Duration,
}

/// Looks up the request of a device that polls for its credentials and stores that it polled (N-01). `within` limits
/// the search to one tenant.
///
/// # Errors
/// `NotFound` for the request; `NotFound` for the credentials as long as nobody accepted the request; `Unavailable` or
/// `Database`.
pub async fn poll(database: &Database, within: Option<&TenantId>, id: &DeviceId) -> Result<Admitted> {
    let client = database.loader().await?;
    let (tenant, status, issued) = request(&*client, within, id).await?;
    match (status, issued) {
        (RequestStatus::Accepted, Some(issued)) => Ok(Admitted::Issued(issued)),
        (RequestStatus::Accepted, None) => Ok(Admitted::Accepted(tenant)),
        (RequestStatus::WaitingForConnection, _) => {
            client.run(AWAIT_ACCEPTANCE, &[&tenant.as_str(), &id.as_str()]).await?;
            Err(not_available(id))
        }
        (RequestStatus::PendingAcceptance, _) => Err(not_available(id)),
    }
}

/// Returns the credentials that a device got before. It changes nothing. `within` has the same meaning as in [`poll`].
///
/// # Errors
/// The errors of [`poll`], and `NotFound` for the credentials when the device got none.
pub async fn find(database: &Database, within: Option<&TenantId>, id: &DeviceId) -> Result<Issued> {
    match request(&*database.reader().await?, within, id).await? {
        (_, RequestStatus::Accepted, Some(issued)) => Ok(issued),
        _ => Err(not_available(id)),
    }
}

/// Returns the tenant and the status of the request of a device, and the credentials that the device got.
async fn request(
    client: &impl GenericClient,
    within: Option<&TenantId>,
    id: &DeviceId,
) -> Result<(TenantId, RequestStatus, Option<Issued>)> {
    let row = client.find(FIND, &[&id.as_str(), &within.map(TenantId::as_str)]).await?;
    let row = row.ok_or_else(|| not_found(id))?;
    let tenant = TenantId::parse(row.get(0))?;
    let sealed: Option<String> = row.get(2);
    let issued = sealed.map(|sealed| Issued { tenant: tenant.clone(), sealed, hash: row.get(3) });
    Ok((tenant, RequestStatus::parse(row.get(1))?, issued))
}

/// Creates the user of an accepted device and stores the encrypted password with the request, for repeated polls.
/// Returns the encrypted password to respond with: this one, or that of a concurrent poll. One transaction.
///
/// # Errors
/// `NotFound` when the request was deleted or is no longer accepted; `Conflict` when the user exists and has more
/// rights than a device (N-08a); `Unavailable` or `Database`.
pub async fn issue(
    database: &Database,
    tenant: &TenantId,
    id: &DeviceId,
    password: NewPassword<'_>,
) -> Result<String> {
    change_over(
        database,
        async || database.loader().await,
        async |transaction, announcements| {
            let (request, sealed) = lock(transaction, tenant, id).await?;
            match (request.status, sealed) {
                (RequestStatus::Accepted, None) => {}
                (RequestStatus::Accepted, Some(sealed)) => return Ok(sealed),
                (RequestStatus::WaitingForConnection | RequestStatus::PendingAcceptance, _) => {
                    return Err(not_available(id));
                }
            }
            let NewPassword { hash, sealed, kept } = password;
            let name = id.user_name();
            let password_hash = Some(hash.to_owned());
            let user = DeviceUser { tenant: tenant.clone(), name: name.clone(), password_hash };
            if put_device_users(transaction, announcements, &[user]).await?.is_empty() {
                return Err(users::refused(&name));
            }
            if let Some(group) = request.group {
                placements::put(transaction, tenant, &name, group).await?;
            }
            let (tenant, id) = (tenant.as_str(), id.as_str());
            transaction.run(KEEP, &[&tenant, &id, &sealed, &kept.as_secs_f64()]).await?;
            Ok(sealed.to_owned())
        },
    )
    .await
}

/// Deletes the request, and so the encrypted password, of a device that authenticated with its credentials. `until`
/// distinguishes these credentials from those of a later request.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn forget(
    database: &Database,
    tenant: &TenantId,
    id: &DeviceId,
    until: OffsetDateTime,
) -> Result<()> {
    database.loader().await?.run(FORGET, &[&tenant.as_str(), &id.as_str(), &until]).await?;
    Ok(())
}

/// Deletes requests whose credentials were not collected in time.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn sweep(database: &Database) -> Result<()> {
    let client = database.loader().await?;
    client.execute(SWEEP, &[]).await?;
    Ok(())
}

fn not_available(id: &DeviceId) -> Error {
    Error::not_found(Noun::DeviceCredentials, id)
}
