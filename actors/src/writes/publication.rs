//! The publication of a write that is committed, or that its mode does not store: it is sent to modules and to the
//! sessions with matching subscriptions (M-02 to M-04).

use std::sync::Arc;

use platform_epl::stream::{Input, Occurrence};
use platform_model::data::operation::Operation;
use platform_model::error::Result;
use platform_model::id::ManagedObjectId;
use platform_model::origin::Origin;
use platform_model::realtime::bayeux::Resource;
use platform_model::realtime::change::PublishedChange;
use platform_model::realtime::input_stream::InputStream;
use platform_model::realtime::publication::{Cause, Publication};
use platform_model::realtime::trace::record::{TraceEvent, TracedChange};
use platform_model::realtime::transactions::TransactionId;
use platform_store::realtime::publications::Route;
use platform_store::writer::{Change, Committed, Describe, Written};

use super::WriteContext;
use crate::hub::{Publish, PublishQueued, PublishRow};

/// Whether a write was stored before it is published.
pub(super) enum Storage {
    /// The mode of the write stores nothing.
    Unstored,
    /// The write is committed, and published by this route.
    Committed(Route),
}

impl WriteContext {
    /// Commits a change with its publications. The caller delivers the publications if the route requires it; otherwise
    /// they come back through the database, like those of other servers.
    ///
    /// # Errors
    /// The errors of [`WriterHandle::write`](platform_store::writer::WriterHandle::write).
    pub(crate) async fn commit(
        &self,
        change: Change,
        origin: &Origin,
        describe: impl Fn(&Written) -> Option<Publication> + Send + Sync + 'static,
    ) -> Result<Written> {
        let describe = Arc::new(describe);
        let of_writer = describe.clone();
        let of_writer: Describe = Arc::new(move |written| of_writer(written).into_iter().collect());
        let Committed { written, route } = self.writer.write(change, origin.into(), Some(of_writer)).await?;
        if (route.is_by_caller() || self.recorder.is_on())
            && let Some(publication) = describe(&written)
        {
            self.trace_stored(&publication);
            if route.is_by_caller() {
                self.deliver(publication, route.transaction());
            }
        }
        Ok(written)
    }

    /// Commits a change whose result is only that it is stored, and publishes this; see [`commit`](Self::commit).
    pub(crate) async fn commit_stored(
        &self,
        change: Change,
        origin: &Origin,
        source: ManagedObjectId,
        published: PublishedChange,
    ) -> Result<Written> {
        let cause = Cause::of(origin);
        let publication = move |written: &Written| {
            let publication =
                || Publication::Change { source, change: published.clone(), cause: cause.clone() };
            matches!(written, Written::Stored).then(publication)
        };
        self.commit(change, origin, publication).await
    }

    /// Publishes changes that are stored or not. Those that the database has sent already come back through it.
    pub(super) fn publish_all(
        &self,
        changes: impl Iterator<Item = (ManagedObjectId, PublishedChange)>,
        origin: &Origin,
        storage: Storage,
    ) {
        let cause = Cause::of(origin);
        match storage {
            Storage::Unstored => {
                changes.for_each(|(source, change)| self.publish(source, change, cause.clone()));
            }
            Storage::Committed(route) if route.is_by_caller() || self.recorder.is_on() => {
                for (source, change) in changes {
                    self.trace_change(source, &change, TraceEvent::Stored);
                    if route.is_by_caller() {
                        self.deliver_change(source, change, &cause, route.transaction());
                    }
                }
            }
            Storage::Committed(_) => {}
        }
    }

    /// Publishes a change that no transaction stores. Modules receive it in every mode; sessions with matching
    /// subscriptions receive it if the mode sends notifications (M-04).
    pub(crate) fn publish(&self, source: ManagedObjectId, change: PublishedChange, cause: Cause) {
        self.send(Publication::Change { source, change, cause });
    }

    /// Sends a change to modules and to no session. Used for a deletion that the mode does not perform (M-04).
    pub(crate) fn feed(&self, source: ManagedObjectId, change: PublishedChange, cause: Cause) {
        self.send(Publication::ModulesOnly { source, change, cause });
    }

    /// Publishes a row of a module's statement to the subscriptions of that statement (Q-19, B-05).
    pub(crate) fn publish_row(&self, module: &Arc<str>, statement: &Arc<str>, json: String) {
        self.send(Publication::Row { module: module.clone(), statement: statement.clone(), json });
    }

    /// Returns whether rows of modules may have receivers, so that they are worth encoding.
    pub(crate) fn has_receivers_for_rows(&self) -> bool {
        self.subscription_counts.has_module_subscriptions() || !self.database.publications().is_alone()
    }

