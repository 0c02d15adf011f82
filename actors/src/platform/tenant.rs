//! A tenant for the HTTP layer: its devices, its sessions, and the writes that need no actor.

use std::sync::Arc;

use actix::prelude::*;
use parking_lot::Mutex;
use platform_model::access::Authority;
use platform_model::data::alarm::AlarmFilter;
use platform_model::data::event::{Event, EventFilter, NewEvent};
use platform_model::data::measurement::{Measurement, MeasurementFilter};
use platform_model::data::operation::OperationFilter;
use platform_model::devices::managed_object::ManagedObject;
use platform_model::devices::reference::LinkKind;
use platform_model::error::{Error, Result};
use platform_model::id::{BinaryId, IdGenerator, ManagedObjectId, MeasurementId, TenantId};
use platform_model::links::Links;
use platform_model::origin::Origin;
use platform_store::tenancy::tenant_limits::{Counted, TenantLimits};

use super::{ActorThread, Platform};
use crate::background::bulk_alarm_update::delete_alarms;
use crate::consumers::ConsumerReaders;
use crate::device::{CreateChild, DeviceActor, Devices};
use crate::feed::Feeds;
use crate::hub::{NotificationHub, SubscriptionCounts};
use crate::session::arriving::Requested;
use crate::session::dispatcher::SessionDispatcher;
use crate::session::{ClientId, NewSession, SessionActor, SessionEnvironment, SessionHere, Sessions};
use crate::tenant::{StartDevice, TenantActor, place, place_of_tenant};
use crate::writes::{self, NewMeasurements, NewObject, PublicationTurn};

/// A tenant for the HTTP layer.
pub struct Tenant {
    pub(super) address: Addr<TenantActor>,
    pub(super) devices: Arc<Devices>,
    pub(super) sessions: Arc<Sessions>,
    /// The data that the sessions of the tenant share.
    pub(super) environment: Arc<SessionEnvironment>,
    pub(super) contexts: Vec<writes::WriteContext>,
    pub(super) ids: Arc<IdGenerator>,
    pub(super) sessions_per_user: Option<usize>,
    pub(super) limits: Arc<TenantLimits>,
}

impl Platform {
    /// Creates the parts of a tenant, without a query.
    pub(super) fn start_tenant(&self, id: &TenantId) -> Tenant {
        let arbiter = &self.threads[place_of_tenant(id, self.threads.len())].arbiter;
        let (devices, sessions) = (Arc::<Devices>::default(), Arc::<Sessions>::default());
        let counts = SubscriptionCounts::default();
        let recorder = self.traces.recorder(id, &self.transfers);
        let (database, arbiter_of_hub) = (self.database.clone(), arbiter.clone());
        let hub =
            NotificationHub::new(id.clone(), database, counts.clone(), arbiter_of_hub, recorder.clone());
        let feeds = Feeds::default();
        let consumers = Arc::new(ConsumerReaders::new(id.clone(), self.database.clone()));
        let context = |thread: &ActorThread| writes::WriteContext {
            tenant: id.clone(),
            database: self.database.clone(),
            writer: thread.writer.clone(),
            heartbeats: thread.heartbeats.clone(),
            hub: hub.clone(),
            subscription_counts: counts.clone(),
            consumers: consumers.clone(),
            feeds: feeds.clone(),
            ids: self.ids.clone(),
            limits: self.limits.clone(),
            recorder: recorder.clone(),
        };
        let contexts: Vec<writes::WriteContext> = self.threads.iter().map(context).collect();
        let places: Vec<_> =
            self.threads.iter().map(|thread| thread.arbiter.clone()).zip(contexts.iter().cloned()).collect();
        let environment = Arc::new(self.session_environment(&contexts[0], sessions.clone()));
        let of_actor = devices.clone();
        Tenant {
            address: TenantActor::start_in_arbiter(arbiter, move |_| TenantActor::new(of_actor, places)),
            devices,
            sessions,
            limits: environment.of_tenant.clone(),
            environment,
            contexts,
            ids: self.ids.clone(),
            sessions_per_user: self.limits().sessions_per_user,
        }
    }

