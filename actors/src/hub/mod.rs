//! The notification hub of a tenant: it delivers each published change to the sessions that subscribed to its
//! channel.
//!
//! The hub is a table behind a lock instead of an actor. So when [`publish`] returns, the notification has been sent to
//! its sessions, and only the threads of these sessions are woken. Nothing is awaited under the lock. Notifications are
//! delivered in the order of the calls. A notification is encoded once, when the first subscription is found, and all
//! sessions share the bytes.
//!
//! [`publish`]: NotificationHub::publish

mod agents;
mod dispatchers;
mod families;
mod groups;
mod listeners;
mod modules;
mod notification;
mod points;
mod subscription_counts;

use std::collections::HashSet;
use std::fmt::{self, Display};
use std::sync::Arc;

use actix::{Addr, ArbiterHandle};
use parking_lot::Mutex;
use platform_model::id::{ManagedObjectId, TenantId};
use platform_model::links::Links;
use platform_model::origin::ProcessingMode;
use platform_model::realtime::bayeux::{Channel, FamilyChannel, Pattern, Subscription};
use platform_model::realtime::change::PublishedChange;
use platform_model::realtime::trace::record::{TraceEvent, TracedChange};
use platform_model::realtime::transactions::TransactionId;
use platform_model::units::SystemOfUnits;
use platform_store::Database;

use crate::session::dispatcher::{SessionDispatcher, SessionSlot};
use crate::traces::TraceRecorder;
pub(crate) use agents::PublishQueued;
use dispatchers::SessionDispatchers;
use families::{Families, Found, Lineage, Placement};
use groups::Groups;
use listeners::{ListenerTable, Listeners, Verdicts, each_once};
pub(crate) use modules::PublishRow;
pub use notification::Notification;
use notification::NotificationForms;
use points::{Waiting, WaitingLine};
pub(crate) use subscription_counts::SubscriptionCounts;

/// A change that is published to all subscriptions to its channel.
#[derive(Debug, Clone)]
pub(crate) struct Publish {
    pub(crate) source: ManagedObjectId,
    pub(crate) event: PublishedChange,
    pub(crate) mode: ProcessingMode,
    pub(crate) links: Links,
    /// The transaction that stored the change, if it is known.
    pub(crate) transaction: Option<TransactionId>,
    /// The change, if a trace concerns it.
    pub(crate) traced: Option<Arc<TracedChange>>,
    /// The number of subscriptions to groups that have received it (B-39).
    pub(crate) in_groups: u32,
}

#[cfg(test)]
impl Publish {
    pub(crate) fn deletion_of_alarm(alarm: i64, source: ManagedObjectId) -> Self {
        let event = PublishedChange::AlarmDeleted(platform_model::id::AlarmId(alarm));
        let (mode, links) = (ProcessingMode::Persistent, Links::new("http://h"));
        Self { source, event, mode, links, transaction: None, traced: None, in_groups: 0 }
    }
}

/// The channels that a session subscribes to.
#[derive(Debug)]
pub(crate) struct AddSubscriptions {
    pub(crate) slot: SessionSlot,
    /// The dispatcher of the session's thread.
    pub(crate) dispatcher: Addr<SessionDispatcher>,
    /// The system of units in which the session receives measurements (B-20).
    pub(crate) units: Option<SystemOfUnits>,
    /// Each replaces an earlier one of the session to the same channel.
    pub(crate) subscriptions: Vec<Subscription>,
}

/// The patterns whose subscriptions a session ends, on unsubscribe and when it ends itself.
#[derive(Debug)]
pub(crate) struct RemoveSubscriptions {
    pub(crate) slot: SessionSlot,
    pub(crate) patterns: Vec<Pattern>,
}

/// The notification hub of one tenant. All clones are the same hub.
#[derive(Clone)]
pub struct NotificationHub {
    subscriptions: Arc<Mutex<Subscriptions>>,
    /// The thread that looks up families.
    arbiter: ArbiterHandle,
}

/// The subscriptions of one tenant.
pub(crate) struct Subscriptions {
    listeners: ListenerTable,
    dispatchers: SessionDispatchers,
    subscription_counts: SubscriptionCounts,
    families: Families,
    groups: Groups,
    /// The publications that wait behind a point; usually there are none.
    line: WaitingLine,
    last_id: u64,
    recorder: Arc<TraceRecorder>,
}

