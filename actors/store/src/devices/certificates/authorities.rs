//! The certificate authorities that tenants trust. Which authorities a tenant trusts is a change of rights, so it is
//! audited, and the devices that logged in by one that is no longer trusted lose their sessions.

use std::collections::HashMap;
use std::time::Duration;

use deadpool_postgres::GenericClient;
use futures_util::future::try_join_all;
use platform_model::data::audit_record::AttributeChange;
use platform_model::devices::trusted_certificate::{
    AuthorityPatch, AuthoritySettings, CertificateFacts, Fingerprint, IdSource, MOST_AUTHORITIES, Possession,
    TrustedCertificate,
};
use platform_model::error::{Error, Noun, Result};
use platform_model::id::TenantId;
use platform_model::page::{Page, PageRequest, Position};
use platform_model::timestamp::Timestamp;
use platform_model::users::user::Administration;
use time::OffsetDateTime;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::query::filter::{Filtered, Order, page_of};
use crate::query::prepared::PreparedQueries;
use crate::query::shared_lookups::Lookup;
use crate::realtime::announcements::{Announcements, change};
use crate::users::audit::record;
use crate::{Database, Pool, take};

const INSERT: &str = include_str!("../../../../../sql/queries/trusted_certificates/insert.sql");
const FIND: &str = include_str!("../../../../../sql/queries/trusted_certificates/find.sql");
const LOCK: &str = include_str!("../../../../../sql/queries/trusted_certificates/lock.sql");
const LIST_OF_SUBJECTS: &str =
    include_str!("../../../../../sql/queries/trusted_certificates/list_of_subjects.sql");
const LIST_ISSUING: &str = include_str!("../../../../../sql/queries/trusted_certificates/list_issuing.sql");
const UPDATE: &str = include_str!("../../../../../sql/queries/trusted_certificates/update.sql");
const SET_CODE: &str = include_str!("../../../../../sql/queries/trusted_certificates/set_code.sql");
const TAKE_KEY: &str = include_str!("../../../../../sql/queries/trusted_certificates/take_key.sql");
const SET_PROVEN: &str = include_str!("../../../../../sql/queries/trusted_certificates/set_proven.sql");
const DELETE: &str = include_str!("../../../../../sql/queries/trusted_certificates/delete.sql");
const RELEASE_KEYS: &str = include_str!("../../../../../sql/queries/trusted_certificates/release_keys.sql");
const LIST_USERS: &str = include_str!("../../../../../sql/queries/trusted_certificates/list_users.sql");

/// The columns of an authority, in the order [`from_row`] reads them: those of `find.sql`.
const COLUMNS: &str = "c.tenant, c.fingerprint, c.number, c.name, c.enabled, c.registers, c.id_source, c.issued_days, \
                       c.certificate, c.subject, c.issuer, c.serial, c.not_before, c.not_after, c.subject_hash, \
                       c.key_hash, c.proven, c.code, c.code_until, c.sealed_key IS NOT NULL";

/// An authority to store.
#[derive(Debug, Clone, Copy)]
pub struct NewAuthority<'a> {
    /// The facts that its certificate states.
    pub facts: &'a CertificateFacts,
    /// The settings.
    pub settings: &'a AuthoritySettings,
    /// The part of a certificate that is the id of its device.
    pub id_source: IdSource,
    /// The encrypted private key of an authority that the platform made; it is proven by that.
    pub sealed_key: Option<&'a str>,
}

/// An authority with which the platform issues certificates.
#[derive(Debug, Clone)]
pub struct IssuingAuthority {
    /// The authority.
    pub authority: TrustedCertificate,
    /// Its encrypted private key.
    pub sealed_key: String,
}

