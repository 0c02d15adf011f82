//! The context that a session runs in: its mailbox and its pending futures. It replaces the context of actix, which
//! is made for many timers and streams and is larger than a session; a held poll consists mostly of its session.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{self, Poll, Waker};

use actix::dev::{ActorFuture, Envelope, Mailbox, ToEnvelope, channel::AddressReceiver};
use actix::prelude::*;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::{ClientId, Connect, PollHere, ReplyTo, SessionActor, Sessions};
use crate::session::dispatcher::{RemoveSession, ScheduleWake, SessionDispatcher, SessionSlot};

type Work = Pin<Box<dyn ActorFuture<SessionActor, Output = ()>>>;

/// The context that a session's handlers receive.
pub struct SessionContext {
    address: Addr<SessionActor>,
    dispatcher: Rc<Addr<SessionDispatcher>>,
    slot: SessionSlot,
    /// The time at which the dispatcher will wake the session.
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
    /// The mailbox; `None` after the session ended.
    mailbox: Option<Mailbox<SessionActor>>,
    /// The task of the session, which polls the mailbox; `None` before its first turn.
    task: Option<Waker>,
}

/// A session, and its address for messages that are handled later.
pub(crate) struct AddressedSession {
    pub(super) address: Addr<SessionActor>,
    pub(super) running: RefCell<RunningSession>,
}

/// A running session, shared by its dispatcher, its task and its held poll on the same thread.
pub(crate) type SharedSession = Rc<AddressedSession>;

/// The future that handles the mailbox of a session. It completes when the session ends.
pub(crate) struct SessionTask(SharedSession);

/// Makes the task of a session poll the futures that a handler started when the dispatcher called it.
#[derive(Debug, Message)]
#[rtype(result = "()")]
struct PollPendingWork;

impl SessionContext {
    /// Returns the slot of the session at its dispatcher, by which the hub addresses it.
    pub(super) fn slot(&self) -> SessionSlot {
        self.slot
    }

    /// Returns the dispatcher of the session's thread.
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
        self.leave_rest_to_task();
    }

    /// Handles a connect directly; see [`SessionHere::connect`](super::SessionHere::connect).
    pub(super) fn connect(&mut self, connect: Connect<PollHere>) -> bool {
        if self.session.may_get_back && !self.context.waiting() {
            let Some(task) = self.task.clone() else { return false };
            self.poll_mailbox(&mut task::Context::from_waker(&task));
            self.session.may_get_back = false;
        }
        if self.context.waiting() {
            self.leave_rest_to_task();
            return false;
        }
        self.session.connect(connect.with_reply_to(ReplyTo::Connection), &mut self.context);
        self.leave_rest_to_task();
        true
    }

    /// Handles a message directly, unless the session waits for something.
    ///
    /// # Errors
    /// The message, if the session waits.
    pub(super) fn call<M>(&mut self, message: M) -> Result<(), M>
    where
        M: Message<Result = ()>,
        SessionActor: Handler<M, Result = ()>,
    {
        if self.context.awaits() {
            return Err(message);
        }
        self.handle(message);
        Ok(())
    }

    /// Returns the session, unless it has ended or is moving.
    pub(super) fn settled(&self) -> Option<&SessionActor> {
        (!self.context.stopping && self.session.moving.is_none()).then_some(&self.session)
    }

    /// Returns whether this is the session of a client, in the tenant with these sessions. A leaving session does not
    /// count, because its client uses another server now, and the session has to be requested from there.
    pub(super) fn is(&self, client: ClientId, sessions: &Arc<Sessions>) -> bool {
        self.session.client == client
            && Arc::ptr_eq(&self.session.environment.sessions, sessions)
            && !self.session.is_leaving()
    }

    /// Makes the task handle the rest of a direct call: the end of the session, or futures.
    fn leave_rest_to_task(&self) {
        if self.context.stopping || self.context.pending_work.is_some() {
            self.context.request_poll();
        }
    }

    /// Handles the messages that wait in the mailbox.
    fn poll_mailbox(&mut self, cx: &mut task::Context<'_>) {
        if let Some(mailbox) = &mut self.mailbox {
            mailbox.poll(&mut self.session, &mut self.context, cx);
        }
    }

    /// Polls the futures that messages wait for. Returns whether messages may be handled.
    fn poll_awaited(&mut self, cx: &mut task::Context<'_>) -> bool {
        let Self { session, context, .. } = self;
        while let Some(mut awaited) = context.pending_work.as_mut().and_then(|works| works.awaited.take()) {
            if awaited.as_mut().poll(session, context, cx).is_pending() {
                context.pending_work.get_or_insert_default().awaited = Some(awaited);
                return false;
            }
        }
        true
    }

    fn poll_spawned(&mut self, cx: &mut task::Context<'_>) {
        let Self { session, context, .. } = self;
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
        let context =
            SessionContext { address: address.clone(), dispatcher, slot, wakes, stopping, pending_work };
        let mut running = RunningSession { session, context, mailbox: Some(mailbox), task: None };
        running.session.started(&mut running.context);
        Self(Rc::new(AddressedSession { address, running: RefCell::new(running) }))
    }

    /// Returns the session for its dispatcher.
    pub(crate) fn running(&self) -> SharedSession {
        self.0.clone()
    }
}

impl Future for SessionTask {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<()> {
        let running = &mut *self.0.running.borrow_mut();
        if !running.task.as_ref().is_some_and(|task| task.will_wake(cx.waker())) {
            running.task = Some(cx.waker().clone());
        }
        // A session can also end while it waits for a future.
        while !running.context.stopping && running.poll_awaited(cx) {
            running.poll_mailbox(cx);
            running.poll_spawned(cx);
            if running.context.stopping {
                return Poll::Ready(());
            }
            if !running.context.awaits() {
                return Poll::Pending;
            }
        }
        if running.context.stopping { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Drop for SessionTask {
    /// Notifies the hub, the tenant and the dispatcher however the session ends, even after a panic.
    fn drop(&mut self) {
        let running = &mut *self.0.running.borrow_mut();
        running.context.stopping = true;
        running.session.stopped(&mut running.context);
        let SessionContext { dispatcher, slot, wakes, .. } = &running.context;
        dispatcher.do_send(RemoveSession { slot: *slot, wakes: *wakes });
        (running.mailbox, running.task) = (None, None);
    }
}
