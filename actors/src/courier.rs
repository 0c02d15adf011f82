//! One actor per thread that has sessions: it brings them what they are told, and wakes them in time.
//!
//! Sessions live on the threads of their connections, the hub of their tenant on another one. So the hub sends one message to
//! each thread, not one to each session; and there is one timer for each thread. Everything a hub tells a session comes
//! through its courier, which hands it on at once: the order stays. A session is an actor with a mailbox for everybody
//! else; its courier, on the same thread, calls its handlers in place.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};

use actix::dev::channel::{AddressReceiver, channel};
use actix::prelude::*;
use tokio::time::Instant;

use crate::own_keys::OwnKeys;
use crate::session::{AtCourier, End, Living, SessionActor, Wake};

/// Messages of those who wait for a reply that a session's mailbox takes, as actix would have it.
const MAILBOX: usize = 16;

thread_local! {
    static HERE: RefCell<Option<Addr<Courier>>> = const { RefCell::new(None) };
}

static NEXT_NUMBER: AtomicU32 = AtomicU32::new(0);

/// Where a session sits: by this the hub names it, in fewer bytes than by its address. Never that of another session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Seat {
    /// Which courier of this process.
    pub(crate) courier: u32,
    number: u32,
}

/// A session comes to life on the courier's thread. Sent by its tenant.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Begin {
    session: Box<SessionActor>,
    receiver: AddressReceiver<SessionActor>,
}

/// Hands a message to sessions, each named once. What has ended meanwhile is left out. Sent by the hub.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct HandOut<M> {
    pub(crate) message: M,
    pub(crate) to: Vec<Seat>,
}

/// Has a session woken. Sent by the session itself.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct WakeAt {
    pub(crate) seat: Seat,
    pub(crate) at: Instant,
    /// What it asked for before.
    pub(crate) instead_of: Option<Instant>,
}

/// A session is over. Sent by the session itself.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct Vacate {
    pub(crate) seat: Seat,
    /// When it was to be woken.
    pub(crate) wakes: Option<Instant>,
}

/// Knows the sessions of its thread.
pub(crate) struct Courier {
    number: u32,
    address: Rc<Addr<Self>>,
    /// By the number of their seat.
    sessions: HashMap<u32, AtCourier, OwnKeys>,
    next_seat: u32,
    /// When whom to wake.
    wakes: BTreeSet<(Instant, u32)>,
    /// The one timer, and when it fires.
    timer: Option<(SpawnHandle, Instant)>,
}

impl Courier {
    /// The courier of the calling thread, which begins with its first session.
    pub(crate) fn here() -> Addr<Self> {
        HERE.with_borrow_mut(|here| match here {
            Some(courier) if courier.connected() => courier.clone(),
            _ => here.insert(Self::create(|ctx| Self::new(ctx.address()))).clone(),
        })
    }

    fn new(address: Addr<Self>) -> Self {
        Self {
            number: NEXT_NUMBER.fetch_add(1, Ordering::Relaxed),
            address: Rc::new(address),
            sessions: HashMap::default(),
            next_seat: 0,
            wakes: BTreeSet::new(),
            timer: None,
        }
    }

    /// Starts a session at this courier. What is sent to it meanwhile waits.
    pub(crate) fn begin(courier: &Addr<Self>, session: SessionActor) -> Addr<SessionActor> {
        let (sender, receiver) = channel(MAILBOX);
        courier.do_send(Begin { session: Box::new(session), receiver });
        Addr::new(sender)
    }

    fn next_seat(&mut self) -> Seat {
        // Numbers come round after four thousand million sessions.
        while self.sessions.contains_key(&self.next_seat) {
            self.next_seat = self.next_seat.wrapping_add(1);
        }
        let seat = Seat { courier: self.number, number: self.next_seat };
        self.next_seat = self.next_seat.wrapping_add(1);
        seat
    }

    /// Sees to it that the timer fires when the first is to be woken.
    fn arm(&mut self, ctx: &mut Context<Self>) {
        let Some((first, _)) = self.wakes.first().copied() else { return };
        match self.timer {
            Some((_, at)) if at <= first => return,
            Some((late, _)) => drop(ctx.cancel_future(late)),
            None => {}
        }
        let handle = ctx.run_later(first.saturating_duration_since(Instant::now()), |courier, ctx| {
            courier.timer = None;
            courier.wake_due();
            courier.arm(ctx);
        });
        self.timer = Some((handle, first));
    }

    fn wake_due(&mut self) {
        let now = Instant::now();
        while let Some((_, seat)) = self.wakes.first().copied().filter(|(at, _)| *at <= now) {
            self.wakes.pop_first();
            if let Some(session) = self.sessions.get(&seat) {
                session.borrow_mut().handle(Wake);
            }
        }
    }
}

impl Actor for Courier {
    type Context = Context<Self>;
}

impl Drop for Courier {
    /// Without it sessions would hear nothing, and not know.
    fn drop(&mut self) {
        self.sessions.values().for_each(|session| session.borrow_mut().handle(End));
    }
}

impl Handler<Begin> for Courier {
    type Result = ();

    fn handle(&mut self, Begin { session, receiver }: Begin, _: &mut Self::Context) {
        let seat = self.next_seat();
        let living = Living::new(*session, receiver, (self.address.clone(), seat));
        self.sessions.insert(seat.number, living.running());
        actix::spawn(living);
    }
}

impl<M> Handler<HandOut<M>> for Courier
where
    M: Message<Result = ()> + Clone + Send + 'static,
    SessionActor: Handler<M, Result = ()>,
{
    type Result = ();

    fn handle(&mut self, HandOut { message, to }: HandOut<M>, _: &mut Self::Context) {
        for session in to.iter().filter_map(|seat| self.sessions.get(&seat.number)) {
            session.borrow_mut().handle(message.clone());
        }
    }
}

impl Handler<WakeAt> for Courier {
    type Result = ();

    fn handle(&mut self, WakeAt { seat, at, instead_of }: WakeAt, ctx: &mut Self::Context) {
        if let Some(earlier) = instead_of {
            self.wakes.remove(&(earlier, seat.number));
        }
        self.wakes.insert((at, seat.number));
        self.arm(ctx);
    }
}

impl Handler<Vacate> for Courier {
    type Result = ();

    fn handle(&mut self, Vacate { seat, wakes }: Vacate, _: &mut Self::Context) {
        if let Some(at) = wakes {
            self.wakes.remove(&(at, seat.number));
        }
        self.sessions.remove(&seat.number);
        if self.sessions.capacity() > 64 && self.sessions.len() < self.sessions.capacity() / 4 {
            self.sessions.shrink_to_fit();
        }
    }
}
