//! The deadlines of all connections of a worker, which share one timer. Most deadlines never pass, so setting one costs
//! only a comparison.
//!
//! A connection keeps its deadline itself. The clock stores a time at which it wakes the connection, and this time may
//! be earlier than the deadline: a deadline that is postponed leaves the clock alone, and a connection that is woken
//! too early asks the clock again. A busy connection is woken so once in the time of a deadline, and otherwise the
//! table of the clock, whose entries are rarely in the cache of the processor, is not touched.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use actix_rt::spawn;
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
pub struct Clock {
    waiting: RefCell<Slab<Waiting>>,
    /// The time at which the clock next checks the deadlines.
    next_check: Cell<Instant>,
    /// Notified when a deadline earlier than the next check is set.
    earlier: Notify,
}

/// A connection that the clock wakes.
#[derive(Debug)]
struct Waiting {
    wakes: Instant,
    is_woken: bool,
    waker: Option<Waker>,
}

impl Clock {
    /// Creates a clock and starts it.
    pub fn start(stop: Arc<Stop>) -> Rc<Self> {
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

    /// Wakes the tasks whose time has come. Returns the time of the next check.
    fn check(&self) -> Instant {
        let now = Instant::now();
        let mut next = now + LONG;
        for (_, waiting) in self.waiting.borrow_mut().iter_mut().filter(|(_, waiting)| !waiting.is_woken) {
            if waiting.wakes <= now {
                waiting.is_woken = true;
                waiting.wake();
            } else {
                next = next.min(waiting.wakes)
            }
        }
        next.max(now + TICK)
    }

    /// Checks at this time or earlier.
    fn check_by(&self, time: Instant) {
        if time < self.next_check.get() {
            self.next_check.set(time);
            self.earlier.notify_one();
        }
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

/// The deadline of a connection, and its registration with the clock.
#[derive(Debug)]
pub struct Deadline {
    clock: Rc<Clock>,
    key: usize,
    due: Instant,
    /// When the clock wakes the task, at the deadline or earlier.
    wakes: Instant,
    /// The data of the waker that the clock holds. It identifies the task as long as the clock holds the waker.
    task: *const (),
}

impl Deadline {
    /// Registers a connection with a deadline after this time.
    pub fn take(clock: &Rc<Clock>, wait: Duration) -> Self {
        let due = Instant::now() + wait;
        let waiting = Waiting { wakes: due, is_woken: false, waker: None };
        let key = clock.waiting.borrow_mut().insert(waiting);
        clock.check_by(due);
        Self { clock: clock.clone(), key, due, wakes: due, task: std::ptr::null() }
    }

    /// Sets the deadline to this time from now.
    pub fn set(&mut self, wait: Duration) {
        let now = Instant::now();
        self.due = now + wait;
        if self.due < self.wakes || self.wakes <= now {
            self.schedule();
        }
    }

    /// Ready when the deadline has passed. The task is woken then, and at both stages of a stop.
    pub fn poll(&mut self, cx: &Context<'_>) -> Poll<()> {
        let now = Instant::now();
        if self.due <= now {
            return Poll::Ready(());
        }
        if self.wakes <= now {
            self.schedule();
        }
        if self.task.is_null() || self.task != cx.waker().data() {
            self.task = cx.waker().data();
            self.clock.waiting.borrow_mut()[self.key].waker = Some(cx.waker().clone());
        }
        Poll::Pending
    }

    /// Wakes the task that last polled the deadline.
    pub fn wake_task(&self) {
        self.clock.waiting.borrow()[self.key].wake();
    }

    /// Asks the clock to wake the task at the deadline.
    fn schedule(&mut self) {
        self.wakes = self.due;
        let waiting = &mut self.clock.waiting.borrow_mut()[self.key];
        (waiting.wakes, waiting.is_woken) = (self.due, false);
        self.clock.check_by(self.due);
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

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    #[actix_rt::test]
    async fn deadline_that_is_postponed_passes_at_its_new_time_and_one_that_is_moved_up_at_its_own() {
        let clock = Clock::start(Arc::default());
        let (short, long) = (Duration::from_millis(30), Duration::from_millis(150));
        let begun = Instant::now();
        let mut deadline = Deadline::take(&clock, short);
        deadline.set(long);

        poll_fn(|cx| deadline.poll(cx)).await;
        assert!(begun.elapsed() >= long, "{:?}", begun.elapsed());

        deadline.set(Duration::from_secs(3600));
        deadline.set(short);
        poll_fn(|cx| deadline.poll(cx)).await;
        assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    }
}
