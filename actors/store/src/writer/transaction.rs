//! The transaction of a batch: one statement per kind of write, over arrays, all sent in one round trip.

use std::collections::BTreeSet;
use std::sync::Arc;

use deadpool_postgres::Object;
use platform_model::data::alarm::Alarm;
use platform_model::data::event::Event;
use platform_model::devices::managed_object::ManagedObject;
use platform_model::devices::reference::WantedReferences;
use platform_model::error::Result;
use platform_model::id::TenantId;
use platform_model::realtime::publication::Publication;
use tokio_postgres::Statement;

use super::{Change, Committed, Write, Written};
use crate::alarms::{self, AlarmUpdate, SentAlarm};
use crate::binaries::{self, UploadOfObject};
use crate::events::{self, SentEvent, ShownSource};
use crate::inventory::links::fill_references;
use crate::inventory::managed_objects::{self, ManagedObjectUpdate};
use crate::measurements::{self, SentMeasurements};
use crate::module_leases;
use crate::operations::{self, OperationUpdate, ToQueue};
use crate::publications::{self, Checked, Publications, TransactionPublications, add};
use crate::signatures::Signatures;

/// The changes of one batch, grouped by kind.
#[derive(Default)]
struct ByKind<'a> {
    required_fences: BTreeSet<(&'a TenantId, i64)>,
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
    uploads: Vec<UploadOfObject<'a>>,
}

