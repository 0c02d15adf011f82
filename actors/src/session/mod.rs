//! One actor per Bayeux client session: its subscriptions, its queue, its parked connect.
//!
//! A session belongs to a user of a tenant and outlives its connections (B-18): it ends by a disconnect, or when no
//! connect was held for its interval, whether or not a socket is open (B-10a). Transports differ only in how they take a
//! delivery: a long poll takes one answer, a socket takes frames whenever it is ready for more. A session that acknowledges
//! what it received is served by replies to connects alone (B-22a).

mod connect;
mod context;
mod presence;
mod queue;
mod rights;
mod socket;
mod subscriptions;
mod templates;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use actix::WeakAddr;
use actix::prelude::*;
use tokio::time::Instant;

pub use connect::{Abandoned, Answer, Carries, Connect, FirstConnect, GoOn, Writing, Written};
pub use context::SessionContext;
pub(crate) use context::{AtCourier, Living};
pub use queue::Delivery;
pub(crate) use rights::ListSubscriptions;
pub use rights::{Rights, Verdict, may_receive};
pub use socket::{AttachSocket, Frames, SetSocketAside, SocketClosed, SocketMessage};
pub use subscriptions::{Belongs, Subscribe, Subscribed, Unsubscribe};
pub use templates::{SessionTemplates, UseTemplates};

use crate::bayeux::{Advice, Pattern, error};
use crate::hub::{Leave, Notification, NotificationHub};
use crate::limits::Limits;
use crate::model::units::SystemOfUnits;
use crate::own_keys::OwnKeys;
use crate::registry::Registry;
use crate::tenant::{NewSession, SessionEnded, TenantActor};
use connect::Parked;
use queue::Queue;
use socket::{ClientIsTold, Socket};

/// A session's name on the wire: 128 random bits as 32 hexadecimal digits, never reused (B-08).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClientId(u128);

impl ClientId {
    /// Draws a new one from the system's random source.
    ///
    /// # Panics
    /// When the system has no random source left; nothing secret could be made then.
    pub(crate) fn draw() -> Self {
        let mut bytes = [0; 16];
        let random = ring::rand::SystemRandom::new();
        ring::rand::SecureRandom::fill(&random, &mut bytes).expect("the system's random source works");
        Self(u128::from_le_bytes(bytes))
    }

    /// Reads the wire form; `None` for what this server never issued.
    pub fn parse(text: &str) -> Option<Self> {
        let digits =
            text.len() == 32 && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        digits.then(|| u128::from_str_radix(text, 16).ok().map(Self))?
    }
}

impl fmt::Display for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// Hands a notification to a session. Sent by the hub, by way of its courier.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub(crate) struct Deliver(pub(crate) Arc<Notification>);

/// Ends the session; its client is told to handshake again. Sent when its user changed, or lost what it rested on (U-16, B-18b).
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub(crate) struct End;

/// Something of the session may be due. Sent by its courier when the session asked for it.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct Wake;

/// Answers a parked connect with an empty reply and the advice to come back after a while, then has its socket closed: the
/// server is stopping (B-24).
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct Release {
    pub(crate) interval: Duration,
}

/// Ends the session on its client's wish. The reply says whether it was that user's session.
#[derive(Debug, Message)]
#[rtype(result = "bool")]
pub struct Disconnect {
    /// Who asks.
    pub user: Arc<str>,
}

/// Asks whose session it is. Sent by the edge when a socket without credentials names the session (B-18a).
#[derive(Debug, Message)]
#[rtype(result = "Owner")]
pub struct FindOwner;

/// Whose session it is.
#[derive(Debug, MessageResponse)]
pub struct Owner {
    /// The user.
    pub user: Arc<str>,
    /// Until when the token is valid that the user came with; `None` for a password.
    pub expires: Option<std::time::Instant>,
}

/// The sessions of a tenant. Each is kept by its courier.
pub type Sessions = Registry<ClientId, SessionActor, WeakAddr<SessionActor>, OwnKeys>;

/// What all sessions of a tenant share.
#[derive(Debug)]
pub(crate) struct Home {
    pub(crate) hub: Addr<NotificationHub>,
    pub(crate) tenant: Addr<TenantActor>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) limits: Arc<Limits>,
}

/// A client session.
#[derive(Debug)]
pub struct SessionActor {
    home: Arc<Home>,
    client: ClientId,
    user: Arc<str>,
    /// Until when the token is valid that its user came with last. Boxed, for most come with a password.
    expires: Option<Box<std::time::Instant>>,
    patterns: Box<[Pattern]>,
    /// The system of units of measurements in notifications; `None` leaves them as they are stored (B-20).
    units: Option<SystemOfUnits>,
    queue: Queue,
    parked: Option<Parked>,
    /// Boxed, for most sessions have none.
    socket: Option<Box<Socket>>,
    connects: u64,
    /// Through which templates a CSV client sees its notifications; `None` for a client that reads JSON (S-53).
    templates: Option<Arc<SessionTemplates>>,
    /// Whether it ever held a connection.
    appeared: bool,
    /// Whether an answer or frames are being written to a client that reads slowly; the session does not end meanwhile.
    is_being_written: bool,
    /// How long the session outlives a connect.
    interval: Duration,
    /// When its connect is answered empty; without one, when it ends.
    due: Instant,
}

