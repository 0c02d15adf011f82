//! First uses of certificates. When a fleet connects for the first time, one transaction stores the certificates of all
//! devices that wait for it.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use deadpool_postgres::GenericClient;
use futures_util::future::try_join_all;
use platform_model::error::Result;
use platform_model::role;
use platform_model::users::group::DEVICES;
use platform_model::users::user::Administration;

use super::device_certificates::{VerifiedCertificate, store};
use crate::query::prepared::PreparedQueries;
use crate::query::shared_lookups::Lookup;
use crate::users::audit::by_oneself;
use crate::{Database, Pool, take};

const REGISTER: &str = include_str!("../../../../../sql/queries/device_certificates/register.sql");

/// Whether a device without a user gets one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Registration {
    /// It does.
    Allowed,
    /// It does not.
    Refused,
}

/// A verified certificate that is used for the first time. Two with the same fingerprint are the same.
#[derive(Debug, Clone)]
pub(crate) struct FirstUse {
    certificate: Arc<VerifiedCertificate>,
    registration: Registration,
    by: Administration,
}

impl PartialEq for FirstUse {
    fn eq(&self, other: &Self) -> bool {
        self.certificate.fingerprint == other.certificate.fingerprint
    }
}

impl Eq for FirstUse {}

impl Hash for FirstUse {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.certificate.fingerprint.hash(state);
    }
}

/// Stores certificates at their first use. The value is whether the certificate was not known, and its device has a
/// user.
pub(crate) struct FirstUses(pub(crate) Pool);

impl Lookup for FirstUses {
    type Key = FirstUse;
    type Value = Result<bool>;

    async fn load(&self, uses: &[FirstUse]) -> Result<HashMap<FirstUse, Result<bool>>> {
        match self.store(uses).await {
            Ok(stored) => Ok(uses.iter().cloned().zip(stored.into_iter().map(Ok)).collect()),
            Err(error) if uses.len() == 1 => Err(error),
            // One that fails must not refuse the others.
            Err(_) => {
                let mut outcomes = HashMap::new();
                for one in uses {
                    let stored = self.store(std::slice::from_ref(one)).await;
                    outcomes.insert(one.clone(), stored.map(|stored| stored == [true]));
                }
                Ok(outcomes)
            }
        }
    }
}

impl FirstUses {
    /// Stores certificates, all of them or none, and returns their values.
    async fn store(&self, uses: &[FirstUse]) -> Result<Vec<bool>> {
        let mut client = take(&self.0).await?;
        let transaction = client.transaction().await?;
        // The statements are sent at once, and run in this order.
        let registered = uses.iter().filter(|one| one.registration == Registration::Allowed);
        try_join_all(registered.map(|one| register(&transaction, &one.certificate))).await?;
        let stored = uses.iter().map(|one| store(&transaction, &one.certificate, &one.by));
        let stored = try_join_all(stored).await?;
        transaction.commit().await?;
        Ok(stored)
    }
}

/// Stores a verified certificate. Its device gets a user if that is allowed. A certificate is stored before it is used,
/// so that a revocation finds its user. Returns whether it was not known, and its device has a user. Concurrent first
/// uses share a transaction.
///
/// # Errors
/// `QuotaExceeded`, `Unavailable` or `Database`.
pub async fn insert(
    database: &Database,
    certificate: VerifiedCertificate,
    registration: Registration,
) -> Result<bool> {
    database.ensure_reachable()?;
    if registration == Registration::Allowed {
        database.ensure_stored_quota(&certificate.tenant)?;
    }
    let by = by_oneself(database, &certificate.tenant, &certificate.device.user_name())?;
    let first = FirstUse { certificate: Arc::new(certificate), registration, by };
    database.first_uses.find(first).await?.unwrap_or(Ok(false))
}

/// Creates the user of a device, unless it exists, as part of the caller's transaction.
pub(super) async fn register(client: &impl GenericClient, certificate: &VerifiedCertificate) -> Result<()> {
    let roles = role::of_new_user();
    let roles: Vec<&str> = roles.names().collect();
    let (tenant, user) = (certificate.tenant.as_str(), certificate.device.user_name());
    client.run(REGISTER, &[&tenant, &user, &roles, &DEVICES]).await?;
    Ok(())
}
