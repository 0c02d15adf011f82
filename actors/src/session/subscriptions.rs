//! The subscriptions of a session (B-16, B-23).

use std::collections::HashSet;
use std::sync::Arc;

use actix::prelude::*;
use platform_model::realtime::bayeux::{Pattern, Subscription};
use platform_model::realtime::filter::NotificationFilter;
use platform_model::realtime::trace::record::TraceEvent;

use super::{SessionActor, SessionContext, SessionTemplates};
use crate::hub::{AddSubscriptions, RemoveSubscriptions};

/// The most filters of a session; all its subscriptions with the same text have one.
const MOST_FILTERS: usize = 50;

/// The subscriptions of a session together with further ones.
pub(super) struct Joined {
    all: Vec<Subscription>,
    /// Those that are new or have another filter than before.
    changed: Vec<Subscription>,
}

/// Adds channels. The HTTP layer has checked that the caller may receive them.
///
/// Sent by the HTTP layer for `/meta/subscribe`. After the reply every newly published notification is delivered.
#[derive(Debug, Message)]
#[rtype(result = "Subscribed")]
pub struct Subscribe {
    /// The user who sent the request.
    pub user: Arc<str>,
    /// The channels; those subscribed already get this filter.
    pub patterns: Vec<Pattern>,
    /// The condition on the notifications of these channels; `None` for all of them (B-35).
    pub filter: Option<Arc<NotificationFilter>>,
    /// Further template sets of a CSV client. They apply from the first notification of these channels (S-52).
    pub templates: Option<SessionTemplates>,
}

/// Removes channels; unknown channels are ignored (B-16).
///
/// Sent by the HTTP layer for `/meta/unsubscribe`.
#[derive(Debug, Message)]
#[rtype(result = "Subscribed")]
pub struct Unsubscribe {
    /// The user who sent the request.
    pub user: Arc<str>,
    /// The channels.
    pub patterns: Vec<Pattern>,
}

/// Asks whether the session belongs to a user (B-18). Sent by the HTTP layer before it names channels that the user
/// may not receive.
#[derive(Debug, Message)]
#[rtype(result = "bool")]
pub struct IsOwnedBy {
    /// The user who sent the request.
    pub user: Arc<str>,
}

/// The result of a change of subscriptions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, MessageResponse)]
pub enum Subscribed {
    /// The change is in effect.
    Done,
    /// The session belongs to another user.
    UnknownClient,
    /// The session has reached the limit of subscriptions, filters or template sets, or the channel that of filters.
    TooMany,
    /// The session delivers the notifications of a consumer, which does not have the channel.
    Denied,
}

impl Handler<IsOwnedBy> for SessionActor {
    type Result = bool;

    fn handle(&mut self, belongs: IsOwnedBy, _: &mut Self::Context) -> bool {
        self.belongs_to(&belongs.user)
    }
}

impl Handler<Subscribe> for SessionActor {
    type Result = Subscribed;

    fn handle(&mut self, subscribe: Subscribe, ctx: &mut Self::Context) -> Subscribed {
        if !self.belongs_to(&subscribe.user) {
            return Subscribed::UnknownClient;
        }
        self.touch(ctx);
        if let Some(consumer) = &self.consumer {
            if subscribe.filter.is_some() || !consumer.covers(&subscribe.patterns) {
                return Subscribed::Denied;
            }
            // The feed delivers them already, with the filter of the consumer.
            let fits = subscribe.templates.is_none_or(|templates| self.add_templates(templates));
            return if fits { Subscribed::Done } else { Subscribed::TooMany };
        }
        let filter = subscribe.filter;
        let Some(joined) = self.with(&subscribe.patterns, filter.clone()) else {
            return Subscribed::TooMany;
        };
        if !subscribe.templates.is_none_or(|templates| self.add_templates(templates)) {
            return Subscribed::TooMany;
        }
        if !self.join(joined, ctx) {
            return Subscribed::TooMany;
        }
        self.keep_channels(&subscribe.patterns);
        self.trace(|| subscribed(&subscribe.patterns, filter.as_deref()));
        Subscribed::Done
    }
}