impl SessionActor {
    /// A session just after its handshake.
    pub(crate) fn new(home: Arc<Home>, client: ClientId, new: NewSession) -> Self {
        let interval = new.interval.unwrap_or(home.limits.session_interval);
        Self {
            queue: Queue::new(new.acknowledgement),
            due: Instant::now() + interval,
            interval,
            home,
            client,
            user: new.user,
            expires: new.expires.map(Box::new),
            patterns: Box::default(),
            units: new.units,
            parked: None,
            socket: None,
            connects: 0,
            templates: None,
            appeared: false,
            is_being_written: false,
        }
    }

    fn belongs_to(&self, user: &str) -> bool {
        &*self.user == user
    }

    /// The client was here: without a held connect the session's time starts anew.
    fn touch(&mut self, ctx: &mut SessionContext) {
        if self.parked.is_none() {
            self.due = Instant::now() + self.interval;
            self.arm(ctx);
        }
    }

    /// Sees to it that the session is woken no later than when something is due. One that is woken early looks again.
    fn arm(&mut self, ctx: &mut SessionContext) {
        ctx.wake_at(self.due);
    }

    /// Hands what waits to the client, by the way that it takes notifications.
    fn hand_over_queue(&mut self, ctx: &mut SessionContext) {
        match self.socket {
            Some(_) if !self.queue.acknowledges() => self.flush_socket(ctx),
            _ => self.answer_with_queue(ctx),
        }
    }

    /// Ends a session whose client does not fetch what is queued (B-12): the next connect is answered 402.
    fn overflow(&mut self, ctx: &mut SessionContext) {
        crate::metrics::OVERFLOWS.increment(1);
        ctx.stop();
    }
}

impl Actor for SessionActor {
    type Context = SessionContext;

    fn started(&mut self, ctx: &mut Self::Context) {
        crate::metrics::SESSIONS.increment(1);
        self.arm(ctx);
    }

    fn stopped(&mut self, ctx: &mut Self::Context) {
        let socket = self.take_socket();
        let dropped = self.queue.len() as u64;
        crate::metrics::DROPPED.increment(dropped);
        let is_told = self.answer_parked(Answer::unknown_client());
        if let Some(socket) = socket {
            let told = if is_told { ClientIsTold::ByReply } else { ClientIsTold::Nothing };
            socket.end(self.client, told);
        }
        self.home.sessions.leave(&self.client, &ctx.address());
        let patterns = std::mem::take(&mut self.patterns).into_vec();
        if !patterns.is_empty() {
            self.home.hub.do_send(Leave { seat: ctx.seat(), patterns });
        }
        self.home.tenant.do_send(SessionEnded { client: self.client, user: self.user.clone() });
    }
}

impl Drop for SessionActor {
    fn drop(&mut self) {
        crate::metrics::SESSIONS.decrement(1);
    }
}

impl Handler<Deliver> for SessionActor {
    type Result = ();

    fn handle(&mut self, Deliver(notification): Deliver, ctx: &mut Self::Context) {
        if self.queue.push(notification, &self.home.limits).is_err() {
            return self.overflow(ctx);
        }
        self.hand_over_queue(ctx);
    }
}

impl Handler<Wake> for SessionActor {
    type Result = ();

    fn handle(&mut self, _: Wake, ctx: &mut Self::Context) {
        ctx.woken();
        let now = Instant::now();
        if self.due <= now {
            match (&self.parked, self.is_being_written) {
                (Some(_), _) => self.connect_timed_out(),
                (None, true) => self.due = now + self.interval,
                (None, false) => return ctx.stop(),
            }
        }
        self.arm(ctx);
    }
}

impl Handler<End> for SessionActor {
    type Result = ();

    fn handle(&mut self, _: End, ctx: &mut Self::Context) {
        ctx.stop();
    }
}

impl Handler<Release> for SessionActor {
    type Result = ();

    fn handle(&mut self, release: Release, ctx: &mut Self::Context) {
        let advice = Advice::retry(release.interval, self.home.limits.connect_timeout);
        self.answer_parked(Answer { advice: Some(advice), ..Answer::default() });
        if let Some(socket) = &self.socket {
            socket.leave();
        }
        self.touch(ctx);
    }
}

impl Handler<FindOwner> for SessionActor {
    type Result = Owner;

    fn handle(&mut self, _: FindOwner, _: &mut Self::Context) -> Owner {
        Owner { user: self.user.clone(), expires: self.expires.as_deref().copied() }
    }
}

impl Handler<Disconnect> for SessionActor {
    type Result = bool;

    fn handle(&mut self, disconnect: Disconnect, ctx: &mut Self::Context) -> bool {
        let own = self.belongs_to(&disconnect.user);
        if own {
            // A connect that is still held is answered without an error: the client said that it leaves.
            self.answer_parked(Answer::default());
            if let Some(socket) = self.take_socket() {
                socket.end(self.client, ClientIsTold::ByReply);
            }
            ctx.stop();
        }
        own
    }
}

impl Answer {
    /// The session is gone: handshake again (B-14).
    pub fn unknown_client() -> Self {
        Self { error: Some(error::UNKNOWN_CLIENT), advice: Some(Advice::HANDSHAKE), ..Self::default() }
    }
}
