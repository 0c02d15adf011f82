//! The operations of one device.
//!
//! Operations wait in the device's queue in order of arrival. On one server this actor keeps the order; between
//! servers the statement that queues them does. An agent is notified of new operations and queries the others.

use std::sync::Arc;

use actix::prelude::*;
use platform_model::access::Authority;
use platform_model::data::audit_record::{AttributeChange, NewAuditRecord};
use platform_model::data::operation::{
    NewOperation, Operation, OperationPatch, OperationStatus, unknown_device,
};
use platform_model::error::{Error, Noun, Result};
use platform_model::id::{ManagedObjectId, OperationId};
use platform_model::origin::Origin;
use platform_model::realtime::change::PublishedChange;
use platform_model::realtime::publication::Publication;
use platform_model::timestamp::Timestamp;
use platform_store::data::operations::{OperationUpdate, Queued, ToQueue};
use platform_store::writer::{Change, Written};

use super::{Cause, Device, DeviceActor, MAX_ATTEMPTS};

/// Queues an operation (O-01, O-04).
///
/// Sent by the HTTP layer for `POST /devicecontrol/operations`. The reply is the PENDING operation. Publishes CREATE
/// on the device's channel and sends the operation to its agents (B-04). In mode TRANSIENT nothing is stored and the
/// reply has no id. CREATE is published on the device's channel then, but no agent is notified, because it could not
/// report the result of an operation without an id.
///
/// # Errors
/// `Invalid` when the device does not exist or belongs to no agent, `Forbidden`; `Unavailable` or `Database`, and
/// nothing was published then.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<Arc<Operation>>")]
pub struct QueueOperation {
    /// The body of the request.
    pub operation: Arc<NewOperation>,
    /// The caller and the mode of the request.
    pub origin: Arc<Origin>,
}

/// Changes status, failure reason or fragments of an operation, and writes an audit record if the status changes
/// (O-02, O-03, O-05, O-09).
///
/// Sent by the HTTP layer for `PUT /devicecontrol/operations/<id>`. The reply is the current operation. An update
/// without changes writes and publishes nothing. Otherwise it publishes UPDATE; in mode TRANSIENT nothing else
/// happens (M-02).
///
/// # Errors
/// `NotFound`, `Forbidden`, `Conflict` when others change it all the time or it is not in the required status,
/// `PreconditionFailed` (C-23), `Unavailable` or `Database`.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<Arc<Operation>>")]
pub struct UpdateOperation {
    /// The operation as the HTTP layer read it.
    pub operation: Arc<Operation>,
    /// The body of the request.
    pub patch: Arc<OperationPatch>,
    /// The status that the operation must have, so that only one of several agents gets it (H-07). `None` allows any
    /// status.
    pub only_from: Option<OperationStatus>,
    /// The caller and the mode of the request.
    pub origin: Arc<Origin>,
}

impl Handler<QueueOperation> for DeviceActor {
    type Result = AtomicResponse<Self, Result<Arc<Operation>>>;

    fn handle(&mut self, message: QueueOperation, _: &mut Self::Context) -> Self::Result {
        self.exclusively(async move |device| device.queue_operation(message).await)
    }
}

impl Handler<UpdateOperation> for DeviceActor {
    type Result = AtomicResponse<Self, Result<Arc<Operation>>>;

    fn handle(&mut self, message: UpdateOperation, _: &mut Self::Context) -> Self::Result {
        self.exclusively(async move |device| device.update_operation(message).await)
    }
}

impl Device {
    async fn queue_operation(&mut self, message: QueueOperation) -> Result<Arc<Operation>> {
        let QueueOperation { operation: new, origin } = message;
        if !origin.mode.stores() {
            return self.publish_unstored_operation(&new, &origin).await;
        }
        if matches!(origin.authority, Authority::Limited(_)) {
            self.authorize_queueing(&new, &origin).await?;
        }
        let to_queue = ToQueue { device: self.id, bulk_operation: None, fragments: new.fragments.clone() };
        let change = Change::QueueOperation(self.context.tenant.clone(), Arc::new(to_queue));

        let cause = Cause::of(&origin);

        let written = self.context.commit(change, &origin, move |written| match written {
            Written::Queued(queued) => {
                let Queued { operation, agents } = Queued::clone(queued);
                Some(Publication::Queued { operation: Arc::new(operation), agents, cause: cause.clone() })
            }
            _ => None,
        });

        match written.await {
            Ok(Written::Queued(queued)) => Ok(Arc::new(queued.operation.alone())),
            Ok(_) => {
                self.authorize_queueing(&new, &origin).await?;
                Err(without_agent(self.id))
            }
            // The device was deleted between the look-up and the write.
            Err(error) if error.is_foreign_key_violation() => Err(unknown_device(self.id)),
            Err(error) => Err(error),
        }
    }

