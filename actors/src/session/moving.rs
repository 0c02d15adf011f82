//! The arrival of a session from another server or thread, and its departure; [`session_moves`](crate::session_moves)
//! describes the whole move.

use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use platform_model::error::Error;
use platform_model::realtime::session_move::{
    BatchState, ServerMessage, SessionMove, SessionState, SessionTraces, TemplateNames,
};
use platform_model::realtime::trace::record::{EndReason, TraceEvent, TracedChange};
use platform_store::realtime::publications::TenantSubscription;
use platform_store::realtime::session_moves::StoredSession;
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::queue::Queue;
use super::responding::AdvisedInterval;
use super::{ConnectResponse, SessionActor, SessionContext, SessionTemplates};
use crate::hub::RemoveSubscriptions;
use crate::session_moves::{ArrivalPlace, ArrivalSource, Awaited, BeforePoint, Destination, NotArrived};

/// The longest time that a requested session may take to arrive.
const ARRIVAL: Duration = Duration::from_secs(40);
/// The longest time that a leaving session waits for the point of its move.
const DEPARTURE: Duration = Duration::from_secs(10);
/// The time that a session remains after it has left. In this time connections can return notifications, which are then
/// not lost silently, and its user counts as connected until the new server has reported it.
const REMAINS: Duration = Duration::from_secs(3);

/// The stages of a move, from the view of the session.
#[derive(Debug)]
pub(super) enum Moving {
    /// The session has no state yet and is about to request it.
    Expected(ArrivalSource),
    /// The session has requested its state.
    Arriving(Arc<ArrivalPlace>),
    /// The state has not arrived.
    Missed(NotArrived),
    /// Another server has requested the session. It receives notifications until the point of its move.
    Leaving(Destination),
    /// The session has reached the point of its move. It still handles the messages that were sent before.
    AtPoint(Option<Destination>),
    /// The session has left, and its state is sent to its new server. `None` if the state was stored instead.
    Left(Option<Destination>),
}

/// Requests that the session moves. If `user` is set, only a session of this user moves.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct StartMove {
    pub(crate) user: Option<String>,
    pub(crate) destination: Destination,
}

/// Lets the session hand over its state, or be stored. It is sent through the dispatcher after the last notification.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub(crate) struct HandOver;

/// Follows [`HandOver`] through the mailbox, behind the notifications that connections return.
#[derive(Debug, Message)]
#[rtype(result = "()")]
struct Depart;

impl SessionActor {
    /// Returns whether this actor no longer serves messages of its client, because the session has left, is leaving or
    /// has not arrived.
    pub(super) fn is_leaving(&self) -> bool {
        self.is_missed()
            || matches!(
                self.moving.as_deref(),
                Some(Moving::Leaving(_) | Moving::AtPoint(_) | Moving::Left(_))
            )
    }

    /// Returns whether the new server or thread of the session receives its further notifications.
    pub(super) fn receives_no_more(&self) -> bool {
        matches!(self.moving.as_deref(), Some(Moving::AtPoint(_) | Moving::Left(_)))
    }

    pub(super) fn has_left(&self) -> bool {
        matches!(self.moving.as_deref(), Some(Moving::Left(_)))
    }

    /// Requests the state of an arriving session. Until the state arrives, messages wait in the mailbox.
    pub(super) fn begin_arrival(&mut self, ctx: &mut SessionContext) {
        let source = match self.moving.take().map(|moving| *moving) {
            Some(Moving::Expected(source)) => source,
            other => {
                self.moving = other.map(Box::new);
                return;
            }
        };
        self.due = Instant::now() + ARRIVAL;
        let environment = self.environment.clone();
        let place = ArrivalPlace::new(ctx.slot(), ctx.dispatcher().clone(), environment.hub.clone());
        self.moving = Some(Box::new(Moving::Arriving(place.clone())));
        let awaited =
            Awaited { tenant: environment.id.clone(), client: self.client, user: self.user.clone() };
        let state = environment.transfers.clone().fetch(awaited, source, place);
        let begun = Instant::now();
        ctx.wait(state.into_actor(self).map(move |state, session, ctx| match state {
            Ok(state) => {
                crate::metrics::MOVED_IN.increment(1);
                crate::metrics::MOVE_SECONDS.record(begun.elapsed());
                session.arrive(*state, ctx);
            }
            Err(reason) => {
                crate::metrics::NOT_MOVED.increment(1);
                session.miss(reason, ctx);
            }
        }));
    }