impl NotificationHub {
    /// Creates the hub of a tenant without subscriptions. Publishers check the counts before they call the hub.
    pub(crate) fn new(
        tenant: TenantId,
        database: Database,
        subscription_counts: SubscriptionCounts,
        arbiter: ArbiterHandle,
        recorder: Arc<TraceRecorder>,
    ) -> Self {
        let subscriptions = Subscriptions {
            listeners: ListenerTable::default(),
            dispatchers: SessionDispatchers::new(tenant.clone()),
            subscription_counts,
            families: Families::new(tenant.clone(), database.clone()),
            groups: Groups::new(tenant, database),
            line: WaitingLine::new(),
            last_id: 0,
            recorder,
        };
        Self { subscriptions: Arc::new(Mutex::new(subscriptions)), arbiter }
    }

    /// Publishes a change to all subscriptions to its channel, after the commit.
    pub(crate) fn publish(&self, publish: Publish) {
        self.publish_in_turn(Waiting::Change(publish));
    }

    fn publish_in(&self, subscriptions: &mut Subscriptions, mut publish: Publish) {
        publish.in_groups = subscriptions.publish_to_groups(&publish);
        match subscriptions.families.place(publish) {
            Placement::Ready(publish, lineage) => subscriptions.deliver(&publish, lineage.as_ref()),
            Placement::Waiting => self.look_up(subscriptions),
        }
    }

    /// Looks up the families of notifications that wait, until none waits.
    fn look_up(&self, subscriptions: &mut Subscriptions) {
        let Some(look_up) = subscriptions.families.next() else { return };
        let hub = self.clone();
        // The thread ends only with the process.
        self.arbiter.spawn(async move {
            let found = look_up.run().await;
            let mut subscriptions = hub.subscriptions.lock();
            subscriptions.looked_up(found);
            hub.advance_line(&mut subscriptions);
            hub.look_up(&mut subscriptions);
        });
    }

    /// Subscribes a session to channels. Everything that is published after this returns is delivered. Returns whether
    /// it did, because a channel has a bounded number of filters (B-35).
    #[must_use]
    pub(crate) fn add_subscriptions(&self, join: AddSubscriptions) -> bool {
        let subscriptions = &mut self.subscriptions.lock();
        let has_room = join.subscriptions.iter().all(|one| {
            subscriptions.listeners.has_room_for(one) && subscriptions.groups.has_room_for(&one.pattern)
        });
        if has_room {
            subscriptions.add(join);
            self.read_members(subscriptions);
        }
        has_room
    }

    /// Ends subscriptions of a session.
    pub(crate) fn remove_subscriptions(&self, leave: RemoveSubscriptions) {
        let subscriptions = &mut self.subscriptions.lock();
        subscriptions.remove(leave);
        // Nothing waits any more for the members of a group that has no subscriptions.
        self.advance_line(subscriptions);
    }

    /// Returns whether a pattern has subscriptions.
    pub(crate) fn has_listeners(&self, pattern: &Pattern) -> bool {
        self.subscriptions.lock().listeners.contains(pattern)
    }

    /// Notes that links were added or removed, so that objects belong to other families (B-19b) and groups (B-39),
    /// after the commit.
    pub(crate) fn links_changed(&self) {
        self.publish_in_turn(Waiting::LinksChanged);
    }
}

impl fmt::Debug for NotificationHub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NotificationHub").finish_non_exhaustive()
    }
}

