//! Group commit: a write does not own a transaction, it joins one.
//!
//! While a transaction is under way, what arrives waits; then it becomes the next transaction as a whole: one
//! statement per kind of write over arrays, all in one round trip. There is no timer to linger: an idle server
//! commits a lone write at once, a busy one makes batches by itself.
//!
//! There is one writer per actor thread; a device writes through the one of its own thread and awaits each answer,
//! so the order of one device's writes is kept whatever the order inside a batch.

mod abandoned;
mod queue;
mod transaction;

use std::sync::Arc;
use std::time::Instant;

use actix::prelude::*;
use deadpool_postgres::{Object, Pool};
use tokio::sync::oneshot;

use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::model::alarm::Alarm;
use crate::model::event::Event;
use crate::model::id::{BinaryId, TenantId};
use crate::model::managed_object::ManagedObject;
use crate::store::Database;
use crate::store::alarms::{AlarmUpdate, SentAlarm};
use crate::store::events::{SentEvent, ShownSource};
use crate::store::managed_objects::ManagedObjectUpdate;
use crate::store::measurements::SentMeasurements;
use crate::store::operations::{OperationUpdate, Queued, ToQueue};
use abandoned::Outcome;
use queue::{Pushed, Queue, Waiting};
use transaction::transaction;

/// One write of one tenant.
#[derive(Debug, Clone)]
pub(crate) enum Change {
    RaiseAlarm(TenantId, Arc<SentAlarm>),
    CountRepetition(TenantId, Arc<SentAlarm>),
    UpdateAlarm(TenantId, Box<AlarmUpdate>),
    InsertMeasurements(TenantId, Arc<SentMeasurements>),
    InsertManagedObject(TenantId, Arc<ManagedObject>),
    UpdateManagedObject(TenantId, ManagedObjectUpdate),
    InsertEvent(TenantId, Arc<SentEvent>),
    UpdateEvent(TenantId, Arc<Event>),
    QueueOperation(TenantId, Arc<ToQueue>),
    UpdateOperation(TenantId, Arc<OperationUpdate>),
    /// An object, and the upload that becomes its content.
    InsertBinary(TenantId, Arc<ManagedObject>, BinaryId),
    /// A change, and the upload that becomes the content.
    ReplaceBinary(TenantId, ManagedObjectUpdate, BinaryId),
}

/// A change, and what must hold besides for it to be made.
#[derive(Debug, Clone)]
struct Write {
    change: Change,
    /// By which number this process must hold the modules of the tenant; see [`ByModule`](crate::model::origin::ByModule).
    fence: Option<i64>,
}

impl Write {
    /// What must hold besides, if anything.
    fn premise(&self) -> Option<(&TenantId, i64)> {
        self.fence.map(|fence| (self.change.tenant(), fence))
    }
}

impl Change {
    fn tenant(&self) -> &TenantId {
        match self {
            Self::RaiseAlarm(tenant, _)
            | Self::CountRepetition(tenant, _)
            | Self::UpdateAlarm(tenant, _)
            | Self::InsertMeasurements(tenant, _)
            | Self::InsertManagedObject(tenant, _)
            | Self::UpdateManagedObject(tenant, _)
            | Self::InsertEvent(tenant, _)
            | Self::UpdateEvent(tenant, _)
            | Self::QueueOperation(tenant, _)
            | Self::UpdateOperation(tenant, _)
            | Self::InsertBinary(tenant, ..)
            | Self::ReplaceBinary(tenant, ..) => tenant,
        }
    }

    /// Rows it writes: what a batch and the queue are bounded by.
    fn rows(&self) -> usize {
        match self {
            Self::InsertMeasurements(_, sent) => sent.measurements.len(),
            _ => 1,
        }
    }
}

/// What became of a write. It is committed, with fsync.
#[derive(Debug)]
pub(crate) enum Written {
    /// Stored as given.
    Stored,
    /// The alarm as it stands now.
    Alarm(Box<Alarm>),
    /// The managed object as it stands now.
    ManagedObject(Box<ManagedObject>),
    /// Stored as given; what is shown of its source.
    EventOf(Box<ShownSource>),
    /// The operation as it was queued.
    Queued(Box<Queued>),
    /// The premise did not hold: nothing was written, the sender's memory is stale.
    Stale,
}

/// There is something to commit. Sent to a writer that rests.
#[derive(Message)]
#[rtype(result = "()")]
struct Wake;

/// Commits changes in batches.
pub(crate) struct Writer {
    database: Database,
    pool: Pool,
    limits: Limits,
    queue: Queue,
}

/// The way to a writer.
#[derive(Clone)]
pub(crate) struct WriterHandle {
    writer: Addr<Writer>,
    queue: Queue,
    database: Database,
}

