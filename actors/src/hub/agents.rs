//! Channels of agents: `/<agent>` receives the operations that this agent is to execute (B-01, B-04).

use std::sync::Arc;

use platform_model::data::operation::Operation;
use platform_model::id::ManagedObjectId;
use platform_model::links::{Links, encode};
use platform_model::origin::ProcessingMode;
use platform_model::realtime::bayeux::Pattern;
use platform_model::realtime::change::PublishedChange;
use platform_model::realtime::trace::record::TracedChange;
use platform_model::realtime::transactions::TransactionId;

use super::listeners::Verdicts;
use super::points::Waiting;
use super::{Notification, NotificationHub, Publish, Subscriptions};

/// A new operation that is published to the subscriptions to its device and to the agents that execute it.
#[derive(Debug)]
pub(crate) struct PublishQueued {
    /// The operation as published on the channel of the device.
    pub(crate) operation: Arc<Operation>,
    /// The operation as published to agents, with the name and external ids of the device.
    pub(crate) for_agents: Arc<Operation>,
    /// The agents that execute the operation.
    pub(crate) agents: Vec<ManagedObjectId>,
    pub(crate) links: Links,
    /// The transaction that stored the operation, if it is known.
    pub(crate) transaction: Option<TransactionId>,
    /// The mode of the write.
    pub(crate) mode: ProcessingMode,
    /// The change, if a trace concerns it.
    pub(crate) traced: Option<Arc<TracedChange>>,
}

impl NotificationHub {
    /// Publishes a new operation, after the commit and in the order of the device's queue.
    pub(crate) fn publish_queued(&self, queued: PublishQueued) {
        self.publish_in_turn(Waiting::Queued(queued));
    }

    pub(super) fn publish_queued_in(&self, subscriptions: &mut Subscriptions, queued: PublishQueued) {
        for agent in &queued.agents {
            subscriptions.publish_to_agent(*agent, &queued);
        }
        let PublishQueued { operation, links, transaction, mode, traced, .. } = queued;
        let (source, event) = (operation.device, PublishedChange::OperationCreated(operation));
        let publish = Publish { source, event, mode, links, transaction, traced, in_groups: 0 };
        self.publish_in(subscriptions, publish);
    }
}

impl Subscriptions {
    /// Sends an operation to the sessions of one agent. The message holds the operation itself, without an action
    /// (B-04).
    fn publish_to_agent(&mut self, agent: ManagedObjectId, queued: &PublishQueued) {
        let Some(listeners) = self.listeners.of(&Pattern::Agent(agent)) else { return };
        self.last_id += 1;
        let mut json = format!(r#"{{"channel":"/{agent}","id":"{}","data":"#, self.last_id).into_bytes();
        json.extend(encode(&*queued.for_agents, &queued.links));
        json.push(b'}');
        let notification = Arc::new(Notification::new(&json).traced_as(queued.traced.clone()));
        let mut verdicts = Verdicts::default();
        verdicts.add(&[listeners], |_| notification.clone());
        let recipients = listeners.recipients(&verdicts);
        self.dispatchers.deliver(recipients.map(|(slot, _)| (slot, notification.clone())));
    }
}
