//! Lists that a session receives before the changes of a channel (B-36).
//!
//! The session subscribes to the channel before the list is read, and holds back its changes until the list is there.
//! Then it queues the list, and after it the changes whose transactions the list does not show. Changes that the list
//! shows may also come later, because a publication takes a while; they are left out, too.
//!
//! Until the list is there, nothing is promised: a session that moves, or that would have to hold back too much, ends
//! the subscription, and the request is repeated at the new place or fails.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use actix::prelude::*;
use platform_model::realtime::bayeux::{Pattern, Subscription};
use platform_model::realtime::filter::{Content, NotificationFilter};
use platform_model::realtime::trace::record::{EndReason, TraceEvent};
use platform_model::realtime::transactions::ShownTransactions;
use platform_store::realtime::publications::ListeningConnection;

use super::queue::size;
use super::subscriptions::subscribed;
use super::{SessionActor, SessionContext};
use crate::hub::{Notification, RemoveSubscriptions};

/// The number of lists that sessions of this process have begun to read.
static LAST: AtomicU64 = AtomicU64::new(0);

/// Subscribes to a channel, and holds back its changes until [`FinishSnapshot`] or [`AbandonSnapshot`]. The HTTP layer
/// has checked that the caller may receive the channel, and sends one of these two later. The reply is the number of
/// the list.
#[derive(Debug, Message)]
#[rtype(result = "Result<u64, SnapshotFailure>")]
pub struct BeginSnapshot {
    /// The user who sent the request.
    pub user: Arc<str>,
    /// The channel.
    pub pattern: Pattern,
    /// The filter of the changes after the list; `None` for all of them.
    pub filter: Option<Arc<NotificationFilter>>,
}

/// Queues a list, and the changes after it.
#[derive(Debug, Message)]
#[rtype(result = "Result<(), SnapshotFailure>")]
pub struct FinishSnapshot {
    /// The number of the list.
    pub number: u64,
    /// The Bayeux messages with the list.
    pub messages: Vec<Vec<u8>>,
    /// The transactions that the list shows.
    pub shown: ShownTransactions,
}

/// Gives up a list that could not be read. The session keeps the channel only if it was subscribed before, and then
/// with its filter of before.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct AbandonSnapshot {
    /// The number of the list.
    pub number: u64,
}

/// The reason for which a session receives no list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SnapshotFailure {
    /// The session belongs to another user, or is about to leave.
    UnknownClient,
    /// The session has reached the limit of subscriptions.
    TooMany,
    /// The session delivers the notifications of a consumer.
    OfConsumer,
    /// Another list is being read for the channel.
    IsRead,
    /// The client has unsubscribed from the channel meanwhile.
    Unsubscribed,
    /// There were more changes while the list was read than the session may hold back.
    TooManyChanges,
    /// The list does not fit into the session's queue.
    TooLarge {
        /// The bytes of the list.
        bytes: usize,
        /// The bytes that a session may queue.
        allowed: usize,
    },
}

/// The lists of a session.
#[derive(Debug, Default)]
pub(super) struct Snapshots {
    channels: Vec<(Pattern, Stage)>,
    /// The changes that wait for lists, oldest first.
    held: VecDeque<Arc<Notification>>,
    held_bytes: usize,
}

/// The progress of a list.
#[derive(Debug)]
enum Stage {
    /// The list is being read.
    Reading { number: u64, is_new: bool, filters: Filters },
    /// There were too many changes meanwhile.
    Exceeded { number: u64 },
    /// The list was given up, and the session has left the channel. Changes that are on their way are left out.
    Left,
    /// The list is queued. The changes that it shows are left out while the listening connection is the same, because
    /// only its loss can hide a failover to a database with other transactions of the same ids.
    Shown(Arc<ShownTransactions>, ListeningConnection),
}

/// The filters of a channel that was subscribed before with another filter: the earlier and the requested one. While
/// the list is read, the session receives everything, because it is not known which of the two will apply.
type Filters = Option<Box<[Option<Arc<NotificationFilter>>; 2]>>;