impl SessionActor {
    /// Returns the channels that the session subscribed to.
    pub(super) fn patterns(&self) -> Box<[Pattern]> {
        self.subscriptions.iter().map(|subscription| subscription.pattern.clone()).collect()
    }

    /// Takes all subscriptions from the session and returns their channels.
    pub(super) fn take_patterns(&mut self) -> Vec<Pattern> {
        let subscriptions = std::mem::take(&mut self.subscriptions).into_iter();
        subscriptions.map(|subscription| subscription.pattern).collect()
    }

    /// Returns the subscriptions of the session together with further ones; `None` if these would be too many, or their
    /// filters.
    pub(super) fn with(
        &self,
        patterns: &[Pattern],
        filter: Option<Arc<NotificationFilter>>,
    ) -> Option<Joined> {
        let mut joined = Joined { all: self.subscriptions.to_vec(), changed: Vec::new() };
        for pattern in patterns {
            let subscription = Subscription { pattern: pattern.clone(), filter: filter.clone() };
            match joined.all.iter_mut().find(|one| one.pattern == *pattern) {
                Some(same) if *same == subscription => continue,
                Some(earlier) => *earlier = subscription.clone(),
                None => joined.all.push(subscription.clone()),
            }
            joined.changed.push(subscription);
        }
        let most = self.environment.limits.subscriptions_per_session;
        (joined.all.len() <= most && count_filters(&joined.all) <= MOST_FILTERS).then_some(joined)
    }

    /// Replaces the subscriptions of the session. Returns whether it did, because a channel has a bounded number of
    /// filters.
    pub(super) fn join(&mut self, Joined { all, changed }: Joined, ctx: &mut SessionContext) -> bool {
        let (slot, dispatcher) = (ctx.slot(), ctx.dispatcher().clone());
        let join = AddSubscriptions { slot, dispatcher, units: self.units, subscriptions: changed };
        let has_room = self.environment.hub.add_subscriptions(join);
        if has_room {
            self.subscriptions = all.into();
        }
        has_room
    }
}

/// Returns the record of a subscription to channels.
pub(super) fn subscribed(patterns: &[Pattern], filter: Option<&NotificationFilter>) -> TraceEvent {
    let filter = filter.map(|filter| filter.text().to_owned());
    TraceEvent::Subscribed { channels: texts(patterns), filter }
}

fn texts(patterns: &[Pattern]) -> Vec<String> {
    patterns.iter().map(ToString::to_string).collect()
}

fn count_filters(subscriptions: &[Subscription]) -> usize {
    let filters = subscriptions.iter().filter_map(|subscription| subscription.filter.as_ref());
    filters.map(Arc::as_ptr).collect::<HashSet<_>>().len()
}

impl Handler<Unsubscribe> for SessionActor {
    type Result = Subscribed;

    fn handle(&mut self, unsubscribe: Unsubscribe, ctx: &mut Self::Context) -> Subscribed {
        if !self.belongs_to(&unsubscribe.user) {
            return Subscribed::UnknownClient;
        }
        self.touch(ctx);
        if self.consumer.is_some() {
            return Subscribed::Done;
        }
        let left = std::mem::take(&mut self.subscriptions).into_iter();
        self.subscriptions = left.filter(|one| !unsubscribe.patterns.contains(&one.pattern)).collect();
        self.forget_snapshots(&unsubscribe.patterns, ctx);
        self.trace(|| TraceEvent::Unsubscribed(texts(&unsubscribe.patterns)));
        let leave = RemoveSubscriptions { slot: ctx.slot(), patterns: unsubscribe.patterns };
        self.environment.hub.remove_subscriptions(leave);
        Subscribed::Done
    }
}
