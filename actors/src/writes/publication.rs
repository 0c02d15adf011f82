//! The publication of a write that is committed, or that its mode does not store: it is sent to modules and to the
//! sessions with matching subscriptions (M-02 to M-04).

use std::sync::Arc;

use platform_epl::stream::{Input, Occurrence};
use platform_model::bayeux::Resource;
use platform_model::change::PublishedChange;
use platform_model::id::ManagedObjectId;
use platform_model::input_stream::InputStream;
use platform_model::limits::NOTIFIED_DELETIONS;
use platform_model::links::Links;
use platform_model::operation::Operation;
use platform_model::origin::Depth;
use platform_model::origin::{Origin, ProcessingMode};
use platform_store::operations::Queued;

use super::WriteContext;
use crate::hub::{Publish, PublishQueued, PublishRow};

/// The origin of a publication: it decides who receives it, and carries the depth and the links that receivers see.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cause<'a> {
    mode: ProcessingMode,
    depth: Depth,
    links: &'a Links,
}

impl<'a> Cause<'a> {
    /// The cause of publications about a write with this origin.
    pub(crate) fn of(origin: &'a Origin) -> Self {
        let depth = origin.by_module.map(|module| module.depth).unwrap_or_default();
        Self { mode: origin.mode, depth, links: &origin.links }
    }

    /// The cause of a publication without a request behind it, for example a step of a bulk run or an action of the
    /// server itself.
    pub(crate) fn persistent(links: &'a Links) -> Self {
        Self { mode: ProcessingMode::Persistent, depth: Depth::default(), links }
    }

    /// The cause for the part of a write that has no mode without notifications: QUIESCENT counts as PERSISTENT
    /// (M-03).
    pub(crate) fn notifying(self) -> Self {
        match self.mode {
            ProcessingMode::Quiescent => Self { mode: ProcessingMode::Persistent, ..self },
            _ => self,
        }
    }
}

/// Publishes the deletions of one request: the first thousand of them, and no more (B-06).
pub(crate) struct DeletionPublisher<'a> {
    context: &'a WriteContext,
    cause: Cause<'a>,
    left: usize,
}

impl<'a> DeletionPublisher<'a> {
    pub(crate) fn new(context: &'a WriteContext, cause: Cause<'a>) -> Self {
        Self { context, cause, left: NOTIFIED_DELETIONS }
    }

    /// Returns whether further deletions are published.
    pub(crate) fn publishes_more(&self) -> bool {
        self.left > 0
    }

    /// Publishes DELETE of objects, each with its source, after the commit that deleted them.
    pub(crate) fn publish<Id>(
        &mut self,
        deleted: impl IntoIterator<Item = (Id, ManagedObjectId)>,
        change: fn(Id) -> PublishedChange,
    ) {
        for (id, source) in deleted.into_iter().take(self.left) {
            self.left -= 1;
            self.context.publish(source, change(id), self.cause);
        }
    }
}

impl WriteContext {
    /// Publishes an event. Modules receive it in every mode; sessions with matching subscriptions receive it if the
    /// mode sends notifications (M-04). Every publication passes through here in the order of the commits, and is
    /// delivered in this order per source.
    pub(crate) fn publish(&self, source: ManagedObjectId, event: PublishedChange, cause: Cause<'_>) {
        self.feed(source, &event, cause);
        if !cause.mode.notifies() {
            return;
        }
        crate::metrics::PUBLISHED.increment(1);
        if self.subscription_counts.has_subscriptions(event.resource()) {
            self.hub.publish(Publish { source, event, links: cause.links.clone() });
        }
    }

    /// Sends an event to modules and to no session. Used for a deletion that the mode does not perform (M-04).
    pub(crate) fn feed(&self, source: ManagedObjectId, event: &PublishedChange, cause: Cause<'_>) {
        if let Some(stream) = InputStream::of(event).filter(|stream| self.feeds.want(*stream)) {
            self.feeds.offer(stream, || {
                Input::new(Occurrence::Changed(event.clone()), source, cause.mode, cause.depth)
            });
        }
    }

    /// Publishes a queued operation after its commit: to modules, to the subscriptions of its device, and to its
    /// agents with the name and external ids of the device (B-04). Returns the operation as clients see it.
    pub(crate) fn publish_queued(&self, queued: Queued, cause: Cause<'_>) -> Arc<Operation> {
        let Queued { operation: for_agents, agents } = queued;
        let operation = Arc::new(for_agents.clone().alone());
        self.feed(operation.device, &PublishedChange::OperationCreated(operation.clone()), cause);
        crate::metrics::PUBLISHED.increment(1 + agents.len() as u64);
        let agents_listen = !agents.is_empty() && self.subscription_counts.has_agent_subscriptions();
        if agents_listen || self.subscription_counts.has_subscriptions(Resource::Operations) {
            let (operation, links) = (operation.clone(), cause.links.clone());
            self.hub.publish_queued(PublishQueued { operation, for_agents, agents, links });
        }
        operation
    }

    /// Publishes a row of a module's statement to the subscriptions of that statement (Q-19, B-05). `json` is called
    /// only if any module has subscriptions.
    pub(crate) fn publish_row(&self, module: &Arc<str>, statement: &Arc<str>, json: impl FnOnce() -> String) {
        if self.subscription_counts.has_module_subscriptions() {
            crate::metrics::PUBLISHED.increment(1);
            let (module, statement) = (module.clone(), statement.clone());
            self.hub.publish_row(PublishRow { module, statement, json: json() });
        }
    }

    /// Returns whether anyone would receive a change of a managed object with this cause. If not, the object need not
    /// be read.
    pub(crate) fn has_receivers_for_changed_objects(&self, cause: Cause<'_>) -> bool {
        let notified =
            cause.mode.notifies() && self.subscription_counts.has_subscriptions(Resource::ManagedObjects);
        notified || self.feeds.want(InputStream::ManagedObjectUpdated)
    }

    /// Notifies the hub that links were added or removed, so that objects belong to other families (B-19b).
    pub(crate) fn links_changed(&self) {
        self.hub.links_changed();
    }
}
