//! The leases of event-processing modules in PostgreSQL: one process at a time runs the modules of a tenant.
//!
//! A process that takes over increments the fence, which every
//! [write of a module](crate::leases::module_leases) checks. Every process receives the writes of all others, so it
//! does not matter which of them holds the lease.

use std::time::Duration;

use platform_model::error::Result;
use platform_model::id::TenantId;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::Database;
use crate::applications::modules::session::ModuleSession;
use crate::realtime::announcements::{self, Change};

const TAKE: &str = include_str!("../../../../../sql/queries/module_holders/take.sql");
const TAKE_OVER: &str = include_str!("../../../../../sql/queries/module_holders/take_over.sql");
const RENEW: &str = include_str!("../../../../../sql/queries/module_holders/renew.sql");
const GIVE_BACK: &str = include_str!("../../../../../sql/queries/module_holders/give_back.sql");
const SURVEY: &str = include_str!("../../../../../sql/queries/module_holders/survey.sql");

/// The number of tenants whose modules one query takes over.
pub const TAKEN_OVER_AT_ONCE: usize = 100;

/// The lease of the modules of a tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleHold {
    /// The tenant of the modules.
    pub tenant: TenantId,
    /// The fence with which this process holds them.
    pub fence: i64,
}

/// Whether a process whose connection has ended counts as gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LostConnection {
    /// The process is gone, so another one takes its modules over.
    IsGone,
    /// The database was unavailable, so the process may only have lost its connection and be about to reconnect.
    MayComeBack,
}

/// A lease that was taken over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenOver {
    /// The lease.
    pub hold: ModuleHold,
    /// The reason why the lease was free; `None` if no process ever held it.
    pub before: Option<FormerHolder>,
}

/// The reason why the former holder of a lease does not hold it any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FormerHolder {
    /// It gave the lease back, because it stopped or nothing was deployed.
    GaveBack,
    /// It does not renew the lease any more, or lost its connection.
    IsGone,
}

/// A number that is different when other modules of a tenant are deployed.
pub type Generation = i64;

/// Takes the lease of the modules of a tenant. Returns the fence, or `None` when another process holds the lease. One
/// statement.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn take(
    session: &ModuleSession,
    tenant: &TenantId,
    process: i64,
    lease: Duration,
) -> Result<Option<i64>> {
    let parameters: [&(dyn ToSql + Sync); 5] =
        [&tenant.as_str(), &process, &lease.as_secs_f64(), &session.pid, &session.start];
    let row = session.client.query_opt(TAKE, &parameters).await?;
    Ok(row.map(|row| row.get(0)))
}

/// Takes over leases that no process holds. One statement.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn take_over(
    session: &ModuleSession,
    process: i64,
    lease: Duration,
    lost: LostConnection,
) -> Result<Vec<TakenOver>> {
    let (most, lost) = (TAKEN_OVER_AT_ONCE as i64, lost == LostConnection::IsGone);
    let parameters: [&(dyn ToSql + Sync); 6] =
        [&process, &lease.as_secs_f64(), &most, &lost, &session.pid, &session.start];
    let rows = session.client.query(TAKE_OVER, &parameters).await?;
    let taken_over = |row: &Row| {
        let hold = ModuleHold { tenant: TenantId::parse(row.get(0))?, fence: row.get(1) };
        let given_back: Option<bool> = row.get(2);
        let before = given_back
            .map(|given_back| if given_back { FormerHolder::GaveBack } else { FormerHolder::IsGone });
        Ok(TakenOver { hold, before })
    };
    rows.iter().map(taken_over).collect()
}

/// Renews leases and returns the tenants that are still held. One statement.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn renew(session: &ModuleSession, own: &[ModuleHold], lease: Duration) -> Result<Vec<TenantId>> {
    if own.is_empty() {
        return Ok(Vec::new());
    }
    let tenants: Vec<&str> = own.iter().map(|hold| hold.tenant.as_str()).collect();
    let fences: Vec<i64> = own.iter().map(|hold| hold.fence).collect();
    let parameters: [&(dyn ToSql + Sync); 5] =
        [&tenants, &fences, &lease.as_secs_f64(), &session.pid, &session.start];
    let rows = session.client.query(RENEW, &parameters).await?;
    rows.iter().map(|row| TenantId::parse(row.get(0))).collect()
}

/// Ends leases early and notifies the other processes, so that one of them continues at once. One statement.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn give_back(session: &ModuleSession, own: &[ModuleHold]) -> Result<()> {
    if own.is_empty() {
        return Ok(());
    }
    let tenants: Vec<&str> = own.iter().map(|hold| hold.tenant.as_str()).collect();
    let fences: Vec<i64> = own.iter().map(|hold| hold.fence).collect();
    let told = |hold: &ModuleHold| Change::Modules(hold.tenant.clone());
    let told: Vec<String> =
        own.iter().flat_map(|hold| announcements::signed(&session.signatures, &told(hold))).collect();
    session.client.query(GIVE_BACK, &[&tenants, &fences, &announcements::CHANNEL, &told]).await?;
    Ok(())
}

/// Returns whether any tenant has a deployed module. One statement.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn are_any_deployed(database: &Database) -> Result<bool> {
    let statement = "SELECT EXISTS (SELECT FROM modules WHERE deployed)";
    Ok(database.loader().await?.query_one(statement, &[]).await?.get(0))
}

/// Returns the generation of every tenant with deployed modules. One statement.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn survey(session: &ModuleSession) -> Result<Vec<(TenantId, Generation)>> {
    let rows = session.client.query(SURVEY, &[]).await?;
    rows.iter().map(|row| Ok((TenantId::parse(row.get(0))?, row.get(1)))).collect()
}
