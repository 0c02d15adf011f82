//! A tenant moves to another deployment while it is used (Z-22).
//!
//! One transaction at the target receives everything, so an interrupted move leaves nothing there. It copies the tenant
//! as it is at one moment, and then what was written meanwhile, until that takes little time. Only then a fence at the
//! source rejects writes ([`fence`]), the last rows are copied, and both sides prove that they have the same rows.
//! After the commit the tenant is marked at the source as moved, and the fence is lifted.
//!
//! Whether a move that was killed is complete can be seen: the source has a fence or a mark, and the target has the
//! tenant or not.

use deadpool_postgres::{GenericClient, Transaction};
use platform_model::error::{Error, Noun, Result};
use platform_model::id::TenantId;
use platform_model::users::user::Administration;
use time::OffsetDateTime;
use tokio::sync::Mutex;
use tokio::time::{Duration, Instant};

use super::arrival::{Arrival, prove};
use super::delta::catch_up;
use super::snapshot::{Mark, Snapshot};
use super::tables::Table;
use super::{Existing, Mode, Secrets, TableContent, Target, fence, partitions};
use crate::realtime::announcements::{Announcements, Change, change, change_over, rehearse};
use crate::tenancy::tenants;
use crate::{Connection, Database};

const MARK_MOVED: &str = include_str!("../../../../../sql/queries/tenant_transfer/mark_moved.sql");
const UNMARK_MOVED: &str = include_str!("../../../../../sql/queries/tenant_transfer/unmark_moved.sql");
const FIND_COPY: &str = include_str!("../../../../../sql/queries/tenant_transfer/find_copy.sql");
const TRY_LOCK: &str = include_str!("../../../../../sql/queries/tenant_transfer/try_lock.sql");
const LIST_PAUSED: &str = include_str!("../../../../../sql/queries/tenant_transfer/list_paused.sql");
const LOCK: &str = include_str!("../../../../../sql/queries/tenant_transfer/lock.sql");

/// A pass that takes less time than this is the last one before the fence.
const SHORT: Duration = Duration::from_secs(1);
/// The number of passes after which the fence is raised anyway.
const PASSES: usize = 8;

/// A step of a move, which the command reports to the operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The rows of one moment are copied, this many.
    Copied(u64),
    /// The rows that were written meanwhile are copied, this many, in this time.
    CaughtUp(u64, Duration),
    /// The source takes no writes of the tenant any more.
    Fenced,
    /// The last rows are copied, this many, and both sides have the same ones.
    Proven(u64),
    /// The target has the tenant.
    Committed,
}

/// Where a tenant is, as both sides show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Only the source has it, and it is used there.
    Source,
    /// Only the source has it, with the fence of a move that was interrupted, or marked although the target lost it.
    Interrupted,
    /// The target has it, and the source has a fence or the mark: the move is complete, or has to be completed.
    Target,
    /// Both have a tenant with this id, and no move has begun.
    Both,
}

/// The move of a tenant from one database to another.
///
/// It has a lock at the source for as long as its connection lives, and one at the target until its transaction has
/// ended, so that nobody else judges a move by what it has not committed yet.
pub struct Relocation<'a> {
    source: &'a Database,
    target: &'a Database,
    tenant: &'a TenantId,
    client: Mutex<Connection>,
}

/// The result of a move.
#[derive(Debug)]
pub struct Moved {
    /// The proof.
    pub tables: Vec<TableContent>,
    /// The number of secrets that could not be opened.
    pub closed: usize,
    /// When the source began to reject writes.
    pub fenced: Instant,
}

impl<'a> Relocation<'a> {
    /// Prepares a move. Nothing is changed.
    ///
    /// # Errors
    /// `Invalid` while another command moves the tenant; `Unavailable` or `Database`.
    pub async fn prepare(source: &'a Database, target: &'a Database, tenant: &'a TenantId) -> Result<Self> {
        let client = source.patient_loader().await?;
        if !client.query_one(TRY_LOCK, &[&tenant.as_str()]).await?.get::<_, bool>(0) {
            return Err(Error::Invalid(format!("another command is moving tenant {tenant} at this moment")));
        }
        Ok(Self { source, target, tenant, client: Mutex::new(client) })
    }

