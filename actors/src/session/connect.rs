//! The held connect of a session, which is called *parked* here (B-10 to B-13, B-22).
//!
//! A held connect is a stored sender or a connection of the same thread, not an open handler. When its transport drops
//! the receiver, or its connection no longer holds the poll, the batch stays in the queue for the next connect.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use platform_model::realtime::bayeux::Advice;
use platform_model::realtime::trace::record::TraceEvent;
use platform_store::tenancy::tenant_limits::Counted;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::{AcknowledgedTo, Delivery, PollHere, SessionActor, SessionContext, SessionTemplates};

/// The response to a connect.
#[derive(Debug, Default)]
pub struct ConnectResponse {
    /// The notifications; empty after a timeout or when a newer connect took over.
    pub delivery: Delivery,
    /// The advice for the next step of the client, if the response has to contain one (B-08).
    pub advice: Option<Advice>,
    /// The Bayeux error; `None` means success.
    pub error: Option<Cow<'static, str>>,
    /// The templates that turn the notifications into rows for a CSV client (S-53).
    pub templates: Option<Arc<SessionTemplates>>,
    /// The last bits of the number of this connect within the session, for [`ResumeConnect`].
    pub connect: u32,
    /// Whether the advice takes back an interval that an earlier response advised (B-09a). A CSV client gets advice
    /// beside its rows only then.
    pub restores_interval: bool,
}

/// The content of the response to a connect, which depends on its transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseContent {
    /// A long poll: its response carries the notifications.
    Notifications,
    /// A connect over a socket is only a heartbeat, because notifications are sent as frames of their own (B-19).
    /// If the session uses the acknowledgement extension, every transport gets them in connect responses (B-22a).
    Heartbeat,
    /// The response is not read, so it carries no notifications.
    Nothing,
}

/// Waits for notifications.
///
/// Sent by the HTTP layer for `/meta/connect`, or passed to [`SessionHere::connect`](super::SessionHere::connect) by a
/// connection of the session's thread. The session sends one response through `reply_to`. A connect that was parked
/// before gets an empty response (B-13).
#[derive(Debug)]
pub struct Connect<R = oneshot::Sender<ConnectResponse>> {
    /// The user who sent the request; a user who does not own the session receives 402 (B-18).
    pub user: Arc<str>,
    /// The time at which the user's token expires; `None` for a password.
    pub expires: Option<std::time::Instant>,
    /// The time for which the connect may be held; zero requests a response at once.
    pub hold: Duration,
    /// The hold time that the response advises for the next connect (B-08a); `None` gives no advice.
    pub advised: Option<Duration>,
    /// The time that the session lives after a connect from now on, if the client requests a value.
    pub interval: Option<Duration>,
    /// The last notification that the client received.
    pub acknowledged: Option<AcknowledgedTo>,
    /// The content of the response.
    pub carries: ResponseContent,
    /// Whether the first connect of a session gets its response at once (compatibility switch, B-11).
    pub first: FirstConnect,
    /// The channel for the response, or the connection that takes it.
    pub reply_to: R,
}

impl Message for Connect {
    type Result = ();
}

impl<R> Connect<R> {
    /// Returns the connect with another destination for its response.
    pub fn with_reply_to<T>(self, reply_to: impl FnOnce(R) -> T) -> Connect<T> {
        Connect {
            user: self.user,
            expires: self.expires,
            hold: self.hold,
            advised: self.advised,
            interval: self.interval,
            acknowledged: self.acknowledged,
            carries: self.carries,
            first: self.first,
            reply_to: reply_to(self.reply_to),
        }
    }
}

/// The destination of the response to a connect.
#[derive(Debug)]
pub(super) enum ReplyTo {
    /// A transport that may live on another thread.
    Channel(oneshot::Sender<ConnectResponse>),
    /// A connection of this thread.
    Connection(PollHere),
}

impl ReplyTo {
    /// Sends the response.
    ///
    /// # Errors
    /// The response, if the transport no longer waits for it.
    pub(super) fn send(self, response: ConnectResponse) -> Result<(), ConnectResponse> {
        match self {
            Self::Channel(channel) => channel.send(response),
            Self::Connection(poll) => poll.connection.respond(poll.number, response),
        }
    }

    /// Returns whether the transport no longer waits for the response.
    fn is_closed(&self) -> bool {
        match self {
            Self::Channel(channel) => channel.is_closed(),
            Self::Connection(poll) => !poll.connection.holds(poll.number),
        }
    }
}

/// The way in which the first connect of a session is handled (B-11, C-20).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstConnect {
    /// It is held like any other connect.
    Held,
    /// It gets its response at once.
    AnsweredAtOnce,
}

