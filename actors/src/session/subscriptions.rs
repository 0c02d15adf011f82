//! The subscriptions of a session (B-16, B-23).

use std::sync::Arc;

use actix::prelude::*;
use platform_model::realtime::bayeux::Pattern;

use super::{SessionActor, SessionContext, SessionTemplates};
use crate::hub::{AddSubscriptions, RemoveSubscriptions};

/// Adds channels. The HTTP layer has checked that the caller may receive them.
///
/// Sent by the HTTP layer for `/meta/subscribe`. After the reply every newly published notification is delivered.
#[derive(Debug, Message)]
#[rtype(result = "Subscribed")]
pub struct Subscribe {
    /// The user who sent the request.
    pub user: Arc<str>,
    /// The channels; those subscribed already stay unchanged.
    pub patterns: Vec<Pattern>,
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
    /// The session has reached the limit of subscriptions or of template sets.
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
            // The feed delivers them already.
            return if consumer.covers(&subscribe.patterns) { Subscribed::Done } else { Subscribed::Denied };
        }
        self.keep_channels(&subscribe.patterns);
        let mut new: Vec<Pattern> = Vec::new();
        for pattern in subscribe.patterns {
            if !self.patterns.contains(&pattern) && !new.contains(&pattern) {
                new.push(pattern);
            }
        }
        if self.patterns.len() + new.len() > self.environment.limits.subscriptions_per_session {
            return Subscribed::TooMany;
        }
        if !subscribe.templates.is_none_or(|templates| self.add_templates(templates)) {
            return Subscribed::TooMany;
        }
        self.add_channels(new, ctx);
        Subscribed::Done
    }
}

impl SessionActor {
    /// Adds channels that are not subscribed yet.
    pub(super) fn add_channels(&mut self, new: Vec<Pattern>, ctx: &mut SessionContext) {
        self.patterns = std::mem::take(&mut self.patterns).into_iter().chain(new.iter().cloned()).collect();
        let (slot, dispatcher) = (ctx.slot(), ctx.dispatcher().clone());
        let join = AddSubscriptions { slot, dispatcher, units: self.units, patterns: new };
        self.environment.hub.add_subscriptions(join);
    }
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
        let left = std::mem::take(&mut self.patterns).into_iter();
        self.patterns = left.filter(|pattern| !unsubscribe.patterns.contains(pattern)).collect();
        self.forget_snapshots(&unsubscribe.patterns, ctx);
        let leave = RemoveSubscriptions { slot: ctx.slot(), patterns: unsubscribe.patterns };
        self.environment.hub.remove_subscriptions(leave);
        Subscribed::Done
    }
}