    /// Waits until everything that was published before is sent to all servers. It is called before the response to a
    /// write that is not stored, which could not be repeated otherwise.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub(crate) async fn published(&self) -> Result<()> {
        self.database.publications().flush().await
    }

    /// Sends a publication to all servers, or delivers it here if there is no other one.
    fn send(&self, publication: Publication) {
        if let Some(publication) = self.database.publications().publish(&self.tenant, publication) {
            self.deliver(publication, None);
        }
    }

    /// Delivers a publication to the modules and sessions of this server. Every publication passes through here in the
    /// order of the commits, and is delivered in this order per source. `transaction` is the one that stored what the
    /// publication is about, if it is known.
    pub(crate) fn deliver(&self, publication: Publication, transaction: Option<TransactionId>) {
        match publication {
            Publication::Change { source, change, cause } => {
                self.deliver_change(source, change, &cause, transaction);
            }
            Publication::ModulesOnly { source, change, cause } => {
                self.deliver_to_modules(source, &change, &cause)
            }
            Publication::Queued { operation, agents, cause } => {
                self.deliver_queued(operation, agents, &cause, transaction)
            }
            Publication::Row { module, statement, json } => {
                if self.subscription_counts.has_module_subscriptions() {
                    crate::metrics::PUBLISHED.increment(1);
                    self.hub.publish_row(PublishRow { module, statement, json });
                }
            }
            Publication::LinksChanged => self.hub.links_changed(),
            // The platform handles it, because it concerns two servers and no subscription.
            Publication::SessionMoves(_) => {}
        }
    }

    /// Delivers a change to the modules and sessions of this server.
    fn deliver_change(
        &self,
        source: ManagedObjectId,
        change: PublishedChange,
        cause: &Cause,
        transaction: Option<TransactionId>,
    ) {
        self.deliver_to_modules(source, &change, cause);
        let mode = cause.mode;
        if !mode.notifies() {
            return self.trace_change(source, &change, |change| TraceEvent::NotPublished(change, mode));
        }
        crate::metrics::PUBLISHED.increment(1);
        self.consumers.published(change.resource(), source);
        if self.subscription_counts.has_subscriptions(change.resource()) {
            let (links, traced) = (cause.links.clone(), self.traced(source, &change));
            self.hub.publish(Publish {
                source,
                event: change,
                mode,
                links,
                transaction,
                traced,
                in_groups: 0,
            });
        } else {
            self.trace_change(source, &change, |change| published_to_nobody(change, cause));
        }
    }

    fn deliver_to_modules(&self, source: ManagedObjectId, change: &PublishedChange, cause: &Cause) {
        if let Some(stream) = InputStream::of(change).filter(|stream| self.feeds.want(*stream)) {
            self.feeds.offer(stream, || {
                Input::new(Occurrence::Changed(change.clone()), source, cause.mode, cause.depth)
            });
        }
    }

    /// Delivers a queued operation: to modules, to the subscriptions of its device, and to its agents with the name and
    /// external ids of the device (B-04).
    fn deliver_queued(
        &self,
        for_agents: Arc<Operation>,
        agents: Vec<ManagedObjectId>,
        cause: &Cause,
        transaction: Option<TransactionId>,
    ) {
        let operation = Arc::new(Operation::clone(&for_agents).alone());
        let change = PublishedChange::OperationCreated(operation.clone());
        self.deliver_to_modules(operation.device, &change, cause);
        crate::metrics::PUBLISHED.increment(1 + agents.len() as u64);
        self.consumers.published(Resource::Operations, operation.device);
        let agents_listen = !agents.is_empty() && self.subscription_counts.has_agent_subscriptions();
        if agents_listen || self.subscription_counts.has_subscriptions(Resource::Operations) {
            let (links, traced) = (cause.links.clone(), self.traced(operation.device, &change));
            self.hub.publish_queued(PublishQueued {
                operation,
                for_agents,
                agents,
                links,
                transaction,
                mode: cause.mode,
                traced,
            });
        } else {
            self.trace_change(operation.device, &change, |change| published_to_nobody(change, cause));
        }
    }

    /// Returns the change, if a trace concerns it.
    fn traced(&self, source: ManagedObjectId, change: &PublishedChange) -> Option<Arc<TracedChange>> {
        self.recorder.change(source, || TracedChange::of(source, change))
    }

    /// Records what happened to a change, if a trace concerns it.
    fn trace_change(
        &self,
        source: ManagedObjectId,
        change: &PublishedChange,
        event: impl FnOnce(Arc<TracedChange>) -> TraceEvent,
    ) {
        if let Some(change) = self.recorder.change(source, || TracedChange::of(source, change)) {
            self.recorder.record(event(change));
        }
    }

    /// Records that this server stored what a publication is about, if a trace concerns it.
    fn trace_stored(&self, publication: &Publication) {
        match publication {
            Publication::Change { source, change, .. } | Publication::ModulesOnly { source, change, .. } => {
                self.trace_change(*source, change, TraceEvent::Stored);
            }
            Publication::Queued { operation, .. } => {
                let change = PublishedChange::OperationCreated(operation.clone());
                self.trace_change(operation.device, &change, TraceEvent::Stored);
            }
            Publication::Row { .. } | Publication::LinksChanged | Publication::SessionMoves(_) => {}
        }
    }

    /// Returns whether anyone would receive a change of a managed object with this cause. If not, the object need not
    /// be read.
    pub(crate) fn has_receivers_for_changed_objects(&self, cause: &Cause) -> bool {
        let publications = self.database.publications();
        self.has_receivers_here(cause) || !publications.is_alone() || publications.has_journal(&self.tenant)
    }

    /// Returns whether sessions or readers of consumers at this server receive what is published.
    pub(crate) fn has_receivers(&self) -> bool {
        self.subscription_counts.has_any() || self.consumers.has_any()
    }

    /// Returns whether anyone at this server would receive a change of a managed object with this cause.
    pub(crate) fn has_receivers_here(&self, cause: &Cause) -> bool {
        let notified =
            cause.mode.notifies() && self.subscription_counts.has_subscriptions(Resource::ManagedObjects);
        notified || self.feeds.want(InputStream::ManagedObjectUpdated) || self.consumers.wait()
    }
}

/// Returns the record of a change that no session of this server subscribed to.
fn published_to_nobody(change: Arc<TracedChange>, cause: &Cause) -> TraceEvent {
    TraceEvent::Published { change, mode: cause.mode, receivers: 0, rejected: Vec::new() }
}