    fn session_environment(
        &self,
        context: &writes::WriteContext,
        sessions: Arc<Sessions>,
    ) -> SessionEnvironment {
        let id = &context.tenant;
        SessionEnvironment {
            id: id.clone(),
            hub: context.hub.clone(),
            consumers: context.consumers.clone(),
            recorder: context.recorder.clone(),
            presence: self.presence.clone(),
            sessions,
            of_users: Mutex::default(),
            requested: Requested::default(),
            limits: self.limits.clone(),
            of_tenant: self.database.tenant_limits().of(id),
            transfers: self.transfers.clone(),
            counters: self.database.statistics().of(id),
        }
    }
}

impl Tenant {
    /// Sends a message to the actor of a device and starts the actor if it is not running. If the actor stops or
    /// panics meanwhile, the message is sent once more to a new one.
    ///
    /// # Errors
    /// The handler's error; `Unavailable` when the actor cannot be reached twice in a row.
    pub async fn ask_device<M, T>(&self, id: ManagedObjectId, message: M) -> Result<T>
    where
        M: Message<Result = Result<T>> + Clone + Send + 'static,
        T: Send + 'static,
        DeviceActor: Handler<M>,
    {
        for _ in 0..2 {
            let device = match self.devices.actors.find(&id) {
                Some(device) => device,
                None => self.address.send(StartDevice { id }).await.map_err(Error::unavailable)?,
            };
            match device.send(message.clone()).await {
                Ok(reply) => return reply,
                Err(MailboxError::Closed | MailboxError::Timeout) => {}
            }
        }
        Err(Error::unavailable("the device's actor stopped twice"))
    }

    /// Deletes the matching alarms and publishes the first thousand deletions (A-03, B-06). If the future is dropped,
    /// the remaining alarms stay.
    ///
    /// # Errors
    /// `Contended`, `Timeout`, `Unavailable` or `Database`; some of the alarms may be deleted then.
    pub async fn delete_alarms(&self, filter: &AlarmFilter, links: &Links) -> Result<()> {
        delete_alarms(self.context(), &self.devices, filter, links).await
    }

    /// Deletes operations; see [`writes::delete_operations`].
    ///
    /// # Errors
    /// The errors of that function.
    pub async fn delete_operations(&self, filter: &OperationFilter, links: &Links) -> Result<()> {
        writes::delete_operations(self.context(), filter, links).await
    }

    /// Returns the context for publications that do not come from an actor.
    pub(crate) fn context(&self) -> &writes::WriteContext {
        &self.contexts[0]
    }

    pub(super) fn forget_options(&self) {
        self.devices.mappings.forget();
    }

    /// Creates a managed object; see [`writes::create_object`]. If the user registered its device for a group, its
    /// first device is created in that group (N-04).
    ///
    /// # Errors
    /// `Unavailable` or `Database`; nothing was published then.
    pub async fn create_managed_object(&self, new: NewObject) -> Result<Arc<ManagedObject>> {
        if let Some(group) = writes::placement_group(self.context(), &new).await?
            && let Some(device) = self.create_in_group(group, &new).await?
        {
            return Ok(device);
        }
        let id = ManagedObjectId(self.ids.next()?);
        writes::create_object(&self.contexts[place(id, self.contexts.len())], id, new).await
    }

