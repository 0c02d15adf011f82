//! The subscriptions of a session (B-16, B-23).

use std::collections::HashSet;
use std::sync::Arc;

use actix::prelude::*;
use platform_model::realtime::bayeux::{Pattern, Subscription};
use platform_model::realtime::filter::NotificationFilter;

use super::{SessionActor, SessionTemplates};
use crate::hub::{AddSubscriptions, RemoveSubscriptions};

/// The most filters of a session; all its subscriptions with the same text have one.
const MOST_FILTERS: usize = 50;

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
        let (subscriptions, changed) = self.with(subscribe.patterns, subscribe.filter);
        let most = self.environment.limits.subscriptions_per_session;
        if subscriptions.len() > most || count_filters(&subscriptions) > MOST_FILTERS {
            return Subscribed::TooMany;
        }
        if !subscribe.templates.is_none_or(|templates| self.add_templates(templates)) {
            return Subscribed::TooMany;
        }
        let (slot, dispatcher) = (ctx.slot(), ctx.dispatcher().clone());
        let join = AddSubscriptions { slot, dispatcher, units: self.units, subscriptions: changed };
        if !self.environment.hub.add_subscriptions(join) {
            return Subscribed::TooMany;
        }
        self.subscriptions = subscriptions.into();
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

    /// Returns the subscriptions of the session with further ones, and those of them that are new or have another
    /// filter than before.
    fn with(
        &self,
        patterns: Vec<Pattern>,
        filter: Option<Arc<NotificationFilter>>,
    ) -> (Vec<Subscription>, Vec<Subscription>) {
        let mut subscriptions = self.subscriptions.to_vec();
        let mut changed = Vec::new();
        for pattern in patterns {
            let subscription = Subscription { pattern, filter: filter.clone() };
            match subscriptions.iter_mut().find(|one| one.pattern == subscription.pattern) {
                Some(same) if *same == subscription => continue,
                Some(earlier) => *earlier = subscription.clone(),
                None => subscriptions.push(subscription.clone()),
            }
            changed.push(subscription);
        }
        (subscriptions, changed)
    }
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
        let leave = RemoveSubscriptions { slot: ctx.slot(), patterns: unsubscribe.patterns };
        self.environment.hub.remove_subscriptions(leave);
        Subscribed::Done
    }
}