/// Reports that the transport of a connect went away before it had written the response.
///
/// Sent by the transport. Notifications that it could not write return to the queue for the next connect.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct Abandoned {
    /// The notifications that the transport took from the session but did not write.
    pub unwritten: Option<Delivery>,
}

/// Holds a connect for the rest of its time, because none of its notifications produced a row for the client (S-53).
///
/// Sent by the HTTP layer. If a newer connect took over meanwhile, this one gets an empty response (B-13).
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct ResumeConnect {
    /// The last bits of the number of the connect.
    pub connect: u32,
    /// The last of the notifications, in a session that keeps them until they are acknowledged.
    pub acknowledged: Option<AcknowledgedTo>,
    /// The time for which the connect may still be held.
    pub hold: Duration,
    /// The hold time that the response advises for the next connect (B-08a).
    pub advised: Duration,
    /// The channel for the response.
    pub reply_to: oneshot::Sender<ConnectResponse>,
}

/// Reports that a response takes a while to write, because the client reads slowly. The session does not end
/// meanwhile (B-10a).
///
/// Sent by the transport, which always sends [`Written`] later.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct Writing;

/// Reports that a response was written or its connection broke. The session's interval starts now (B-10a).
///
/// Sent by the transport after [`Writing`].
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct Written;

/// A connect that waits for notifications.
#[derive(Debug)]
pub(super) struct Parked {
    pub(super) reply_to: ReplyTo,
    carries: ResponseContent,
    /// The hold time that the response advises for the next connect.
    advised: Option<Duration>,
}

impl Parked {
    fn advice(&self) -> Option<Advice> {
        self.advised.map(|hold| Advice::retry(Duration::ZERO, hold))
    }

    /// Returns whether it is a long poll, which counts for the tenant (Z-20).
    pub(super) fn counts(&self) -> bool {
        self.carries == ResponseContent::Notifications
    }
}

impl Handler<Connect> for SessionActor {
    type Result = ();

    fn handle(&mut self, connect: Connect, ctx: &mut Self::Context) {
        self.connect(connect.with_reply_to(ReplyTo::Channel), ctx);
    }
}

impl SessionActor {
    /// Holds the connect or responds to it.
    pub(super) fn connect(&mut self, connect: Connect<ReplyTo>, ctx: &mut SessionContext) {
        let batch = connect.acknowledged.and_then(AcknowledgedTo::batch);
        if self.may_be_elsewhere(&connect.user) {
            return drop(connect.reply_to.send(ConnectResponse::not_now(batch)));
        }
        if self.is_leaving() && !self.is_missed() && *self.user == *connect.user {
            // The client has used another server meanwhile, and will continue the session there (B-13), with its
            // numbers. So this response repeats the number that the client has (B-22b).
            return drop(connect.reply_to.send(ConnectResponse::empty(batch)));
        }
        if !self.belongs_to(&connect.user) {
            return drop(connect.reply_to.send(ConnectResponse::unknown_client()));
        }
        self.connects += 1;
        self.appear(ctx);
        self.answer_parked(ConnectResponse::default());
        self.expires = connect.expires.map(Box::new);
        if let Some(interval) = connect.interval {
            self.interval = interval;
        }
        self.acknowledge(connect.acknowledged);
        if connect.carries == ResponseContent::Notifications {
            // The newest connection of the client wins; an older socket may be half open (B-13a).
            self.leave_socket();
        }
        let at_once = self.connects == 1 && connect.first == FirstConnect::AnsweredAtOnce;
        let hold = if at_once { Duration::ZERO } else { connect.hold };
        let parked =
            Parked { reply_to: connect.reply_to, carries: connect.carries, advised: connect.advised };
        self.park(parked, hold, ctx);
    }
}

impl Handler<ResumeConnect> for SessionActor {
    type Result = ();

    fn handle(
        &mut self,
        ResumeConnect { connect, acknowledged, hold, advised, reply_to }: ResumeConnect,
        ctx: &mut Self::Context,
    ) {
        if connect != self.connects as u32 || self.parked.is_some() || self.is_leaving() {
            // A newer connect is parked, or was and is closed already, or came to another server.
            return drop(reply_to.send(ConnectResponse::default()));
        }
        self.acknowledge(acknowledged);
        // The response before was not written.
        self.advised_interval = self.advised_interval.after_loss();
        let (carries, advised) = (ResponseContent::Notifications, Some(advised));
        let reply_to = ReplyTo::Channel(reply_to);
        self.park(Parked { reply_to, carries, advised }, hold, ctx);
    }
}

