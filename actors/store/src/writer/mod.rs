//! Group commit: writes share transactions.
//!
//! Writes that arrive while a transaction is running wait, and then form the next transaction together: one statement
//! per kind of write, over arrays, all in one round trip. There is no timer. An idle server commits a single write at
//! once, and a busy server forms batches by itself.
//!
//! There is one writer per actor thread. A device uses the writer of its own thread and awaits each reply, so the
//! order of one device's writes is kept, whatever the order inside a batch.
//!
//! Transactions that notify other servers, or append to the journal of a tenant, are committed one after the other by
//! PostgreSQL, however many writers there are. So these writes fill the next transaction of the first writer before
//! they use the second one: together they need fewer commits (docs/decisions/0036-few-publishing-writers.md).

mod abandoned;
mod counting;
mod kinds;
mod queue;
pub(crate) mod room;
mod transaction;

use std::sync::Arc;
use std::time::Instant;

use actix::prelude::*;
use deadpool_postgres::{Object, Pool};
use platform_model::data::alarm::Alarm;
use platform_model::devices::managed_object::ManagedObject;
use platform_model::error::{Error, Result};
use platform_model::id::TenantId;
use platform_model::idempotency::IdempotencyKey;
use platform_model::limits::Limits;
use platform_model::origin::Origin;
use platform_model::realtime::publication::Publication;
use tokio::sync::oneshot;

use crate::Database;
use crate::data::events::ShownSource;
use crate::data::operations::Queued;
use crate::realtime::publications::Route;
use abandoned::RunningWrite;
pub use kinds::Change;
use queue::{Pushed, Queue, Waiting};
use transaction::{Outcome, transaction};

/// Describes the publications of a write, given its result. It is called within the transaction if other servers have
/// joined the tenant.
pub type Describe = Arc<dyn Fn(&Written) -> Vec<Publication> + Send + Sync>;

/// A change with the condition under which it is made.
#[derive(Clone)]
struct Write {
    change: Change,
    /// The description of the publications; `None` for a write that publishes nothing.
    describe: Option<Describe>,
    conditions: Conditions,
}

/// The conditions under which a change is made.
#[derive(Debug, Clone, Default)]
pub struct Conditions {
    /// The fence with which this process must hold the tenant's modules; see
    /// [`ByModule`](platform_model::origin::ByModule).
    pub fence: Option<i64>,
    /// The key that no earlier request of the user may have had (C-24). It is stored with the change.
    pub key: Option<Arc<IdempotencyKey>>,
}

impl From<&Origin> for Conditions {
    fn from(origin: &Origin) -> Self {
        Self { fence: origin.fence(), key: origin.key.clone() }
    }
}

impl Write {
    /// Returns the tenant if the write publishes anything.
    fn published_tenant(&self) -> Option<&TenantId> {
        self.describe.as_ref().map(|_| self.change.tenant())
    }

    /// Returns the tenant and the fence that the write requires, if it requires one.
    fn required_fence(&self) -> Option<(&TenantId, i64)> {
        self.conditions.fence.map(|fence| (self.change.tenant(), fence))
    }
}

/// The result of a write that is committed, with fsync.
#[derive(Debug)]
pub enum Written {
    /// The change was stored as given.
    Stored,
    /// The current alarm.
    Alarm(Box<Alarm>),
    /// The current managed object.
    ManagedObject(Box<ManagedObject>),
    /// The event was stored as given; this is the description of its source.
    EventOf(Box<ShownSource>),
    /// The queued operation.
    Queued(Box<Queued>),
    /// The change was based on outdated data, and nothing was written.
    Stale,
}

/// A committed write with the deliverer of its publications.
pub struct Committed {
    /// The result of the write.
    pub written: Written,
    /// The deliverer of the publications.
    pub route: Route,
}

/// Notifies an idle writer of a write in its queue.
#[derive(Message)]
#[rtype(result = "()")]
struct CommitQueued;

/// The actor that commits changes in batches.
pub struct Writer {
    database: Database,
    pool: Pool,
    limits: Limits,
    queue: Queue,
}

/// The handle by which the actors of a thread send changes to writers.
#[derive(Clone)]
pub struct WriterHandle {
    own: RunningWriter,
    /// The writers of all threads, in the order in which publishing writes fill their transactions.
    all: Arc<[RunningWriter]>,
    batch_rows: usize,
    database: Database,
}

/// A writer and its queue.
#[derive(Clone)]
struct RunningWriter {
    writer: Addr<Writer>,
    queue: Queue,
}