impl<'a> ByKind<'a> {
    fn sort(writes: &'a [Write]) -> Self {
        let mut by = Self::default();
        for write in writes {
            by.required_fences.extend(write.required_fence());
            match &write.change {
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
                    by.uploads.extend(object.id.map(|object| UploadOfObject {
                        tenant,
                        object,
                        binary: *binary,
                    }));
                }
                Change::ReplaceBinary(tenant, update, binary) => {
                    by.object_updates.push((tenant, update));
                    by.uploads.push(UploadOfObject { tenant, object: update.id, binary: *binary });
                }
            }
        }
        by
    }

    /// Returns whether a single statement writes the whole batch, so that it needs no BEGIN and COMMIT.
    fn is_one_statement(&self) -> bool {
        let used = [
            !self.required_fences.is_empty(),
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

/// The outcome of a transaction.
pub(super) enum Outcome {
    /// One result per change, in order.
    Committed(Vec<Committed>),
    /// Nothing is written, because this server first has to change how it publishes a tenant.
    HasToSwitch(TenantId),
}

/// Runs the batch as one transaction. If no other server has joined its tenants, it is one round trip: everything is
/// sent before the first response is awaited. Otherwise the publications are sent and the transaction is committed in
/// a second round trip.
pub(super) async fn transaction(
    client: &Object,
    publications: &Arc<Publications>,
    writes: &[Write],
) -> Result<Outcome> {
    let tenants: BTreeSet<_> = writes.iter().filter_map(Write::published_tenant).collect();
    let mut carried = TransactionPublications::begin(publications, tenants.into_iter().collect());
    if !carried.are_shared() {
        match Box::pin(run(client, &carried, writes, End::IfUnshared)).await {
            Ok(written) => return Ok(Outcome::Committed(committed(carried, writes, written))),
            Err(error) if carried.note_shared(&error) => {}
            Err(error) => return Err(error),
        }
    }
    carried.ask();
    let outcome = Box::pin(shared_transaction(client, &mut carried, writes)).await;
    match outcome {
        Ok(Shared::Committed(written)) => Ok(Outcome::Committed(committed(carried, writes, written))),
        Ok(Shared::HasToSwitch(tenant)) => {
            client.batch_execute("ROLLBACK").await?;
            Ok(Outcome::HasToSwitch(tenant))
        }
        Err(error) => {
            client.batch_execute("ROLLBACK").await?;
            Err(error)
        }
    }
}

/// The outcome of a transaction whose publications the database sends.
enum Shared {
    Committed(Vec<Written>),
    /// The transaction is still open; this server first has to change how it publishes the tenant.
    HasToSwitch(TenantId),
}

/// Runs a batch whose publications the database sends.
async fn shared_transaction(
    client: &Object,
    carried: &mut TransactionPublications,
    writes: &[Write],
) -> Result<Shared> {
    let notify = client.prepare_cached(publications::NOTIFY).await?;
    let mut written = Box::pin(run(client, carried, writes, End::Open)).await?;
    if let Checked::HasToSwitch(tenant) = carried.check(client).await? {
        return Ok(Shared::HasToSwitch(tenant));
    }
    for (write, written) in writes.iter().zip(&mut written) {
        if let Written::ManagedObject(object) = written
            && carried.sends(write.change.tenant())
        {
            let (objects, wanted) = (std::slice::from_mut(&mut **object), WantedReferences::default());
            fill_references(client, write.change.tenant(), objects, wanted).await?;
        }
    }
    let mut by_tenant: Vec<(&TenantId, Vec<Publication>)> = Vec::new();
    for (write, written) in writes.iter().zip(&written) {
        let tenant = write.change.tenant();
        let Some(describe) = write.describe.as_ref().filter(|_| carried.sends(tenant)) else { continue };
        add(&mut by_tenant, tenant, describe(written));
    }
    let (sent, ended) =
        tokio::join!(biased; carried.send(client, &notify, &by_tenant), client.batch_execute("COMMIT"));
    sent?;
    ended?;
    Ok(Shared::Committed(written))
}

fn committed(carried: TransactionPublications, writes: &[Write], written: Vec<Written>) -> Vec<Committed> {
    let routes = carried.routes(writes.iter().map(|write| write.published_tenant().cloned()));
    written.into_iter().zip(routes).map(|(written, route)| Committed { written, route }).collect()
}

/// The end of the statements of a batch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// They are committed if no other server has joined the tenants.
    IfUnshared,
    /// The transaction stays open.
    Open,
}

/// Runs the statements of a batch, all sent before the first response is awaited. A failed transaction is rolled back.
async fn run(
    client: &Object,
    carried: &TransactionPublications,
    writes: &[Write],
    end: End,
) -> Result<Vec<Written>> {
    let statements = Statements::prepare(client, carried.signatures()).await?;
    let mut by = ByKind::sort(writes);
    let hold = module_leases::prepare(client, &by.required_fences).await?;
    let alone = by.is_one_statement() && carried.asserts_nothing() && end == End::IfUnshared;
    let bracket = async |word: &str| if alone { Ok(()) } else { client.batch_execute(word).await };
    // The futures are polled, and so sent, in this order. If one fails, COMMIT rolls everything back.
    let (
        begun,
        held,
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
        unshared,
        committed,
    ) = tokio::join!(
        biased;
        bracket("BEGIN"),
        module_leases::hold(client, hold.as_ref(), &by.required_fences),
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
        binaries::attach_binaries(
            client,
            &statements.delete_replaced_binaries,
            &statements.attach_uploads,
            &by.uploads,
        ),
        async {
            if end == End::Open { Ok(()) } else { carried.assert_unshared(client, &statements.assert_unshared).await }
        },
        async { if end == End::Open { Ok(()) } else { bracket("COMMIT").await } },
    );
    // The results are checked in the order of sending, because errors after the first one are its consequence.
    begun?;
    held?;
    let (mut raised, mut counted, mut updated) = (raised?, counted?, updated?);
    let measured = measured?;
    objects?;
    let mut changed = changed?;
    let (mut events, new_texts) = (events?, new_texts?);
    // There is one result per change, in the order of the changes.
    let mut queued = queued?.into_iter();
    let operations = operations?;
    let attached = attached?;
    unshared?;
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
    let mut outcome = |change: &Change| match change {
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
    Ok(writes.iter().map(|write| outcome(&write.change)).collect())
}

/// The prepared statements of a connection, from its cache.
struct Statements {
    raise_alarms: Statement,
    count_repetitions: Statement,
    update_alarms: Statement,
    measurements: measurements::Statements,
    insert_objects: Statement,
    update_objects: managed_objects::UpdateStatement,
    insert_events: Statement,
    update_events: Statement,
    queue_operations: Statement,
    update_operations: Statement,
    delete_replaced_binaries: Statement,
    attach_uploads: Statement,
    assert_unshared: Statement,
}

impl Statements {
    async fn prepare(client: &Object, signatures: &Arc<Signatures>) -> Result<Self> {
        Ok(Self {
            raise_alarms: client.prepare_cached(alarms::RAISE).await?,
            count_repetitions: client.prepare_cached(alarms::COUNT_REPETITION).await?,
            update_alarms: client.prepare_cached(alarms::UPDATE).await?,
            measurements: measurements::Statements::prepare(client).await?,
            insert_objects: client.prepare_cached(managed_objects::INSERT).await?,
            update_objects: managed_objects::UpdateStatement::prepare(client, signatures).await?,
            insert_events: client.prepare_cached(events::INSERT).await?,
            update_events: client.prepare_cached(events::UPDATE).await?,
            queue_operations: client.prepare_cached(operations::INSERT).await?,
            update_operations: client.prepare_cached(operations::UPDATE).await?,
            delete_replaced_binaries: client.prepare_cached(binaries::DELETE_REPLACED).await?,
            attach_uploads: client.prepare_cached(binaries::ATTACH).await?,
            assert_unshared: client.prepare_cached(publications::ASSERT_UNSHARED).await?,
        })
    }
}