    /// Authorizes queueing. On POST a missing device is an invalid value in the body, not a 404 (E-01).
    async fn authorize_queueing(&mut self, new: &NewOperation, origin: &Origin) -> Result<()> {
        match self.authorize(origin, |_, name| new.fragments.get(name).is_some()).await {
            Ok(_) => Ok(()),
            Err(Error::NotFound { .. }) => Err(unknown_device(self.id)),
            Err(error) => Err(error),
        }
    }

    /// Handles mode TRANSIENT: the operation is published and not stored (M-02).
    async fn publish_unstored_operation(
        &mut self,
        new: &NewOperation,
        origin: &Origin,
    ) -> Result<Arc<Operation>> {
        self.authorize_queueing(new, origin).await?;
        if !platform_store::data::operations::has_agent(&self.context.database, &self.context.tenant, self.id)
            .await?
        {
            return Err(without_agent(self.id));
        }
        let operation = Arc::new(new.queued());
        self.publish(PublishedChange::OperationCreated(operation.clone()), origin);
        self.context.published().await?;
        Ok(operation)
    }

    async fn update_operation(&mut self, message: UpdateOperation) -> Result<Arc<Operation>> {
        let UpdateOperation { operation: mut current, patch, only_from, origin } = message;
        let id = current.id.ok_or_else(|| Error::not_found(Noun::Operation, "null"))?;
        self.authorize(&origin, |_, name| current.fragments.get(name).is_some()).await?;
        for _ in 0..MAX_ATTEMPTS {
            origin.check_revision(Noun::Operation, id, current.revision)?;
            // The operation may have changed since it was read. Then the revision prevents the write, and the current
            // status is checked.
            if only_from.is_some_and(|status| status != current.status) {
                return Err(status_changed(id, current.status));
            }
            let mut operation = Operation::clone(&current);
            let changes = patch.apply(&mut operation);
            if changes.is_empty() {
                return Ok(current);
            }
            if !origin.mode.stores() {
                let operation = self.publish_operation_update(operation, &origin);
                self.context.published().await?;
                return Ok(operation);
            }
            let (before, after) = (current.fragments.bytes(), operation.fragments.bytes());
            let is_recorded = operation.status != current.status;
            let (database, recorded) = (&self.context.database, if is_recorded { &*changes } else { &[] });
            database.ensure_recorded_growth(&self.context.tenant, before, after, recorded)?;
            let audit = if is_recorded {
                Some((self.context.ids.next()?, audit_record(id, changes, &origin)))
            } else {
                None
            };
            let update = Arc::new(OperationUpdate { operation, audit });
            let change = Change::UpdateOperation(self.context.tenant.clone(), update.clone());
            let stored = Operation { revision: update.operation.revision + 1, ..update.operation.clone() };
            let changed = Arc::new(stored);
            let published = PublishedChange::OperationUpdated(changed.clone());

            let written = self.context.commit_stored(change, &origin, self.id, published).await?;

            if matches!(written, Written::Stored) {
                return Ok(changed);
            }
            let (database, tenant) = (&self.context.database, &self.context.tenant);
            current = Arc::new(platform_store::data::operations::get_operation(database, tenant, id).await?);
        }
        Err(contended(id))
    }

    fn publish_operation_update(&self, operation: Operation, origin: &Origin) -> Arc<Operation> {
        let operation = Arc::new(operation);
        self.publish(PublishedChange::OperationUpdated(operation.clone()), origin);
        operation
    }
}

fn audit_record(id: OperationId, changes: Vec<AttributeChange>, origin: &Origin) -> NewAuditRecord {
    NewAuditRecord {
        type_: "Operation",
        activity: "Operation updated",
        time: Timestamp::now(),
        text: "Operation updated".into(),
        source: id.to_string(),
        user: origin.user.to_string(),
        application: origin.application.clone(),
        severity: "warning".into(),
        changes,
    }
}

fn contended(id: OperationId) -> Error {
    let message = format!("operation '{id}' is being changed by somebody else, try again");
    Error::Conflict { noun: Noun::Operation, message }
}

/// Returns the error for an operation that another client has taken (H-07).
fn status_changed(id: OperationId, status: OperationStatus) -> Error {
    let message = format!("operation '{id}' is {} already", status.as_str());
    Error::Conflict { noun: Noun::Operation, message }
}

/// Returns the error for a device without an agent (O-01).
fn without_agent(device: ManagedObjectId) -> Error {
    Error::Invalid(format!(
        "Invalid value of 'deviceId': managed object '{device}' is neither an agent nor below one by childDevices links"
    ))
}