impl WriterHandle {
    /// Commits one change if its conditions hold, and returns after the commit.
    ///
    /// `Unavailable` when the queue is full or the database is unreachable; the change may or may not be stored then.
    /// `DiskFull` when the database's disk has no room. `QuotaExceeded` (Z-20). `Conflict` when the fence no longer
    /// holds. An error for which [`is_repetition`](crate::idempotency_keys::is_repetition) holds when an earlier
    /// request has the key. Otherwise the error of this change; other changes of the batch are not affected.
    pub async fn write(
        &self,
        change: Change,
        conditions: Conditions,
        describe: Option<Describe>,
    ) -> Result<Committed> {
        let reply = self.begin(change, conditions, describe)?;
        reply.await.unwrap_or_else(|_| Err(stopped()))
    }

    /// Commits one change like [`write`](Self::write), for a write without an actor. If this future is dropped while
    /// the write is running, because the client disconnected, a background task awaits the result and passes it to
    /// the function that `abandoned` returns. So every committed write is published.
    ///
    /// # Errors
    /// The errors of [`write`](Self::write).
    pub async fn write_to_the_end<F: FnOnce(Committed) + Send + 'static>(
        &self,
        change: Change,
        conditions: Conditions,
        describe: Option<Describe>,
        abandoned: impl FnOnce() -> F,
    ) -> Result<Committed> {
        RunningWrite::of(self.begin(change, conditions, describe)?, abandoned).wait().await
    }

    /// Puts a change into the queue and returns the receiver of its result.
    fn begin(
        &self,
        change: Change,
        conditions: Conditions,
        describe: Option<Describe>,
    ) -> Result<oneshot::Receiver<Result<Committed>>> {
        let (reply_to, reply) = oneshot::channel();
        let ready = self.database.ensure_reachable().and_then(|()| self.database.ensure_room());
        let ready = ready.and_then(|()| self.database.ensure_quota(change.tenant(), change.added()));
        let write = Write { change, describe, conditions };
        let RunningWriter { writer, queue } = self.writer_of(&write);
        let pushed = ready.and_then(|()| queue.push(Waiting { write, reply_to }));
        match pushed {
            Ok(Pushed::Wake) => writer.do_send(CommitQueued),
            Ok(Pushed::Busy) => {}
            Err(error) => {
                crate::metrics::WRITES_REFUSED.increment(1);
                return Err(error);
            }
        }
        Ok(reply)
    }

    /// Returns the writer of a write: that of this thread or, if PostgreSQL commits such writes one after the other,
    /// the first one whose next transaction has room.
    fn writer_of(&self, write: &Write) -> &RunningWriter {
        let is_serial = |tenant| self.database.publications.are_committed_in_turn(tenant);
        if !write.published_tenant().is_some_and(is_serial) {
            return &self.own;
        }
        self.all.iter().find(|writer| writer.queue.rows() < self.batch_rows).unwrap_or(&self.own)
    }
}

/// Returns the error for a write whose writer has stopped.
fn stopped() -> Error {
    Error::unavailable("the writer stopped")
}

impl Writer {
    /// Starts a writer on each of the actor threads. Returns a handle for each thread.
    ///
    /// # Errors
    /// `Unavailable` when a connection pool cannot be created.
    pub fn start_in(
        threads: &[ArbiterHandle],
        database: &Database,
        limits: &Limits,
    ) -> Result<Vec<WriterHandle>> {
        let all = threads.iter().map(|thread| Self::start(thread, database, limits));
        let all: Arc<[RunningWriter]> = all.collect::<Result<Vec<_>>>()?.into();
        let handle = |own: &RunningWriter| WriterHandle {
            own: own.clone(),
            all: all.clone(),
            batch_rows: limits.batch_rows,
            database: database.clone(),
        };
        Ok(all.iter().map(handle).collect())
    }

    fn start(thread: &ArbiterHandle, database: &Database, limits: &Limits) -> Result<RunningWriter> {
        let queue = Queue::new(limits.queued_writes);
        let writer = Self {
            database: database.clone(),
            pool: database.writer_pool()?,
            limits: limits.clone(),
            queue: queue.clone(),
        };
        Ok(RunningWriter { writer: Self::start_in_arbiter(thread, |_| writer), queue })
    }

    fn commit_next(&mut self, ctx: &mut Context<Self>) {
        let (writes, senders): (Vec<_>, Vec<_>) = self
            .queue
            .take(self.limits.batch_rows)
            .into_iter()
            .map(|waiting| (waiting.write, waiting.reply_to))
            .unzip();
        if writes.is_empty() {
            return;
        }
        let commit = commit(self.database.clone(), self.pool.clone(), self.limits.clone(), writes);
        ctx.spawn(commit.into_actor(self).map(|outcomes, writer, ctx| {
            // A caller that no longer waits has given up the reply and not the write.
            senders.into_iter().zip(outcomes).for_each(|(sender, outcome)| drop(sender.send(outcome)));
            writer.commit_next(ctx);
        }));
    }
}