    /// Creates a device in a group: the object and its link in one transaction, then the placement is deleted. A
    /// crash between the two does no harm, because the user has a device then. Returns `None` if the group no longer
    /// exists.
    async fn create_in_group(
        &self,
        group: ManagedObjectId,
        new: &NewObject,
    ) -> Result<Option<Arc<ManagedObject>>> {
        let NewObject { object, origin } = new;
        // The registration authorizes the link, because the device's user may not write groups.
        let by_registration = Origin { authority: Authority::Role, ..origin.clone() };
        let create = CreateChild {
            kind: LinkKind::ChildAssets,
            object: Arc::new(object.clone()),
            origin: Arc::new(by_registration),
        };
        match self.ask_device(group, create).await {
            Ok(device) => {
                writes::forget_placement(self.context(), &origin.user).await;
                Ok(Some(device))
            }
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Creates a managed object whose file is a finished upload; see [`writes::create_binary`].
    ///
    /// # Errors
    /// `Unavailable` or `Database`; nothing was published then.
    pub async fn create_binary(&self, new: NewObject, binary: BinaryId) -> Result<Arc<ManagedObject>> {
        let id = ManagedObjectId(self.ids.next()?);
        writes::create_binary(&self.contexts[place(id, self.contexts.len())], id, new, binary).await
    }

    /// Stores measurements; see [`writes::create_measurements`].
    ///
    /// # Errors
    /// The errors of that function.
    pub async fn create_measurements(
        &self,
        new: NewMeasurements,
        turn: Option<PublicationTurn>,
    ) -> Result<Vec<Arc<Measurement>>> {
        let first = new.measurements.first().map_or(ManagedObjectId(0), |first| first.source);
        writes::create_measurements(&self.contexts[place(first, self.contexts.len())], new, turn).await
    }

    /// Creates an event; see [`writes::create_event`].
    ///
    /// # Errors
    /// `Invalid` when the source does not exist, `Forbidden`; `Unavailable` or `Database`, and nothing was published
    /// then.
    pub async fn create_event(
        &self,
        new: NewEvent,
        origin: &Origin,
        turn: Option<PublicationTurn>,
    ) -> Result<Arc<Event>> {
        // The context of the source's thread is used, so that notifications about a source have one order.
        let context = &self.contexts[place(new.source, self.contexts.len())];
        writes::create_event(context, new, origin, turn).await
    }

    /// Deletes the matching events; see [`writes::delete_events`].
    ///
    /// # Errors
    /// `Timeout`, `Unavailable` or `Database`; some of the events may be deleted then.
    pub async fn delete_events(&self, filter: &EventFilter, origin: &Origin) -> Result<()> {
        match self.contexts.first() {
            Some(context) => writes::delete_events(context, filter, origin).await,
            None => Ok(()),
        }
    }

    /// Deletes one measurement; see [`writes::delete_measurement`].
    ///
    /// # Errors
    /// The errors of that function.
    pub async fn delete_measurement(&self, id: MeasurementId, origin: &Origin) -> Result<()> {
        writes::delete_measurement(self.context(), id, origin).await
    }

    /// Deletes measurements; see [`writes::delete_measurements`].
    ///
    /// # Errors
    /// The errors of that function.
    pub async fn delete_measurements(&self, filter: MeasurementFilter, origin: &Origin) -> Result<()> {
        writes::delete_measurements(self.context(), filter, origin).await
    }

    /// Starts a session on the calling thread. Returns `None` when the user has reached the limit of sessions (B-23).
    ///
    /// # Errors
    /// `QuotaExceeded` when the tenant has reached its limit (Z-20); `Unavailable` or `Database` when the sessions of
    /// the user at other servers cannot be counted.
    pub async fn start_session(&self, new: NewSession) -> Result<Option<ClientId>> {
        let elsewhere = self.sessions_elsewhere(&new.user).await?;
        self.note_sessions();
        Box::pin(self.context().database.agree_on(&self.limits, Counted::Sessions)).await;
        self.environment.start_session(new, &elsewhere, &SessionDispatcher::here())
    }

    /// Returns a session of this tenant.
    pub fn session(&self, client: ClientId) -> Option<Addr<SessionActor>> {
        self.sessions.find(&client)
    }

    /// Returns a session for a message of this user. A session that is on its way for another user does not count,
    /// because it arrives only if that user is its owner.
    pub fn session_for(&self, client: ClientId, user: &str) -> Option<Addr<SessionActor>> {
        if self.environment.requested.is_for_another(client, user) {
            return None;
        }
        self.session(client)
    }

    /// Returns whether a session that runs on the calling thread is that of a client of this tenant.
    pub fn has_session_here(&self, session: &SessionHere, client: ClientId) -> bool {
        session.is(client, &self.sessions)
    }

    /// Returns a session of this tenant that runs on the calling thread.
    pub fn session_here(&self, client: ClientId) -> Option<SessionHere> {
        self.sessions.find_here(client)
    }
}
