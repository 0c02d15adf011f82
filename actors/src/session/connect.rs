//! The parked connect of a session (B-10 to B-13, B-22).
//!
//! A connect waits as a parked sender, never as a handler that stays open: when its transport drops the other end,
//! the batch stays for the next connect.

use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::{Delivery, SessionActor, SessionContext, SessionTemplates};
use crate::bayeux::Advice;

/// What a connect is answered with.
#[derive(Debug, Default)]
pub struct Answer {
    /// The notifications; empty after a time-out or when a newer connect took over.
    pub delivery: Delivery,
    /// What the client should do next, when that needs to be said (B-08).
    pub advice: Option<Advice>,
    /// Error string; `None` is success.
    pub error: Option<&'static str>,
    /// Through which templates the notifications are seen, for a CSV client (S-53).
    pub templates: Option<Arc<SessionTemplates>>,
    /// Which connect of the session it answers, for [`GoOn`].
    pub connect: u64,
}

/// By which transport a connect came, and so what its reply carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carries {
    /// A long poll: its reply carries the notifications.
    Notifications,
    /// A connect over a socket. It is only a heartbeat, for notifications go out as frames of their own (B-19); except in
    /// a session that acknowledges, where they travel with the replies to connects on every transport (B-22a).
    Heartbeat,
    /// A request whose response nobody reads: its reply carries nothing.
    Nothing,
}

/// Waits for notifications.
///
/// Sent by the edge for `/meta/connect`. Answered once through `reply_to`; a connect parked before is answered empty
/// (B-13). The number of the connect goes back at once, for [`Abandoned`].
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct Connect {
    /// Who asks; a foreign user is answered 402 (B-18).
    pub user: Arc<str>,
    /// Until when the token is valid that the user came with; `None` for a password.
    pub expires: Option<std::time::Instant>,
    /// How long it may be held; zero is answered at once.
    pub hold: Duration,
    /// The hold time that its reply advises for the next connect (B-08a); `None` gives no advice.
    pub advised: Option<Duration>,
    /// How long the session shall outlive a connect from now on, when the client asks for it.
    pub interval: Option<Duration>,
    /// The last batch the client has (B-22).
    pub acknowledged: Option<i64>,
    /// What its reply carries.
    pub carries: Carries,
    /// Whether the very first connect of a session is answered at once (compatibility switch, B-11).
    pub first: FirstConnect,
    /// Where the answer goes.
    pub reply_to: oneshot::Sender<Answer>,
}

/// What becomes of the first connect of a session (B-11, C-20).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstConnect {
    /// Held like any other.
    Held,
    /// Answered at once.
    AnsweredAtOnce,
}

/// The transport of a parked connect went away before it was answered, or before it could write the answer.
///
/// Sent by the transport; what it could not write comes back and stays for the next connect.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct Abandoned {
    /// What was taken from the session but not written.
    pub unwritten: Option<Delivery>,
}

/// Goes on waiting: nothing of what a connect was answered with was for its client, so it does not end (S-53).
///
/// Sent by the edge for what is left of the connect's time. A connect that a newer one took over meanwhile is answered empty
/// (B-13).
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct GoOn {
    /// Which connect it was.
    pub connect: u64,
    /// How long it may still be held.
    pub hold: Duration,
    /// The hold time that its reply advises for the next connect (B-08a).
    pub advised: Duration,
    /// Where the answer goes.
    pub reply_to: oneshot::Sender<Answer>,
}

/// Writing an answer of the session takes a while, because its client reads slowly: the session does not end meanwhile
/// (B-10a).
///
/// Sent by the transport, which sends [`Written`] later in any case.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct Writing;

/// An answer was written, or its connection broke: the interval of the session runs from now (B-10a).
///
/// Sent by the transport after [`Writing`].
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct Written;

/// A connect that waits.
#[derive(Debug)]
pub(super) struct Parked {
    reply_to: oneshot::Sender<Answer>,
    carries: Carries,
    /// The hold time that its reply advises for the next connect.
    advised: Option<Duration>,
}

impl Parked {
    fn advice(&self) -> Option<Advice> {
        self.advised.map(|hold| Advice::retry(Duration::ZERO, hold))
    }
}

impl Handler<Connect> for SessionActor {
    type Result = ();

