//! A session that arrives from another server or thread, and one that leaves; [`session_moves`](crate::session_moves)
//! describes the whole way.

use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use platform_model::error::Error;
use platform_model::session_move::{ServerMessage, SessionMove, SessionState, SessionTraces, TemplateNames};
use platform_store::publications::TenantSubscription;
use platform_store::session_moves::StoredSession;
use tokio::time::Instant;

use super::queue::Queue;
use super::{ConnectResponse, SessionActor, SessionContext, SessionTemplates};
use crate::hub::RemoveSubscriptions;
use crate::session_moves::{ArrivalPlace, ArrivalSource, Awaited, BeforePoint, Destination};

/// How long a session that is asked for may take to arrive, at most.
const ARRIVAL: Duration = Duration::from_secs(40);
/// How long a session that is asked for waits for the point at which it moves.
const DEPARTURE: Duration = Duration::from_secs(10);
/// How long a session remains after it has left, so that notifications which a connection returns are not lost without
/// a word, and so that its user is connected until the new place has reported it.
const REMAINS: Duration = Duration::from_secs(3);

/// The stages of a move, as the session sees them.
#[derive(Debug)]
pub(super) enum Moving {
    /// The session has no state yet, and will ask for it.
    Expected(ArrivalSource),
    /// It has been asked for.
    Arriving(Arc<ArrivalPlace>),
    /// Another server has asked for the session, which receives notifications until the point of its move.
    Leaving(Destination),
    /// The session has reached the point of its move. It still handles the messages that were sent before.
    AtPoint(Option<Destination>),
    /// The session has left, and its state is sent to its new place. `None` if it was stored.
    Left(Option<Destination>),
}

/// Asks for the session. `user` is the user who has to own it.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct StartMove {
    pub(crate) user: Option<String>,
    pub(crate) destination: Destination,
}

/// Lets the session hand over what it has, or be stored. Sent through its dispatcher after the last notification.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub(crate) struct HandOver;

/// Follows [`HandOver`] through the mailbox, behind notifications that connections return.
#[derive(Debug, Message)]
#[rtype(result = "()")]
struct Depart;

impl SessionActor {
    /// Returns whether the session has left or is leaving. It serves no messages of its client any more.
    pub(super) fn is_leaving(&self) -> bool {
        matches!(self.moving.as_deref(), Some(Moving::Leaving(_) | Moving::AtPoint(_) | Moving::Left(_)))
    }

    /// Returns whether further notifications are received at the new place of the session.
    pub(super) fn receives_no_more(&self) -> bool {
        matches!(self.moving.as_deref(), Some(Moving::AtPoint(_) | Moving::Left(_)))
    }

    pub(super) fn has_left(&self) -> bool {
        matches!(self.moving.as_deref(), Some(Moving::Left(_)))
    }

