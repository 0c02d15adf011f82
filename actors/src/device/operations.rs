//! Operations of one device.
//!
//! What a device is told to do waits in a queue, whose order is the order of arrival: here for one server, and in the statement
//! that queues for all of them. An agent is told of what is new and asks for the rest.

use std::sync::Arc;

use actix::prelude::*;

use super::{Context, Device, DeviceActor};
use crate::bayeux::Resource;
use crate::error::{Error, Result};
use crate::hub::{Event, PublishQueued};
use crate::model::access::Authority;
use crate::model::id::ManagedObjectId;
use crate::model::links::Links;
use crate::model::operation::{NewOperation, Operation, unknown_device};
use crate::model::origin::Origin;
use crate::store;
use crate::store::operations::{Queued, ToQueue};
use crate::writer::{Change, Written};

/// Queues an operation (document 2, Operation; O-01, O-04).
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

impl Handler<QueueOperation> for DeviceActor {
    type Result = AtomicResponse<Self, Result<Arc<Operation>>>;

    fn handle(&mut self, message: QueueOperation, _: &mut Self::Context) -> Self::Result {
        self.exclusively(async move |device| device.queue_operation(message).await)
    }
}

impl Context {
    /// Tells of an operation that was queued, after the commit: those who listen to its device, and its agents, with what the
    /// device is known by (B-04). Gives the operation as it is shown by itself.
    pub(crate) fn publish_queued(&self, queued: Queued, links: &Links) -> Arc<Operation> {
        let Queued { operation: for_agents, agents } = queued;
        let operation = Arc::new(for_agents.clone().alone());
        crate::metrics::PUBLISHED.increment(1 + agents.len() as u64);
        let waited_for = !agents.is_empty() && self.audience.has_agents();
        if waited_for || self.audience.hears(Resource::Operations) {
            let (operation, links) = (operation.clone(), links.clone());
            self.hub.do_send(PublishQueued { operation, for_agents, agents, links });
        }
        operation
    }
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

        let written = self.context.writer.write(change).await;

        match written {
            Ok(Written::Queued(queued)) => Ok(self.context.publish_queued(*queued, &origin.links)),
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
        self.publish(Event::OperationCreated(operation.clone()), &origin.links);
        Ok(operation)
    }
}

/// A target that nobody controls (O-01).
fn without_agent(device: ManagedObjectId) -> Error {
    Error::Invalid(format!(
        "Invalid value of 'deviceId': managed object '{device}' is no agent and is not below one by childDevices"
    ))
}
