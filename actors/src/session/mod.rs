//! One actor per Bayeux client session. It owns the session's subscriptions, its queue of notifications and its
//! parked connect.
//!
//! A session belongs to a user of a tenant and outlives its connections (B-18). It ends when its client disconnects,
//! or when no connect was held for the session's interval, whether or not a socket is open (B-10a). The transports
//! differ only in how they take notifications: a long poll takes one response, a socket takes frames as fast as its
//! peer reads. A session with the acknowledgement extension receives notifications only in the responses to its
//! connects (B-22a).
//!
//! # The calls and their threads
//!
//! 1. *HTTP thread of the handshake.* The request handler registers the session ([`starting`]) and sends its
//!    parts to the `SessionDispatcher` of its own thread. There is one dispatcher per HTTP thread. The dispatcher
//!    creates the [`SessionActor`], gives it a `SessionSlot` and spawns a `SessionTask`, so the session runs on the
//!    HTTP thread.
//! 2. *Thread of the publisher.* Device actors, modules and requests call the [`NotificationHub`] of the tenant with
//!    each committed change. The hub encodes the notification once and sends each dispatcher one `DispatchToSessions`,
//!    which lists the slots of the subscribed sessions.
//! 3. *HTTP thread of the session.* The dispatcher calls the handler of each listed session directly, without a
//!    mailbox. After a group of them it lets other tasks of the thread run; its next message waits until all listed
//!    sessions were called. The session writes a frame to the connection of its WebSocket ([`FrameWriter`]) if the
//!    connection lives on the same thread and has written everything else. Otherwise it queues the notification, and
//!    then completes its parked connect or sends a frame to the actor of its WebSocket. It completes a connect of a
//!    connection on the same thread by calling the connection ([`PollConnection`]), which writes the response at once
//!    if it can, and any other connect through a oneshot channel.
//! 4. *HTTP thread of the session.* A connection of the fast lane calls the session with a connect ([`SessionHere`]),
//!    and with the notifications of a response that it could not write.
//! 5. *Any thread.* Everyone else sends messages to the session's address, for example [`Connect`], [`Subscribe`] and
//!    [`Disconnect`]. The `SessionTask` takes them from the mailbox and handles them one after the other.
//! 6. *Threads of two sessions.* A session that its client uses at another server hands over its state and continues
//!    there; see [`session_moves`](crate::session_moves).
//! 7. *HTTP thread of the session.* The session asks its dispatcher to wake it (`ScheduleWake`); all sessions of a
//!    thread share one timer. A session that ends removes itself from its dispatcher (`RemoveSession`), from the
//!    hub and from the sessions of its tenant.

pub(crate) mod arriving;
mod client_id;
mod connect;
mod consumer;
mod context;
pub(crate) mod deliveries;
pub(crate) mod dispatcher;
mod ending;
mod frame_writers;
pub(crate) mod listing;
mod moving;
pub(crate) mod presence;
mod queue;
mod registered;
mod responding;
mod rights;
mod same_thread;
mod snapshots;
mod socket;
pub(crate) mod starting;
mod subscriptions;
mod templates;
#[cfg(test)]
mod tests;
mod tracing;

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use actix::prelude::*;
use parking_lot::Mutex;
use tokio::time::Instant;

pub use client_id::ClientId;
pub use connect::{
    Abandoned, Connect, ConnectResponse, FirstConnect, ResponseContent, ResumeConnect, Writing, Written,
};
use consumer::SessionConsumer;
pub use consumer::{AcknowledgedTo, Consume};
pub use context::SessionContext;
pub(crate) use context::{SessionTask, SharedSession};
pub use ending::Disconnect;
pub(crate) use ending::{EndSession, Release, RevokeSession};
pub use frame_writers::{FrameWriter, FrameWriterKey, FrameWriterRegistration};
use moving::Moving;
pub(crate) use moving::{HandOver, StartMove};
use platform_model::id::TenantId;
use platform_model::limits::Limits;
use platform_model::realtime::bayeux::Subscription;
use platform_model::realtime::session_move::SessionTraces;
use platform_model::realtime::trace::record::{EndReason, TraceEvent};
use platform_model::units::SystemOfUnits;
use platform_store::statistics::{Counted, TenantCounters};
use platform_store::tenancy::tenant_limits::TenantLimits;
pub use queue::Delivery;
pub(crate) use registered::SessionsOfUsers;
pub use registered::{SessionEntry, Sessions};
pub(crate) use rights::ListSubscriptions;
pub use rights::{FindOwner, Owner, Rights, Verdict, may_receive};
pub use same_thread::{PollConnection, PollHere, SessionHere};
use snapshots::Snapshots;
pub use snapshots::{AbandonSnapshot, BeginSnapshot, FinishSnapshot, SnapshotFailure};
pub use socket::{AttachSocket, Frame, LARGE, SetSocketAside, SocketClosed, SocketMessage};
pub use starting::{AcknowledgementExtension, NewSession};
pub use subscriptions::{IsOwnedBy, Subscribe, Subscribed, Unsubscribe};
pub use templates::{SessionTemplates, UseTemplates};

