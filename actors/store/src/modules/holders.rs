//! The leases of event-processing modules in PostgreSQL: one process at a time runs the modules of a tenant.
//!
//! A process that takes over increments the fence, which every [write of a module](crate::modules::leases) checks. The
//! lease moves to the process that receives the tenant's events: a process that sees events of the tenant takes over
//! from one that receives none any more.

use std::time::Duration;

use platform_model::error::Result;
use platform_model::id::TenantId;
use platform_model::input_stream::InputStreams;
use tokio_postgres::types::ToSql;

use crate::modules::session::ModuleSession;

const TAKE: &str = include_str!("../../../../sql/queries/module_holders/take.sql");
const TAKE_OVER: &str = include_str!("../../../../sql/queries/module_holders/take_over.sql");
const RENEW: &str = include_str!("../../../../sql/queries/module_holders/renew.sql");
const GIVE_BACK: &str = include_str!("../../../../sql/queries/module_holders/give_back.sql");
const SURVEY: &str = include_str!("../../../../sql/queries/module_holders/survey.sql");

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

/// The conditions under which a process may take a lease from another one.
#[derive(Debug, Clone, Copy)]
pub struct TakeoverConditions {
    /// Whether a holder whose connection has ended counts as gone.
    pub lost: LostConnection,
    /// The length of a lease: a process that does not renew it for this long counts as gone.
    pub lease: Duration,
    /// How long the holder must have received no events before another process may take over.
    pub idle: Duration,
}

/// The deployed modules of a tenant, wherever they run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Survey {
    /// The streams that its modules read.
    pub inputs: InputStreams,
    /// A number that is different when other modules are deployed.
    pub generation: i64,
}

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

/// Takes over leases that no process holds and, for the given tenants, leases whose holder receives no events. One
/// statement.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn take_over(
    session: &ModuleSession,
    process: i64,
    missed: &[TenantId],
    terms: TakeoverConditions,
) -> Result<Vec<ModuleHold>> {
    let missed: Vec<&str> = missed.iter().map(TenantId::as_str).collect();
    let (lease, idle) = (terms.lease.as_secs_f64(), terms.idle.as_secs_f64());
    let (most, lost) = (TAKEN_OVER_AT_ONCE as i64, terms.lost == LostConnection::IsGone);
    let parameters: [&(dyn ToSql + Sync); 8] =
        [&process, &lease, &missed, &idle, &most, &lost, &session.pid, &session.start];
    let rows = session.client.query(TAKE_OVER, &parameters).await?;
    rows.iter()
        .map(|row| Ok(ModuleHold { tenant: TenantId::parse(row.get(0))?, fence: row.get(1) }))
        .collect()
}

/// Renews leases, each with whether its tenant had events, and returns the tenants that are still held. One statement.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn renew(
    session: &ModuleSession,
    own: &[(ModuleHold, bool)],
    lease: Duration,
) -> Result<Vec<TenantId>> {
    if own.is_empty() {
        return Ok(Vec::new());
    }
    let tenants: Vec<&str> = own.iter().map(|(hold, _)| hold.tenant.as_str()).collect();
    let fences: Vec<i64> = own.iter().map(|(hold, _)| hold.fence).collect();
    let fed: Vec<bool> = own.iter().map(|(_, fed)| *fed).collect();
    let parameters: [&(dyn ToSql + Sync); 6] =
        [&tenants, &fences, &fed, &lease.as_secs_f64(), &session.pid, &session.start];
    let rows = session.client.query(RENEW, &parameters).await?;
    rows.iter().map(|row| TenantId::parse(row.get(0))).collect()
}

/// Ends leases early, so that other processes continue at once. One statement.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn give_back(session: &ModuleSession, own: &[ModuleHold]) -> Result<()> {
    if own.is_empty() {
        return Ok(());
    }
    let tenants: Vec<&str> = own.iter().map(|hold| hold.tenant.as_str()).collect();
    let fences: Vec<i64> = own.iter().map(|hold| hold.fence).collect();
    session.client.execute(GIVE_BACK, &[&tenants, &fences]).await?;
    Ok(())
}

/// Returns the streams and the generation of every tenant with deployed modules. One statement.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn survey(session: &ModuleSession) -> Result<Vec<(TenantId, Survey)>> {
    let rows = session.client.query(SURVEY, &[]).await?;
    rows.iter()
        .map(|row| {
            let inputs = InputStreams::of_bits(row.get::<_, i32>(1) as u16);
            Ok((TenantId::parse(row.get(0))?, Survey { inputs, generation: row.get(2) }))
        })
        .collect()
}