    /// Returns the queue that the session had at its old place.
    fn restore_queue(&self, waiting: Vec<Box<RawValue>>, batches: Option<BatchState>) -> Queue {
        let is_traced = self.environment.recorder.is_on();
        Queue::restore(waiting, batches, |json| is_traced.then(|| TracedChange::of_message(json)).flatten())
    }

    /// Restores the state, in front of the notifications that have arrived already.
    fn arrive(&mut self, state: SessionState, ctx: &mut SessionContext) {
        let Some(Moving::Arriving(place)) = self.moving.as_deref() else { return };
        self.subscriptions = place.arrived();
        self.environment.requested.remove(self.client, &self.user);
        (self.moving, self.has_moved) = (None, true);
        let queue = self.restore_queue(state.waiting, state.batches);
        let newer = std::mem::replace(&mut self.queue, queue);
        self.user = state.user.into();
        self.expires = state.expires_in.map(|rest| Box::new(std::time::Instant::now() + rest));
        self.interval = state.interval;
        self.grace = state.grace;
        self.units = state.units;
        self.connects = state.connects;
        self.advised_interval = if state.pauses { AdvisedInterval::Temporary } else { AdvisedInterval::None };
        if state.traces != SessionTraces::default() {
            self.traces = state.traces;
        }
        self.templates = state
            .templates
            .map(|TemplateNames { header, extra }| Arc::new(SessionTemplates { header, extra }));
        if let Some(consumer) = state.consumer {
            self.resume_consumer(consumer, state.subscriptions, ctx);
        }
        self.restore_shown(state.snapshots);
        self.trace(|| TraceEvent::Arrived);
        for notification in newer.into_waiting() {
            let Some(notification) = self.admit(notification, ctx) else { continue };
            if self.queue.push(notification, &self.environment.limits).is_err() {
                return self.overflow(ctx);
            }
        }
        if state.appeared {
            self.appear(ctx);
        }
        self.await_client(ctx);
    }

    /// Returns the state of the session and leaves the session empty. `None` if a notification is not JSON, which
    /// cannot happen.
    fn take_state(&mut self) -> Option<SessionState> {
        let (waiting, batches) = std::mem::take(&mut self.queue).into_state()?;
        let now = std::time::Instant::now();
        let templates = self.templates.as_deref().cloned();
        Some(SessionState {
            user: self.user.to_string(),
            expires_in: self.expires.as_deref().map(|expires| expires.saturating_duration_since(now)),
            interval: self.interval,
            grace: self.grace,
            subscriptions: self.subscriptions.to_vec(),
            units: self.units,
            connects: self.connects,
            pauses: self.advised_interval != AdvisedInterval::None,
            appeared: self.appeared,
            traces: self.traces,
            templates: templates.map(|SessionTemplates { header, extra }| TemplateNames { header, extra }),
            waiting,
            batches,
            consumer: self.take_consumer(),
            snapshots: self.take_shown(),
        })
    }