    /// Returns where the tenant is. Waits for a transaction in which it arrives at the target.
    ///
    /// # Errors
    /// `NotFound` if the source does not have it; `Unavailable` or `Database`.
    pub async fn find(&self) -> Result<Place> {
        let Self { tenant, client, .. } = self;
        let source = client.lock().await;
        let found = "SELECT created_at, moved_at IS NOT NULL FROM tenants WHERE id = $1";
        let row = source.query_opt(found, &[&tenant.as_str()]).await?;
        let row = row.ok_or_else(|| Error::not_found(Noun::Tenant, tenant))?;
        let created: OffsetDateTime = row.get(0);
        let has_begun = row.get::<_, bool>(1) || fence::exists(&**source, tenant).await?;
        let mut target = self.target.patient_loader().await?;
        let transaction = target.transaction().await?;
        transaction.query_one(LOCK, &[&tenant.as_str()]).await?;
        let copy = transaction.query_opt(FIND_COPY, &[&tenant.as_str(), &created]).await?;
        transaction.rollback().await?;
        Ok(match copy.map(|row| row.get::<_, bool>(0)) {
            None if has_begun => Place::Interrupted,
            None => Place::Source,
            Some(true) if has_begun => Place::Target,
            Some(_) => Place::Both,
        })
    }

    /// Copies the tenant to the target, where it is used afterwards; [`complete`](Self::complete) shall follow. A
    /// rehearsal copies it as it is at one moment, raises no fence, and rolls back.
    ///
    /// # Errors
    /// The errors of [`import`](super::import()) and of [`export`](super::export()). The tenant is then used at the
    /// source as before, unless the fence could not be lifted, or the connection to the target was lost during the
    /// commit: [`find`](Self::find) tells.
    pub async fn transfer(
        &self,
        by: &Administration,
        mode: Mode,
        secrets: &Secrets<'_>,
        progress: &dyn Fn(Step),
    ) -> Result<Moved> {
        let (domain, used) = self.describe().await?;
        let target = Target { tenant: self.tenant.clone(), domain };
        let passage = Passage { relocation: self, target: &target, mode, secrets, progress };
        let connect = async || self.target.patient_loader().await;
        let work = async |transaction: &Transaction<'_>, announcements: &Announcements| {
            transaction.query_one(LOCK, &[&self.tenant.as_str()]).await?;
            let moved = Box::pin(passage.run(transaction, announcements)).await?;
            tenants::audit::imported(transaction, announcements, by, self.tenant).await?;
            Ok(moved)
        };
        if mode == Mode::Rehearsal {
            return Box::pin(rehearse(self.target, connect, work)).await;
        }
        partitions::make(self.target, &used).await?;
        let moved = Box::pin(change_over(self.target, connect, work)).await?;
        progress(Step::Committed);
        Ok(moved)
    }

    /// Returns the domain of the tenant and the partitions that it uses.
    async fn describe(&self) -> Result<(String, Vec<String>)> {
        let mut client = self.client.lock().await;
        let snapshot = Snapshot::open(&mut client, self.tenant).await?;
        let described = (snapshot.describe().await?.domain, snapshot.partitions().await?);
        snapshot.end().await?;
        Ok(described)
    }

    /// Marks the tenant at the source, whose requests are rejected from now on. Lifts the fence when every connected
    /// server knows that: one that is paused could still store a write that it has accepted.
    ///
    /// # Errors
    /// `Invalid` names servers that do not respond; `Contended`, `Unavailable` or `Database`. This may be repeated.
    pub async fn complete(&self, by: &Administration) -> Result<()> {
        change(self.source, async |transaction, announcements| {
            transaction.execute(MARK_MOVED, &[&self.tenant.as_str()]).await?;
            announcements.add(Change::Tenant(self.tenant.clone()));
            tenants::audit::moved(transaction, announcements, by, self.tenant).await
        })
        .await?;
        let mut missing = self.source.wait_until_applied().await?;
        let mut client = self.client.lock().await;
        let paused = client.query(LIST_PAUSED, &[]).await?;
        missing.extend(paused.iter().map(|row| (row.get(0), row.get(1))));
        if !missing.is_empty() {
            let servers: Vec<_> =
                missing.iter().map(|(slot, name)| format!("{name} (slot {slot})")).collect();
            return Err(Error::Invalid(format!("these servers do not respond: {}", servers.join(", "))));
        }
        fence::lift(&mut client, self.tenant).await
    }

    /// Lets the tenant be used at the source again. The caller knows that the target does not have it.
    ///
    /// # Errors
    /// `Contended`, `Unavailable` or `Database`; this may be repeated then.
    pub async fn undo(&self) -> Result<()> {
        fence::lift(&mut *self.client.lock().await, self.tenant).await?;
        change(self.source, async |transaction, announcements| {
            transaction.execute(UNMARK_MOVED, &[&self.tenant.as_str()]).await?;
            announcements.add(Change::Tenant(self.tenant.clone()));
            Ok(())
        })
        .await
    }
}