use crate::consumers::ConsumerReaders;
use crate::hub::{Notification, NotificationHub, RemoveSubscriptions};
use crate::session_moves::{ArrivalSource, Transfers};
use crate::traces::TraceRecorder;
use arriving::Requested;
use connect::{Parked, ReplyTo};
use presence::Presence;
use queue::Queue;
use responding::AdvisedInterval;
use socket::{EndNotice, Socket};

/// Delivers a notification to a session. Sent by publishers through the session's dispatcher.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub(crate) struct DeliverNotification(pub(crate) Arc<Notification>);

/// Asks the session to check whether its deadline has passed. Sent by its dispatcher at the requested time.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct WakeSession;

/// The addresses and limits that all sessions of a tenant share.
#[derive(Debug)]
pub(crate) struct SessionEnvironment {
    /// The tenant.
    pub(crate) id: TenantId,
    pub(crate) hub: NotificationHub,
    /// The readers of the tenant's consumers.
    pub(crate) consumers: Arc<ConsumerReaders>,
    pub(crate) presence: Addr<Presence>,
    pub(crate) sessions: Arc<Sessions>,
    /// The sessions by user. Locked while a session starts.
    pub(crate) of_users: Mutex<SessionsOfUsers>,
    /// The sessions that are on their way from other servers.
    pub(crate) requested: Requested,
    pub(crate) limits: Arc<Limits>,
    /// The limits of the tenant with their usage.
    pub(crate) of_tenant: Arc<TenantLimits>,
    /// The sessions that are moving to or from this server.
    pub(crate) transfers: Arc<Transfers>,
    /// The counters of the tenant.
    pub(crate) counters: Arc<TenantCounters>,
    /// Records what traces concern.
    pub(crate) recorder: Arc<TraceRecorder>,
}

/// A Bayeux client session.
#[derive(Debug)]
pub struct SessionActor {
    environment: Arc<SessionEnvironment>,
    client: ClientId,
    user: Arc<str>,
    /// The time at which the token expires that the user last sent. Boxed, because most users send a password.
    expires: Option<Box<std::time::Instant>>,
    subscriptions: Box<[Subscription]>,
    /// The system of units for measurements in notifications; `None` leaves them as stored (B-20).
    units: Option<SystemOfUnits>,
    queue: Queue,
    /// The consumer that fills the queue. Boxed, because most sessions have none.
    consumer: Option<Box<SessionConsumer>>,
    /// The lists that the session receives before the changes of channels. Boxed, because most sessions have none.
    snapshots: Option<Box<Snapshots>>,
    parked: Option<Parked>,
    /// Boxed, because most sessions have none.
    socket: Option<Box<Socket>>,
    connects: u64,
    /// The templates that turn notifications into CSV rows; `None` for a client that reads JSON (S-53).
    templates: Option<Arc<SessionTemplates>>,
    /// The past of the session that administrators can see.
    traces: SessionTraces,
    /// Whether a response has to take back a pause that the client was advised (B-09a).
    advised_interval: AdvisedInterval,
    /// Whether the session ever had a connection.
    appeared: bool,
    /// Whether a response or frames are being written to a client that reads slowly. The session does not end while
    /// they are.
    is_being_written: bool,
    /// Whether notifications were sent through a channel, which may still return them in a message.
    may_get_back: bool,
    /// Whether the session has arrived from another server or thread.
    has_moved: bool,
    /// The reason for which the session ends.
    end_reason: EndReason,
    /// The stage of a move; boxed, because most sessions stay.
    moving: Option<Box<Moving>>,
    /// The seconds that the session lives longer until its client uses it, after there was no server for that long.
    grace: u8,
    /// The time that the session lives after a connect.
    interval: Duration,
    /// The time at which the parked connect gets an empty response; without a parked connect, the time at which the
    /// session ends.
    due: Instant,
}

impl SessionActor {
    /// Creates the session for a handshake.
    pub(crate) fn new(environment: Arc<SessionEnvironment>, client: ClientId, new: NewSession) -> Self {
        let interval = new.interval.unwrap_or(environment.limits.session_interval);
        Self {
            queue: Queue::new(new.acknowledgement),
            consumer: None,
            snapshots: None,
            due: Instant::now() + interval,
            interval,
            environment,
            client,
            user: new.user,
            expires: new.expires.map(Box::new),
            subscriptions: Box::default(),
            units: new.units,
            parked: None,
            socket: None,
            connects: 0,
            templates: None,
            traces: SessionTraces { began: seconds_now(), delivered: 0, address: new.address },
            advised_interval: AdvisedInterval::None,
            appeared: false,
            is_being_written: false,
            may_get_back: false,
            has_moved: false,
            end_reason: EndReason::Server,
            moving: None,
            grace: 0,
        }
    }

    /// Creates a session that arrives from elsewhere.
    pub(crate) fn expected(
        environment: Arc<SessionEnvironment>,
        client: ClientId,
        user: Arc<str>,
        source: ArrivalSource,
    ) -> Self {
        let acknowledgement = AcknowledgementExtension::Absent;
        let new =
            NewSession { user, expires: None, interval: None, acknowledgement, units: None, address: None };
        let moving = Some(Box::new(Moving::Expected(source)));
        Self { moving, ..Self::new(environment, client, new) }
    }

