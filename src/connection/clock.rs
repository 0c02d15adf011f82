//! The deadlines of all connections of a worker, which share one timer. Most deadlines never pass, so setting one costs
//! only a comparison.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use actix_web::rt::spawn;
use slab::Slab;
use tokio::sync::Notify;
use tokio::time::sleep_until;

use crate::stop::Stop;

/// The precision of deadlines.
const TICK: Duration = Duration::from_millis(20);
/// The longest sleep when no deadline is set.
const LONG: Duration = Duration::from_secs(3600);

/// The clock of a worker.
#[derive(Debug)]
pub(crate) struct Clock {
    waiting: RefCell<Slab<Waiting>>,
    /// The time at which the clock next checks the deadlines.
    next_check: Cell<Instant>,
    /// Notified when a deadline earlier than the next check is set.
    earlier: Notify,
}

/// A connection with a deadline.
#[derive(Debug)]
struct Waiting {
    due: Instant,
    is_due: bool,
    waker: Option<Waker>,
}

impl Clock {
    /// Creates a clock and starts it.
    pub(crate) fn start(stop: Arc<Stop>) -> Rc<Self> {
        let clock = Self::new();
        spawn(clock.clone().run(stop));
        clock
    }

    pub(super) fn new() -> Rc<Self> {
        Rc::new(Self {
            waiting: RefCell::default(),
            next_check: Cell::new(Instant::now()),
            earlier: Notify::new(),
        })
    }

    /// Runs the clock, even after the server stops. All waiting tasks are woken when the stop begins and when its grace
    /// period ends.
    pub(super) async fn run(self: Rc<Self>, stop: Arc<Stop>) {
        let stopping = async {
            stop.begun().await;
            self.wake_all();
            stop.grace_over().await;
            self.wake_all();
            std::future::pending::<()>().await;
        };
        let ticking = async {
            loop {
                self.next_check.set(self.check());
                tokio::select! {
                    () = sleep_until(self.next_check.get().into()) => {}
                    () = self.earlier.notified() => {}
                }
            }
        };
        tokio::join!(stopping, ticking);
    }

    /// Wakes the tasks whose deadline has passed. Returns the time of the next check.
    fn check(&self) -> Instant {
        let now = Instant::now();
        let mut next = now + LONG;
        for (_, waiting) in self.waiting.borrow_mut().iter_mut().filter(|(_, waiting)| !waiting.is_due) {
            if waiting.due <= now {
                waiting.is_due = true;
                waiting.wake();
            } else {
                next = next.min(waiting.due)
            }
        }
        next.max(now + TICK)
    }

    fn wake_all(&self) {
        self.waiting.borrow().iter().for_each(|(_, waiting)| waiting.wake());
    }
}

impl Waiting {
    fn wake(&self) {
        self.waker.iter().for_each(Waker::wake_by_ref);
    }
}

/// The registration of a connection with the clock.
#[derive(Debug)]
pub(crate) struct Deadline {
    clock: Rc<Clock>,
    key: usize,
}

impl Deadline {
    /// Registers a connection with a deadline after this time.
    pub(crate) fn take(clock: &Rc<Clock>, wait: Duration) -> Self {
        let key =
            clock.waiting.borrow_mut().insert(Waiting { due: Instant::now(), is_due: false, waker: None });
        let deadline = Self { clock: clock.clone(), key };
        deadline.set(wait);
        deadline
    }

    /// Sets the deadline to this time from now.
    pub(crate) fn set(&self, wait: Duration) {
        let due = Instant::now() + wait;
        let mut waiting = self.clock.waiting.borrow_mut();
        let waiting = &mut waiting[self.key];
        (waiting.due, waiting.is_due) = (due, false);
        if due < self.clock.next_check.get() {
            self.clock.next_check.set(due);
            self.clock.earlier.notify_one();
        }
    }

    /// Ready when the deadline has passed. The task is woken then, and at both stages of a stop.
    pub(crate) fn poll(&self, cx: &Context<'_>) -> Poll<()> {
        let waiting = &mut self.clock.waiting.borrow_mut()[self.key];
        if waiting.is_due {
            return Poll::Ready(());
        }
        if !waiting.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
            waiting.waker = Some(cx.waker().clone());
        }
        Poll::Pending
    }
}

impl Drop for Deadline {
    fn drop(&mut self) {
        let mut waiting = self.clock.waiting.borrow_mut();
        waiting.remove(self.key);
        if waiting.capacity() > 1024 && waiting.len() < waiting.capacity() / 4 {
            waiting.shrink_to_fit();
        }
    }
}