    /// Reports the end of a session that is moving or has moved.
    pub(super) fn end_move(&mut self) {
        let transfers = &self.environment.transfers;
        // While a request for a foreign session fails, another session of the same clientId may exist at this server in
        // another tenant, so only a session that arrived is forgotten.
        let mut is_noted = self.has_moved;
        match self.moving.as_deref() {
            Some(Moving::Arriving(place)) => {
                self.environment.requested.remove(self.client, &self.user);
                is_noted |= place.abandoned();
            }
            Some(Moving::Leaving(destination) | Moving::AtPoint(Some(destination))) => {
                transfers.forget_departure(self.client, *destination);
                let Destination { server, request } = *destination;
                transfers.tell(server, ServerMessage::Absent { request });
            }
            Some(Moving::Left(Some(destination))) => transfers.forget_departure(self.client, *destination),
            Some(Moving::Expected(_) | Moving::Missed(_) | Moving::AtPoint(None) | Moving::Left(None))
            | None => {}
        }
        if is_noted && !self.has_left() {
            transfers.messages().forget(self.client.to_string());
        }
    }

    /// Ends a session that has left at its new server or thread. It happens when a connection returned notifications
    /// after the session had left (with the acknowledgement extension the new server has them too), or when its user
    /// changed.
    pub(super) fn end_at_new_place(&self) {
        let (transfers, client) = (self.environment.transfers.clone(), self.client);
        let (tenant, sessions) = (self.environment.id.to_string(), self.environment.sessions.clone());
        actix::spawn(async move {
            transfers.end_wherever_it_is(client, tenant, || sessions.find(&client)).await;
        });
    }
}

impl Handler<StartMove> for SessionActor {
    type Result = ();

    fn handle(&mut self, start: StartMove, ctx: &mut Self::Context) {
        let transfers = self.environment.transfers.clone();
        let Destination { server: to, request } = start.destination;
        if !self.can_leave(&start) {
            return;
        }
        // Within one server, both places receive the same publications.
        if to == transfers.messages().server() {
            return self.leave(&start, None, ctx);
        }
        // A session without subscriptions may be at a server that does not receive the publications of its tenant. The
        // session stays until the server has subscribed to them.
        let (database, tenant) = (transfers.database().clone(), self.environment.id.clone());
        let subscribing = async move { database.subscribe(&tenant).await };
        ctx.spawn(subscribing.into_actor(self).map(move |subscribed, session, ctx| match subscribed {
            Ok(subscription) => session.leave(&start, Some(subscription), ctx),
            Err(error) => {
                tracing::debug!(%error, "a session cannot move yet, because the server cannot subscribe to its tenant");
                transfers.tell(to, ServerMessage::Moving { request });
            }
        }));
    }
}

impl SessionActor {
    /// Returns whether the session can leave now. If it cannot, the taker receives a refusal, unless the session is
    /// already leaving because of the same request.
    fn can_leave(&self, start: &StartMove) -> bool {
        let transfers = &self.environment.transfers;
        if transfers.follows(self.client, start.destination) {
            return false;
        }
        match self.refuse_move(start) {
            Some(refusal) => {
                transfers.tell(start.destination.server, refusal);
                false
            }
            None => true,
        }
    }

    /// Returns the refusal of a request for this session, or `None` if the session may leave.
    fn refuse_move(&self, StartMove { user, destination }: &StartMove) -> Option<ServerMessage> {
        if self.is_leaving() || !self.environment.transfers.may_leave() {
            return Some(ServerMessage::Moving { request: destination.request });
        }
        let is_of_other = user.as_ref().is_some_and(|user| !self.belongs_to(user));
        is_of_other.then_some(ServerMessage::Absent { request: destination.request })
    }

    /// Leaves the connections of the client, which uses another server now. That has the same effect as a newer connect
    /// (B-13).
    fn leave_connections(&mut self) {
        self.answer_parked(ConnectResponse::default());
        self.leave_socket();
        self.is_being_written = false;
    }

