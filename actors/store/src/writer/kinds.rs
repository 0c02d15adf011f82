//! The kinds of writes, and a batch of them.

use std::sync::Arc;

use deadpool_postgres::Object;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use platform_model::data::alarm::Alarm;
use platform_model::data::event::Event;
use platform_model::devices::managed_object::ManagedObject;
use platform_model::error::Result;
use platform_model::id::TenantId;
use platform_model::idempotency::{FirstResponse, IdempotencyKey};

use super::{Write, Written};
use crate::data::alarms::{AlarmUpdate, CountRepetition, RaiseAlarm, SentAlarm, UpdateAlarm};
use crate::data::events::{InsertEvent, SentEvent, ShownSource, UpdateEvent};
use crate::data::measurements::{InsertMeasurements, SentMeasurements};
use crate::data::operations::{OperationUpdate, QueueOperation, Queued, ToQueue, UpdateOperation};
use crate::devices::inventory::writes::{
    InsertManagedObject, ManagedObjectUpdate, ObjectToInsert, UpdateManagedObject,
};
use crate::realtime::signatures::Signatures;
use crate::statistics::Counted;
use crate::write_kind::{Added, WriteKind};

/// Declares the kinds of writes in the order in which their statements are sent, each with the data of a change.
macro_rules! kinds {
    ($($(#[$doc:meta])* $part:ident: $kind:ident($data:ty),)*) => {
        /// One write of one tenant.
        #[derive(Debug, Clone)]
        pub enum Change {
            $($(#[$doc])* $kind(TenantId, $data),)*
        }

        impl Change {
            pub(crate) fn tenant(&self) -> &TenantId {
                match self { $(Self::$kind(tenant, _) => tenant,)* }
            }

            /// Returns how many rows it writes, which bounds batches and the queue.
            pub(super) fn rows(&self) -> usize {
                match self { $(Self::$kind(_, change) => $kind::rows(change),)* }
            }

            /// Returns what it adds to the database, which quotas bound.
            pub(super) fn added(&self) -> Added<'_> {
                match self { $(Self::$kind(_, change) => $kind::added(change),)* }
            }
        }

        /// The changes of a batch, grouped by kind.
        #[derive(Default)]
        pub(super) struct Batch<'a> {
            $($part: Part<'a, $kind>,)*
        }

        impl<'a> Batch<'a> {
            pub(super) fn of(writes: &'a [Write]) -> Self {
                let mut batch = Self::default();
                for write in writes {
                    match &write.change {
                        $(Change::$kind(tenant, change) => batch.$part.rows.push((tenant, change)),)*
                    }
                }
                batch
            }

            /// Returns the parts with changes, in the order in which their statements are sent.
            pub(super) fn parts<'b>(&'b mut self) -> Vec<&'b mut (dyn Statements + 'b)> {
                let mut parts: Vec<&'b mut (dyn Statements + 'b)> = Vec::new();
                $(if !self.$part.rows.is_empty() { parts.push(&mut self.$part); })*
                parts
            }

            /// Takes the outcome of a change, in the order of the changes, given the key of its request.
            pub(super) fn outcome(&mut self, change: &Change, key: Option<&IdempotencyKey>) -> ChangeOutcome {
                match change { $(Change::$kind(_, change) => self.$part.outcome(change, key),)* }
            }
        }
    };
}

kinds! {
    /// Stores a new alarm, or counts it as a repetition of an open one.
    raised_alarms: RaiseAlarm(Arc<SentAlarm>),
    /// Counts an alarm as a repetition of an open one.
    repetitions: CountRepetition(Arc<SentAlarm>),
    /// Changes an alarm.
    alarm_updates: UpdateAlarm(Box<AlarmUpdate>),
    /// Stores measurements.
    measurements: InsertMeasurements(Arc<SentMeasurements>),
    /// Stores a new object, which may have an upload that becomes its file.
    new_objects: InsertManagedObject(ObjectToInsert),
    /// Changes an object, and with an upload its file.
    object_updates: UpdateManagedObject(ManagedObjectUpdate),
    /// Stores a new event.
    events: InsertEvent(Arc<SentEvent>),
    /// Changes an event.
    event_updates: UpdateEvent(Arc<Event>),
    /// Stores a new operation at the end of the queue of its device.
    queued_operations: QueueOperation(Arc<ToQueue>),
    /// Changes an operation.
    operation_updates: UpdateOperation(Arc<OperationUpdate>),
}

/// The outcome of one change.
pub(super) struct ChangeOutcome {
    pub(super) written: Written,
    /// The count of the change in the statistics, and its number; `None` if nothing was written.
    pub(super) counted: Option<(Counted, u64)>,
    /// The response to the request of the change, if it has a key and something was written.
    pub(super) response: Option<FirstResponse>,
}

/// The changes of one kind in a batch.
struct Part<'a, K: WriteKind> {
    rows: Vec<(&'a TenantId, &'a K::Change)>,
    outcomes: K::Outcomes,
}

impl<K: WriteKind> Default for Part<'_, K> {
    fn default() -> Self {
        Self { rows: Vec::new(), outcomes: K::Outcomes::default() }
    }
}

impl<K: WriteKind<Written: Into<Written>>> Part<'_, K> {
    fn outcome(&mut self, change: &K::Change, key: Option<&IdempotencyKey>) -> ChangeOutcome {
        match K::written(&mut self.outcomes, change) {
            Some(written) => {
                let counted = Some(K::counted(change, &written));
                let response = key.and_then(|key| K::response(change, &written, key));
                ChangeOutcome { written: written.into(), counted, response }
            }
            None => ChangeOutcome { written: Written::Stale, counted: None, response: None },
        }
    }
}

/// The statements of one kind in a batch.
pub(super) trait Statements {
    /// Returns the statements that may be sent.
    fn all(&self) -> &'static [&'static str];

    /// Returns how many statements are sent.
    fn count(&self) -> usize;

    /// Runs the statements. If the connection has prepared them, they are sent when the future is polled for the first
    /// time.
    fn run<'b>(
        &'b mut self,
        client: &'b Object,
        signatures: &'b Signatures,
    ) -> LocalBoxFuture<'b, Result<()>>;
}

impl<K: WriteKind> Statements for Part<'_, K> {
    fn all(&self) -> &'static [&'static str] {
        K::STATEMENTS
    }

    fn count(&self) -> usize {
        K::sent(&self.rows)
    }

    fn run<'b>(
        &'b mut self,
        client: &'b Object,
        signatures: &'b Signatures,
    ) -> LocalBoxFuture<'b, Result<()>> {
        async move {
            self.outcomes = K::run(client, signatures, &mut self.rows).await?;
            Ok(())
        }
        .boxed_local()
    }
}

impl From<()> for Written {
    fn from((): ()) -> Self {
        Self::Stored
    }
}

impl From<Alarm> for Written {
    fn from(alarm: Alarm) -> Self {
        Self::Alarm(Box::new(alarm))
    }
}

impl From<ManagedObject> for Written {
    fn from(object: ManagedObject) -> Self {
        Self::ManagedObject(Box::new(object))
    }
}

impl From<ShownSource> for Written {
    fn from(source: ShownSource) -> Self {
        Self::EventOf(Box::new(source))
    }
}

impl From<Queued> for Written {
    fn from(queued: Queued) -> Self {
        Self::Queued(Box::new(queued))
    }
}
