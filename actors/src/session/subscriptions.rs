//! What a session listens to (B-16, B-23).

use std::sync::Arc;

use actix::prelude::*;

use super::{SessionActor, SessionTemplates};
use crate::bayeux::Pattern;
use crate::hub::{Join, Leave};

/// Adds channels. Whether the caller may receive them was checked by the edge.
///
/// Sent by the edge for `/meta/subscribe`. The reply means: what is published from now on is delivered.
#[derive(Debug, Message)]
#[rtype(result = "Subscribed")]
pub struct Subscribe {
    /// Who asks.
    pub user: Arc<str>,
    /// The channels; those known already stay as they are.
    pub patterns: Vec<Pattern>,
    /// Further template sets of a CSV client, in force with the first notification of these channels (S-52).
    pub templates: Option<SessionTemplates>,
}

/// Takes channels out; unknown ones are no error (B-16).
///
/// Sent by the edge for `/meta/unsubscribe`.
#[derive(Debug, Message)]
#[rtype(result = "Subscribed")]
pub struct Unsubscribe {
    /// Who asks.
    pub user: Arc<str>,
    /// The channels.
    pub patterns: Vec<Pattern>,
}

/// Asks whether the session is that user's (B-18). Sent by the edge before it says what the user may not receive.
#[derive(Debug, Message)]
#[rtype(result = "bool")]
pub struct Belongs {
    /// Who asks.
    pub user: Arc<str>,
}

/// What became of a change of subscriptions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, MessageResponse)]
pub enum Subscribed {
    /// In force.
    Done,
    /// The session belongs to somebody else.
    UnknownClient,
    /// The session has as many subscriptions, or template sets, as it may.
    TooMany,
}

impl Handler<Belongs> for SessionActor {
    type Result = bool;

    fn handle(&mut self, belongs: Belongs, _: &mut Self::Context) -> bool {
        self.belongs_to(&belongs.user)
    }
}

impl Handler<Subscribe> for SessionActor {
    type Result = AtomicResponse<Self, Subscribed>;

    fn handle(&mut self, subscribe: Subscribe, ctx: &mut Self::Context) -> Self::Result {
        if !self.belongs_to(&subscribe.user) {
            return reply(Subscribed::UnknownClient);
        }
        self.touch(ctx);
        let mut new: Vec<Pattern> = Vec::new();
        for pattern in subscribe.patterns {
            if !self.patterns.contains(&pattern) && !new.contains(&pattern) {
                new.push(pattern);
            }
        }
        if self.patterns.len() + new.len() > self.home.limits.subscriptions_per_session {
            return reply(Subscribed::TooMany);
        }
        if !subscribe.templates.is_none_or(|templates| self.add_templates(templates)) {
            return reply(Subscribed::TooMany);
        }
        self.patterns = std::mem::take(&mut self.patterns).into_iter().chain(new.iter().cloned()).collect();
        let (seat, courier) = (ctx.seat(), ctx.courier().clone());
        let join = Join { seat, courier, units: self.units, patterns: new };
        let joined = self.home.hub.send(join).into_actor(self);
        AtomicResponse::new(Box::pin(joined.map(|joined, _, ctx| match joined {
            Ok(()) => Subscribed::Done,
            // Without its hub a session hears nothing; its client shall start over.
            Err(_) => {
                ctx.stop();
                Subscribed::UnknownClient
            }
        })))
    }
}

impl Handler<Unsubscribe> for SessionActor {
    type Result = Subscribed;

    fn handle(&mut self, unsubscribe: Unsubscribe, ctx: &mut Self::Context) -> Subscribed {
        if !self.belongs_to(&unsubscribe.user) {
            return Subscribed::UnknownClient;
        }
        self.touch(ctx);
        let left = std::mem::take(&mut self.patterns).into_iter();
        self.patterns = left.filter(|pattern| !unsubscribe.patterns.contains(pattern)).collect();
        self.home.hub.do_send(Leave { seat: ctx.seat(), patterns: unsubscribe.patterns });
        Subscribed::Done
    }
}

fn reply(subscribed: Subscribed) -> AtomicResponse<SessionActor, Subscribed> {
    AtomicResponse::new(Box::pin(actix::fut::ready(subscribed)))
}