    /// Publishes the point of the move, at which the session leaves. A move within this server needs no database, so
    /// `subscription` is `None`.
    fn leave(
        &mut self,
        start: &StartMove,
        subscription: Option<TenantSubscription>,
        ctx: &mut SessionContext,
    ) {
        let transfers = self.environment.transfers.clone();
        let Destination { server: to, request } = start.destination;
        // Another server may have requested the session meanwhile, or the same server again.
        if !self.can_leave(start) {
            return;
        }
        let (slot, dispatcher, tenant) = (ctx.slot(), ctx.dispatcher().clone(), self.environment.id.clone());
        let listening_connection = transfers.database().publications().listening_connection();
        let before_point = BeforePoint { tenant, listening_connection, slot, dispatcher };
        if !transfers.leaving(self.client, start.destination, before_point) {
            return transfers.tell(to, ServerMessage::Moving { request });
        }
        self.abandon_snapshots(ctx);
        self.leave_connections();
        self.environment.sessions.remove(&self.client, &ctx.address());
        self.moving = Some(Box::new(Moving::Leaving(start.destination)));
        self.due = Instant::now() + DEPARTURE;
        self.arm(ctx);
        let point = SessionMove {
            client: self.client.to_string(),
            from: transfers.messages().server(),
            to,
            request,
            // The feed of a consumer needs no subscriptions.
            subscriptions: if self.consumer.is_some() { Vec::new() } else { self.subscriptions.to_vec() },
            units: self.units,
        };
        let Some(subscription) = subscription else {
            return transfers.reach(&self.environment.hub, point);
        };
        let (database, tenant) = (transfers.database().clone(), self.environment.id.clone());
        let publish = async move {
            let published = database.session_moves().publish_move(tenant, point).await;
            drop(subscription);
            published
        };
        ctx.spawn(publish.into_actor(self).map(|published: Result<(), Error>, session: &mut Self, ctx| {
            if let Err(error) = published {
                // The commit may have succeeded or not, so it is unknown which server has the session now.
                tracing::warn!(%error, "the move of a session could not be published; the session ends");
                session.end(EndReason::NotMoved, ctx);
            }
        }));
    }
}

impl Handler<HandOver> for SessionActor {
    type Result = ();

    fn handle(&mut self, _: HandOver, ctx: &mut Self::Context) {
        let destination = match self.moving.as_deref() {
            Some(Moving::Leaving(destination)) => Some(*destination),
            None => None,
            Some(_) => return,
        };
        self.abandon_snapshots(ctx);
        self.moving = Some(Box::new(Moving::AtPoint(destination)));
        ctx.address().do_send(Depart);
    }
}

impl Handler<Depart> for SessionActor {
    type Result = ();

    fn handle(&mut self, _: Depart, ctx: &mut Self::Context) {
        let Some(Moving::AtPoint(destination)) = self.moving.as_deref() else { return };
        let destination = *destination;
        self.answer_parked(ConnectResponse::default());
        self.leave_socket();
        let Some(state) = self.take_state() else { return self.end(EndReason::NotMoved, ctx) };
        let transfers = self.environment.transfers.clone();
        self.environment.sessions.remove(&self.client, &ctx.address());
        let patterns = self.take_patterns();
        if !patterns.is_empty() {
            self.environment.hub.remove_subscriptions(RemoveSubscriptions { slot: ctx.slot(), patterns });
        }
        self.moving = Some(Box::new(Moving::Left(destination)));
        self.trace(|| TraceEvent::Left { to: destination.map(|destination| destination.server) });
        match destination {
            Some(Destination { server, request }) => {
                crate::metrics::MOVED_OUT.increment(1);
                let arrives = ServerMessage::Arrives { request, state: Box::new(state) };
                transfers.tell(server, arrives);
                self.due = Instant::now() + REMAINS;
                self.arm(ctx);
            }
            None => {
                let (client, tenant) = (self.client.to_string(), self.environment.id.clone());
                let lifetime = StoredSession::lifetime_of(self.interval);
                transfers.keep(StoredSession { client, tenant, state, lifetime });
                ctx.stop();
            }
        }
    }
}