/// Stores an authority. One transaction.
///
/// # Errors
/// `Duplicate` for a certificate that the tenant trusts already, `Conflict` for too many; `QuotaExceeded`,
/// `Unavailable` or `Database`.
pub async fn insert_authority(
    database: &Database,
    by: &Administration,
    new: NewAuthority<'_>,
) -> Result<TrustedCertificate> {
    database.ensure_stored_quota(&by.tenant)?;
    let NewAuthority { facts, settings, id_source, sealed_key } = new;
    change(database, async |transaction, announcements| {
        let (tenant, fingerprint) = (by.tenant.as_str(), facts.fingerprint.as_str());
        let [not_before, not_after] = [facts.not_before.instant(), facts.not_after.instant()];
        let (subject_hash, key_hash) = (&facts.subject_hash[..], &facts.key_hash[..]);
        let source = id_source.as_str();
        let parameters: [&(dyn ToSql + Sync); 17] = [
            &tenant,
            &fingerprint,
            &settings.name,
            &settings.enabled,
            &settings.registers,
            &source,
            &settings.issued_days,
            &facts.pem,
            &facts.subject,
            &facts.issuer,
            &facts.serial,
            &not_before,
            &not_after,
            &subject_hash,
            &key_hash,
            &sealed_key,
            &MOST_AUTHORITIES,
        ];
        if transaction.run(INSERT, &parameters).await? == 0 {
            return Err(refusal(transaction, &by.tenant, &facts.fingerprint).await?);
        }
        if sealed_key.is_some() {
            set_proven(transaction, &by.tenant, facts).await?;
        }
        let changes = vec![AttributeChange::text("subject", None, Some(facts.subject.clone()))];
        audit(transaction, announcements, by, ("Certificate authority created", facts), changes).await?;
        get(transaction, &by.tenant, &facts.fingerprint, FIND).await
    })
    .await
}

/// Returns the reason why an authority was not inserted.
async fn refusal(client: &impl GenericClient, tenant: &TenantId, fingerprint: &Fingerprint) -> Result<Error> {
    let known = client.find(FIND, &[&tenant.as_str(), &fingerprint.as_str()]).await?;
    Ok(match known {
        Some(_) => Error::Duplicate { noun: Noun::TrustedCertificate, key: fingerprint.to_string() },
        None => Error::Conflict {
            noun: Noun::TrustedCertificate,
            message: format!(
                "The tenant has {MOST_AUTHORITIES} certificate authorities, the most it may have"
            ),
        },
    })
}

/// Returns an authority.
///
/// # Errors
/// `NotFound`, `Unavailable` or `Database`.
pub async fn get_authority(
    database: &Database,
    tenant: &TenantId,
    fingerprint: &Fingerprint,
) -> Result<TrustedCertificate> {
    get(&*database.reader().await?, tenant, fingerprint, FIND).await
}

