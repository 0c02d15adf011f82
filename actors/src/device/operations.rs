//! Operations of one device.
//!
//! What a device is told to do waits in a queue, whose order is the order of arrival: here for one server, and in the statement
//! that queues for all of them. An agent is told of what is new and asks for the rest.

use std::sync::Arc;

use actix::prelude::*;

use super::{Cause, Context, DECISIONS, Device, DeviceActor};
use crate::error::{Error, Noun, Result};
use crate::hub::Event;
use crate::limits::NOTIFIED_DELETIONS;
use crate::model::access::Authority;
use crate::model::audit_record::{AttributeChange, NewAuditRecord};
use crate::model::id::{ManagedObjectId, OperationId};
use crate::model::links::Links;
use crate::model::operation::{
    NewOperation, Operation, OperationFilter, OperationPatch, OperationStatus, unknown_device,
};
use crate::model::origin::Origin;
use crate::model::timestamp::Timestamp;
use crate::store;
use crate::store::operation_collection;
use crate::store::operations::{OperationUpdate, ToQueue};
use crate::writer::{Change, Written};

/// Queues an operation (O-01, O-04).
///
/// Sent by the edge for `POST /devicecontrol/operations`. Replies with the operation, PENDING. Publishes CREATE of the device, and
/// hands the operation to its agents (B-04). In mode TRANSIENT nothing is stored, and the reply has no id: CREATE is published of
/// the device, but no agent is told, who could not report on an operation without an id.
///
/// # Errors
/// `Invalid` when the device does not exist or belongs to no agent, `Forbidden`; `Unavailable` or `Database`: then nothing was
/// published.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<Arc<Operation>>")]
pub struct QueueOperation {
    /// Body of the request.
    pub operation: Arc<NewOperation>,
    /// Who asks.
    pub origin: Arc<Origin>,
}

/// Changes status, reason of failure or fragments of an operation, and records another status (O-02, O-03, O-05, O-09).
///
/// Sent by the edge for `PUT /devicecontrol/operations/<id>`. Replies with the operation as it stands; a change that changes
/// nothing writes nothing and publishes nothing. Publishes UPDATE, which in mode TRANSIENT is all that happens (M-02).
///
/// # Errors
/// `NotFound`, `Forbidden`, `Conflict` when others change it all the time and when it is not in the status it must be in,
/// `Unavailable` or `Database`.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<Arc<Operation>>")]
pub struct UpdateOperation {
    /// The operation as the edge found it.
    pub operation: Arc<Operation>,
    /// Body of the request.
    pub patch: Arc<OperationPatch>,
    /// The status it must be in, so that of several who take the same operation one gets it (H-07). Any without.
    pub only_from: Option<OperationStatus>,
    /// Who asks.
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

/// Deletes what a filter finds, and publishes DELETE for each, up to a thousand (O-08, B-06). Many short transactions: who
/// stops halfway has deleted part of it and may ask again.
///
/// # Errors
/// `Timeout`, `Contended`, `Unavailable` or `Database`; then part of them may be gone.
pub(crate) async fn delete_operations(
    context: &Context,
    filter: &OperationFilter,
    links: &Links,
) -> Result<()> {
    let mut untold = NOTIFIED_DELETIONS;
    let mut deletion = operation_collection::deletion(&context.database, &context.tenant, filter);
    while let Some(gone) = deletion.next().await? {
        for (id, device) in gone.into_iter().take(untold) {
            untold -= 1;
            context.publish(device, Event::OperationDeleted(id), Cause::persistent(links));
        }
    }
    Ok(())
}

impl Device {
    async fn queue_operation(&mut self, message: QueueOperation) -> Result<Arc<Operation>> {
        let QueueOperation { operation: new, origin } = message;
        if !origin.mode.stores() {
            return self.tell_of_operation(&new, &origin).await;
        }
        if matches!(origin.authority, Authority::Limited(_)) {
            self.authorize_queueing(&new, &origin).await?;
        }
        let to_queue = ToQueue { device: self.id, bulk_operation: None, fragments: new.fragments.clone() };
        let change = Change::QueueOperation(self.context.tenant.clone(), Arc::new(to_queue));

        let written = self.context.writer.write(change, origin.fence()).await;

        match written {
            Ok(Written::Queued(queued)) => Ok(self.context.publish_queued(*queued, origin.cause())),
            Ok(_) => {
                self.authorize_queueing(&new, &origin).await?;
                Err(without_agent(self.id))
            }
            // The device was deleted between the look and the write.
            Err(error) if error.is_foreign_key_violation() => Err(unknown_device(self.id)),
            Err(error) => Err(error),
        }
    }

