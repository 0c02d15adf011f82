//! The queue of writes for a writer's next transaction. A caller adds its write and wakes the writer only when the
//! writer is idle. A busy writer checks the queue itself after its transaction; waking it for each write would cost a
//! loaded server most of its time.
//!
//! Tenants have their turns in each transaction, so that the backlog of one does not delay the write of another. The
//! writes of one tenant stay in their order.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use platform_model::error::{Error, Result};
use platform_model::id::TenantId;
use tokio::sync::oneshot;

use super::{Committed, Write};

/// The time for which transactions are kept short after writes of several tenants were queued.
const SHARED: Duration = Duration::from_secs(1);
/// The part of a transaction that one tenant may fill while others write too. A write of another tenant waits for the
/// running transaction, so this bounds its wait.
const PART: usize = 4;

/// A write, and the channel for its result.
pub(super) struct Waiting {
    pub(super) write: Write,
    pub(super) reply_to: oneshot::Sender<Result<Committed>>,
}

impl Waiting {
    fn rows(&self) -> usize {
        self.write.change.rows()
    }
}

/// The queue of one writer, shared by all callers.
#[derive(Clone)]
pub(super) struct Queue {
    state: Arc<Mutex<State>>,
    /// The most rows that may wait.
    bound: usize,
}

#[derive(Default)]
struct State {
    /// The writes of each tenant that has any.
    lines: HashMap<TenantId, Line>,
    /// The tenants with writes, in the order of their turns.
    turns: VecDeque<TenantId>,
    rows: usize,
    writer: Activity,
    /// The tenant of the last write.
    last: Option<TenantId>,
    /// The time until which transactions are kept short, because several tenants write.
    shared_until: Option<Instant>,
}

/// The writes of one tenant that wait, the oldest first.
#[derive(Default)]
struct Line {
    waiting: VecDeque<Waiting>,
    rows: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Activity {
    /// The writer waits to be woken.
    #[default]
    Idle,
    /// The writer checks the queue itself after its transaction.
    Committing,
    /// The writer has stopped and handles no further writes.
    Gone,
}

/// Whether the writer has to be woken.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Pushed {
    /// The writer is idle and has to be woken.
    Wake,
    /// The writer is busy and checks the queue itself.
    Busy,
}

impl Queue {
    pub(super) fn new(bound: usize) -> Self {
        Self { state: Arc::default(), bound }
    }

    /// Adds a write to the end of its tenant's line.
    ///
    /// # Errors
    /// `Unavailable` when the queue is full or the writer has stopped. A full queue still takes writes of tenants that
    /// have less than their share in it, up to twice its bound.
    pub(super) fn push(&self, waiting: Waiting) -> Result<Pushed> {
        let (tenant, rows) = (waiting.write.change.tenant().clone(), waiting.rows());
        let mut state = self.state.lock();
        if state.writer == Activity::Gone {
            return Err(Error::unavailable("the writer stopped"));
        }
        if state.rows >= self.bound && state.is_full_for(&tenant, self.bound) {
            return Err(Error::unavailable("too many writes are waiting"));
        }
        state.note(&tenant);
        state.rows += rows;
        let line = state.lines.entry(tenant.clone()).or_default();
        let is_first = line.waiting.is_empty();
        line.rows += rows;
        line.waiting.push_back(waiting);
        if is_first {
            state.turns.push_back(tenant);
        }
        match std::mem::replace(&mut state.writer, Activity::Committing) {
            Activity::Idle => Ok(Pushed::Wake),
            _ => Ok(Pushed::Busy),
        }
    }

    /// Returns the number of rows that wait.
    pub(super) fn rows(&self) -> usize {
        self.state.lock().rows
    }

    /// Takes the next batch: as many writes as fit into `rows`, and at least one. Each waiting tenant has its turn. If
    /// there are no writes, the writer becomes idle.
    pub(super) fn take(&self, rows: usize) -> Vec<Waiting> {
        let mut state = self.state.lock();
        let batch = state.take(rows);
        if batch.is_empty() {
            state.writer = Activity::Idle;
        }
        batch
    }

    /// Closes the queue because the writer stopped. Callers receive an error when their senders are dropped.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        state.writer = Activity::Gone;
        state.rows = 0;
        state.turns.clear();
        drop(std::mem::take(&mut state.lines));
    }
}

impl State {
    /// Returns whether a tenant has its share of a full queue.
    fn is_full_for(&self, tenant: &TenantId, bound: usize) -> bool {
        let own = self.lines.get(tenant);
        let tenants = self.lines.len() + usize::from(own.is_none());
        self.rows >= 2 * bound || own.map_or(0, |line| line.rows) >= bound / tenants.max(2)
    }

    /// Notes that a tenant writes.
    fn note(&mut self, tenant: &TenantId) {
        match &self.last {
            Some(last) if last == tenant => return,
            Some(_) => self.shared_until = Some(Instant::now() + SHARED),
            None => {}
        }
        self.last = Some(tenant.clone());
    }

    fn take(&mut self, rows: usize) -> Vec<Waiting> {
        let is_shared = self.turns.len() > 1 || self.shared_until.is_some_and(|until| Instant::now() < until);
        let most = if is_shared { (rows / PART).max(1) } else { rows };
        // The part of a tenant with many writes shrinks as more tenants wait.
        let part = most.min(rows / self.turns.len().max(1)).max(1);
        let (mut batch, mut left) = (Vec::new(), rows);
        for _ in 0..self.turns.len() {
            let Some(tenant) = self.turns.pop_front() else { break };
            let Some(line) = self.lines.get_mut(&tenant) else { continue };
            let taken = line.take(part.min(left), batch.is_empty(), &mut batch);
            (self.rows, left) = (self.rows - taken, left.saturating_sub(taken));
            match line.waiting.is_empty() {
                true => drop(self.lines.remove(&tenant)),
                // A tenant that got nothing, because the batch is full, is next.
                false if taken == 0 => self.turns.push_front(tenant),
                false => self.turns.push_back(tenant),
            }
            if left == 0 || taken == 0 {
                break;
            }
        }
        batch
    }
}

