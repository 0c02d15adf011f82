//! First certificates of devices, which the platform issues for a one-time password of their registration (C-30).

use std::time::Duration;

use deadpool_postgres::GenericClient;
use platform_model::device_id::DeviceId;
use platform_model::error::{Error, Noun, Result};
use platform_model::id::{ManagedObjectId, TenantId};
use tokio_postgres::types::ToSql;

use super::device_certificates::{VerifiedCertificate, store};
use super::first_uses::register;
use crate::Database;
use crate::devices::{placements, users};
use crate::query::prepared::PreparedQueries;
use crate::users::audit::by_oneself;

const FIND: &str = include_str!("../../../../../sql/queries/enrollments/find.sql");
const SET_HASH: &str = include_str!("../../../../../sql/queries/enrollments/set_hash.sql");
const LOCK: &str = include_str!("../../../../../sql/queries/enrollments/lock.sql");
const SET_KEY: &str = include_str!("../../../../../sql/queries/enrollments/set_key.sql");

/// A registration for which a device may get a certificate.
#[derive(Debug, Clone)]
pub struct Enrollment {
    /// The tenant.
    pub tenant: TenantId,
    /// The hash of the one-time password.
    pub hash: String,
}

/// Returns the registration of a device with a one-time password; `within` limits the search to one tenant.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn find(
    database: &Database,
    within: Option<&TenantId>,
    id: &DeviceId,
) -> Result<Option<Enrollment>> {
    let row = database.loader().await?.find(FIND, &[&id.as_str(), &within.map(TenantId::as_str)]).await?;
    row.map(|row| Ok(Enrollment { tenant: TenantId::parse(row.get(0))?, hash: row.get(1) })).transpose()
}

/// Stores the hash of a one-time password with a registration, as part of the caller's transaction.
pub(crate) async fn set_hash(
    client: &impl GenericClient,
    tenant: &TenantId,
    id: &DeviceId,
    hash: &str,
) -> Result<()> {
    client.run(SET_HASH, &[&tenant.as_str(), &id.as_str(), &hash]).await?;
    Ok(())
}

/// Uses the one-time password of a registration for the certificate of a key: the device gets a user, and its
/// certificate is known. Until the registration ends after `kept`, the same key may get another certificate, because
/// the response may have been lost. One transaction.
///
/// # Errors
/// `NotFound` when the registration was deleted or replaced; `Conflict` when the password was used for another key, and
/// when the user exists with more rights than a device (N-08a); `QuotaExceeded`, `Unavailable` or `Database`.
pub async fn use_password(
    database: &Database,
    enrollment: &Enrollment,
    (certificate, key): (&VerifiedCertificate, &[u8; 32]),
    kept: Duration,
) -> Result<()> {
    let (tenant, id) = (&enrollment.tenant, &certificate.device);
    database.ensure_stored_quota(tenant)?;
    let mut client = database.loader().await?;
    let transaction = client.transaction().await?;
    let names: [&(dyn ToSql + Sync); 3] = [&tenant.as_str(), &id.as_str(), &enrollment.hash];
    let row = transaction.find(LOCK, &names).await?;
    let row = row.ok_or_else(|| Error::not_found(Noun::NewDeviceRequest, id))?;
    let used: Option<&[u8]> = row.get(0);
    if used.is_some_and(|used| used != key) {
        return Err(Error::Conflict {
            noun: Noun::NewDeviceRequest,
            message: "The one-time password was used for another key; register the device again".into(),
        });
    }
    let name = id.user_name();
    if !users::list_others(&transaction, tenant, &[&name]).await?.is_empty() {
        return Err(users::refused(&name));
    }
    register(&transaction, certificate).await?;
    if let Some(group) = row.get::<_, Option<i64>>(1) {
        placements::put(&transaction, tenant, &name, ManagedObjectId(group)).await?;
    }
    store(&transaction, certificate, &by_oneself(database, tenant, &name)?).await?;
    let parameters: [&(dyn ToSql + Sync); 4] =
        [&tenant.as_str(), &id.as_str(), &&key[..], &kept.as_secs_f64()];
    transaction.run(SET_KEY, &parameters).await?;
    transaction.commit().await?;
    Ok(())
}
