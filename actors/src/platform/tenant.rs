//! A tenant as the edge sees it: its devices, its sessions, and what is written without an actor.

use std::sync::Arc;

use actix::prelude::*;

use crate::bayeux::Pattern;
use crate::bulk_alarm_update::delete_alarms;
use crate::courier::Courier;
use crate::device::{self, CreateChild, DeviceActor, NewMeasurements, NewObject, Turn};
use crate::error::{Error, Result};
use crate::hub::HasListeners;
use crate::model::access::Authority;
use crate::model::alarm::AlarmFilter;
use crate::model::event::{Event, EventFilter, NewEvent};
use crate::model::id::{BinaryId, IdGenerator, ManagedObjectId, MeasurementId};
use crate::model::links::Links;
use crate::model::managed_object::ManagedObject;
use crate::model::measurement::{Measurement, MeasurementFilter};
use crate::model::operation::{Operation, OperationFilter};
use crate::model::operation_diagnosis::Findings;
use crate::model::origin::Origin;
use crate::model::reference::LinkKind;
use crate::registry::Registry;
use crate::session::{ClientId, SessionActor, Sessions};
use crate::store::operation_diagnosis::find_out;
use crate::tenant::{NewSession, StartDevice, StartSession, TenantActor, place};

/// A tenant as the edge sees it.
pub struct Tenant {
    pub(super) address: Addr<TenantActor>,
    pub(super) devices: Arc<Registry<ManagedObjectId, DeviceActor>>,
    pub(super) sessions: Arc<Sessions>,
    pub(super) contexts: Vec<device::Context>,
    pub(super) ids: Arc<IdGenerator>,
}

impl Tenant {
    /// Sends a message to the actor of a device, starting it when it does not live. An actor that stopped meanwhile,
    /// or panicked, is started once more.
    ///
    /// # Errors
    /// What the handler answers; `Unavailable` when the actor cannot be reached twice in a row.
    pub async fn ask_device<M, T>(&self, id: ManagedObjectId, message: M) -> Result<T>
    where
        M: Message<Result = Result<T>> + Clone + Send + 'static,
        T: Send + 'static,
        DeviceActor: Handler<M>,
    {
        for _ in 0..2 {
            let device = match self.devices.find(&id) {
                Some(device) => device,
                None => self.address.send(StartDevice { id }).await?,
            };
            match device.send(message.clone()).await {
                Ok(reply) => return reply,
                Err(MailboxError::Closed | MailboxError::Timeout) => {}
            }
        }
        Err(Error::unavailable("the device's actor stopped twice"))
    }

    /// Deletes what matches; tells of the first thousand (A-03, B-06). Who goes away earlier leaves the rest.
    ///
    /// # Errors
    /// `Contended`, `Timeout`, `Unavailable` or `Database`; then part of them may be gone.
    pub async fn delete_alarms(&self, filter: &AlarmFilter, links: &Links) -> Result<()> {
        delete_alarms(self.context(), filter, links).await
    }

    /// Finds out why an operation is PENDING.
    ///
    /// # Errors
    /// `NotFound` when its device is gone; `Timeout`, `Unavailable` or `Database`.
    pub async fn diagnose(&self, operation: Operation) -> Result<Findings> {
        let context = self.context();
        let mut findings = find_out(&context.database, &context.tenant, operation).await?;
        for agent in &mut findings.agents {
            agent.subscribed = context.hub.send(HasListeners(Pattern::Agent(agent.id))).await?;
        }
        Ok(findings)
    }

    /// Deletes operations; see [`device::delete_operations`].
    ///
    /// # Errors
    /// As that.
    pub async fn delete_operations(&self, filter: &OperationFilter, links: &Links) -> Result<()> {
        device::delete_operations(self.context(), filter, links).await
    }

    /// What is told without an actor is told by this.
    pub(crate) fn context(&self) -> &device::Context {
        &self.contexts[0]
    }

    pub(super) fn forget_options(&self) {
        // All threads share them.
        self.contexts.iter().take(1).for_each(|context| context.mappings.forget());
    }

