//! What a session runs in: its mailbox, and the little it needs of a context. A held poll is mostly its session, and the context
//! that actix brings, made for many timers and streams, is larger than a session.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{self, Poll};

use actix::dev::{ActorFuture, Envelope, Mailbox, ToEnvelope, channel::AddressReceiver};
use actix::prelude::*;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::SessionActor;
use crate::courier::{Courier, Seat, Vacate, WakeAt};

type Work = Pin<Box<dyn ActorFuture<SessionActor, Output = ()>>>;

/// The side of a session that its handlers work with.
pub struct SessionContext {
    address: Addr<SessionActor>,
    courier: Rc<Addr<Courier>>,
    seat: Seat,
    /// When the courier is to wake the session.
    wakes: Option<Instant>,
    stopping: bool,
    /// Boxed, for a session that waits for notifications has none.
    under_way: Option<Box<UnderWay>>,
}

/// What handlers began and did not end.
#[derive(Default)]
struct UnderWay {
    /// Until this is done no message is handled.
    awaited: Option<Work>,
    /// What goes on beside messages; a frame on its way to a socket.
    spawned: Vec<Work>,
}

/// A session with its context.
pub(crate) struct Running {
    session: SessionActor,
    context: SessionContext,
}

/// The session as its courier has it, on the same thread.
pub(crate) type AtCourier = Rc<RefCell<Running>>;

/// The session as it handles its mailbox.
pub(crate) struct Living {
    running: AtCourier,
    mailbox: Mailbox<SessionActor>,
}

/// Has a session look at what its courier began.
#[derive(Debug, Message)]
#[rtype(result = "()")]
struct Nudge;

impl SessionContext {
    /// Where the session sits, by which the hub names it.
    pub(super) fn seat(&self) -> Seat {
        self.seat
    }

    /// Who brings the session what it is told.
    pub(super) fn courier(&self) -> &Addr<Courier> {
        &self.courier
    }

    /// Has the session woken no later than this. It may be woken earlier; so a busy session asks once in a while, not with
    /// each message.
    pub(super) fn wake_at(&mut self, at: Instant) {
        if self.wakes.is_none_or(|earlier| at < earlier) {
            let instead_of = self.wakes.replace(at);
            self.courier.do_send(WakeAt { seat: self.seat, at, instead_of });
        }
    }

    fn awaits(&self) -> bool {
        self.under_way.as_ref().is_some_and(|under_way| under_way.awaited.is_some())
    }

    fn nudge(&self) {
        self.address.do_send(Nudge);
    }

    /// The courier woke the session.
    pub(super) fn woken(&mut self) {
        self.wakes = None;
    }
}

impl ActorContext for SessionContext {
    fn stop(&mut self) {
        self.stopping = true;
    }

    fn terminate(&mut self) {
        self.stopping = true;
    }

    fn state(&self) -> ActorState {
        if self.stopping { ActorState::Stopping } else { ActorState::Running }
    }
}

impl AsyncContext<SessionActor> for SessionContext {
    fn address(&self) -> Addr<SessionActor> {
        self.address.clone()
    }

    fn spawn<F>(&mut self, work: F) -> SpawnHandle
    where
        F: ActorFuture<SessionActor, Output = ()> + 'static,
    {
        self.under_way.get_or_insert_default().spawned.push(Box::pin(work));
        SpawnHandle::default()
    }

    fn wait<F>(&mut self, work: F)
    where
        F: ActorFuture<SessionActor, Output = ()> + 'static,
    {
        self.under_way.get_or_insert_default().awaited = Some(Box::pin(work));
    }

    fn waiting(&self) -> bool {
        self.stopping || self.awaits()
    }

    fn cancel_future(&mut self, _: SpawnHandle) -> bool {
        false
    }
}

impl<M> ToEnvelope<SessionActor, M> for SessionContext
where
    SessionActor: Handler<M>,
    M: Message<Result: Send> + Send + 'static,
{
    fn pack(message: M, reply_to: Option<oneshot::Sender<M::Result>>) -> Envelope<SessionActor> {
        Envelope::new(message, reply_to)
    }
}

impl Running {
    /// Handles what its courier brings, in place: at a broadcast ten thousand sessions need no envelopes, and no turns of
    /// their own.
    pub(crate) fn handle<M>(&mut self, message: M)
    where
        M: Message<Result = ()>,
        SessionActor: Handler<M, Result = ()>,
    {
        if self.context.stopping {
            return;
        }
        self.session.handle(message, &mut self.context);
        if self.context.stopping || self.context.under_way.is_some() {
            self.context.nudge();
        }
    }

    /// Goes on with what messages wait for; whether they may be handled.
    fn poll_awaited(&mut self, cx: &mut task::Context<'_>) -> bool {
        let Self { session, context } = self;
        while let Some(mut awaited) = context.under_way.as_mut().and_then(|works| works.awaited.take()) {
            if awaited.as_mut().poll(session, context, cx).is_pending() {
                context.under_way.get_or_insert_default().awaited = Some(awaited);
                return false;
            }
        }
        true
    }

    fn poll_spawned(&mut self, cx: &mut task::Context<'_>) {
        let Self { session, context } = self;
        let mut pending = Vec::new();
        while let Some(mut work) = context.under_way.as_mut().and_then(|works| works.spawned.pop()) {
            if work.as_mut().poll(session, context, cx).is_pending() {
                pending.push(work);
            }
        }
        match &mut context.under_way {
            Some(works) if works.awaited.is_some() || !pending.is_empty() => works.spawned = pending,
            nothing => *nothing = None,
        }
    }
}

impl Handler<Nudge> for SessionActor {
    type Result = ();

    fn handle(&mut self, _: Nudge, _: &mut Self::Context) {}
}

impl Living {
    /// Brings a session to life.
    pub(crate) fn new(
        session: SessionActor,
        receiver: AddressReceiver<SessionActor>,
        (courier, seat): (Rc<Addr<Courier>>, Seat),
    ) -> Self {
        let mailbox = Mailbox::new(receiver);
        let (address, wakes, stopping, under_way) = (mailbox.address(), None, false, None);
        let context = SessionContext { address, courier, seat, wakes, stopping, under_way };
        let mut running = Running { session, context };
        running.session.started(&mut running.context);
        Self { running: Rc::new(RefCell::new(running)), mailbox }
    }

    /// For its courier.
    pub(crate) fn running(&self) -> AtCourier {
        self.running.clone()
    }
}

impl Future for Living {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<()> {
        let Self { running, mailbox } = &mut *self;
        let running = &mut *running.borrow_mut();
        while running.poll_awaited(cx) {
            mailbox.poll(&mut running.session, &mut running.context, cx);
            running.poll_spawned(cx);
            if running.context.stopping {
                return Poll::Ready(());
            }
            if !running.context.awaits() {
                return Poll::Pending;
            }
        }
        Poll::Pending
    }
}

impl Drop for Living {
    /// However a session ends, by a panic too, everybody who knows it is told.
    fn drop(&mut self) {
        let Running { session, context } = &mut *self.running.borrow_mut();
        context.stopping = true;
        session.stopped(context);
        context.courier.do_send(Vacate { seat: context.seat, wakes: context.wakes });
    }
}