/// The copying of a tenant.
struct Passage<'a> {
    relocation: &'a Relocation<'a>,
    target: &'a Target,
    mode: Mode,
    secrets: &'a Secrets<'a>,
    progress: &'a dyn Fn(Step),
}

impl Passage<'_> {
    async fn run(&self, transaction: &Transaction<'_>, announcements: &Announcements) -> Result<Moved> {
        let mut client = self.relocation.client.lock().await;
        let (mut arrival, mut since) = self.copy(&mut client, transaction, announcements).await?;
        if self.mode == Mode::Rehearsal {
            return self.finish(&mut client, &mut arrival, &since, announcements).await;
        }
        for _ in 0..PASSES {
            let begun = Instant::now();
            let snapshot = Snapshot::open(&mut client, self.tenant()).await?;
            let next = snapshot.mark().await?;
            let written = self.catch_up(&mut arrival, &snapshot, &since).await?;
            snapshot.end().await?;
            since = next;
            (self.progress)(Step::CaughtUp(written, begun.elapsed()));
            if begun.elapsed() < SHORT {
                break;
            }
        }
        let fenced = Instant::now();
        let raised = fence::raise(&mut client, self.tenant()).await;
        let finished = match raised {
            Ok(()) => {
                (self.progress)(Step::Fenced);
                self.finish(&mut client, &mut arrival, &since, announcements).await
            }
            Err(error) => Err(error),
        };
        match finished {
            Ok(moved) => Ok(Moved { fenced, ..moved }),
            Err(error) => {
                // Whether the fence still stands is found out afterwards.
                fence::lift(&mut client, self.tenant()).await.ok();
                Err(error)
            }
        }
    }

    fn tenant(&self) -> &TenantId {
        self.relocation.tenant
    }

    /// Copies the tenant as it is at one moment, and returns the moment.
    async fn copy<'t>(
        &'t self,
        client: &mut Connection,
        transaction: &'t Transaction<'t>,
        announcements: &Announcements,
    ) -> Result<(Arrival<'t>, Mark)> {
        let snapshot = Snapshot::open(client, self.tenant()).await?;
        let (content, tables) = (snapshot.describe().await?, snapshot.tables().await?);
        let expected: Vec<_> =
            tables.iter().map(|Table { name, columns, .. }| (&**name, &**columns)).collect();
        let expected = (&*expected, &*content.applications);
        let arrival =
            Arrival::begin(transaction, announcements, self.target, Existing::Refused, expected).await?;
        let mut copied = 0;
        for table in &tables {
            copied += arrival.copy(table, &table.name, &mut snapshot.rows(table, None).await?).await?;
        }
        let mark = snapshot.mark().await?;
        snapshot.end().await?;
        (self.progress)(Step::Copied(copied));
        Ok((arrival, mark))
    }

    async fn catch_up(
        &self,
        arrival: &mut Arrival<'_>,
        snapshot: &Snapshot<'_>,
        since: &Mark,
    ) -> Result<u64> {
        let content = snapshot.describe().await?;
        arrival.find_applications(&content.applications).await?;
        let written = catch_up(arrival, snapshot, since).await?;
        arrival.set_domain(&content.domain).await?;
        Ok(written)
    }

    /// Copies the last rows, and compares both sides.
    async fn finish(
        &self,
        client: &mut Connection,
        arrival: &mut Arrival<'_>,
        since: &Mark,
        announcements: &Announcements,
    ) -> Result<Moved> {
        let snapshot = Snapshot::open(client, self.tenant()).await?;
        let written = self.catch_up(arrival, &snapshot, since).await?;
        let (tables, found) = tokio::try_join!(snapshot.contents(&arrival.tables), arrival.contents())?;
        prove(&tables, &found)?;
        snapshot.end().await?;
        (self.progress)(Step::Proven(written));
        let closed = arrival.complete(announcements, (self.tenant().as_str(), &tables), self.secrets).await?;
        Ok(Moved { tables, closed, fenced: Instant::now() })
    }
}