    fn handle(&mut self, connect: Connect, ctx: &mut Self::Context) {
        if !self.belongs_to(&connect.user) {
            return drop(connect.reply_to.send(Answer::unknown_client()));
        }
        self.connects += 1;
        self.appear(ctx);
        self.answer_parked(Answer::default());
        self.expires = connect.expires.map(Box::new);
        if let Some(interval) = connect.interval {
            self.interval = interval;
        }
        if let Some(batch) = connect.acknowledged {
            self.queue.acknowledged(batch);
        }
        if connect.carries == Carries::Notifications {
            // The newest way to the client wins; an older socket may be half open (B-13a).
            self.leave_socket();
        }
        let at_once = self.connects == 1 && connect.first == FirstConnect::AnsweredAtOnce;
        let hold = if at_once { Duration::ZERO } else { connect.hold };
        let parked =
            Parked { reply_to: connect.reply_to, carries: connect.carries, advised: connect.advised };
        self.park(parked, hold, ctx);
    }
}

impl Handler<GoOn> for SessionActor {
    type Result = ();

    fn handle(&mut self, GoOn { connect, hold, advised, reply_to }: GoOn, ctx: &mut Self::Context) {
        if connect != self.connects || self.parked.is_some() {
            // The newer one has its place; nobody listens any more when that was closed too.
            return drop(reply_to.send(Answer::default()));
        }
        let (carries, advised) = (Carries::Notifications, Some(advised));
        self.park(Parked { reply_to, carries, advised }, hold, ctx);
    }
}

impl Handler<Abandoned> for SessionActor {
    type Result = ();

    fn handle(&mut self, abandoned: Abandoned, ctx: &mut Self::Context) {
        if let Some(delivery) = abandoned.unwritten {
            self.queue.put_back(delivery);
        }
        // A newer connect may be parked by now; only one whose other end is gone is taken down.
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
    /// Holds a connect, or answers it at once with what there is.
    fn park(&mut self, parked: Parked, hold: Duration, ctx: &mut SessionContext) {
        self.parked = Some(parked);
        self.due = Instant::now() + hold;
        crate::metrics::PARKED.increment(1);
        match hold.is_zero() {
            true => self.connect_timed_out(),
            false => self.answer_with_queue(ctx),
        }
        self.arm(ctx);
    }

    /// Answers a parked connect with everything that waits, if there are both and its reply carries notifications.
    pub(super) fn answer_with_queue(&mut self, ctx: &mut SessionContext) {
        if !self.queue.is_empty() && self.parked.as_ref().is_some_and(|parked| self.are_carried_by(parked)) {
            self.deliver_to_parked();
            self.touch(ctx);
        }
    }

    /// Whether the reply to this connect carries notifications.
    fn are_carried_by(&self, parked: &Parked) -> bool {
        match parked.carries {
            Carries::Notifications => true,
            Carries::Heartbeat => self.queue.acknowledges(),
            Carries::Nothing => false,
        }
    }

    /// The hold time is over: the answer carries what there is, which is nothing on a long poll that waited.
    pub(super) fn connect_timed_out(&mut self) {
        match &self.parked {
            Some(parked) if !self.are_carried_by(parked) => {
                self.answer_parked(Answer { advice: parked.advice(), ..Answer::default() });
            }
            _ => self.deliver_to_parked(),
        }
        self.due = Instant::now() + self.interval;
    }

    fn deliver_to_parked(&mut self) {
        let Some(parked) = self.unpark() else { return };
        let delivery = self.queue.take();
        let count = delivery.notifications.len() as u64;
        let (templates, connect) = (self.templates.clone(), self.connects);
        let answer = Answer { delivery, advice: parked.advice(), error: None, templates, connect };
        match parked.reply_to.send(answer) {
            Ok(()) => crate::metrics::DELIVERED.increment(count),
            Err(unsent) => self.queue.put_back(unsent.delivery),
        }
    }

    /// Answers a parked connect without notifications. Whether somebody got the answer.
    pub(super) fn answer_parked(&mut self, answer: Answer) -> bool {
        // Nothing is lost when nobody listens any more: there is nothing in it.
        self.unpark().is_some_and(|parked| parked.reply_to.send(answer).is_ok())
    }

    fn unpark(&mut self) -> Option<Parked> {
        let parked = self.parked.take()?;
        crate::metrics::PARKED.decrement(1);
        Some(parked)
    }
}
