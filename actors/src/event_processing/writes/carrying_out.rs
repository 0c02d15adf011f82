//! Executes writes by calling the same functions as the requests of clients.

use std::sync::Arc;
use std::time::{Duration, Instant};

use actix::prelude::*;
use platform_model::devices::managed_object::Cascade;
use platform_model::error::{Error, Result};
use platform_model::id::ManagedObjectId;
use platform_model::origin::Origin;
use platform_store::data::alarms;
use platform_store::data::events;
use platform_store::data::measurements::rows;
use platform_store::data::operations;
use tokio::time::sleep;

use super::TenantWrites;
use super::module_write::{Children, ModuleWrite};
use crate::device::{
    AddChildren, DeleteEvent, DeleteManagedObject, DeviceActor, QueueOperation, RaiseAlarm, UpdateAlarm,
    UpdateEvent, UpdateManagedObject, UpdateOperation,
};
use crate::platform::Tenant;
use crate::writes::{NewMeasurements, NewObject};

/// The time for which a write is retried that fails at present.
const PATIENCE: Duration = Duration::from_secs(30);
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(4);

impl TenantWrites {
    /// Returns the managed object that a write concerns, which determines its lane; `None` for an object that
    /// does not exist yet.
    ///
    /// # Errors
    /// Returns `NotFound`, `Unavailable` or `Database`.
    pub(super) async fn device_of(&self, write: &ModuleWrite) -> Result<Option<ManagedObjectId>> {
        let (database, tenant) = (&self.reads, &self.tenant);
        Ok(Some(match write {
            ModuleWrite::CreateManagedObject { .. } => return Ok(None),
            ModuleWrite::UpdateManagedObject(id, ..) | ModuleWrite::DeleteManagedObject(id) => *id,
            ModuleWrite::CreateEvent(event) => event.source,
            ModuleWrite::CreateMeasurements(measurements) => {
                return Ok(measurements.first().map(|measurement| measurement.source));
            }
            ModuleWrite::CreateOperation(operation) => operation.device,
            ModuleWrite::CreateAlarm(alarm) => alarm.source,
            ModuleWrite::UpdateEvent(id, _) | ModuleWrite::DeleteEvent(id) => {
                self.patiently(async || events::get_event(database, tenant, *id).await).await?.source
            }
            ModuleWrite::DeleteMeasurement(id) => {
                let get = async || rows::get_measurement(database, tenant, *id).await;
                self.patiently(get).await?.source
            }
            ModuleWrite::UpdateOperation(id, _) => {
                self.patiently(async || operations::get_operation(database, tenant, *id).await).await?.device
            }
            ModuleWrite::UpdateAlarm(id, _) => {
                self.patiently(async || alarms::get_alarm(database, tenant, *id).await).await?.source
            }
        }))
    }

