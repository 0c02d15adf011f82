//! The dispatcher of an HTTP thread: it delivers the messages of hubs to the sessions of its thread, and wakes
//! sessions at their deadlines.
//!
//! Sessions live on HTTP threads, and their hub is called by the thread that publishes. The hub sends one message to
//! each thread instead of one to each session, and each thread has one timer. Everything a hub sends to a session
//! passes through the session's dispatcher ([`deliveries`](super::deliveries)), so the order is kept. The dispatcher
//! calls the handlers of its sessions directly; everyone else uses a session's mailbox. [`session`](crate::session)
//! describes the whole path.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::num::NonZeroU32;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use actix::dev::channel::{AddressReceiver, channel};
use actix::prelude::*;
use platform_model::realtime::trace::record::EndReason;
use tokio::time::Instant;

use crate::server_key_hasher::ServerKeyHasher;
use crate::session::deliveries::Waiting;
use crate::session::{
    ClientId, EndSession, NewSession, SessionActor, SessionEnvironment, SessionTask, SharedSession,
    WakeSession,
};
use crate::session_moves::ArrivalSource;
use crate::tables::shrink_if_sparse;

/// The number of messages with a pending reply that the mailbox of a session holds; this is the default of actix.
const MAILBOX: usize = 16;

thread_local! {
    static HERE: RefCell<Option<Here>> = const { RefCell::new(None) };
}

static NEXT_NUMBER: AtomicU32 = AtomicU32::new(1);

/// The dispatcher of a thread, and its sessions by the number of their slot.
struct Here {
    dispatcher: Addr<SessionDispatcher>,
    number: NonZeroU32,
    sessions: SessionTable,
}

pub(super) type SessionTable = Rc<RefCell<HashMap<u32, SharedSession, ServerKeyHasher>>>;

/// The address of a session for a hub: its dispatcher and its number there. It is smaller than an actix address and is
/// never given to another session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct SessionSlot {
    /// The number of the dispatcher within this process.
    pub(crate) dispatcher: NonZeroU32,
    pub(super) number: u32,
}

/// The parts from which a dispatcher creates a session on its thread.
pub(crate) struct NewSessionActor {
    pub(crate) environment: Arc<SessionEnvironment>,
    pub(crate) client: ClientId,
    pub(crate) beginning: Beginning,
}

/// The way in which a session starts at its dispatcher.
pub(crate) enum Beginning {
    /// The session starts with a handshake.
    New(NewSession),
    /// The session continues with the state that it had elsewhere.
    Arrival { user: Arc<str>, source: ArrivalSource },
}

/// Starts a session on the dispatcher's thread. Sent after its registration.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct AddSession {
    session: Box<NewSessionActor>,
    receiver: AddressReceiver<SessionActor>,
}

/// Asks to be woken at a time. Sent by the session.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct ScheduleWake {
    pub(crate) slot: SessionSlot,
    pub(crate) at: Instant,
    /// The time that the session requested before.
    pub(crate) instead_of: Option<Instant>,
}

/// Reports that a session ended. Sent by the session.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct RemoveSession {
    pub(crate) slot: SessionSlot,
    /// When the session was to be woken.
    pub(crate) wakes: Option<Instant>,
}

/// Receives a response when the thread works. It is sent to check the threads.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct AnswerPing;

/// Owns the sessions of its thread.
pub(crate) struct SessionDispatcher {
    number: NonZeroU32,
    address: Rc<Addr<Self>>,
    pub(super) sessions: SessionTable,
    pub(super) waiting: Waiting,
    next_slot: u32,
    /// The scheduled times, each with the number of a slot.
    wakes: BTreeSet<(Instant, u32)>,
    /// The one timer, with the time at which it fires.
    timer: Option<(SpawnHandle, Instant)>,
}

impl SessionDispatcher {
    /// Returns the dispatcher of the calling thread, which starts with the thread's first session.
    pub(crate) fn here() -> Addr<Self> {
        Self::numbered_here().0
    }

    /// Returns the dispatcher of the calling thread with its number, which the slots of its sessions contain.
    pub(crate) fn numbered_here() -> (Addr<Self>, NonZeroU32) {
        HERE.with_borrow_mut(|here| match here {
            Some(Here { dispatcher, number, .. }) if dispatcher.connected() => (dispatcher.clone(), *number),
            _ => {
                let number = NonZeroU32::new(NEXT_NUMBER.fetch_add(1, Ordering::Relaxed));
                let (number, sessions) = (number.unwrap_or(NonZeroU32::MAX), SessionTable::default());
                let of_actor = sessions.clone();
                let dispatcher = Self::create(|ctx| Self::new(number, ctx.address(), of_actor));
                let here = here.insert(Here { dispatcher, number, sessions });
                (here.dispatcher.clone(), number)
            }
        })
    }