impl Stage {
    fn number(&self) -> Option<u64> {
        match self {
            Self::Reading { number, .. } | Self::Exceeded { number } => Some(*number),
            Self::Left | Self::Shown(..) => None,
        }
    }
}

/// The treatment of a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Admission {
    Deliver,
    HoldBack,
    LeaveOut,
}

impl SessionActor {
    /// Returns a notification that the session delivers now. One that a list shows is left out, and one that has to
    /// wait for a list is held back.
    pub(super) fn admit(
        &mut self,
        notification: Arc<Notification>,
        ctx: &mut SessionContext,
    ) -> Option<Arc<Notification>> {
        let Some(snapshots) = &self.snapshots else { return Some(notification) };
        match self.admission(snapshots, &notification) {
            Admission::Deliver => Some(notification),
            Admission::LeaveOut => {
                self.trace_notification(&notification, TraceEvent::InList);
                None
            }
            Admission::HoldBack => {
                self.hold_back(notification, ctx);
                None
            }
        }
    }

    /// A session receives each change once, however many of its subscriptions have it (B-02). So the change waits while
    /// one of them waits for a list, and it is left out if the lists of all show it. Subscriptions whose filter does
    /// not match do not count.
    fn admission(&self, snapshots: &Snapshots, notification: &Notification) -> Admission {
        let Some((channel, transaction)) = notification.change() else { return Admission::Deliver };
        let patterns = [Pattern::Exact(channel), Pattern::All(channel.resource)];
        let publications = self.environment.transfers.database().publications();
        let mut admission = Admission::LeaveOut;
        // Only a filter needs the parsed message.
        let matches =
            |filter: &Arc<NotificationFilter>| filter.matches(&Content::of_message(notification.json()));
        let receives = |subscription: &&Subscription| {
            patterns.contains(&subscription.pattern) && subscription.filter.as_ref().is_none_or(matches)
        };
        for subscription in self.subscriptions.iter().filter(receives) {
            let list = snapshots.channels.iter().find(|(of, _)| *of == subscription.pattern);
            match list.map(|(_, stage)| stage) {
                Some(Stage::Reading { .. }) => return Admission::HoldBack,
                Some(Stage::Shown(shown, connection))
                    if transaction.is_some_and(|transaction| shown.contain(transaction))
                        && publications.has_received_all_since(connection) => {}
                _ => admission = Admission::Deliver,
            }
        }
        admission
    }

    fn hold_back(&mut self, notification: Arc<Notification>, ctx: &mut SessionContext) {
        let limits = self.environment.limits.clone();
        let Some(snapshots) = &mut self.snapshots else { return };
        snapshots.held_bytes += notification.json().len();
        snapshots.held.push_back(notification);
        if snapshots.held.len() > limits.queued_notifications || snapshots.held_bytes > limits.queued_bytes {
            self.end_reading(|number| Stage::Exceeded { number }, ctx);
        }
    }

    /// Gives up all lists that are being read, because the session leaves.
    pub(super) fn abandon_snapshots(&mut self, ctx: &mut SessionContext) {
        self.end_reading(|_| Stage::Left, ctx);
    }

    /// Ends the subscriptions that wait for lists, and delivers what was held back for others.
    fn end_reading(&mut self, instead: impl Fn(u64) -> Stage, ctx: &mut SessionContext) {
        let Some(snapshots) = &mut self.snapshots else { return };
        let mut given_up = Vec::new();
        for (pattern, stage) in &mut snapshots.channels {
            if let Stage::Reading { number, .. } = *stage {
                given_up.push((pattern.clone(), std::mem::replace(stage, instead(number))));
            }
        }
        for (pattern, stage) in given_up {
            self.give_up(pattern, stage, ctx);
        }
        self.release_held(ctx);
    }

    /// Brings a channel back to how it was before its list was requested.
    fn give_up(&mut self, pattern: Pattern, stage: Stage, ctx: &mut SessionContext) {
        match stage {
            Stage::Reading { is_new: true, .. } => self.leave_channel(pattern, ctx),
            Stage::Reading { filters: Some(filters), .. } => {
                let [before, _] = *filters;
                self.apply_filter(&pattern, before, ctx);
            }
            _ => {}
        }
    }