impl Line {
    /// Moves writes to a batch as long as they fit into `rows`; with `at_least_one` the first one in any case. Returns
    /// the number of their rows.
    fn take(&mut self, rows: usize, at_least_one: bool, batch: &mut Vec<Waiting>) -> usize {
        let (mut taken, mut must) = (0, at_least_one);
        while let Some(next) = self.waiting.front() {
            if !must && taken + next.rows() > rows {
                break;
            }
            must = false;
            taken += next.rows();
            batch.extend(self.waiting.pop_front());
        }
        self.rows -= taken;
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::devices::inventory::writes::ObjectToInsert;
    use crate::writer::{Change, Conditions};
    use platform_model::devices::managed_object::NewManagedObject;
    use platform_model::id::{BinaryId, TenantId};

    fn write() -> (Waiting, oneshot::Receiver<Result<Committed>>) {
        write_of("t1", 1)
    }

    /// A write that its number identifies.
    fn write_of(tenant: &str, number: i64) -> (Waiting, oneshot::Receiver<Result<Committed>>) {
        let tenant = TenantId::parse(tenant).expect("an id");
        let body = platform_model::body::Body::parse(b"{}").expect("an object");
        let object = NewManagedObject::parse(body).expect("an object").created(None, "somebody");
        let (reply_to, reply) = oneshot::channel();
        let new = ObjectToInsert { object: Arc::new(object), file: Some(BinaryId(number)) };
        let change = Change::InsertManagedObject(tenant, new);
        (
            Waiting { write: Write { change, describe: None, conditions: Conditions::default() }, reply_to },
            reply,
        )
    }

    /// The tenants and numbers of a batch.
    fn of(batch: &[Waiting]) -> Vec<(&str, i64)> {
        let number = |waiting: &Waiting| match &waiting.write.change {
            Change::InsertManagedObject(_, ObjectToInsert { file: Some(binary), .. }) => binary.0,
            _ => 0,
        };
        batch.iter().map(|waiting| (waiting.write.change.tenant().as_str(), number(waiting))).collect()
    }

    #[test]
    fn backlog_of_a_tenant_does_not_delay_the_write_of_another() {
        let queue = Queue::new(10_000);
        for number in 0..1000 {
            assert!(queue.push(write_of("noisy", number).0).is_ok());
        }
        assert_eq!(queue.take(100).len(), 100, "a lone tenant fills a transaction");
        assert!(queue.push(write_of("quiet", 1).0).is_ok());

        let batch = queue.take(100);

        assert!(of(&batch).contains(&("quiet", 1)));
        let noisy: Vec<i64> =
            of(&batch).iter().filter(|(tenant, _)| *tenant == "noisy").map(|(_, number)| *number).collect();
        assert_eq!(noisy, Vec::from_iter(100..125), "a part, in order");
        assert_eq!(queue.take(100).len(), 25, "the next one stays short for a while");
    }

    #[test]
    fn many_tenants_share_a_transaction_and_none_is_left_out() {
        let queue = Queue::new(10_000);
        for number in 0..4 {
            for tenant in 0..20 {
                assert!(queue.push(write_of(&format!("t{tenant}"), number).0).is_ok());
            }
        }
        let mut seen = Vec::new();
        for _ in 0..8 {
            let batch = queue.take(10);
            assert_eq!(batch.len(), 10);
            seen.extend(of(&batch).into_iter().map(|(tenant, number)| (tenant.to_owned(), number)));
        }
        for (round, part) in seen.chunks(20).enumerate() {
            assert!(part.iter().all(|(_, number)| *number == round as i64), "round {round}: {part:?}");
        }
    }

    #[test]
    fn full_queue_takes_writes_of_tenants_that_have_less_than_their_share() {
        let queue = Queue::new(10);
        for number in 0..10 {
            assert!(queue.push(write_of("noisy", number).0).is_ok());
        }
        assert!(queue.push(write_of("noisy", 10).0).is_err());
        for number in 0..5 {
            assert!(queue.push(write_of("quiet", number).0).is_ok(), "{number}");
        }
        assert!(queue.push(write_of("quiet", 5).0).is_err());
    }

    #[test]
    fn only_an_idle_writer_is_woken() {
        let queue = Queue::new(10);
        assert_eq!(queue.push(write().0).ok(), Some(Pushed::Wake));
        assert_eq!(queue.push(write().0).ok(), Some(Pushed::Busy));
        assert_eq!(queue.take(1).len(), 1);
        assert_eq!(queue.push(write().0).ok(), Some(Pushed::Busy));
        assert_eq!(queue.take(10).len(), 2);
        assert_eq!(queue.take(10).len(), 0);
        assert_eq!(queue.push(write().0).ok(), Some(Pushed::Wake));
    }

    #[test]
    fn full_queue_rejects_writes_until_some_are_taken() {
        let queue = Queue::new(1);
        assert!(queue.push(write().0).is_ok());
        assert!(queue.push(write().0).is_err());
        queue.take(1);
        assert!(queue.push(write().0).is_ok());
    }

    #[test]
    fn callers_of_a_stopped_writer_receive_an_error() {
        let queue = Queue::new(10);
        let (waiting, mut reply) = write();
        assert!(queue.push(waiting).is_ok());
        queue.close();
        assert!(matches!(reply.try_recv(), Err(oneshot::error::TryRecvError::Closed)));
        assert!(queue.push(write().0).is_err());
    }
}
