//! The messages that end a session or its connections.

use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use platform_model::realtime::bayeux::Advice;
use platform_model::realtime::trace::record::EndReason;

use super::socket::EndNotice;
use super::{ConnectResponse, SessionActor};

/// Ends the session for this reason; its client receives 402 and handshakes again.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub(crate) struct EndSession(pub(crate) EndReason);

/// Ends the session for this reason: its user may not have it any more, or it may have missed notifications. A session
/// that has just left ends at its new place, which may have applied the change before the session arrived. Sent when a
/// user or a tenant changed (U-16, B-18b), or after a gap.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct RevokeSession(pub(crate) EndReason);

/// Completes a parked connect with an empty response and the advice to come back after `interval`, then asks the
/// socket to close. Sent when the server stops (B-24).
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct Release {
    pub(crate) interval: Duration,
}

/// Ends the session at the request of its client. The reply is whether the session belongs to that user.
#[derive(Debug, Message)]
#[rtype(result = "bool")]
pub struct Disconnect {
    /// The user who sent the request.
    pub user: Arc<str>,
}

impl Handler<EndSession> for SessionActor {
    type Result = ();

    fn handle(&mut self, EndSession(reason): EndSession, ctx: &mut Self::Context) {
        self.end(reason, ctx);
    }
}

impl Handler<RevokeSession> for SessionActor {
    type Result = ();

    fn handle(&mut self, RevokeSession(reason): RevokeSession, ctx: &mut Self::Context) {
        if self.has_left() {
            return self.end_at_new_place();
        }
        self.end(reason, ctx);
    }
}

impl Handler<Release> for SessionActor {
    type Result = ();

    fn handle(&mut self, release: Release, ctx: &mut Self::Context) {
        let advice = Advice::retry(release.interval, self.environment.limits.connect_timeout);
        self.answer_parked(ConnectResponse { advice: Some(advice), ..ConnectResponse::default() });
        if let Some(socket) = &self.socket {
            socket.leave();
        }
        self.touch(ctx);
    }
}

impl Handler<Disconnect> for SessionActor {
    type Result = bool;

    fn handle(&mut self, disconnect: Disconnect, ctx: &mut Self::Context) -> bool {
        let own = self.belongs_to(&disconnect.user);
        if own {
            // The held connect succeeds, because the client itself ended the session.
            self.answer_parked(ConnectResponse::default());
            if let Some(socket) = self.take_socket() {
                socket.end(self.client, EndNotice::InResponse);
            }
            self.end(EndReason::Disconnected, ctx);
        }
        own
    }
}
