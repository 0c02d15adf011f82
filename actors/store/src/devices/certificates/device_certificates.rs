//! Certificates that have logged in a device, or that the platform has issued to one. A certificate is verified once
//! and found by its fingerprint from then on.

use std::collections::HashMap;

use deadpool_postgres::GenericClient;
use platform_model::data::audit_record::AttributeChange;
use platform_model::device_id::DeviceId;
use platform_model::devices::device_certificate::{DeviceCertificate, not_found};
use platform_model::devices::trusted_certificate::Fingerprint;
use platform_model::error::{Noun, Result};
use platform_model::id::TenantId;
use platform_model::page::{Page, PageRequest, Position};
use platform_model::timestamp::Timestamp;
use platform_model::users::user::Administration;
use time::OffsetDateTime;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::revocations::{Revoked, revoke_all};
use crate::query::filter::{Filtered, Order, page_of};
use crate::query::prepared::PreparedQueries;
use crate::query::shared_lookups::Lookup;
use crate::realtime::announcements::change;
use crate::users::audit::audit;
use crate::{Database, Pool, take};

const FIND: &str = include_str!("../../../../../sql/queries/device_certificates/find.sql");
const GET: &str = include_str!("../../../../../sql/queries/device_certificates/get.sql");
const INSERT: &str = include_str!("../../../../../sql/queries/device_certificates/insert.sql");
const LOCK: &str = include_str!("../../../../../sql/queries/device_certificates/lock.sql");
const DELETE_OLD: &str = include_str!("../../../../../sql/queries/device_certificates/delete_old.sql");

/// The columns of a certificate, in the order [`from_row`] reads them.
const COLUMNS: &str = "d.tenant, d.fingerprint, d.user_name, d.authority, d.serials[1], d.subject, d.not_after, \
                       d.created_at, (SELECT min(r.revoked_at) FROM unnest(d.issuers, d.serials) AS l (issuer, serial) \
                       JOIN revoked_certificates r ON r.tenant = d.tenant AND r.authority = d.authority AND r.issuer = \
                       l.issuer AND r.serial = l.serial), d.number";

/// The state of a certificate that was verified before.
#[derive(Debug, Clone)]
pub struct KnownCertificate {
    /// The tenant of the device.
    pub tenant: TenantId,
    /// The user of the device.
    pub user: String,
    /// Whether its authority may be used.
    pub is_trusted: bool,
    /// Whether it or one between it and its authority is revoked.
    pub is_revoked: bool,
    /// The time in which it and those above it are valid.
    pub validity: std::ops::RangeInclusive<OffsetDateTime>,
}

/// A verified certificate.
#[derive(Debug, Clone)]
pub struct VerifiedCertificate {
    /// Its fingerprint.
    pub fingerprint: [u8; 32],
    /// The tenant of its authority.
    pub tenant: TenantId,
    /// The trusted authority.
    pub authority: Fingerprint,
    /// Its device.
    pub device: DeviceId,
    /// The SHA-256 of the names of the issuers of the certificate and of those between it and the authority.
    pub issuers: Vec<[u8; 32]>,
    /// Their serial numbers.
    pub serials: Vec<String>,
    /// The subject, as text.
    pub subject: String,
    /// The time in which all of them are valid.
    pub validity: std::ops::RangeInclusive<OffsetDateTime>,
}

/// Looks up certificates that log in devices, over connections that all look-ups by key share.
pub(crate) struct CertificateLookup(pub(crate) Pool);

impl Lookup for CertificateLookup {
    type Key = Fingerprint;
    type Value = KnownCertificate;

    async fn load(&self, keys: &[Fingerprint]) -> Result<HashMap<Fingerprint, KnownCertificate>> {
        let fingerprints: Vec<&str> = keys.iter().map(Fingerprint::as_str).collect();
        let rows = take(&self.0).await?.rows(FIND, &[&fingerprints]).await?;
        rows.iter().map(known).collect()
    }
}

fn known(row: &Row) -> Result<(Fingerprint, KnownCertificate)> {
    let known = KnownCertificate {
        tenant: TenantId::parse(row.get(1))?,
        user: row.get(2),
        is_trusted: row.get(3),
        is_revoked: row.get(4),
        validity: row.get(5)..=row.get(6),
    };
    Ok((Fingerprint::parse_of_path(row.get(0), Noun::DeviceCertificate)?, known))
}

/// Returns the state of a certificate; `None` if it was not verified before. Concurrent look-ups share a statement.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn find(database: &Database, fingerprint: &[u8; 32]) -> Result<Option<KnownCertificate>> {
    database.ensure_reachable()?;
    database.certificates.find(Fingerprint::of_bytes(fingerprint)).await
}