    /// Asks for the state of an arriving session. Until it has it, messages wait in the mailbox.
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
            Some(state) => {
                crate::metrics::MOVED_IN.increment(1);
                crate::metrics::MOVE_SECONDS.record(begun.elapsed());
                session.arrive(*state, ctx);
            }
            None => {
                crate::metrics::NOT_MOVED.increment(1);
                ctx.stop();
            }
        }));
    }

    /// Takes the state over, in front of the notifications that have arrived already.
    fn arrive(&mut self, state: SessionState, ctx: &mut SessionContext) {
        let Some(Moving::Arriving(place)) = self.moving.as_deref() else { return };
        self.patterns = place.arrived();
        (self.moving, self.has_moved) = (None, true);
        let newer = std::mem::replace(&mut self.queue, Queue::restore(state.waiting, state.batches));
        self.user = state.user.into();
        self.expires = state.expires_in.map(|rest| Box::new(std::time::Instant::now() + rest));
        self.interval = state.interval;
        self.units = state.units;
        self.connects = state.connects;
        if state.traces != SessionTraces::default() {
            self.traces = state.traces;
        }
        self.templates = state
            .templates
            .map(|TemplateNames { header, extra }| Arc::new(SessionTemplates { header, extra }));
        for notification in newer.into_waiting() {
            if self.queue.push(notification, &self.environment.limits).is_err() {
                return self.overflow(ctx);
            }
        }
        if state.appeared {
            self.appear(ctx);
        }
        self.touch(ctx);
    }

    /// Returns the state of the session, and leaves it empty. `None` if a notification is not JSON, which cannot be.
    fn take_state(&mut self) -> Option<SessionState> {
        let (waiting, batches) = std::mem::take(&mut self.queue).into_state()?;
        let now = std::time::Instant::now();
        let templates = self.templates.as_deref().cloned();
        Some(SessionState {
            user: self.user.to_string(),
            expires_in: self.expires.as_deref().map(|expires| expires.saturating_duration_since(now)),
            interval: self.interval,
            patterns: self.patterns.to_vec(),
            units: self.units,
            connects: self.connects,
            appeared: self.appeared,
            traces: self.traces,
            templates: templates.map(|SessionTemplates { header, extra }| TemplateNames { header, extra }),
            waiting,
            batches,
        })
    }

    /// Reports the end of a session that is on its way.
    pub(super) fn end_move(&mut self) {
        let transfers = &self.environment.transfers;
        // Another session of this clientId may live at this server, in another tenant, while one in vain is asked for.
        let mut is_noted = self.has_moved;
        match self.moving.as_deref() {
            Some(Moving::Arriving(place)) => is_noted |= place.abandoned(),
            Some(Moving::Leaving(destination) | Moving::AtPoint(Some(destination))) => {
                transfers.forget_departure(self.client, *destination);
                let Destination { server, request } = *destination;
                transfers.tell(server, ServerMessage::Absent { request });
            }
            Some(Moving::Left(Some(destination))) => transfers.forget_departure(self.client, *destination),
            Some(Moving::Expected(_) | Moving::AtPoint(None) | Moving::Left(None)) | None => {}
        }
        if is_noted && !self.has_left() {
            transfers.messages().forget(self.client.to_string());
        }
    }

    /// Notes that a connection returned notifications after the session had left. With the acknowledgement extension
    /// the new place has them too.
    pub(super) fn lost_some(&self) {
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
        // Both places of a move within this server hear the same.
        if to == transfers.messages().server() {
            return self.leave(&start, None, ctx);
        }
        // A session without subscriptions may be at a server that does not hear its tenant. Until it does, it stays.
        let (database, tenant) = (transfers.database().clone(), self.environment.id.clone());
        let subscribing = async move { database.subscribe(&tenant).await };
        ctx.spawn(subscribing.into_actor(self).map(move |subscribed, session, ctx| match subscribed {
            Ok(subscription) => session.leave(&start, Some(subscription), ctx),
            Err(error) => {
                tracing::debug!(%error, "a session cannot be handed over now");
                transfers.tell(to, ServerMessage::Moving { request });
            }
        }));
    }
}

impl SessionActor {
    /// Returns whether the session can leave now. If it cannot, the taker is told so, unless the session has begun to leave
    /// because of the same request.
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

    /// Returns what a taker is told whose request is in vain.
    fn refuse_move(&self, StartMove { user, destination }: &StartMove) -> Option<ServerMessage> {
        if self.is_leaving() || !self.environment.transfers.may_leave() {
            return Some(ServerMessage::Moving { request: destination.request });
        }
        let is_of_other = user.as_ref().is_some_and(|user| !self.belongs_to(user));
        is_of_other.then_some(ServerMessage::Absent { request: destination.request })
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
        // Another server may have asked meanwhile, or the same one again.
        if !self.can_leave(start) {
            return;
        }
        let (slot, dispatcher, tenant) = (ctx.slot(), ctx.dispatcher().clone(), self.environment.id.clone());
        let listening_connection = transfers.database().publications().listening_connection();
        let before_point = BeforePoint { tenant, listening_connection, slot, dispatcher };
        if !transfers.leaving(self.client, start.destination, before_point) {
            return transfers.tell(to, ServerMessage::Moving { request });
        }
        // Its client uses another server now, which has the same effect as a newer connect (B-13).
        self.answer_parked(ConnectResponse::default());
        self.leave_socket();
        self.is_being_written = false;
        self.environment.sessions.remove(&self.client, &ctx.address());
        self.moving = Some(Box::new(Moving::Leaving(start.destination)));
        self.due = Instant::now() + DEPARTURE;
        self.arm(ctx);
        let point = SessionMove {
            client: self.client.to_string(),
            from: transfers.messages().server(),
            to,
            request,
            patterns: self.patterns.to_vec(),
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
        ctx.spawn(publish.into_actor(self).map(|published: Result<(), Error>, _, ctx| {
            if let Err(error) = published {
                // It is not certain who has the session now.
                tracing::warn!(%error, "a session could not be handed over and ends");
                ctx.stop();
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
        let Some(state) = self.take_state() else { return ctx.stop() };
        let transfers = self.environment.transfers.clone();
        self.environment.sessions.remove(&self.client, &ctx.address());
        let patterns = std::mem::take(&mut self.patterns).into_vec();
        if !patterns.is_empty() {
            self.environment.hub.remove_subscriptions(RemoveSubscriptions { slot: ctx.slot(), patterns });
        }
        self.moving = Some(Box::new(Moving::Left(destination)));
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
                transfers.keep(StoredSession { client, tenant, state, lifetime: self.interval });
                ctx.stop();
            }
        }
    }
}