impl Subscriptions {
    /// Delivers a notification to the subscriptions to its source, by exact channel or by wildcard, and then to those
    /// to a family of the source. A client finds its subscription by the channel of the message, so each family
    /// receives a copy on its own channel (B-19c).
    fn deliver(&mut self, publish: &Publish, lineage: Option<&Lineage>) {
        let own = Channel { resource: publish.event.resource(), id: publish.source };
        let patterns = [Pattern::Exact(own), Pattern::All(own.resource)];
        let listeners: Vec<Listeners<'_>> = patterns.iter().filter_map(|p| self.listeners.of(p)).collect();
        let (mut verdicts, mut receivers) = (Verdicts::default(), publish.in_groups);
        // The sessions may record what becomes of the notification before this returns.
        let begun = publish.traced.is_some().then(TraceRecorder::now);
        if !listeners.is_empty() {
            self.last_id += 1;
            let mut forms = NotificationForms {
                object: Some(own),
                id: self.last_id,
                ..NotificationForms::new(publish, own)
            };
            verdicts.add(&listeners, |units| forms.in_units(units));
            let recipients = each_once(&listeners, &verdicts).inspect(|_| receivers += 1);
            self.dispatchers.deliver(recipients.map(|(slot, units)| (slot, forms.in_units(units))));
        }
        for id in lineage.into_iter().flat_map(|lineage| lineage.iter()) {
            let family = Channel { resource: own.resource, id: *id };
            let forms = NotificationForms::new(publish, FamilyChannel(family));
            receivers += self.deliver_copy(&Pattern::WithChildren(family), forms, &mut verdicts);
        }
        if let (Some(change), Some(begun)) = (&publish.traced, begun) {
            let of_filter = |pattern: &Pattern| {
                let filters = self.listeners.of(pattern).into_iter().flat_map(|of| of.rejecting(&verdicts));
                filters.map(|filter| (pattern.to_string(), filter)).collect::<Vec<_>>()
            };
            let rejected = patterns.iter().flat_map(of_filter).collect();
            let (change, mode) = (change.clone(), publish.mode);
            self.recorder.record_of(begun, TraceEvent::Published { change, mode, receivers, rejected });
        }
    }

    /// Delivers a copy to the sessions of one channel, under an id of its own. Returns the number of sessions.
    fn deliver_copy<C: Display>(
        &mut self,
        pattern: &Pattern,
        mut forms: NotificationForms<'_, C>,
        verdicts: &mut Verdicts,
    ) -> u32 {
        let Some(listeners) = self.listeners.of(pattern) else { return 0 };
        self.last_id += 1;
        forms.id = self.last_id;
        let mut receivers = 0;
        verdicts.add(&[listeners], |units| forms.in_units(units));
        let recipients = listeners.recipients(verdicts).inspect(|_| receivers += 1);
        self.dispatchers.deliver(recipients.map(|(slot, units)| (slot, forms.in_units(units))));
        receivers
    }

    /// Delivers the notifications that waited for a look-up.
    fn looked_up(&mut self, found: Found) {
        match self.families.found(found) {
            Ok(ready) => ready.iter().for_each(|(publish, lineage)| self.deliver(publish, Some(lineage))),
            Err((error, publishes)) => {
                tracing::warn!(%error, "ancestors cannot be looked up; sessions subscribed to families end");
                self.end_sessions_of(|pattern| matches!(pattern, Pattern::WithChildren(_)));
                publishes.iter().for_each(|publish| self.deliver(publish, None));
            }
        }
    }

    /// Ends the sessions with subscriptions to such patterns. Their clients handshake again, so that there is no silent
    /// gap.
    fn end_sessions_of(&self, is_missed: impl Fn(&Pattern) -> bool) {
        let listeners = self.listeners.of_all(is_missed);
        let slots: HashSet<SessionSlot> = listeners.into_iter().flat_map(Listeners::slots).collect();
        self.dispatchers.end(slots.into_iter());
    }

    /// Subscribes a session to channels.
    pub(crate) fn add(&mut self, join: AddSubscriptions) {
        self.dispatchers.remember(join.slot, join.dispatcher);
        for subscription in join.subscriptions {
            if !self.listeners.contains(&subscription.pattern) {
                self.subscription_counts.joined(&subscription.pattern);
                self.families.joined(&subscription.pattern);
                self.groups.joined(&subscription.pattern);
            }
            self.listeners.insert(join.slot, join.units, subscription);
        }
    }

    fn remove(&mut self, leave: RemoveSubscriptions) {
        for pattern in leave.patterns {
            let had_listeners = self.listeners.contains(&pattern);
            self.listeners.remove(leave.slot, &pattern);
            if had_listeners && !self.listeners.contains(&pattern) {
                self.subscription_counts.left(&pattern);
                self.families.left(&pattern);
                self.groups.left(&pattern);
            }
        }
    }
}
