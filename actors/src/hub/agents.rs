//! Channels of agents: `/<agent>` hears of the operations that this agent shall carry out (B-01, B-04).

use std::sync::Arc;

use actix::prelude::*;

use super::{Event, Notification, NotificationHub, Publish};
use crate::bayeux::Pattern;
use crate::model::id::ManagedObjectId;
use crate::model::links::{Links, encode};
use crate::model::operation::Operation;

/// Tells of an operation that was queued: those who listen to its device, and the agents it is for.
///
/// Sent after the commit, in the order of the device's queue.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct PublishQueued {
    /// As it is told of the device.
    pub(crate) operation: Arc<Operation>,
    /// As its agents are told, with what the device is known by.
    pub(crate) for_agents: Operation,
    /// Whom it is for.
    pub(crate) agents: Vec<ManagedObjectId>,
    pub(crate) links: Links,
}

impl Handler<PublishQueued> for NotificationHub {
    type Result = ();

    fn handle(&mut self, queued: PublishQueued, ctx: &mut Self::Context) {
        for agent in &queued.agents {
            self.hand_to(*agent, &queued.for_agents, &queued.links);
        }
        let PublishQueued { operation, links, .. } = queued;
        let (source, event) = (operation.device, Event::OperationCreated(operation));
        Handler::<Publish>::handle(self, Publish { source, event, links }, ctx);
    }
}

impl NotificationHub {
    /// Hands an operation to the sessions of one agent: the operation itself, without an action (B-04).
    fn hand_to(&mut self, agent: ManagedObjectId, operation: &Operation, links: &Links) {
        let Some(listeners) = self.listeners.get(&Pattern::Agent(agent)) else { return };
        self.last_id += 1;
        let mut json = format!(r#"{{"channel":"/{agent}","id":"{}","data":"#, self.last_id).into_bytes();
        json.extend(encode(operation, links));
        json.push(b'}');
        let notification = Arc::new(Notification { json: json.into() });
        self.couriers.deliver(listeners.iter().map(|(seat, _)| (*seat, notification.clone())));
    }
}
