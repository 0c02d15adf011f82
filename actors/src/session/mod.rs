//! One actor per Bayeux client session: its subscriptions, its queue, its parked connect.
//!
//! A session belongs to a user of a tenant and outlives its connections (B-18): it ends by a disconnect, or when no
//! connect was held for its interval. Transports are told apart only by how they take a delivery: a long poll takes
//! one answer, a socket takes frames whenever it is ready for more.

mod connect;
mod context;
mod presence;
mod queue;
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

pub use connect::{Abandoned, Answer, Carries, Connect, FirstConnect, GoOn};
pub use context::SessionContext;
pub(crate) use context::{AtCourier, Living};
pub use queue::Delivery;
pub use socket::{AttachSocket, Frames, SocketClosed, SocketMessage};
pub use subscriptions::{Belongs, Subscribe, Subscribed, Unsubscribe};
pub use templates::{SessionTemplates, UseTemplates};

use crate::bayeux::{Advice, Pattern, error};
use crate::hub::{Leave, Notification, NotificationHub};
use crate::limits::Limits;
use crate::model::units::SystemOfUnits;
use crate::own_keys::OwnKeys;
use crate::registry::Registry;
use crate::tenant::{SessionEnded, TenantActor};
use connect::Parked;
use queue::Queue;
use socket::Socket;

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

/// Ends the session; its client is told to handshake again. Sent by the tenant when its user changed (U-16, B-18).
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub(crate) struct End;

/// Something of the session may be due. Sent by its courier when the session asked for it.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct Wake;

/// Answers a parked connect with an empty reply and the advice to come back after a while: the server is stopping.
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
    patterns: Box<[Pattern]>,
    /// In which units measurements are told; `None` is as they are stored (B-20).
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
    /// How long the session outlives a connect.
    interval: Duration,
    /// When its connect is answered empty; without one, when it ends, unless a socket is open.
    due: Instant,
}

impl SessionActor {
    /// A session just after its handshake.
    pub(crate) fn new(home: Arc<Home>, client: ClientId, user: Arc<str>, interval: Option<Duration>) -> Self {
        let limits = &home.limits;
        let interval = interval.unwrap_or(limits.session_interval);
        Self {
            queue: Queue::default(),
            due: Instant::now() + interval,
            interval,
            home,
            client,
            user,
            patterns: Box::default(),
            units: None,
            parked: None,
            socket: None,
            connects: 0,
            templates: None,
            appeared: false,
        }
    }

    /// Batches are numbered and kept until acknowledged (B-22).
    pub(crate) fn acknowledging(mut self) -> Self {
        self.queue.acknowledge_batches();
        self
    }

    /// Measurements are told in these units (B-20).
    pub(crate) fn in_units(mut self, units: Option<SystemOfUnits>) -> Self {
        self.units = units;
        self
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

    /// When something is due: the end of a parked connect, else the end of the session.
    fn due(&self) -> Option<Instant> {
        (self.parked.is_some() || self.socket.is_none()).then_some(self.due)
    }

    /// Sees to it that the session is woken no later than when something is due. One that is woken early looks again.
    fn arm(&mut self, ctx: &mut SessionContext) {
        if let Some(due) = self.due() {
            ctx.wake_at(due);
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
        let dropped = self.queue.len() as u64;
        crate::metrics::DROPPED.increment(dropped);
        self.answer_parked(Answer::unknown_client());
        if let Some(socket) = self.socket.take() {
            socket.close();
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
        match self.socket {
            Some(_) => self.flush_socket(ctx),
            None => self.answer_with_queue(ctx),
        }
    }
}

impl Handler<Wake> for SessionActor {
    type Result = ();

    fn handle(&mut self, _: Wake, ctx: &mut Self::Context) {
        ctx.woken();
        let now = Instant::now();
        match self.due() {
            Some(due) if due > now => {}
            Some(_) if self.parked.is_some() => self.connect_timed_out(),
            Some(_) => return ctx.stop(),
            None => return,
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
        self.touch(ctx);
    }
}

impl Handler<Disconnect> for SessionActor {
    type Result = bool;

    fn handle(&mut self, disconnect: Disconnect, ctx: &mut Self::Context) -> bool {
        let own = self.belongs_to(&disconnect.user);
        if own {
            // A connect still parked on another connection is answered without an error: the client went in peace.
            self.answer_parked(Answer::default());
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