/// Stores a verified certificate as part of the caller's transaction, with an audit record (Y-07). Returns whether it
/// was not known, and its device has a user.
pub(super) async fn store(
    client: &impl GenericClient,
    certificate: &VerifiedCertificate,
    by: &Administration,
) -> Result<bool> {
    let fingerprint = Fingerprint::of_bytes(&certificate.fingerprint);
    let issuers: Vec<&[u8]> = certificate.issuers.iter().map(|issuer| &issuer[..]).collect();
    let parameters: [&(dyn ToSql + Sync); 9] = [
        &certificate.tenant.as_str(),
        &fingerprint.as_str(),
        &certificate.device.user_name(),
        &certificate.authority.as_str(),
        &issuers,
        &certificate.serials,
        &certificate.subject,
        certificate.validity.start(),
        certificate.validity.end(),
    ];
    if client.run(INSERT, &parameters).await? == 0 {
        return Ok(false);
    }
    let user = certificate.device.user_name();
    let issued = AttributeChange::text("certificate", None, Some(fingerprint.to_string()));
    audit(client, by, "User", "Log-in", user, vec![issued]).await?;
    Ok(true)
}

/// Returns a page of the certificates of the devices of a tenant, or of one user, in the order in which they were first
/// used.
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`.
pub async fn list(
    database: &Database,
    tenant: &TenantId,
    user: Option<&str>,
    page: &PageRequest,
) -> Result<Page<DeviceCertificate>> {
    let client = database.reader().await?;
    let mut filtered = Filtered::new("device_certificates d", "d.tenant", tenant.as_str());
    if let Some(user) = user {
        filtered.and("d.user_name = $", user.to_owned());
    }
    let count = filtered.total(&client, page.total).await?;
    let rows =
        client.rows(&filtered.page(COLUMNS, Order::Id("d.number"), page), &filtered.parameters()).await?;
    let found = rows.iter().map(from_row).collect::<Result<Vec<_>>>()?;
    Ok(Page { count, ..page_of(found, page, |found| Position::of_id(found.number)) })
}

/// Returns a certificate of a device.
///
/// # Errors
/// `NotFound`, `Unavailable` or `Database`.
pub async fn get(
    database: &Database,
    tenant: &TenantId,
    fingerprint: &Fingerprint,
) -> Result<DeviceCertificate> {
    let row = database.reader().await?.find(GET, &[&tenant.as_str(), &fingerprint.as_str()]).await?;
    from_row(&row.ok_or_else(|| not_found(fingerprint))?)
}

/// Revokes a certificate of a device, whose sessions end at every server. One transaction.
///
/// # Errors
/// `NotFound`, `Unavailable` or `Database`.
pub async fn revoke(
    database: &Database,
    by: &Administration,
    fingerprint: &Fingerprint,
    reason: Option<String>,
) -> Result<()> {
    change(database, async |transaction, announcements| {
        let row = transaction.find(LOCK, &[&by.tenant.as_str(), &fingerprint.as_str()]).await?;
        let row = row.ok_or_else(|| not_found(fingerprint))?;
        let authority = Fingerprint::parse_of_path(row.get(0), Noun::TrustedCertificate)?;
        let revoked = Revoked { serial: row.get(2), time: OffsetDateTime::now_utc(), reason: reason.clone() };
        revoke_all(transaction, announcements, by, (&authority, row.get(1)), &[revoked]).await
    })
    .await
}

/// Deletes certificates that have been invalid for long.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn sweep(database: &Database) -> Result<()> {
    database.loader().await?.execute(DELETE_OLD, &[]).await?;
    Ok(())
}

fn from_row(row: &Row) -> Result<DeviceCertificate> {
    let time = |column| Timestamp::stored(row.get::<_, OffsetDateTime>(column), 0);
    let revoked: Option<OffsetDateTime> = row.get(8);
    Ok(DeviceCertificate {
        tenant: TenantId::parse(row.get(0))?,
        fingerprint: Fingerprint::parse_of_path(row.get(1), Noun::DeviceCertificate)?,
        user: row.get(2),
        authority: Fingerprint::parse_of_path(row.get(3), Noun::TrustedCertificate)?,
        serial: row.get(4),
        subject: row.get(5),
        not_after: time(6),
        creation_time: time(7),
        revoked: revoked.map(|revoked| Timestamp::stored(revoked, 0)),
        number: row.get(9),
    })
}
