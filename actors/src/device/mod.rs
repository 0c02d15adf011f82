//! One actor per managed object that is being written. It keeps the order of the object's writes and of the
//! notifications about them.
//!
//! Every condition of a write is part of its SQL statement. So two actors for one device, in two processes, stay
//! correct.

mod alarm_mappings;
mod alarms;
mod availability;
mod binary;
mod children;
mod event_binaries;
mod events;
mod managed_object;
mod operations;
mod pause;

use std::sync::Arc;
use std::time::{Duration, Instant};

use actix::prelude::*;

pub use alarms::{RaiseAlarm, UpdateAlarm};
pub(crate) use availability::{ClearAlarm, EndSilence, ReportSilence};
pub use binary::ReplaceBinary;
pub use children::{AddChildren, CreateChild, RemoveChild};
pub use event_binaries::{PlaceEventBinary, RemoveEventBinary, Removed};
pub use events::{DeleteEvent, UpdateEvent};
pub use managed_object::{DeleteManagedObject, UpdateManagedObject};
pub use operations::{QueueOperation, UpdateOperation};
use platform_model::access::{Accessor, Authority, Grants};
use platform_model::error::{Error, Noun, Result};
use platform_model::id::ManagedObjectId;
use platform_model::origin::Origin;
use platform_model::realtime::change::PublishedChange;
use platform_store::access::SourceObject;

use alarm_mappings::CachedMappings;

use crate::registry::Registry;
use crate::writes::{Cause, WriteContext};

/// The number of times that a write is decided again because its revision was outdated.
const MAX_ATTEMPTS: usize = 5;

/// The time that the actor of an object that does not exist is kept.
const MISSING_OBJECT_IDLE: Duration = Duration::from_secs(1);

/// The devices of a tenant in this process.
#[derive(Default)]
pub(crate) struct Devices {
    pub(crate) actors: Registry<ManagedObjectId, DeviceActor>,
    pub(crate) mappings: CachedMappings,
}

/// The actor of one device, which handles one write after the other.
pub struct DeviceActor {
    /// `None` while a handler uses it. Handlers run one at a time.
    device: Option<Device>,
    devices: Arc<Devices>,
    id: ManagedObjectId,
    idle: Duration,
    last_used: Instant,
}

/// A device with its dependencies.
pub(crate) struct Device {
    id: ManagedObjectId,
    context: WriteContext,
    devices: Arc<Devices>,
    /// The object does not exist. The actor then stops soon, so that invented ids do not use memory for long.
    gone: bool,
}

impl DeviceActor {
    pub(crate) fn new(id: ManagedObjectId, context: WriteContext, devices: Arc<Devices>) -> Self {
        Self {
            idle: context.limits.device_idle,
            id,
            last_used: Instant::now(),
            device: Some(Device { id, context, devices: devices.clone(), gone: false }),
            devices,
        }
    }

    /// Runs a handler to its end before the next message is handled.
    fn exclusively<R, F>(&mut self, work: F) -> AtomicResponse<Self, R>
    where
        R: 'static,
        F: AsyncFnOnce(&mut Device) -> R + 'static,
    {
        self.last_used = Instant::now();
        let mut device = self.device.take().expect("AtomicResponse runs one handler at a time");
        let work = async move {
            let reply = work(&mut device).await;
            (device, reply)
        };
        AtomicResponse::new(Box::pin(work.into_actor(self).map(|(device, reply), actor, ctx| {
            if device.gone && actor.idle > MISSING_OBJECT_IDLE {
                // The actor does not stop at once, because messages in its mailbox would have to be sent again.
                actor.idle = MISSING_OBJECT_IDLE;
                ctx.run_later(MISSING_OBJECT_IDLE, Self::stop_when_idle);
            }
            actor.device = Some(device);
            reply
        })))
    }

    /// Stops an actor that was idle for a while; the next message starts a new one.
    fn stop_when_idle(&mut self, ctx: &mut actix::Context<Self>) {
        let rest = self.idle.saturating_sub(self.last_used.elapsed());
        if rest.is_zero() {
            ctx.stop();
        } else {
            ctx.run_later(rest, Self::stop_when_idle);
        }
    }
}

impl Actor for DeviceActor {
    type Context = actix::Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        crate::metrics::DEVICE_ACTORS.increment(1);
        ctx.set_mailbox_capacity(256);
        ctx.run_later(self.idle, Self::stop_when_idle);
    }

    fn stopped(&mut self, ctx: &mut Self::Context) {
        self.devices.actors.remove(&self.id, &ctx.address());
    }
}

impl Drop for DeviceActor {
    fn drop(&mut self) {
        crate::metrics::DEVICE_ACTORS.decrement(1);
    }
}

impl Device {
    /// Publishes a change of this object; see [`WriteContext::publish`].
    fn publish(&self, event: PublishedChange, origin: &Origin) {
        self.context.publish(self.id, event, Cause::of(origin));
    }

    /// Looks up the access data of the managed object and checks that the caller may write to it. It is read each
    /// time, because another process may have changed the owner. `has_fragment` returns whether the write
    /// contains a fragment.
    ///
    /// # Errors
    /// `NotFound` when the object does not exist, `Forbidden`, `Unavailable` or `Database`.
    async fn authorize(
        &mut self,
        origin: &Origin,
        has_fragment: impl Fn(&SourceObject, &str) -> bool,
    ) -> Result<SourceObject> {
        let client = self.context.database.loader().await?;
        let Some(source) =
            platform_store::access::find_source(&*client, &self.context.tenant, self.id).await?
        else {
            self.gone = true;
            return Err(Error::not_found(Noun::ManagedObject, self.id));
        };
        if source.permits(origin.accessor(), has_fragment) { Ok(source) } else { Err(Error::Forbidden) }
    }

    /// Returns whether the caller may write another object. It returns true if the object does not exist; the
    /// statement then reports that.
    async fn may_write(&self, id: ManagedObjectId, origin: &Origin) -> Result<bool> {
        self.is_permitted(id, origin.accessor()).await
    }

    /// Returns whether the caller has the role or owns another object, whatever its device permissions are. It returns
    /// true if the object does not exist, like [`Device::may_write`].
    async fn owns(&self, id: ManagedObjectId, origin: &Origin) -> Result<bool> {
        let authority = match origin.authority {
            Authority::Role => Authority::Role,
            Authority::Limited(_) => Authority::Limited(Grants::default()),
        };
        self.is_permitted(id, Accessor { authority: &authority, ..origin.accessor() }).await
    }

    async fn is_permitted(&self, id: ManagedObjectId, accessor: Accessor<'_>) -> Result<bool> {
        if matches!(accessor.authority, Authority::Role) {
            return Ok(true);
        }
        let client = self.context.database.loader().await?;
        let source = platform_store::access::find_source(&*client, &self.context.tenant, id).await?;
        Ok(source.is_none_or(|source| source.permits(accessor, SourceObject::has_fragment)))
    }
}