    /// Subscribes to a channel of the session with another filter, or ends the session if the channel has too many
    /// filters by now, because it would miss notifications.
    fn apply_filter(
        &mut self,
        pattern: &Pattern,
        filter: Option<Arc<NotificationFilter>>,
        ctx: &mut SessionContext,
    ) {
        let joined = self.with(std::slice::from_ref(pattern), filter);
        if !joined.is_some_and(|joined| self.join(joined, ctx)) {
            self.end(EndReason::Gap, ctx);
        }
    }

    fn leave_channel(&mut self, left: Pattern, ctx: &mut SessionContext) {
        let subscriptions = std::mem::take(&mut self.subscriptions).into_iter();
        self.subscriptions = subscriptions.filter(|one| one.pattern != left).collect();
        let leave = RemoveSubscriptions { slot: ctx.slot(), patterns: vec![left] };
        self.environment.hub.remove_subscriptions(leave);
    }

    /// Queues what was held back and need not wait any more.
    fn release_held(&mut self, ctx: &mut SessionContext) {
        let Some(snapshots) = &mut self.snapshots else { return };
        snapshots.held_bytes = 0;
        for notification in std::mem::take(&mut snapshots.held) {
            let Some(snapshots) = &self.snapshots else { return };
            match self.admission(snapshots, &notification) {
                Admission::LeaveOut => self.trace_notification(&notification, TraceEvent::InList),
                Admission::HoldBack => {
                    let Some(snapshots) = &mut self.snapshots else { return };
                    snapshots.held_bytes += notification.json().len();
                    snapshots.held.push_back(notification);
                }
                Admission::Deliver => {
                    if self.queue.push(notification, &self.environment.limits).is_err() {
                        return self.overflow(ctx);
                    }
                }
            }
        }
        if self.snapshots.as_ref().is_some_and(|snapshots| snapshots.channels.is_empty()) {
            self.snapshots = None;
        }
        self.hand_over_queue(ctx);
    }

    /// Notes that the client has subscribed to channels without a list. They stay if a list cannot be read.
    pub(super) fn keep_channels(&mut self, patterns: &[Pattern]) {
        let channels = self.snapshots.iter_mut().flat_map(|snapshots| &mut snapshots.channels);
        for (_, stage) in channels.filter(|(pattern, _)| patterns.contains(pattern)) {
            if let Stage::Reading { is_new, filters, .. } = stage {
                (*is_new, *filters) = (false, None);
            }
        }
    }

    /// Forgets the lists of channels from which the client has unsubscribed.
    pub(super) fn forget_snapshots(&mut self, patterns: &[Pattern], ctx: &mut SessionContext) {
        if let Some(snapshots) = &mut self.snapshots {
            snapshots.channels.retain(|(pattern, _)| !patterns.contains(pattern));
            self.release_held(ctx);
        }
    }

    /// Takes what the lists show from the session, so that it moves to another server with the session.
    pub(super) fn take_shown(&mut self) -> Vec<(Pattern, Arc<ShownTransactions>)> {
        let channels = self.snapshots.take().map(|snapshots| snapshots.channels).unwrap_or_default();
        let shown = |(pattern, stage)| match stage {
            Stage::Shown(shown, _) => Some((pattern, shown)),
            Stage::Reading { .. } | Stage::Exceeded { .. } | Stage::Left => None,
        };
        channels.into_iter().filter_map(shown).collect()
    }

    /// Restores what the lists show.
    pub(super) fn restore_shown(&mut self, shown: Vec<(Pattern, Arc<ShownTransactions>)>) {
        if !shown.is_empty() {
            let publications = self.environment.transfers.database().publications();
            let stage = |shown| Stage::Shown(shown, publications.listening_connection());
            let channels = shown.into_iter().map(|(pattern, shown)| (pattern, stage(shown))).collect();
            self.snapshots = Some(Box::new(Snapshots { channels, ..Snapshots::default() }));
        }
    }
}

impl Handler<BeginSnapshot> for SessionActor {
    type Result = Result<u64, SnapshotFailure>;