/// Returns a page of the authorities of a tenant in the order of their creation.
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`.
pub async fn list_authorities(
    database: &Database,
    tenant: &TenantId,
    page: &PageRequest,
) -> Result<Page<TrustedCertificate>> {
    let client = database.reader().await?;
    let mut filtered = Filtered::new("trusted_certificates c", "c.tenant", tenant.as_str());
    let count = filtered.total(&client, page.total).await?;
    let rows = filtered.page(COLUMNS, Order::Id("c.number"), page);
    let rows = client.rows(&rows, &filtered.parameters()).await?;
    let found = rows.iter().map(|row| Ok((row.get::<_, i64>(2), from_row(row)?)));
    let found = page_of(found.collect::<Result<Vec<_>>>()?, page, |(number, _)| Position::of_id(*number));
    Ok(Page { count, ..found.map(|(_, authority)| authority) })
}

/// Looks up authorities by the SHA-256 of their name, over connections that all look-ups by key share.
pub(crate) struct AuthorityLookup(pub(crate) Pool);

impl Lookup for AuthorityLookup {
    type Key = [u8; 32];
    type Value = Vec<TrustedCertificate>;

    async fn load(&self, subjects: &[[u8; 32]]) -> Result<HashMap<[u8; 32], Self::Value>> {
        let subjects: Vec<&[u8]> = subjects.iter().map(|subject| &subject[..]).collect();
        let mut found = HashMap::<_, Self::Value>::new();
        for row in take(&self.0).await?.rows(LIST_OF_SUBJECTS, &[&subjects]).await? {
            let authority = from_row(&row)?;
            found.entry(authority.facts.subject_hash).or_default().push(authority);
        }
        Ok(found)
    }
}

/// Returns the authorities of all tenants with one of these names by which certificates could be verified, in the order
/// of the names. Concurrent look-ups share a statement.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn list_of_subjects(database: &Database, subjects: &[[u8; 32]]) -> Result<Vec<TrustedCertificate>> {
    database.ensure_reachable()?;
    let found = try_join_all(subjects.iter().map(|subject| database.authorities.find(*subject))).await?;
    Ok(found.into_iter().flatten().flatten().collect())
}

/// Returns the authorities with which the platform issues certificates for a tenant, the newest first.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn list_issuing(database: &Database, tenant: &TenantId) -> Result<Vec<IssuingAuthority>> {
    let rows = database.reader().await?.rows(LIST_ISSUING, &[&tenant.as_str()]).await?;
    let issuing = |row: &Row| Ok(IssuingAuthority { authority: from_row(row)?, sealed_key: row.get(20) });
    rows.iter().map(issuing).collect()
}

/// Changes the settings of an authority. One transaction.
///
/// # Errors
/// `NotFound`; the errors of `patch`; `Unavailable` or `Database`.
pub async fn update_authority(
    database: &Database,
    by: &Administration,
    fingerprint: &Fingerprint,
    patch: AuthorityPatch,
) -> Result<TrustedCertificate> {
    change(database, async |transaction, announcements| {
        let before = get(transaction, &by.tenant, fingerprint, LOCK).await?;
        let after = patch.clone().applied(&before.settings)?;
        let AuthoritySettings { name, enabled, registers, issued_days } = &after;
        let parameters: [&(dyn ToSql + Sync); 6] =
            [&by.tenant.as_str(), &fingerprint.as_str(), name, enabled, registers, issued_days];
        transaction.run(UPDATE, &parameters).await?;
        if before.settings.enabled && !after.enabled {
            add_users(transaction, announcements, &by.tenant, fingerprint).await?;
        }
        let changes = changes(&before.settings, &after);
        if !changes.is_empty() {
            audit(transaction, announcements, by, ("Certificate authority changed", &before.facts), changes)
                .await?;
        }
        Ok(TrustedCertificate { settings: after, ..before })
    })
    .await
}

fn changes(before: &AuthoritySettings, after: &AuthoritySettings) -> Vec<AttributeChange> {
    use crate::users::audit::changed;
    let changes = [
        changed("name", &before.name, &after.name),
        changed("enabled", &before.enabled, &after.enabled),
        changed("autoRegistrationEnabled", &before.registers, &after.registers),
        changed("deviceCertificateDays", &before.issued_days, &after.issued_days),
    ];
    changes.into_iter().flatten().collect()
}

/// Deletes an authority. Devices that logged in by it lose their sessions. One transaction.
///
/// # Errors
/// `NotFound`, `Unavailable` or `Database`.
pub async fn delete_authority(
    database: &Database,
    by: &Administration,
    fingerprint: &Fingerprint,
) -> Result<()> {
    change(database, async |transaction, announcements| {
        let before = get(transaction, &by.tenant, fingerprint, LOCK).await?;
        add_users(transaction, announcements, &by.tenant, fingerprint).await?;
        transaction.run(DELETE, &[&by.tenant.as_str(), &fingerprint.as_str()]).await?;
        transaction.run(RELEASE_KEYS, &[&by.tenant.as_str()]).await?;
        audit(transaction, announcements, by, ("Certificate authority deleted", &before.facts), vec![]).await
    })
    .await
}

/// Stores a code that the tenant has to sign with the key of an authority, and returns the authority. One transaction.
///
/// # Errors
/// `NotFound`, `Unavailable` or `Database`.
pub async fn set_code(
    database: &Database,
    tenant: &TenantId,
    fingerprint: &Fingerprint,
    code: &str,
    valid: Duration,
) -> Result<TrustedCertificate> {
    let client = database.reader().await?;
    let parameters: [&(dyn ToSql + Sync); 4] =
        [&tenant.as_str(), &fingerprint.as_str(), &code, &valid.as_secs_f64()];
    client.run(SET_CODE, &parameters).await?;
    get(&*client, tenant, fingerprint, FIND).await
}

/// Notes that the tenant has the key of an authority, which is used from now on. `by` is in the audit record of the
/// tenant. One transaction.
///
/// # Errors
/// `NotFound`; `Conflict` when another tenant has proven to have the same key; `Unavailable` or `Database`.
pub async fn prove(
    database: &Database,
    by: &Administration,
    fingerprint: &Fingerprint,
) -> Result<TrustedCertificate> {
    change(database, async |transaction, announcements| {
        let authority = get(transaction, &by.tenant, fingerprint, LOCK).await?;
        if authority.possession == Possession::Proven {
            return Ok(authority);
        }
        set_proven(transaction, &by.tenant, &authority.facts).await?;
        let proven = vec![AttributeChange::text("proofOfPossessionValid", None, Some("true".into()))];
        audit(transaction, announcements, by, ("Certificate authority proven", &authority.facts), proven)
            .await?;
        Ok(TrustedCertificate { possession: Possession::Proven, ..authority })
    })
    .await
}

async fn set_proven(client: &impl GenericClient, tenant: &TenantId, facts: &CertificateFacts) -> Result<()> {
    let taken = client.find(TAKE_KEY, &[&tenant.as_str(), &&facts.key_hash[..]]).await?;
    if taken.is_none() {
        return Err(Error::Conflict {
            noun: Noun::TrustedCertificate,
            message: "Another tenant has proven to have the key of this certificate authority".into(),
        });
    }
    client.run(SET_PROVEN, &[&tenant.as_str(), &facts.fingerprint.as_str()]).await?;
    Ok(())
}

/// Adds the users who logged in by an authority to those whose sessions end.
async fn add_users(
    client: &impl GenericClient,
    announcements: &Announcements,
    tenant: &TenantId,
    fingerprint: &Fingerprint,
) -> Result<()> {
    let users = client.rows(LIST_USERS, &[&tenant.as_str(), &fingerprint.as_str()]).await?;
    users.iter().for_each(|row| announcements.add_user(tenant, row.get(0)));
    Ok(())
}

async fn audit(
    client: &impl GenericClient,
    announcements: &Announcements,
    by: &Administration,
    (activity, facts): (&'static str, &CertificateFacts),
    changes: Vec<AttributeChange>,
) -> Result<()> {
    record(client, announcements, by, ("User", activity, facts.fingerprint.as_str()), changes).await
}

pub(super) async fn get(
    client: &impl GenericClient,
    tenant: &TenantId,
    fingerprint: &Fingerprint,
    statement: &'static str,
) -> Result<TrustedCertificate> {
    let row = client.find(statement, &[&tenant.as_str(), &fingerprint.as_str()]).await?;
    from_row(&row.ok_or_else(|| Error::not_found(Noun::TrustedCertificate, fingerprint))?)
}

fn from_row(row: &Row) -> Result<TrustedCertificate> {
    let noun = Noun::TrustedCertificate;
    let time = |column| Timestamp::stored(row.get::<_, OffsetDateTime>(column), 0);
    let hash = |column| {
        let bytes: &[u8] = row.get(column);
        bytes.try_into().map_err(|_| Error::unavailable("a stored hash has another length"))
    };
    let code: Option<String> = row.get(17);
    Ok(TrustedCertificate {
        tenant: TenantId::parse(row.get(0))?,
        facts: CertificateFacts {
            fingerprint: Fingerprint::parse_of_path(row.get(1), noun)?,
            pem: row.get(8),
            subject: row.get(9),
            issuer: row.get(10),
            serial: row.get(11),
            not_before: time(12),
            not_after: time(13),
            subject_hash: hash(14)?,
            key_hash: hash(15)?,
        },
        settings: AuthoritySettings {
            name: row.get(3),
            enabled: row.get(4),
            registers: row.get(5),
            issued_days: row.get(7),
        },
        id_source: IdSource::parse(row.get(6))?,
        possession: match row.get(16) {
            true => Possession::Proven,
            false => Possession::Unproven(code.map(|code| (code, time(18)))),
        },
        issues: row.get(19),
    })
}
