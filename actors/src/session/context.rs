//! The context that a session runs in: its mailbox and its pending futures. It replaces the context of actix, which
//! is made for many timers and streams and is larger than a session; a held poll consists mostly of its session.

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
use crate::session::dispatcher::{RemoveSession, ScheduleWake, SessionDispatcher, SessionSlot};

type Work = Pin<Box<dyn ActorFuture<SessionActor, Output = ()>>>;

/// The context that a session's handlers receive.
pub struct SessionContext {
    address: Addr<SessionActor>,
    dispatcher: Rc<Addr<SessionDispatcher>>,
    slot: SessionSlot,
    /// When the dispatcher will wake the session.
    wakes: Option<Instant>,
    stopping: bool,
    /// Boxed, because a session that waits for notifications has no pending work.
    pending_work: Option<Box<PendingWork>>,
}

/// The futures that handlers started and that are not complete.
#[derive(Default)]
struct PendingWork {
    /// The session handles no message until this future completes.
    awaited: Option<Work>,
    /// Futures that run beside the handling of messages, for example a frame that is being sent to a socket.
    spawned: Vec<Work>,
}

/// A session with its context.
pub(crate) struct RunningSession {
    session: SessionActor,
    context: SessionContext,
}

/// A running session, shared by its dispatcher and its task on the same thread.
pub(crate) type SharedSession = Rc<RefCell<RunningSession>>;

/// The future that handles the mailbox of a session. It completes when the session ends.
pub(crate) struct SessionTask {
    running: SharedSession,
    mailbox: Mailbox<SessionActor>,
}

/// Makes the task of a session poll the futures that a handler started when the dispatcher called it.
#[derive(Debug, Message)]
#[rtype(result = "()")]
struct PollPendingWork;

impl SessionContext {
    /// The slot of the session at its dispatcher, by which the hub addresses it.
    pub(super) fn slot(&self) -> SessionSlot {
        self.slot
    }

    /// The dispatcher of the session's thread.
    pub(super) fn dispatcher(&self) -> &Addr<SessionDispatcher> {
        &self.dispatcher
    }

    /// Asks the dispatcher to wake the session at this time or earlier. A wake-up that is already scheduled earlier
    /// stays, so a busy session does not send a message for every notification.
    pub(super) fn wake_at(&mut self, at: Instant) {
        if self.wakes.is_none_or(|earlier| at < earlier) {
            let instead_of = self.wakes.replace(at);
            self.dispatcher.do_send(ScheduleWake { slot: self.slot, at, instead_of });
        }
    }

    fn awaits(&self) -> bool {
        self.pending_work.as_ref().is_some_and(|work| work.awaited.is_some())
    }

    fn request_poll(&self) {
        self.address.do_send(PollPendingWork);
    }

    /// Notes that the dispatcher woke the session.
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
        self.pending_work.get_or_insert_default().spawned.push(Box::pin(work));
        SpawnHandle::default()
    }

    fn wait<F>(&mut self, work: F)
    where
        F: ActorFuture<SessionActor, Output = ()> + 'static,
    {
        self.pending_work.get_or_insert_default().awaited = Some(Box::pin(work));
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

impl RunningSession {
    /// Handles a message directly when the dispatcher calls. A broadcast to ten thousand sessions needs no envelopes
    /// and no task switches.
    pub(crate) fn handle<M>(&mut self, message: M)
    where
        M: Message<Result = ()>,
        SessionActor: Handler<M, Result = ()>,
    {
        if self.context.stopping {
            return;
        }
        self.session.handle(message, &mut self.context);
        if self.context.stopping || self.context.pending_work.is_some() {
            self.context.request_poll();
        }
    }

    /// Polls the futures that messages wait for. Returns whether messages may be handled.
    fn poll_awaited(&mut self, cx: &mut task::Context<'_>) -> bool {
        let Self { session, context } = self;
        while let Some(mut awaited) = context.pending_work.as_mut().and_then(|works| works.awaited.take()) {
            if awaited.as_mut().poll(session, context, cx).is_pending() {
                context.pending_work.get_or_insert_default().awaited = Some(awaited);
                return false;
            }
        }
        true
    }

    fn poll_spawned(&mut self, cx: &mut task::Context<'_>) {
        let Self { session, context } = self;
        let mut pending = Vec::new();
        while let Some(mut work) = context.pending_work.as_mut().and_then(|works| works.spawned.pop()) {
            if work.as_mut().poll(session, context, cx).is_pending() {
                pending.push(work);
            }
        }
        match &mut context.pending_work {
            Some(works) if works.awaited.is_some() || !pending.is_empty() => works.spawned = pending,
            nothing => *nothing = None,
        }
    }
}

impl Handler<PollPendingWork> for SessionActor {
    type Result = ();

    fn handle(&mut self, _: PollPendingWork, _: &mut Self::Context) {}
}

impl SessionTask {
    /// Starts a session.
    pub(crate) fn new(
        session: SessionActor,
        receiver: AddressReceiver<SessionActor>,
        (dispatcher, slot): (Rc<Addr<SessionDispatcher>>, SessionSlot),
    ) -> Self {
        let mailbox = Mailbox::new(receiver);
        let (address, wakes, stopping, pending_work) = (mailbox.address(), None, false, None);
        let context = SessionContext { address, dispatcher, slot, wakes, stopping, pending_work };
        let mut running = RunningSession { session, context };
        running.session.started(&mut running.context);
        Self { running: Rc::new(RefCell::new(running)), mailbox }
    }

    /// Returns the session for its dispatcher.
    pub(crate) fn running(&self) -> SharedSession {
        self.running.clone()
    }
}

impl Future for SessionTask {
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

impl Drop for SessionTask {
    /// Notifies the hub, the tenant and the dispatcher however the session ends, even after a panic.
    fn drop(&mut self) {
        let RunningSession { session, context } = &mut *self.running.borrow_mut();
        context.stopping = true;
        session.stopped(context);
        context.dispatcher.do_send(RemoveSession { slot: context.slot, wakes: context.wakes });
    }
}
