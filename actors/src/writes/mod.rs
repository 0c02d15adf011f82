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
pub(crate) use platform_model::publication::Cause;
use publication::Storage;
pub use publication_order::{PublicationOrder, Turn};

use crate::background::heartbeats::Heartbeats;
use crate::device::{CachedMappings, DeviceActor};
use crate::event_processing::feed::Feeds;
use crate::hub::{NotificationHub, SubscriptionCounts};
use crate::registry::Registry;

/// The dependencies of a tenant's writes. Each actor thread has its own, with the writer of that thread.
#[derive(Clone)]
pub(crate) struct WriteContext {
    pub(crate) tenant: TenantId,
    pub(crate) database: Database,
    pub(crate) writer: WriterHandle,
    pub(crate) heartbeats: Addr<Heartbeats>,
    pub(crate) hub: NotificationHub,
    pub(crate) subscription_counts: SubscriptionCounts,
    /// The modules that process what is published.
    pub(crate) feeds: Feeds,
    pub(crate) ids: Arc<IdGenerator>,
    pub(crate) devices: Arc<Registry<ManagedObjectId, DeviceActor>>,
    pub(crate) limits: Arc<Limits>,
    pub(crate) mappings: Arc<CachedMappings>,
}