    /// Creates a managed object; see [`device::create`]. The first device of a registered device's user is created in the group
    /// it was registered for (N-04).
    ///
    /// # Errors
    /// `Unavailable` or `Database`: then nothing was published.
    pub async fn create_managed_object(&self, new: NewObject) -> Result<Arc<ManagedObject>> {
        if let Some(group) = device::wanted_group(self.context(), &new).await?
            && let Some(device) = self.create_in_group(group, &new).await?
        {
            return Ok(device);
        }
        let id = ManagedObjectId(self.ids.next());
        device::create(&self.contexts[place(id, self.contexts.len())], id, new).await
    }

    /// Creates a device in a group: object and link in one transaction, and only then is the placement forgotten; a crash
    /// between the two does no harm, for the user has a device then. `None` when the group has gone.
    async fn create_in_group(
        &self,
        group: ManagedObjectId,
        new: &NewObject,
    ) -> Result<Option<Arc<ManagedObject>>> {
        let NewObject { object, origin } = new;
        // By right of who registered the device: its user may not write groups.
        let by_registration = Origin { authority: Authority::Role, ..origin.clone() };
        let create = CreateChild {
            kind: LinkKind::ChildAssets,
            object: Arc::new(object.clone()),
            origin: Arc::new(by_registration),
        };
        match self.ask_device(group, create).await {
            Ok(device) => {
                device::forget_placement(self.context(), &origin.user).await;
                Ok(Some(device))
            }
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Creates a managed object whose content is a finished upload; see [`device::create_binary`].
    ///
    /// # Errors
    /// `Unavailable` or `Database`: then nothing was published.
    pub async fn create_binary(&self, new: NewObject, binary: BinaryId) -> Result<Arc<ManagedObject>> {
        let id = ManagedObjectId(self.ids.next());
        device::create_binary(&self.contexts[place(id, self.contexts.len())], id, new, binary).await
    }

    /// Stores measurements; see [`device::measure`].
    ///
    /// # Errors
    /// As that.
    pub async fn create_measurements(
        &self,
        new: NewMeasurements,
        turn: Option<Turn>,
    ) -> Result<Vec<Arc<Measurement>>> {
        let first = new.measurements.first().map_or(ManagedObjectId(0), |first| first.source);
        device::measure(&self.contexts[place(first, self.contexts.len())], new, turn).await
    }

    /// Creates an event; see [`device::create_event`].
    ///
    /// # Errors
    /// `Invalid` when the source does not exist, `Forbidden`; `Unavailable` or `Database`: then nothing was published.
    pub async fn create_event(
        &self,
        new: NewEvent,
        origin: &Origin,
        turn: Option<Turn>,
    ) -> Result<Arc<Event>> {
        // By way of the thread of its source, so that what is told of a source has one order.
        let context = &self.contexts[place(new.source, self.contexts.len())];
        device::create_event(context, new, origin, turn).await
    }

    /// Deletes what a filter finds; see [`device::delete_events`].
    ///
    /// # Errors
    /// `Timeout`, `Unavailable` or `Database`; then part of them may be gone.
    pub async fn delete_events(&self, filter: &EventFilter, origin: &Origin) -> Result<()> {
        match self.contexts.first() {
            Some(context) => device::delete_events(context, filter, origin).await,
            None => Ok(()),
        }
    }

    /// Deletes one measurement; see [`device::forget`].
    ///
    /// # Errors
    /// As that.
    pub async fn delete_measurement(&self, id: MeasurementId, origin: &Origin) -> Result<()> {
        device::forget(self.context(), id, origin).await
    }

    /// Deletes measurements; see [`device::forget_all`].
    ///
    /// # Errors
    /// As that.
    pub async fn delete_measurements(&self, filter: MeasurementFilter, origin: &Origin) -> Result<()> {
        device::forget_all(self.context(), filter, origin).await
    }

    /// Starts a session on the calling thread. `None` when the user has as many as allowed (B-23).
    ///
    /// # Errors
    /// `Unavailable` when the tenant's actor died this moment.
    pub async fn start_session(&self, new: NewSession) -> Result<Option<ClientId>> {
        let courier = Courier::here();
        Ok(self.address.send(StartSession { new, courier }).await?)
    }

    /// A living session.
    pub fn session(&self, client: ClientId) -> Option<Addr<SessionActor>> {
        self.sessions.find(&client)
    }
}