    /// Executes a write. It reads the current state of what it changes, because earlier writes in its lane may
    /// have changed it.
    ///
    /// # Errors
    /// Returns the error that a client's request would receive, and `Conflict` if this process no longer holds
    /// the tenant's modules.
    pub(super) async fn carry_out(&self, write: &ModuleWrite, origin: &Arc<Origin>) -> Result<()> {
        let (database, tenant, origin) = (&self.reads, &self.tenant, origin.clone());
        match write {
            ModuleWrite::CreateManagedObject { object, owner, children } => {
                let mut by = Origin::clone(&origin);
                by.user = owner.clone().unwrap_or(by.user);
                let new = NewObject { object: object.clone(), origin: by };
                let create = async || self.current_tenant()?.create_managed_object(new.clone()).await;
                match self.patiently(create).await?.id {
                    Some(id) => self.add_children(id, children, &origin).await,
                    None => Ok(()),
                }
            }
            ModuleWrite::UpdateManagedObject(id, patch, children) => {
                if children.is_empty() || !patch.is_empty() {
                    let message = UpdateManagedObject { patch: patch.clone(), origin: origin.clone() };
                    self.ask(*id, message).await?;
                }
                self.add_children(*id, children, &origin).await
            }
            ModuleWrite::DeleteManagedObject(id) => {
                self.ask(*id, DeleteManagedObject { cascade: Cascade::default(), origin }).await
            }
            ModuleWrite::CreateEvent(event) => {
                let create = async || self.current_tenant()?.create_event(event.clone(), &origin, None).await;
                self.patiently(create).await.map(drop)
            }
            ModuleWrite::UpdateEvent(id, patch) => {
                let get = async || events::get_event(database, tenant, *id).await;
                let event = Arc::new(self.patiently(get).await?);
                let source = event.source;
                self.ask(source, UpdateEvent { event, patch: patch.clone(), origin }).await.map(drop)
            }
            ModuleWrite::DeleteEvent(id) => {
                let get = async || events::get_event(database, tenant, *id).await;
                let event = Arc::new(self.patiently(get).await?);
                self.ask(event.source, DeleteEvent { event, origin }).await
            }
            ModuleWrite::CreateMeasurements(measurements) => {
                let new = NewMeasurements { measurements: measurements.clone(), origin: (*origin).clone() };
                let create = async || self.current_tenant()?.create_measurements(new.clone(), None).await;
                self.patiently(create).await.map(drop)
            }
            ModuleWrite::DeleteMeasurement(id) => {
                self.patiently(async || self.current_tenant()?.delete_measurement(*id, &origin).await).await
            }
            ModuleWrite::CreateOperation(operation) => {
                let message = QueueOperation { operation: operation.clone(), origin };
                self.ask(operation.device, message).await.map(drop)
            }
            ModuleWrite::UpdateOperation(id, patch) => {
                let get = async || operations::get_operation(database, tenant, *id).await;
                let operation = Arc::new(self.patiently(get).await?);
                let (device, patch) = (operation.device, patch.clone());
                let message = UpdateOperation { operation, patch, only_from: None, origin };
                self.ask(device, message).await.map(drop)
            }
            ModuleWrite::CreateAlarm(alarm) => {
                self.ask(alarm.source, RaiseAlarm { alarm: alarm.clone(), origin }).await.map(drop)
            }
            ModuleWrite::UpdateAlarm(id, patch) => {
                let get = async || alarms::get_alarm(database, tenant, *id).await;
                let alarm = Arc::new(self.patiently(get).await?);
                let source = alarm.source;
                self.ask(source, UpdateAlarm { alarm, patch: patch.clone(), origin }).await.map(drop)
            }
        }
    }

    async fn add_children(
        &self,
        to: ManagedObjectId,
        children: &Children,
        origin: &Arc<Origin>,
    ) -> Result<()> {
        for (kind, children) in children {
            let (kind, children, origin) = (*kind, children.clone(), origin.clone());
            self.ask(to, AddChildren { kind, children, origin }).await?;
        }
        Ok(())
    }

    /// Sends a message to a device's actor, and retries while the actor cannot process it.
    async fn ask<M, T>(&self, device: ManagedObjectId, message: M) -> Result<T>
    where
        M: Message<Result = Result<T>> + Clone + Send + 'static,
        T: Send + 'static,
        DeviceActor: Handler<M>,
    {
        self.patiently(async || self.current_tenant()?.ask_device(device, message.clone()).await).await
    }

    /// Returns the current instance of the tenant, whose actors may have been restarted.
    fn current_tenant(&self) -> Result<Arc<Tenant>> {
        let platform = self.platform.upgrade().ok_or_else(|| Error::unavailable("the server stops"))?;
        Ok(platform.tenant(&self.tenant))
    }

    /// Retries work that cannot be done at present, with growing pauses. Time during which the database is
    /// unreachable or its disk is full does not count against the limit: the module is not at fault, and
    /// nothing new is stored meanwhile. A write that succeeded without its confirmation arriving is made twice,
    /// like that of a client that repeats its request.
    async fn patiently<T>(&self, work: impl AsyncFn() -> Result<T>) -> Result<T> {
        let (mut tried_since, mut pause) = (Instant::now(), FIRST_PAUSE);
        loop {
            let outcome = work().await;
            if !self.reads.is_reachable() || !self.reads.has_room() {
                tried_since = Instant::now();
            }
            match outcome {
                Err(Error::Unavailable(_) | Error::DiskFull | Error::Moving(_) | Error::Contended)
                    if tried_since.elapsed() < PATIENCE =>
                {
                    sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
                outcome => return outcome,
            }
        }
    }
}