impl Handler<Abandoned> for SessionActor {
    type Result = ();

    fn handle(&mut self, abandoned: Abandoned, ctx: &mut Self::Context) {
        if let Some(delivery) = abandoned.unwritten {
            self.advised_interval = self.advised_interval.after_loss();
            if self.has_left() {
                if delivery.batch.is_none() && !delivery.notifications.is_empty() {
                    self.end_at_new_place();
                }
                return;
            }
            self.trace_notifications(&delivery.notifications, TraceEvent::Returned);
            self.queue.put_back(delivery);
        }
        // A newer connect may be parked by now. Only a connect whose receiver is gone is removed.
        if self.parked.as_ref().is_some_and(|parked| parked.reply_to.is_closed()) {
            self.unpark();
        }
        self.touch(ctx);
        self.hand_over_queue(ctx);
    }
}

impl Handler<Writing> for SessionActor {
    type Result = ();

    fn handle(&mut self, _: Writing, _: &mut Self::Context) {
        self.is_being_written = true;
    }
}

impl Handler<Written> for SessionActor {
    type Result = ();

    fn handle(&mut self, _: Written, ctx: &mut Self::Context) {
        self.is_being_written = false;
        self.touch(ctx);
    }
}

impl SessionActor {
    /// Holds a connect, or responds at once if notifications are queued.
    fn park(&mut self, parked: Parked, hold: Duration, ctx: &mut SessionContext) {
        if parked.counts() {
            self.environment.of_tenant.add(Counted::HeldPolls);
        }
        self.parked = Some(parked);
        self.due = Instant::now() + hold;
        crate::metrics::PARKED.increment(1);
        if hold.is_zero() {
            self.connect_timed_out()
        } else {
            self.answer_with_queue(ctx);
            self.answer_beyond_quota();
        }
        self.arm(ctx);
    }

    /// Sends all queued notifications in the response to the parked connect, if there is one that carries
    /// notifications.
    pub(super) fn answer_with_queue(&mut self, ctx: &mut SessionContext) {
        if !self.queue.is_empty()
            && self.parked.as_ref().is_some_and(|parked| self.carries_notifications(parked))
        {
            self.deliver_to_parked();
            self.touch(ctx);
        }
    }

    /// Returns whether the response to this connect carries notifications.
    fn carries_notifications(&self, parked: &Parked) -> bool {
        match parked.carries {
            ResponseContent::Notifications => true,
            ResponseContent::Heartbeat => self.queue.acknowledges(),
            ResponseContent::Nothing => false,
        }
    }

    /// Completes the connect when its hold time is over. On a long poll that waited, the response carries no
    /// notifications.
    pub(super) fn connect_timed_out(&mut self) {
        match &self.parked {
            Some(parked) if !self.carries_notifications(parked) => {
                let answer = ConnectResponse { advice: parked.advice(), ..ConnectResponse::default() };
                // If the transport is gone nothing is lost, because the response holds no notifications.
                drop(self.unpark().map(|parked| self.respond(parked, answer)));
            }
            _ => self.deliver_to_parked(),
        }
        self.due = Instant::now() + self.interval;
    }

    fn deliver_to_parked(&mut self) {
        let Some(parked) = self.unpark() else { return };
        let delivery = self.queue.take();
        let sent = self.environment.recorder.is_on().then(|| delivery.notifications.clone());
        let count = delivery.notifications.len() as u64;
        let (templates, connect) = (self.templates.clone(), self.connects as u32);
        let advice = parked.advice();
        let answer = ConnectResponse { delivery, advice, templates, connect, ..ConnectResponse::default() };
        self.may_get_back |= count > 0 && matches!(parked.reply_to, ReplyTo::Channel(_));
        match self.respond(parked, answer) {
            Ok(()) => {
                self.count_delivered(count);
                self.trace_notifications(sent.iter().flatten(), TraceEvent::Sent);
            }
            Err(unsent) => self.queue.put_back(unsent.delivery),
        }
    }

    /// Completes a parked connect early, without notifications. Returns whether the transport received the response.
    pub(super) fn answer_parked(&mut self, answer: ConnectResponse) -> bool {
        // If the transport is gone nothing is lost, because the response holds no notifications.
        self.unpark().is_some_and(|parked| self.respond_perhaps_unread(parked, answer).is_ok())
    }

    fn unpark(&mut self) -> Option<Parked> {
        let parked = self.parked.take()?;
        if parked.counts() {
            self.environment.of_tenant.subtract(Counted::HeldPolls);
        }
        crate::metrics::PARKED.decrement(1);
        Some(parked)
    }
}