    /// Returns the session at this slot if it runs on the calling thread.
    pub(crate) fn session_here(slot: SessionSlot) -> Option<SharedSession> {
        HERE.with_borrow(|here| {
            let here = here.as_ref().filter(|here| here.number == slot.dispatcher)?;
            here.sessions.borrow().get(&slot.number).cloned()
        })
    }

    fn new(number: NonZeroU32, address: Addr<Self>, sessions: SessionTable) -> Self {
        Self {
            number,
            address: Rc::new(address),
            sessions,
            waiting: Waiting::default(),
            next_slot: 0,
            wakes: BTreeSet::new(),
            timer: None,
        }
    }

    /// Registers a session with its tenant and starts it at this dispatcher. Messages sent to the returned address wait
    /// until the session runs.
    pub(crate) fn start_session(dispatcher: &Addr<Self>, session: NewSessionActor) -> Addr<SessionActor> {
        let (sender, receiver) = channel(MAILBOX);
        let address = Addr::new(sender);
        session.environment.sessions.insert(session.client, address.clone());
        dispatcher.do_send(AddSession { session: Box::new(session), receiver });
        address
    }

    /// Calls a function with each session of the thread. A session that is on its way to or from another place is left
    /// out, because it counts there.
    pub(super) fn look_at_each(&self, mut look: impl FnMut(&SessionActor)) {
        for session in self.sessions.borrow().values() {
            if let Ok(running) = session.running.try_borrow()
                && let Some(session) = running.settled()
            {
                look(session);
            }
        }
    }

    fn next_slot(&mut self) -> SessionSlot {
        // Numbers are reused after four billion sessions.
        while self.sessions.borrow().contains_key(&self.next_slot) {
            self.next_slot = self.next_slot.wrapping_add(1);
        }
        let slot = SessionSlot { dispatcher: self.number, number: self.next_slot };
        self.next_slot = self.next_slot.wrapping_add(1);
        slot
    }

    /// Sets the timer to the earliest scheduled time.
    fn arm(&mut self, ctx: &mut Context<Self>) {
        let Some((first, _)) = self.wakes.first().copied() else { return };
        match self.timer {
            Some((_, at)) if at <= first => return,
            Some((late, _)) => drop(ctx.cancel_future(late)),
            None => {}
        }
        let handle = ctx.run_later(first.saturating_duration_since(Instant::now()), |dispatcher, ctx| {
            dispatcher.timer = None;
            dispatcher.wake_due();
            dispatcher.arm(ctx);
        });
        self.timer = Some((handle, first));
    }

    fn wake_due(&mut self) {
        let now = Instant::now();
        while let Some((_, slot)) = self.wakes.first().copied().filter(|(at, _)| *at <= now) {
            self.wakes.pop_first();
            if let Some(session) = self.sessions.borrow().get(&slot) {
                session.running.borrow_mut().handle(WakeSession);
            }
        }
    }
}

impl Actor for SessionDispatcher {
    type Context = Context<Self>;
}

impl Drop for SessionDispatcher {
    /// Ends all sessions, because without a dispatcher they would receive nothing and not notice.
    fn drop(&mut self) {
        let sessions = std::mem::take(&mut *self.sessions.borrow_mut());
        sessions
            .values()
            .for_each(|session| session.running.borrow_mut().handle(EndSession(EndReason::Server)));
    }
}

impl Handler<AddSession> for SessionDispatcher {
    type Result = ();

    fn handle(&mut self, AddSession { session, receiver }: AddSession, _: &mut Self::Context) {
        let (slot, NewSessionActor { environment, client, beginning }) = (self.next_slot(), *session);
        environment.sessions.update(&client, |entry| entry.slot = Some(slot));
        let session = match beginning {
            Beginning::New(new) => SessionActor::new(environment, client, new),
            Beginning::Arrival { user, source } => SessionActor::expected(environment, client, user, source),
        };
        let task = SessionTask::new(session, receiver, (self.address.clone(), slot));
        self.sessions.borrow_mut().insert(slot.number, task.running());
        actix::spawn(task);
    }
}

impl Handler<AnswerPing> for SessionDispatcher {
    type Result = ();

    fn handle(&mut self, _: AnswerPing, _: &mut Self::Context) {}
}

impl Handler<ScheduleWake> for SessionDispatcher {
    type Result = ();

    fn handle(&mut self, ScheduleWake { slot, at, instead_of }: ScheduleWake, ctx: &mut Self::Context) {
        if let Some(earlier) = instead_of {
            self.wakes.remove(&(earlier, slot.number));
        }
        self.wakes.insert((at, slot.number));
        self.arm(ctx);
    }
}

impl Handler<RemoveSession> for SessionDispatcher {
    type Result = ();

    fn handle(&mut self, RemoveSession { slot, wakes }: RemoveSession, _: &mut Self::Context) {
        if let Some(at) = wakes {
            self.wakes.remove(&(at, slot.number));
        }
        let mut sessions = self.sessions.borrow_mut();
        let removed = sessions.remove(&slot.number);
        shrink_if_sparse(&mut *sessions);
        drop(sessions);
        drop(removed);
    }
}
