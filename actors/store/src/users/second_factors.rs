//! Second factors of people in PostgreSQL (C-27): the sealed secret of an authenticator, the newest code that was
//! accepted, and the hashes of the recovery codes that are left. Setting one up and removing it count as changes of the
//! user: every server drops the callers that it cached, and ends their sessions.

use std::time::Duration;

use platform_model::data::audit_record::AttributeChange;
use platform_model::error::{Error, Noun, Result};
use platform_model::id::TenantId;
use platform_model::users::second_factor::{Activity, RecoveryCode};
use platform_model::users::user::Administration;

use crate::Database;
use crate::query::prepared::PreparedQueries;
use crate::realtime::announcements::change;
use crate::users::audit::{audit, by_oneself, record};
use crate::users::changes::{check_take_over, lock_user};

const FIND: &str = include_str!("../../../../sql/queries/second_factors/find.sql");
const INSERT: &str = include_str!("../../../../sql/queries/second_factors/insert.sql");
const ACTIVATE: &str = include_str!("../../../../sql/queries/second_factors/activate.sql");
const TRY: &str = include_str!("../../../../sql/queries/second_factors/try.sql");
const ACCEPT: &str = include_str!("../../../../sql/queries/second_factors/accept.sql");
const USE_RECOVERY_CODE: &str = include_str!("../../../../sql/queries/second_factors/use_recovery_code.sql");
const DELETE: &str = include_str!("../../../../sql/queries/second_factors/delete.sql");

/// The number of wrong codes in sequence from which on a further one must wait.
const FREE_CODES: i32 = 5;
/// The first wait, and the longest: each further wrong code doubles it. So a guesser of six digits, of which three
/// count at any time, needs years.
const FIRST_WAIT: Duration = Duration::from_secs(30);
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// A second factor as it is stored.
#[derive(Debug)]
pub struct StoredFactor {
    /// The secret of the authenticator, sealed.
    pub sealed: String,
    /// The state that its user sees.
    pub activity: Activity,
}

/// Whether a code may be compared now.
#[derive(Debug)]
pub enum Trial {
    /// It may, with this sealed secret. It counts as wrong until it is accepted.
    Permitted(String),
    /// Too many were wrong; the next one may be tried after this time.
    Wait(Duration),
    /// The user has no active second factor any more.
    Absent,
}

/// The proof by which a person activates its second factor.
pub struct Confirmation<'c> {
    /// The sealed secret to which the code belongs.
    pub sealed: &'c str,
    /// The step of time of the code.
    pub step: i64,
    /// The recovery codes that the person gets.
    pub recovery_codes: &'c [RecoveryCode],
}

/// Looks up the second factor of a user, active or not.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn find_second_factor(
    database: &Database,
    tenant: &TenantId,
    user: &str,
) -> Result<Option<StoredFactor>> {
    let row = database.reader().await?.find(FIND, &[&tenant.as_str(), &user]).await?;
    Ok(row.map(|row| StoredFactor {
        sealed: row.get(0),
        activity: Activity { is_active: row.get(1), recovery_codes: row.get(2) },
    }))
}

/// Stores a sealed secret that is not active yet. One statement.
///
/// # Errors
/// `Conflict` when the user has an active one; `Unavailable` or `Database`.
pub async fn insert_secret(database: &Database, tenant: &TenantId, user: &str, sealed: &str) -> Result<()> {
    match database.reader().await?.run(INSERT, &[&tenant.as_str(), &user, &sealed]).await? {
        0 => Err(conflict("the user has a second factor already; remove it first")),
        _ => Ok(()),
    }
}

fn conflict(message: &str) -> Error {
    Error::Conflict { noun: Noun::User, message: message.into() }
}

