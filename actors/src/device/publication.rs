//! What becomes of a write that is committed, and of one that is not stored by its mode: modules are fed with it, and those who
//! listen are told (M-02 to M-04).

use std::sync::Arc;

use super::{Context, Device};
use crate::bayeux::Resource;
use crate::event_processing::stream::{Depth, Input, InputStream, Occurrence};
use crate::hub::{Event, LinksChanged, Publish, PublishQueued, PublishRow};
use crate::model::id::ManagedObjectId;
use crate::model::links::Links;
use crate::model::operation::Operation;
use crate::model::origin::{Origin, ProcessingMode};
use crate::store::operations::Queued;

/// Where something that is published comes from: who shall hear of it, and what modules and listeners see of its cause.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cause<'a> {
    mode: ProcessingMode,
    depth: Depth,
    links: &'a Links,
}

impl<'a> Cause<'a> {
    /// Of what is stored and told whatever request is behind it: a step of a bulk run, what the server does by itself.
    pub(crate) fn persistent(links: &'a Links) -> Self {
        Self { mode: ProcessingMode::Persistent, depth: Depth::default(), links }
    }

    /// Of a part of a write that knows no notification-free mode, though the whole does: QUIESCENT counts as PERSISTENT (M-03).
    pub(crate) fn aloud(self) -> Self {
        match self.mode {
            ProcessingMode::Quiescent => Self { mode: ProcessingMode::Persistent, ..self },
            _ => self,
        }
    }
}

impl Origin {
    /// What is published of a write says this of where it comes from.
    pub(crate) fn cause(&self) -> Cause<'_> {
        let depth = self.by_module.map(|module| module.depth).unwrap_or_default();
        Cause { mode: self.mode, depth, links: &self.links }
    }
}

impl Context {
    /// Feeds the modules that read it, in every mode, and tells everyone who listens, on every channel that hears of this source,
    /// when the mode is one that tells (M-04). Whatever is published goes through here, in the order of its commits; it is
    /// delivered in this order, per source.
    pub(crate) fn publish(&self, source: ManagedObjectId, event: Event, cause: Cause<'_>) {
        self.feed(source, &event, cause);
        if !cause.mode.notifies() {
            return;
        }
        crate::metrics::PUBLISHED.increment(1);
        if self.audience.hears(event.resource()) {
            self.hub.do_send(Publish { source, event, links: cause.links.clone() });
        }
    }

    /// Feeds the modules that read it, and tells nobody: of a deletion that its mode does not make (M-04).
    pub(crate) fn feed(&self, source: ManagedObjectId, event: &Event, cause: Cause<'_>) {
        if let Some(stream) = InputStream::of(event).filter(|stream| self.feeds.want(*stream)) {
            self.feeds.offer(stream, || {
                Input::new(Occurrence::Told(event.clone()), source, cause.mode, cause.depth)
            });
        }
    }

    /// Tells of an operation that was queued, after the commit: modules, those who listen to its device, and its agents, with what
    /// the device is known by (B-04). Gives the operation as it is shown by itself.
    pub(crate) fn publish_queued(&self, queued: Queued, cause: Cause<'_>) -> Arc<Operation> {
        let Queued { operation: for_agents, agents } = queued;
        let operation = Arc::new(for_agents.clone().alone());
        self.feed(operation.device, &Event::OperationCreated(operation.clone()), cause);
        crate::metrics::PUBLISHED.increment(1 + agents.len() as u64);
        let waited_for = !agents.is_empty() && self.audience.has_agents();
        if waited_for || self.audience.hears(Resource::Operations) {
            let (operation, links) = (operation.clone(), cause.links.clone());
            self.hub.do_send(PublishQueued { operation, for_agents, agents, links });
        }
        operation
    }

    /// Tells those who listen to a statement of a module of a row that it made (Q-19, B-05). `json` is asked for the row only when
    /// somebody listens to some module.
    pub(crate) fn publish_row(&self, module: &Arc<str>, statement: &Arc<str>, json: impl FnOnce() -> String) {
        if self.audience.hears_modules() {
            crate::metrics::PUBLISHED.increment(1);
            let (module, statement) = (module.clone(), statement.clone());
            self.hub.do_send(PublishRow { module, statement, json: json() });
        }
    }

    /// Whether anybody waits to hear that a managed object changed for this cause, so that it is worth reading one to tell of it.
    pub(crate) fn awaits_changed_objects(&self, cause: Cause<'_>) -> bool {
        let told = cause.mode.notifies() && self.audience.hears(Resource::ManagedObjects);
        told || self.feeds.want(InputStream::ManagedObjectUpdated)
    }

    /// Tells the hub that links were added or taken off: families are others than before (B-19b).
    pub(crate) fn links_changed(&self) {
        self.hub.do_send(LinksChanged);
    }
}

impl Device {
    /// See [`Context::publish`].
    pub(super) fn publish(&self, event: Event, origin: &Origin) {
        self.context.publish(self.id, event, origin.cause());
    }
}
