//! Writes that need no order among themselves: new managed objects, events and measurements, and deletions of many.
//! They are functions instead of actors, so that none of them waits for another one.
//!
//! The publication of every write is here too: of these functions, of [`device`](crate::device) actors and of
//! [`background`](crate::background) work.

mod events;
mod managed_objects;
mod measurement_deletion;
mod measurements;
mod operations;
mod placement;
mod publication;
mod publication_order;

use std::sync::Arc;

use actix::Addr;
use platform_model::id::{IdGenerator, ManagedObjectId, TenantId};
use platform_model::limits::Limits;
use platform_model::origin::Origin;
use platform_store::Database;
use platform_store::writer::WriterHandle;

pub(crate) use events::{create_event, delete_events};
pub use managed_objects::NewObject;
pub(crate) use managed_objects::{create_binary, create_object};
pub(crate) use measurement_deletion::{delete_measurement, delete_measurements};
pub use measurements::NewMeasurements;
pub(crate) use measurements::create_measurements;
pub(crate) use operations::delete_operations;
pub(crate) use placement::{forget_placement, placement_group};
pub(crate) use platform_model::realtime::publication::Cause;
use publication::Storage;
pub use publication_order::{PublicationOrder, PublicationTurn};

use crate::consumers::ConsumerReaders;
use crate::feed::Feeds;
use crate::heartbeats::{Heartbeats, RecordHeartbeat};
use crate::hub::{NotificationHub, SubscriptionCounts};
use crate::traces::TraceRecorder;

/// The dependencies of a tenant's writes. Each actor thread has its own, with the writer of that thread.
#[derive(Clone)]
pub(crate) struct WriteContext {
    pub(crate) tenant: TenantId,
    pub(crate) database: Database,
    pub(crate) writer: WriterHandle,
    pub(crate) heartbeats: Addr<Heartbeats>,
    pub(crate) hub: NotificationHub,
    pub(crate) subscription_counts: SubscriptionCounts,
    /// The readers of the tenant's consumers.
    pub(crate) consumers: Arc<ConsumerReaders>,
    /// The modules that process what is published.
    pub(crate) feeds: Feeds,
    pub(crate) ids: Arc<IdGenerator>,
    pub(crate) limits: Arc<Limits>,
    /// Records what traces concern.
    pub(crate) recorder: Arc<TraceRecorder>,
}

impl WriteContext {
    /// Records a heartbeat of a device. Call this after each creation of an alarm, event or measurement for `source`,
    /// and after a PUT on it. It waits for nothing. Only requests of device users without an application key
    /// count, and none in modes that store nothing (M-02).
    pub(crate) fn record_heartbeat(&self, source: ManagedObjectId, origin: &Origin) {
        if origin.is_heartbeat() {
            let device = (self.tenant.clone(), source);
            self.heartbeats.do_send(RecordHeartbeat { device, links: origin.links.clone() });
        }
    }
}