    fn handle(&mut self, begin: BeginSnapshot, ctx: &mut Self::Context) -> Self::Result {
        let BeginSnapshot { user, pattern, filter } = begin;
        if !self.belongs_to(&user) {
            return Err(SnapshotFailure::UnknownClient);
        }
        self.touch(ctx);
        if self.consumer.is_some() {
            return Err(SnapshotFailure::OfConsumer);
        }
        let is_it = |(of, stage): &(Pattern, Stage)| *of == pattern && matches!(stage, Stage::Reading { .. });
        if self.snapshots.as_ref().is_some_and(|snapshots| snapshots.channels.iter().any(is_it)) {
            return Err(SnapshotFailure::IsRead);
        }
        let before = self.subscriptions.iter().find(|one| one.pattern == pattern);
        let (is_new, before) = (before.is_none(), before.map(|before| before.filter.clone()));
        let filters =
            before.filter(|before| *before != filter).map(|before| Box::new([before, filter.clone()]));
        let meanwhile = if filters.is_some() { None } else { filter };
        let joined = self.with(std::slice::from_ref(&pattern), meanwhile.clone());
        if !joined.is_some_and(|joined| self.join(joined, ctx)) {
            return Err(SnapshotFailure::TooMany);
        }
        self.trace(|| subscribed(std::slice::from_ref(&pattern), meanwhile.as_deref()));
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        let channels = &mut self.snapshots.get_or_insert_default().channels;
        channels.retain(|(of, _)| *of != pattern);
        channels.push((pattern, Stage::Reading { number, is_new, filters }));
        Ok(number)
    }
}

impl Handler<FinishSnapshot> for SessionActor {
    type Result = Result<(), SnapshotFailure>;

    fn handle(&mut self, finish: FinishSnapshot, ctx: &mut Self::Context) -> Self::Result {
        let FinishSnapshot { number, messages, shown } = finish;
        if self.is_leaving() {
            return Err(SnapshotFailure::UnknownClient);
        }
        let notifications: Vec<_> = messages.iter().map(|json| Arc::new(Notification::new(json))).collect();
        let (bytes, allowed) = (size(&notifications), self.environment.limits.queued_bytes);
        let has_room = self.queue.has_room(notifications.len(), bytes, &self.environment.limits);
        let channels = self.snapshots.iter_mut().flat_map(|snapshots| &mut snapshots.channels);
        let Some((pattern, stage)) = channels.into_iter().find(|(_, stage)| stage.number() == Some(number))
        else {
            return Err(SnapshotFailure::Unsubscribed);
        };
        if matches!(stage, Stage::Exceeded { .. }) {
            return Err(SnapshotFailure::TooManyChanges);
        }
        if !has_room {
            return Err(SnapshotFailure::TooLarge { bytes, allowed });
        }
        let connection = self.environment.transfers.database().publications().listening_connection();
        let reading = std::mem::replace(stage, Stage::Shown(Arc::new(shown), connection));
        if let Stage::Reading { filters: Some(filters), .. } = reading {
            let (pattern, [_, requested]) = (pattern.clone(), *filters);
            self.apply_filter(&pattern, requested, ctx);
        }
        for notification in notifications {
            // There is room for all of them.
            drop(self.queue.push(notification, &self.environment.limits));
        }
        self.touch(ctx);
        self.release_held(ctx);
        Ok(())
    }
}

impl Handler<AbandonSnapshot> for SessionActor {
    type Result = ();

    fn handle(&mut self, AbandonSnapshot { number }: AbandonSnapshot, ctx: &mut Self::Context) {
        let Some(snapshots) = &mut self.snapshots else { return };
        let is_it = |(_, stage): &(Pattern, Stage)| stage.number() == Some(number);
        let Some(at) = snapshots.channels.iter().position(is_it) else { return };
        let (pattern, stage) = &mut snapshots.channels[at];
        let (pattern, stage) = (pattern.clone(), std::mem::replace(stage, Stage::Left));
        self.give_up(pattern, stage, ctx);
        self.release_held(ctx);
    }
}