impl Actor for Writer {
    type Context = Context<Self>;
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue.close();
    }
}

impl Handler<CommitQueued> for Writer {
    type Result = ();

    fn handle(&mut self, _: CommitQueued, ctx: &mut Self::Context) {
        self.commit_next(ctx);
    }
}

/// Commits a batch and returns one result per change, in order.
async fn commit(
    database: Database,
    pool: Pool,
    limits: Limits,
    writes: Vec<Write>,
) -> Vec<Result<Committed>> {
    let begun = Instant::now();
    crate::metrics::BATCH_ROWS.record(writes.len() as f64);
    let connection = match pool.get().await {
        Ok(connection) => connection,
        Err(error) => {
            let error = Error::from(error);
            database.set_unreachable(&error);
            return writes.iter().map(|_| Err(error.clone())).collect();
        }
    };
    let outcomes = match within(&database, &limits, connection, &writes).await {
        (Some(connection), Err(Error::Moving(tenant))) => {
            drop(connection);
            Box::pin(commit_others(database, pool, limits, writes, &tenant)).await
        }
        (Some(connection), Err(error)) if writes.len() > 1 && error.blames_row() => {
            one_by_one(&database, &limits, connection, &pool, &writes).await
        }
        (_, Ok(written)) => written.into_iter().map(Ok).collect(),
        (_, Err(error)) => writes.iter().map(|_| Err(error.clone())).collect(),
    };
    crate::metrics::COMMIT.record(begun.elapsed());
    outcomes
}

/// Commits a batch again without the writes of a tenant that is moving, so that others do not lose the group commit.
async fn commit_others(
    database: Database,
    pool: Pool,
    limits: Limits,
    writes: Vec<Write>,
    moving: &str,
) -> Vec<Result<Committed>> {
    let is_moving = |write: &Write| write.change.tenant().as_str() == moving;
    let rejected: Vec<_> = writes.iter().map(is_moving).collect();
    let others: Vec<_> = writes.into_iter().filter(|write| !is_moving(write)).collect();
    let is_alone = others.is_empty() || others.len() == rejected.len();
    let committed =
        if is_alone { Vec::new() } else { Box::pin(commit(database, pool, limits, others)).await };
    let mut committed = committed.into_iter();
    let outcome = |rejected| if rejected { None } else { committed.next() };
    rejected.into_iter().map(outcome).map(|one| one.unwrap_or(Err(Error::Moving(moving.into())))).collect()
}

/// Runs one transaction within the time limit. Returns the connection unless its state is unknown.
async fn within(
    database: &Database,
    limits: &Limits,
    connection: Object,
    writes: &[Write],
) -> (Option<Object>, Result<Vec<Committed>>) {
    loop {
        let running = Box::pin(transaction(&connection, database, writes));
        let joining = match tokio::time::timeout(limits.write_timeout, running).await {
            Ok(Ok(Outcome::Committed(committed))) => return (Some(connection), Ok(committed)),
            Ok(Ok(Outcome::HasToSwitch(tenant))) => Box::pin(database.switch_order(&tenant)).await,
            Ok(Err(error @ Error::Unavailable(_))) => Err(error),
            Ok(Err(error)) => return (Some(connection), Err(error)),
            Err(_) => Err(Error::unavailable("the database did not respond in time")),
        };
        if let Err(error) = joining {
            drop(Object::take(connection));
            return (None, Err(error));
        }
    }
}

/// Runs every write of a failed batch in its own transaction, so that an invalid row fails alone.
async fn one_by_one(
    database: &Database,
    limits: &Limits,
    connection: Object,
    pool: &Pool,
    writes: &[Write],
) -> Vec<Result<Committed>> {
    let mut connection = Some(connection);
    let mut outcomes = Vec::with_capacity(writes.len());
    for write in writes {
        let current = match connection.take() {
            Some(connection) => Ok(connection),
            None => pool.get().await.map_err(Error::from),
        };
        let outcome = match current {
            Ok(current) => {
                let (kept, outcome) = within(database, limits, current, std::slice::from_ref(write)).await;
                connection = kept;
                outcome.map(|mut committed| committed.pop().unwrap_or_else(Committed::stale))
            }
            Err(error) => Err(error),
        };
        outcomes.push(outcome);
    }
    outcomes
}

impl Committed {
    fn stale() -> Self {
        Self { written: Written::Stale, route: Route::Caller(None) }
    }
}