    /// On POST a missing device is a wrong value of the body, not a missing page (E-01).
    async fn authorize_queueing(&mut self, new: &NewOperation, origin: &Origin) -> Result<()> {
        match self.authorize(origin, |_, name| new.fragments.get(name).is_some()).await {
            Ok(_) => Ok(()),
            Err(Error::NotFound { .. }) => Err(unknown_device(self.id)),
            Err(error) => Err(error),
        }
    }

    /// Mode TRANSIENT: real-time processing only (M-02).
    async fn tell_of_operation(&mut self, new: &NewOperation, origin: &Origin) -> Result<Arc<Operation>> {
        self.authorize_queueing(new, origin).await?;
        if !store::operations::has_agent(&self.context.database, &self.context.tenant, self.id).await? {
            return Err(without_agent(self.id));
        }
        let operation = Arc::new(new.queued());
        self.publish(Event::OperationCreated(operation.clone()), origin);
        Ok(operation)
    }

    async fn update_operation(&mut self, message: UpdateOperation) -> Result<Arc<Operation>> {
        let UpdateOperation { operation: mut current, patch, only_from, origin } = message;
        let id = current.id.ok_or_else(|| Error::not_found(Noun::Operation, "null"))?;
        self.authorize(&origin, |_, name| current.fragments.get(name).is_some()).await?;
        for _ in 0..DECISIONS {
            // What was read may be old; then the revision stops the write, and what stands is looked at.
            if only_from.is_some_and(|status| status != current.status) {
                return Err(moved_on(id, current.status));
            }
            let mut operation = Operation::clone(&current);
            let changes = patch.apply(&mut operation);
            if changes.is_empty() {
                return Ok(current);
            }
            if !origin.mode.stores() {
                return Ok(self.tell_of_update(operation, &origin));
            }
            let audit = (operation.status != current.status)
                .then(|| (self.context.ids.next(), audit_record(id, changes, &origin)));
            let update = Arc::new(OperationUpdate { operation, audit });
            let change = Change::UpdateOperation(self.context.tenant.clone(), update.clone());

            let written = self.context.writer.write(change, origin.fence()).await?;

            if matches!(written, Written::Stored) {
                return Ok(self.tell_of_update(update.operation.clone(), &origin));
            }
            let (database, tenant) = (&self.context.database, &self.context.tenant);
            current = Arc::new(store::operations::get_operation(database, tenant, id).await?);
        }
        Err(contended(id))
    }

    fn tell_of_update(&self, operation: Operation, origin: &Origin) -> Arc<Operation> {
        let operation = Arc::new(operation);
        self.publish(Event::OperationUpdated(operation.clone()), origin);
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

/// Somebody else was first (H-07).
fn moved_on(id: OperationId, status: OperationStatus) -> Error {
    let message = format!("operation '{id}' is {} already", status.as_str());
    Error::Conflict { noun: Noun::Operation, message }
}

/// A target that nobody controls (O-01).
fn without_agent(device: ManagedObjectId) -> Error {
    Error::Invalid(format!(
        "Invalid value of 'deviceId': managed object '{device}' is no agent and is not below one by childDevices"
    ))
}