impl WriterHandle {
    /// Commits one change; resolves after the commit. With a fence only while this process holds the modules of the tenant by
    /// that number: what a module does, see [`Origin::fence`](crate::model::origin::Origin::fence).
    ///
    /// # Errors
    /// `Unavailable` when the queue is full or the database away: then nothing is known to be stored. `DiskFull` without room on
    /// its disk. `Conflict` when the fence
    /// no longer holds. Otherwise what is wrong with this very change; its neighbours in the batch are not concerned.
    pub(crate) async fn write(&self, change: Change, fence: Option<i64>) -> Result<Written> {
        let answer = self.begin(change, fence)?;
        answer.await.unwrap_or_else(|_| Err(stopped()))
    }

    /// As [`write`](Self::write), for a write that no actor sees to its end. When this future is dropped while the write is under
    /// way, because the client went away, the outcome is still waited for and handed to what `abandoned` gives: what is
    /// committed is published whoever waits for it.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub(crate) async fn write_to_the_end<F: FnOnce(Written) + Send + 'static>(
        &self,
        change: Change,
        fence: Option<i64>,
        abandoned: impl FnOnce() -> F,
    ) -> Result<Written> {
        Outcome::of(self.begin(change, fence)?, abandoned).wait().await
    }

    /// Hands a change to the writer; gives where its outcome will come.
    fn begin(&self, change: Change, fence: Option<i64>) -> Result<oneshot::Receiver<Result<Written>>> {
        let (reply_to, answer) = oneshot::channel();
        let waiting = Waiting { write: Write { change, fence }, reply_to };
        let ready = self.database.ensure_reachable().and_then(|()| self.database.ensure_room());
        let pushed = ready.and_then(|()| self.queue.push(waiting));
        match pushed {
            Ok(Pushed::Wake) => self.writer.do_send(Wake),
            Ok(Pushed::Busy) => {}
            Err(error) => {
                crate::metrics::WRITES_REFUSED.increment(1);
                return Err(error);
            }
        }
        Ok(answer)
    }
}

/// What a sender hears whose writer is gone.
fn stopped() -> Error {
    Error::unavailable("the writer stopped")
}

impl Writer {
    pub(crate) fn start_in(
        arbiter: &ArbiterHandle,
        database: &Database,
        limits: &Limits,
    ) -> Result<WriterHandle> {
        let queue = Queue::new(limits.queued_writes);
        let writer = Self {
            database: database.clone(),
            pool: database.writer_pool()?,
            limits: limits.clone(),
            queue: queue.clone(),
        };
        let writer = Self::start_in_arbiter(arbiter, |_| writer);
        Ok(WriterHandle { writer, queue, database: database.clone() })
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
            // A sender that no longer waits has given up on the answer, not on the write.
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

impl Handler<Wake> for Writer {
    type Result = ();

    fn handle(&mut self, _: Wake, ctx: &mut Self::Context) {
        self.commit_next(ctx);
    }
}

/// Commits a batch and gives one outcome per change, in order.
async fn commit(database: Database, pool: Pool, limits: Limits, writes: Vec<Write>) -> Vec<Result<Written>> {
    let begun = Instant::now();
    crate::metrics::BATCH_ROWS.record(writes.len() as f64);
    let connection = match pool.get().await {
        Ok(connection) => connection,
        Err(error) => {
            database.set_reachable(false);
            let error = Error::from(error);
            return writes.iter().map(|_| Err(error.clone())).collect();
        }
    };
    let outcomes = match within(&limits, connection, &writes).await {
        (Some(connection), Err(error)) if writes.len() > 1 && error.blames_row() => {
            one_by_one(&limits, connection, &pool, &writes).await
        }
        (_, Ok(written)) => written.into_iter().map(Ok).collect(),
        (_, Err(error)) => writes.iter().map(|_| Err(error.clone())).collect(),
    };
    crate::metrics::COMMIT.record(begun.elapsed());
    outcomes
}

/// Runs one transaction within the time limit. The connection comes back unless it is in an unknown state.
async fn within(
    limits: &Limits,
    connection: Object,
    writes: &[Write],
) -> (Option<Object>, Result<Vec<Written>>) {
    match tokio::time::timeout(limits.write_timeout, Box::pin(transaction(&connection, writes))).await {
        Ok(Err(error @ Error::Unavailable(_))) => {
            drop(Object::take(connection));
            (None, Err(error))
        }
        Ok(outcome) => (Some(connection), outcome),
        Err(_) => {
            drop(Object::take(connection));
            (None, Err(Error::unavailable("the database did not answer in time")))
        }
    }
}

/// After a batch failed: every write in a transaction of its own, so that one bad row never fails its neighbours.
async fn one_by_one(
    limits: &Limits,
    connection: Object,
    pool: &Pool,
    writes: &[Write],
) -> Vec<Result<Written>> {
    let mut connection = Some(connection);
    let mut outcomes = Vec::with_capacity(writes.len());
    for write in writes {
        let current = match connection.take() {
            Some(connection) => Ok(connection),
            None => pool.get().await.map_err(Error::from),
        };
        let outcome = match current {
            Ok(current) => {
                let (kept, outcome) = within(limits, current, std::slice::from_ref(write)).await;
                connection = kept;
                outcome.map(|mut written| written.pop().unwrap_or(Written::Stale))
            }
            Err(error) => Err(error),
        };
        outcomes.push(outcome);
    }
    outcomes
}
