//! Group commit: a write does not own a transaction, it joins one.
//!
//! While a transaction is under way, what arrives waits; then it becomes the next transaction as a whole: one
//! statement per kind of write over arrays, all in one round trip. There is no timer to linger: an idle server
//! commits a lone write at once, a busy one makes batches by itself.
//!
//! There is one writer per actor thread; a device writes through the one of its own thread and awaits each answer,
//! so the order of one device's writes is kept whatever the order inside a batch.

mod queue;

use std::sync::Arc;
use std::time::Instant;

use actix::prelude::*;
use deadpool_postgres::{Object, Pool};
use tokio::sync::oneshot;
use tokio_postgres::Statement;

use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::model::alarm::Alarm;
use crate::model::event::Event;
use crate::model::id::{BinaryId, ManagedObjectId, TenantId};
use crate::model::managed_object::ManagedObject;
use crate::store::Database;
use crate::store::alarms::{self, AlarmUpdate, SentAlarm};
use crate::store::binaries;
use crate::store::events::{self, SentEvent, ShownSource};
use crate::store::managed_objects::{self, ManagedObjectUpdate};
use crate::store::measurements::{self, SentMeasurements};
use crate::store::operations::{self, OperationUpdate, Queued, ToQueue};
use queue::{Pushed, Queue, Write};

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