/// Activates the second factor of the user `administration.by`, and ends its sessions. One transaction.
///
/// # Errors
/// `Conflict` when another secret replaced this one meanwhile, or it is active already; `Unavailable` or `Database`.
pub async fn activate(
    database: &Database,
    administration: &Administration,
    user: &str,
    confirmation: &Confirmation<'_>,
) -> Result<()> {
    let Confirmation { sealed, step, recovery_codes } = confirmation;
    let hashes: Vec<Vec<u8>> = recovery_codes.iter().map(|code| code.hash().bytes().to_vec()).collect();
    let tenant = &administration.tenant;
    change(database, async |transaction, announcements| {
        let activated =
            transaction.execute(ACTIVATE, &[&tenant.as_str(), &user, sealed, step, &hashes]).await?;
        if activated == 0 {
            return Err(conflict("the second factor was set up or removed meanwhile"));
        }
        announcements.add_user(tenant, user);
        let changes = vec![AttributeChange::text("secondFactor", None, Some("TOTP".into()))];
        let of_user = ("User", "Second factor set up", user);
        record(transaction, announcements, administration, of_user, changes).await
    })
    .await
}

/// Counts a code of an authenticator before it is compared, at all servers together. One statement.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn begin_trial(database: &Database, tenant: &TenantId, user: &str) -> Result<Trial> {
    let (first, longest) = (FIRST_WAIT.as_secs_f64(), LONGEST_WAIT.as_secs_f64());
    let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
        [&tenant.as_str(), &user, &FREE_CODES, &first, &longest];
    let Some(row) = database.reader().await?.find(TRY, &parameters).await? else { return Ok(Trial::Absent) };
    Ok(match row.get(0) {
        Some(sealed) => Trial::Permitted(sealed),
        None => Trial::Wait(Duration::try_from_secs_f64(row.get(1)).unwrap_or_default()),
    })
}

/// Accepts the code of a step of time, with an audit record of the log-in (Y-07). Returns whether no code of this step
/// or a later one was accepted before. One transaction.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn accept_step(database: &Database, tenant: &TenantId, user: &str, step: i64) -> Result<bool> {
    let by = by_oneself(database, tenant, user)?;
    change(database, async |transaction, _| {
        if transaction.run(ACCEPT, &[&tenant.as_str(), &user, &step]).await? == 0 {
            return Ok(false);
        }
        let code = vec![AttributeChange::text("secondFactor", None, Some("TOTP".into()))];
        audit(transaction, &by, "User", "Log-in", user.to_owned(), code).await?;
        Ok(true)
    })
    .await
}

/// Uses up a recovery code, with an audit record (Y-07). Returns whether the user had it. One transaction.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn use_recovery_code(
    database: &Database,
    tenant: &TenantId,
    user: &str,
    code: &RecoveryCode,
) -> Result<bool> {
    let hash = code.hash();
    let by = by_oneself(database, tenant, user)?;
    change(database, async |transaction, _| {
        let row = transaction.query_opt(USE_RECOVERY_CODE, &[&tenant.as_str(), &user, &hash.bytes()]).await?;
        let Some(row) = row else { return Ok(false) };
        let left: i64 = row.get(0);
        let change = AttributeChange::replaced("recoveryCodes", &(left + 1).to_string(), &left.to_string());
        audit(transaction, &by, "User", "Recovery code used", user.to_owned(), vec![change]).await?;
        Ok(true)
    })
    .await
}

/// Removes the second factor of a user, active or not, and ends its sessions if it was active. One transaction.
///
/// # Errors
/// `NotFound` for an unknown user, and one without a second factor; `Forbidden` when the caller has no authority over
/// the user, or lacks a right of the user, as for a new password.
pub async fn delete_second_factor(
    database: &Database,
    administration: &Administration,
    user: &str,
) -> Result<()> {
    let tenant = &administration.tenant;
    change(database, async |transaction, announcements| {
        let found = lock_user(transaction, tenant, user).await?;
        administration.authority.reaches(found.owner.as_deref())?;
        check_take_over(transaction, administration, user).await?;
        let row = transaction.query_opt(DELETE, &[&tenant.as_str(), &user]).await?;
        let row = row.ok_or_else(|| Error::not_found(Noun::SecondFactor, user))?;
        if !row.get::<_, bool>(0) {
            return Ok(());
        }
        announcements.add_user(tenant, user);
        let changes = vec![AttributeChange::text("secondFactor", Some("TOTP".into()), None)];
        let of_user = ("User", "Second factor removed", user);
        record(transaction, announcements, administration, of_user, changes).await
    })
    .await
}
