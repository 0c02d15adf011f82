//! Certificates that are about to end, and the alarms about them (C-33). An alarm is claimed before it is raised, so
//! that one of several servers raises it.

use platform_model::devices::trusted_certificate::Fingerprint;
use platform_model::error::{Noun, Result};
use platform_model::id::{ManagedObjectId, TenantId};
use platform_model::naming::naming;
use platform_model::timestamp::Timestamp;
use tokio_postgres::Row;

use crate::Database;
use crate::query::prepared::PreparedQueries;

const CLAIM_EXPIRING: &str =
    include_str!("../../../../../sql/queries/device_certificates/claim_expiring.sql");
const CLAIM_RENEWED: &str = include_str!("../../../../../sql/queries/device_certificates/claim_renewed.sql");
const SET_WARNED: &str = include_str!("../../../../../sql/queries/device_certificates/set_warned.sql");
const CLAIM_AUTHORITIES: &str =
    include_str!("../../../../../sql/queries/trusted_certificates/claim_expiring.sql");
const FORGET_WARNING: &str =
    include_str!("../../../../../sql/queries/trusted_certificates/forget_warning.sql");

/// The certificate of a device whose alarm is to be raised or cleared.
#[derive(Debug, Clone)]
pub struct ExpiringCertificate {
    /// The tenant.
    pub tenant: TenantId,
    /// The fingerprint.
    pub fingerprint: Fingerprint,
    /// The device.
    pub device: ManagedObjectId,
    /// The end of its validity.
    pub not_after: Timestamp,
}

/// An authority whose alarm is to be raised.
#[derive(Debug, Clone)]
pub struct ExpiringAuthority {
    /// The tenant.
    pub tenant: TenantId,
    /// The fingerprint.
    pub fingerprint: Fingerprint,
    /// The name for people.
    pub name: String,
    /// The end of its validity.
    pub not_after: Timestamp,
}

/// Claims certificates that end within some days and have no alarm, at most a hundred.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn claim_expiring(database: &Database, days: i32) -> Result<Vec<ExpiringCertificate>> {
    let is_device = naming().fragment("IsDevice");
    let rows = database.loader().await?.rows(CLAIM_EXPIRING, &[&days, &is_device]).await?;
    rows.iter().map(from_row).collect()
}

/// Claims certificates with an alarm whose devices have got a later one, at most a hundred.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn claim_renewed(database: &Database) -> Result<Vec<ExpiringCertificate>> {
    let is_device = naming().fragment("IsDevice");
    let rows = database.loader().await?.rows(CLAIM_RENEWED, &[&is_device]).await?;
    rows.iter().map(from_row).collect()
}

/// Notes whether there is an alarm about a certificate, because raising or clearing it failed.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn set_warned(
    database: &Database,
    certificate: &ExpiringCertificate,
    has_alarm: bool,
) -> Result<()> {
    let (tenant, fingerprint) = (certificate.tenant.as_str(), certificate.fingerprint.as_str());
    database.loader().await?.run(SET_WARNED, &[&tenant, &fingerprint, &has_alarm]).await?;
    Ok(())
}

/// Claims authorities in use that end within some days and have no alarm.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn claim_authorities(database: &Database, days: i32) -> Result<Vec<ExpiringAuthority>> {
    let rows = database.loader().await?.rows(CLAIM_AUTHORITIES, &[&days]).await?;
    let authority = |row: &Row| {
        Ok(ExpiringAuthority {
            tenant: TenantId::parse(row.get(0))?,
            fingerprint: Fingerprint::parse_of_path(row.get(1), Noun::TrustedCertificate)?,
            name: row.get(2),
            not_after: Timestamp::stored(row.get(3), 0),
        })
    };
    rows.iter().map(authority).collect()
}

/// Notes that the alarm about an authority could not be raised.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn forget_warning(database: &Database, authority: &ExpiringAuthority) -> Result<()> {
    let names = [authority.tenant.as_str(), authority.fingerprint.as_str()];
    database.loader().await?.run(FORGET_WARNING, &[&names[0], &names[1]]).await?;
    Ok(())
}

fn from_row(row: &Row) -> Result<ExpiringCertificate> {
    Ok(ExpiringCertificate {
        tenant: TenantId::parse(row.get(0))?,
        fingerprint: Fingerprint::parse_of_path(row.get(1), Noun::DeviceCertificate)?,
        device: ManagedObjectId(row.get(2)),
        not_after: Timestamp::stored(row.get(3), 0),
    })
}