impl Change {
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
    /// Commits one change; resolves after the commit.
    ///
    /// # Errors
    /// `Unavailable` when the queue is full or the database away: then nothing is known to be stored. Otherwise
    /// what is wrong with this very change; its neighbours in the batch are not concerned.
    pub(crate) async fn write(&self, change: Change) -> Result<Written> {
        let (reply_to, answer) = oneshot::channel();
        let pushed =
            self.database.ensure_reachable().and_then(|()| self.queue.push(Write { change, reply_to }));
        match pushed {
            Ok(Pushed::Wake) => self.writer.do_send(Wake),
            Ok(Pushed::Busy) => {}
            Err(error) => {
                crate::metrics::WRITES_REFUSED.increment(1);
                return Err(error);
            }
        }
        answer.await.unwrap_or_else(|_| Err(Error::unavailable("the writer stopped")))
    }
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
        let (changes, senders): (Vec<_>, Vec<_>) = self
            .queue
            .take(self.limits.batch_rows)
            .into_iter()
            .map(|write| (write.change, write.reply_to))
            .unzip();
        if changes.is_empty() {
            return;
        }
        let commit = commit(self.database.clone(), self.pool.clone(), self.limits.clone(), changes);
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
async fn commit(
    database: Database,
    pool: Pool,
    limits: Limits,
    changes: Vec<Change>,
) -> Vec<Result<Written>> {
    let begun = Instant::now();
    crate::metrics::BATCH_ROWS.record(changes.len() as f64);
    let connection = match pool.get().await {
        Ok(connection) => connection,
        Err(error) => {
            database.set_reachable(false);
            let error = Error::from(error);
            return changes.iter().map(|_| Err(error.clone())).collect();
        }
    };
    let outcomes = match within(&limits, connection, &changes).await {
        (Some(connection), Err(error)) if changes.len() > 1 && error.blames_row() => {
            one_by_one(&limits, connection, &pool, &changes).await
        }
        (_, Ok(written)) => written.into_iter().map(Ok).collect(),
        (_, Err(error)) => changes.iter().map(|_| Err(error.clone())).collect(),
    };
    crate::metrics::COMMIT.record(begun.elapsed());
    outcomes
}

/// Runs one transaction within the time limit. The connection comes back unless it is in an unknown state.
async fn within(
    limits: &Limits,
    connection: Object,
    changes: &[Change],
) -> (Option<Object>, Result<Vec<Written>>) {
    match tokio::time::timeout(limits.write_timeout, Box::pin(transaction(&connection, changes))).await {
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

/// After a batch failed: every change in a transaction of its own, so that one bad row never fails its neighbours.
async fn one_by_one(
    limits: &Limits,
    connection: Object,
    pool: &Pool,
    changes: &[Change],
) -> Vec<Result<Written>> {
    let mut connection = Some(connection);
    let mut outcomes = Vec::with_capacity(changes.len());
    for change in changes {
        let current = match connection.take() {
            Some(connection) => Ok(connection),
            None => pool.get().await.map_err(Error::from),
        };
        let outcome = match current {
            Ok(current) => {
                let (kept, outcome) = within(limits, current, std::slice::from_ref(change)).await;
                connection = kept;
                outcome.map(|mut written| written.pop().unwrap_or(Written::Stale))
            }
            Err(error) => Err(error),
        };
        outcomes.push(outcome);
    }
    outcomes
}

/// The changes of one batch by kind.
#[derive(Default)]
struct ByKind<'a> {
    sent_alarms: Vec<(&'a TenantId, &'a SentAlarm)>,
    repetitions: Vec<(&'a TenantId, &'a SentAlarm)>,
    alarm_updates: Vec<(&'a TenantId, &'a AlarmUpdate)>,
    measurements: Vec<(&'a TenantId, &'a SentMeasurements)>,
    new_objects: Vec<(&'a TenantId, &'a ManagedObject)>,
    object_updates: Vec<(&'a TenantId, &'a ManagedObjectUpdate)>,
    events: Vec<(&'a TenantId, &'a SentEvent)>,
    event_updates: Vec<(&'a TenantId, &'a Event)>,
    to_queue: Vec<(&'a TenantId, &'a ToQueue)>,
    operation_updates: Vec<(&'a TenantId, &'a OperationUpdate)>,
    uploads: Vec<(&'a TenantId, ManagedObjectId, BinaryId)>,
}

impl<'a> ByKind<'a> {
    fn sort(changes: &'a [Change]) -> Self {
        let mut by = Self::default();
        for change in changes {
            match change {
                Change::RaiseAlarm(tenant, alarm) => by.sent_alarms.push((tenant, alarm)),
                Change::CountRepetition(tenant, alarm) => by.repetitions.push((tenant, alarm)),
                Change::UpdateAlarm(tenant, update) => by.alarm_updates.push((tenant, update)),
                Change::InsertMeasurements(tenant, sent) => by.measurements.push((tenant, sent)),
                Change::InsertManagedObject(tenant, object) => by.new_objects.push((tenant, object)),
                Change::UpdateManagedObject(tenant, update) => by.object_updates.push((tenant, update)),
                Change::InsertEvent(tenant, event) => by.events.push((tenant, event)),
                Change::UpdateEvent(tenant, event) => by.event_updates.push((tenant, event)),
                Change::QueueOperation(tenant, new) => by.to_queue.push((tenant, new)),
                Change::UpdateOperation(tenant, update) => by.operation_updates.push((tenant, update)),
                Change::InsertBinary(tenant, object, binary) => {
                    by.new_objects.push((tenant, object));
                    by.uploads.extend(object.id.map(|id| (tenant, id, *binary)));
                }
                Change::ReplaceBinary(tenant, update, binary) => {
                    by.object_updates.push((tenant, update));
                    by.uploads.push((tenant, update.id, *binary));
                }
            }
        }
        by
    }

    /// Whether one statement carries the whole batch: then it is a transaction by itself.
    fn is_one_statement(&self) -> bool {
        let used = [
            !self.sent_alarms.is_empty(),
            !self.repetitions.is_empty(),
            !self.alarm_updates.is_empty(),
            self.measurements.iter().any(|(_, sent)| !sent.unseen.is_empty()),
            self.measurements.iter().any(|(_, sent)| sent.measurements.len() == 1),
            self.measurements.iter().any(|(_, sent)| sent.measurements.len() > 1),
            !self.new_objects.is_empty(),
            !self.object_updates.is_empty(),
            !self.events.is_empty(),
            !self.event_updates.is_empty(),
            !self.to_queue.is_empty(),
            !self.operation_updates.is_empty(),
            !self.uploads.is_empty(),
        ];
        used.into_iter().filter(|used| *used).count() == 1
    }
}

/// Runs the batch as one transaction in one round trip: everything is sent before the first answer is awaited.
async fn transaction(client: &Object, changes: &[Change]) -> Result<Vec<Written>> {
    let statements = Statements::prepare(client).await?;
    let mut by = ByKind::sort(changes);
    let alone = by.is_one_statement();
    let bracket = async |word: &str| match alone {
        true => Ok(()),
        false => client.batch_execute(word).await,
    };
    // Polled in this order, so sent in this order. When one fails, COMMIT rolls all of them back.
    let (
        begun,
        raised,
        counted,
        updated,
        measured,
        objects,
        changed,
        events,
        new_texts,
        queued,
        operations,
        attached,
        committed,
    ) = tokio::join!(
        biased;
        bracket("BEGIN"),
        alarms::raise_alarms(client, &statements.raise_alarms, &mut by.sent_alarms),
        alarms::count_repetitions(client, &statements.count_repetitions, &by.repetitions),
        alarms::update_alarms(client, &statements.update_alarms, &by.alarm_updates),
        measurements::insert_measurements(client, &statements.measurements, &mut by.measurements),
        managed_objects::insert_managed_objects(client, &statements.insert_objects, &by.new_objects),
        managed_objects::update_managed_objects(client, &statements.update_objects, &by.object_updates),
        events::insert_events(client, &statements.insert_events, &by.events),
        events::update_events(client, &statements.update_events, &by.event_updates),
        operations::insert_operations(client, &statements.queue_operations, &by.to_queue),
        operations::update_operations(client, &statements.update_operations, &by.operation_updates),
        binaries::attach_binaries(client, statements.attach_binaries(), &by.uploads),
        bracket("COMMIT"),
    );
    begun?;
    let (mut raised, mut counted, mut updated) = (raised?, counted?, updated?);
    let measured = measured?;
    objects?;
    let (mut changed, attached) = (changed?, attached?);
    let (mut events, new_texts) = (events?, new_texts?);
    // One for each, in the order of the changes.
    let mut queued = queued?.into_iter();
    let operations = operations?;
    committed?;

    let stored = |found: bool| if found { Written::Stored } else { Written::Stale };
    let alarm = |found: Option<Alarm>| found.map_or(Written::Stale, |alarm| Written::Alarm(Box::new(alarm)));
    let object = |found: Option<ManagedObject>| {
        found.map_or(Written::Stale, |object| Written::ManagedObject(Box::new(object)))
    };
    let event = |found: Option<ShownSource>| {
        found.map_or(Written::Stale, |source| Written::EventOf(Box::new(source)))
    };
    let mut queued =
        || queued.next().flatten().map_or(Written::Stale, |queued| Written::Queued(Box::new(queued)));
    let outcome = |change: &Change| match change {
        Change::RaiseAlarm(_, sent) => alarm(raised.remove(&alarms::key(&sent.alarm))),
        Change::CountRepetition(_, sent) => alarm(counted.remove(&alarms::key(&sent.alarm))),
        Change::UpdateAlarm(_, update) => alarm(update.alarm.id.and_then(|id| updated.remove(&id.0))),
        Change::InsertMeasurements(_, sent) => stored(sent.are_among(&measured)),
        Change::InsertManagedObject(..) => Written::Stored,
        Change::UpdateManagedObject(_, update) => object(changed.remove(&update.id.0)),
        Change::InsertEvent(_, sent) => event(sent.event.id.and_then(|id| events.remove(&id.0))),
        Change::UpdateEvent(_, event) => stored(event.id.is_some_and(|id| new_texts.contains(&id.0))),
        Change::QueueOperation(..) => queued(),
        Change::UpdateOperation(_, update) => {
            stored(update.operation.id.is_some_and(|id| operations.contains(&id.0)))
        }
        Change::InsertBinary(.., binary) => stored(attached.contains(&binary.0)),
        Change::ReplaceBinary(_, update, binary) => {
            object(changed.remove(&update.id.0).filter(|_| attached.contains(&binary.0)))
        }
    };
    Ok(changes.iter().map(outcome).collect())
}

/// The prepared statements of a connection, from its cache.
struct Statements {
    raise_alarms: Statement,
    count_repetitions: Statement,
    update_alarms: Statement,
    measurements: measurements::Statements,
    insert_objects: Statement,
    update_objects: Statement,
    insert_events: Statement,
    update_events: Statement,
    queue_operations: Statement,
    update_operations: Statement,
    delete_replaced_binaries: Statement,
    attach_uploads: Statement,
}

impl Statements {
    async fn prepare(client: &Object) -> Result<Self> {
        Ok(Self {
            raise_alarms: client.prepare_cached(alarms::RAISE).await?,
            count_repetitions: client.prepare_cached(alarms::COUNT_REPETITION).await?,
            update_alarms: client.prepare_cached(alarms::UPDATE).await?,
            measurements: measurements::Statements::prepare(client).await?,
            insert_objects: client.prepare_cached(managed_objects::INSERT).await?,
            update_objects: client.prepare_cached(managed_objects::UPDATE).await?,
            insert_events: client.prepare_cached(events::INSERT).await?,
            update_events: client.prepare_cached(events::UPDATE).await?,
            queue_operations: client.prepare_cached(operations::INSERT).await?,
            update_operations: client.prepare_cached(operations::UPDATE).await?,
            delete_replaced_binaries: client.prepare_cached(binaries::DELETE_REPLACED).await?,
            attach_uploads: client.prepare_cached(binaries::ATTACH).await?,
        })
    }

    fn attach_binaries(&self) -> (&Statement, &Statement) {
        (&self.delete_replaced_binaries, &self.attach_uploads)
    }
}