    fn belongs_to(&self, user: &str) -> bool {
        &*self.user == user && !self.is_leaving()
    }

    /// Restarts the session's interval after a request of its client, unless a connect is held.
    fn touch(&mut self, ctx: &mut SessionContext) {
        self.grace = 0;
        self.await_client(ctx);
    }

    /// Lets the session end when its interval passes, unless a connect is held.
    fn await_client(&mut self, ctx: &mut SessionContext) {
        if self.parked.is_none() && self.moving.is_none() {
            self.due = Instant::now() + self.interval + Duration::from_secs(self.grace.into());
            self.arm(ctx);
        }
    }

    /// Returns the time that the session lives on because this process was paused: its client may have sent a connect
    /// that nobody has read yet.
    fn more_after_pause(&self) -> Option<Duration> {
        let since = self.environment.transfers.database().pauses().since_last()?;
        self.interval.checked_sub(since).filter(|more| !more.is_zero())
    }

    /// Asks to be woken when `due` passes, or earlier. A session that is woken early asks again.
    fn arm(&mut self, ctx: &mut SessionContext) {
        ctx.wake_at(self.due);
    }

    /// Sends the queued notifications through the socket or in the response to the parked connect.
    fn hand_over_queue(&mut self, ctx: &mut SessionContext) {
        match self.socket {
            Some(_) if !self.queue.acknowledges() => self.flush_socket(ctx),
            _ => self.answer_with_queue(ctx),
        }
    }

    /// Counts notifications that were passed to a transport.
    fn count_delivered(&mut self, count: u64) {
        if count > 0 {
            self.traces.delivered = seconds_now();
        }
        count_delivered(&self.environment.counters, count);
    }

    /// Ends a session whose client does not fetch its notifications (B-12). The next connect receives 402.
    fn overflow(&mut self, ctx: &mut SessionContext) {
        crate::metrics::OVERFLOWS.increment(1);
        self.end(EndReason::Overflow, ctx);
    }
}

/// Returns the time in seconds since 1970.
fn seconds_now() -> u32 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u32::try_from(now.as_secs()).unwrap_or(u32::MAX)
}

/// Counts notifications of a tenant that were passed to a transport.
fn count_delivered(counters: &TenantCounters, count: u64) {
    crate::metrics::DELIVERED.increment(count);
    counters.add(Counted::NotificationDelivered, count);
}

impl Actor for SessionActor {
    type Context = SessionContext;

    fn started(&mut self, ctx: &mut Self::Context) {
        crate::metrics::SESSIONS.increment(1);
        self.environment.counters.session_began();
        if self.moving.is_none() {
            self.trace(|| TraceEvent::Began { address: self.traces.address });
        }
        self.begin_arrival(ctx);
        self.arm(ctx);
    }

    fn stopped(&mut self, ctx: &mut Self::Context) {
        let socket = self.take_socket();
        self.trace_end();
        // A connection may refer to the session for longer than it lives.
        let dropped = std::mem::take(&mut self.queue).len() as u64;
        crate::metrics::DROPPED.increment(dropped);
        crate::metrics::SESSIONS.decrement(1);
        self.environment.counters.session_ended();
        self.end_move();
        let responded = self.answer_parked(ConnectResponse::unknown_client());
        if let Some(socket) = socket {
            let notice = if responded { EndNotice::InResponse } else { EndNotice::Missing };
            socket.end(self.client, notice);
        }
        self.environment.sessions.remove(&self.client, &ctx.address());
        let patterns = self.take_patterns();
        if !patterns.is_empty() {
            self.environment.hub.remove_subscriptions(RemoveSubscriptions { slot: ctx.slot(), patterns });
        }
        self.disappear();
    }
}

impl Handler<DeliverNotification> for SessionActor {
    type Result = ();

    fn handle(&mut self, DeliverNotification(notification): DeliverNotification, ctx: &mut Self::Context) {
        if self.receives_no_more() {
            return;
        }
        let Some(notification) =
            self.admit(notification, ctx).filter(|admitted| !self.write_at_once(admitted))
        else {
            return;
        };
        let traced = notification.traced().cloned();
        if self.queue.push(notification, &self.environment.limits).is_err() {
            return self.overflow(ctx);
        }
        self.hand_over_queue(ctx);
        if let Some(change) = traced
            && !self.queue.is_empty()
        {
            self.trace(|| TraceEvent::Waits { change, queued: self.queue.len() as u64 });
        }
    }
}

impl Handler<WakeSession> for SessionActor {
    type Result = ();

    fn handle(&mut self, _: WakeSession, ctx: &mut Self::Context) {
        ctx.woken();
        let now = Instant::now();
        if self.due <= now {
            match (&self.parked, self.is_being_written) {
                (Some(_), _) => self.connect_timed_out(),
                (None, true) => self.due = now + self.interval,
                (None, false) => match self.more_after_pause() {
                    Some(more) => self.due = now + more,
                    None => return self.end(EndReason::NoConnect, ctx),
                },
            }
        }
        self.arm(ctx);
    }
}
