//! Certificates that are revoked. A revocation is in force at a server as soon as the server is notified of it: the
//! users of the devices count as changed, so their sessions end and their next requests are verified again.

use deadpool_postgres::GenericClient;
use platform_model::data::audit_record::AttributeChange;
use platform_model::devices::device_certificate::{Revocation, RevokedCertificate};
use platform_model::devices::trusted_certificate::Fingerprint;
use platform_model::error::Result;
use platform_model::id::TenantId;
use platform_model::page::{Page, PageRequest, Position};
use platform_model::timestamp::Timestamp;
use platform_model::users::user::Administration;
use time::OffsetDateTime;

use super::authorities::get_authority;
use crate::Database;
use crate::query::filter::{Filtered, Order, page_of};
use crate::query::prepared::PreparedQueries;
use crate::realtime::announcements::{Announcements, change};
use crate::users::audit::record;

const REVOKE: &str = include_str!("../../../../../sql/queries/trusted_certificates/revoke.sql");
const LIST_REVOKED_USERS: &str =
    include_str!("../../../../../sql/queries/trusted_certificates/list_revoked_users.sql");

/// A certificate to revoke.
#[derive(Debug, Clone)]
pub struct Revoked {
    /// The serial number in lower-case hexadecimal digits, without leading zeros.
    pub serial: String,
    /// The time from which on it is not accepted.
    pub time: OffsetDateTime,
    /// The reason, for people.
    pub reason: Option<String>,
}

/// Revokes certificates that an authority has signed, by their serial numbers. One transaction.
///
/// # Errors
/// `NotFound` for the authority; `QuotaExceeded`, `Unavailable` or `Database`.
pub async fn revoke(
    database: &Database,
    by: &Administration,
    fingerprint: &Fingerprint,
    revoked: &[Revoked],
) -> Result<()> {
    database.ensure_stored_quota(&by.tenant)?;
    let authority = get_authority(database, &by.tenant, fingerprint).await?;
    let issuer = &authority.facts.subject_hash[..];
    change(database, async |transaction, announcements| {
        revoke_all(transaction, announcements, by, (fingerprint, issuer), revoked).await
    })
    .await
}

/// Revokes certificates as part of the caller's transaction.
pub(super) async fn revoke_all(
    client: &impl GenericClient,
    announcements: &Announcements,
    by: &Administration,
    (authority, issuer): (&Fingerprint, &[u8]),
    revoked: &[Revoked],
) -> Result<()> {
    let (tenant, fingerprint) = (by.tenant.as_str(), authority.as_str());
    let serials: Vec<&str> = revoked.iter().map(|one| &*one.serial).collect();
    let times: Vec<OffsetDateTime> = revoked.iter().map(|one| one.time).collect();
    let reasons: Vec<Option<&str>> = revoked.iter().map(|one| one.reason.as_deref()).collect();
    let count = client.run(REVOKE, &[&tenant, &fingerprint, &issuer, &serials, &times, &reasons]).await?;
    let users = client.rows(LIST_REVOKED_USERS, &[&tenant, &fingerprint, &issuer, &serials]).await?;
    users.iter().for_each(|row| announcements.add_user(&by.tenant, row.get(0)));
    if count == 0 {
        return Ok(());
    }
    let shown = if serials.len() == 1 { serials[0].to_owned() } else { format!("{count} certificates") };
    let changes = vec![AttributeChange::text("revoked", None, Some(shown))];
    record(client, announcements, by, ("User", "Certificates revoked", fingerprint), changes).await
}

/// Returns a page of the revoked certificates of an authority, in the order of their revocation.
///
/// # Errors
/// `NotFound` for the authority; `Timeout`, `Unavailable` or `Database`.
pub async fn list_revoked(
    database: &Database,
    tenant: &TenantId,
    authority: &Fingerprint,
    page: &PageRequest,
) -> Result<Page<RevokedCertificate>> {
    get_authority(database, tenant, authority).await?;
    let client = database.reader().await?;
    let mut filtered = Filtered::new("revoked_certificates r", "r.tenant", tenant.as_str());
    filtered.and("r.authority = $", authority.as_str().to_owned());
    let count = filtered.total(&client, page.total).await?;
    let rows = filtered.page("r.serial, r.revoked_at, r.reason, r.number", Order::Id("r.number"), page);
    let rows = client.rows(&rows, &filtered.parameters()).await?;
    let found = rows.iter().map(|row| {
        let revocation = Revocation { serial: row.get(0), reason: row.get(2) };
        (row.get(3), RevokedCertificate { revocation, time: Timestamp::stored(row.get(1), 0) })
    });
    let found = page_of(found.collect(), page, |(number, _)| Position::of_id(*number));
    Ok(Page { count, ..found.map(|(_, revoked)| revoked) })
}
