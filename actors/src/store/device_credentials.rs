//! Credentials of devices in PostgreSQL: from the first poll to the first use (N-01, N-02, N-04, N-08).
//!
//! Passwords arrive here hashed and sealed; neither key is the database's to know. What is sealed is kept so that an answer
//! that was lost can be given again, and goes with the request: when the device came in, or when its time is over.

use std::time::Duration;

use deadpool_postgres::GenericClient;
use time::OffsetDateTime;

use super::announcements::change_over;
use super::device_users::{self, DeviceUser, put_device_users};
use super::new_device_requests::{lock, not_found};
use super::{Database, device_placements};
use crate::error::{Error, Noun, Result};
use crate::model::id::TenantId;
use crate::model::new_device_request::{DeviceId, RequestStatus};

const FIND: &str = include_str!("../../../sql/queries/device_credentials/find.sql");
const AWAIT_ACCEPTANCE: &str = include_str!("../../../sql/queries/device_credentials/await_acceptance.sql");
const KEEP: &str = include_str!("../../../sql/queries/device_credentials/keep.sql");
const FORGET: &str = include_str!("../../../sql/queries/device_credentials/forget.sql");
const SWEEP: &str = include_str!("../../../sql/queries/device_credentials/sweep.sql");

/// Longest pause between two looks for what nobody may collect any more.
const SWEEP_INTERVAL: Duration = Duration::from_secs(60);

/// What a device finds that may come in.
#[derive(Debug, Clone)]
pub enum Admitted {
    /// It was accepted and has no credentials yet.
    Accepted(TenantId),
    /// It was given credentials before.
    Issued(Issued),
}

/// What a device was given before.
#[derive(Debug, Clone)]
pub struct Issued {
    /// Whose device it is.
    pub tenant: TenantId,
    /// The password as [`issue`] was given it.
    pub sealed: String,
    /// The hash of the password that the device's user has now; it may have another one, or be gone.
    pub hash: Option<String>,
}

/// A new password of a device.
#[derive(Clone, Copy)]
pub struct NewPassword<'p> {
    /// For the user.
    pub hash: &'p str,
    /// For the request.
    pub sealed: &'p str,
    /// How long it is kept there.
    pub kept: Duration,
}

/// Looks for the request of a device that asks for its credentials; notes that it asked (N-01). `within` is the only tenant
/// to look in, where there is one.
///
/// # Errors
/// `NotFound` of the request; `NotFound` of the credentials as long as nobody accepted it; `Unavailable` or `Database`.
pub async fn poll(database: &Database, within: Option<&TenantId>, id: &DeviceId) -> Result<Admitted> {
    let client = database.loader().await?;
    let (tenant, status, issued) = request(&client, within, id).await?;
    match (status, issued) {
        (RequestStatus::Accepted, Some(issued)) => Ok(Admitted::Issued(issued)),
        (RequestStatus::Accepted, None) => Ok(Admitted::Accepted(tenant)),
        (RequestStatus::WaitingForConnection, _) => {
            let statement = client.prepare_cached(AWAIT_ACCEPTANCE).await?;
            client.execute(&statement, &[&tenant.as_str(), &id.as_str()]).await?;
            Err(not_available(id))
        }
        (RequestStatus::PendingAcceptance, _) => Err(not_available(id)),
    }
}

/// What a device was given before; changes nothing. `within` as for [`poll`].
///
/// # Errors
/// As [`poll`], and `NotFound` of the credentials when it was given none.
pub async fn find(database: &Database, within: Option<&TenantId>, id: &DeviceId) -> Result<Issued> {
    match request(&database.reader().await?, within, id).await? {
        (_, RequestStatus::Accepted, Some(issued)) => Ok(issued),
        _ => Err(not_available(id)),
    }
}

/// The request of a device: whose it is, how it stands and what the device was given.
async fn request(
    client: &impl GenericClient,
    within: Option<&TenantId>,
    id: &DeviceId,
) -> Result<(TenantId, RequestStatus, Option<Issued>)> {
    let statement = client.prepare_cached(FIND).await?;
    let row = client.query_opt(&statement, &[&id.as_str(), &within.map(TenantId::as_str)]).await?;
    let row = row.ok_or_else(|| not_found(id))?;
    let tenant = TenantId::parse(row.get(0))?;
    let sealed: Option<String> = row.get(2);
    let issued = sealed.map(|sealed| Issued { tenant: tenant.clone(), sealed, hash: row.get(3) });
    Ok((tenant, RequestStatus::parse(row.get(1))?, issued))
}

/// Gives an accepted device its user, and the request the password to answer again. Gives what the device shall be answered,
/// sealed: this password, or that of another poll of the same moment. One transaction.
///
/// # Errors
/// `NotFound` when the request is gone or no longer accepted; `Conflict` when the user is there and holds more than a device does
/// (N-08a); `Unavailable` or `Database`.
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
            let user =
                DeviceUser { tenant: tenant.clone(), name: name.clone(), password_hash: hash.to_owned() };
            if put_device_users(transaction, announcements, &[user]).await?.is_empty() {
                return Err(device_users::refused(&name));
            }
            if let Some(group) = request.group {
                device_placements::put(transaction, tenant, &name, group).await?;
            }
            let statement = transaction.prepare_cached(KEEP).await?;
            let (tenant, id) = (tenant.as_str(), id.as_str());
            transaction.execute(&statement, &[&tenant, &id, &sealed, &kept.as_secs_f64()]).await?;
            Ok(sealed.to_owned())
        },
    )
    .await
}

/// Forgets the request of a device that came in with its credentials, and so the sealed password. `until` tells these
/// credentials from those of a later request.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn forget(
    database: &Database,
    tenant: &TenantId,
    id: &DeviceId,
    until: OffsetDateTime,
) -> Result<()> {
    let client = database.loader().await?;
    let statement = client.prepare_cached(FORGET).await?;
    client.execute(&statement, &[&tenant.as_str(), &id.as_str(), &until]).await?;
    Ok(())
}

/// Takes away requests whose credentials nobody collected in time, until it is dropped. `kept` is how long they may.
pub async fn sweep(database: Database, kept: Duration) {
    loop {
        if let Err(error) = sweep_once(&database).await {
            tracing::warn!(%error, "credentials that devices did not collect could not be removed, the next try is soon");
        }
        tokio::time::sleep(kept.min(SWEEP_INTERVAL)).await;
    }
}

async fn sweep_once(database: &Database) -> Result<()> {
    let client = database.loader().await?;
    client.execute(SWEEP, &[]).await?;
    Ok(())
}

fn not_available(id: &DeviceId) -> Error {
    Error::not_found(Noun::DeviceCredentials, id)
}
