//! The queue of writes for a writer's next transaction. A caller adds its write and wakes the writer only when the
//! writer is idle. A busy writer checks the queue itself after its transaction; waking it for each write would cost a
//! loaded server most of its time.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use platform_model::error::{Error, Result};
use tokio::sync::oneshot;

use super::{Committed, Write};

/// A write, and the channel for its result.
pub(super) struct Waiting {
    pub(super) write: Write,
    pub(super) reply_to: oneshot::Sender<Result<Committed>>,
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
    waiting: VecDeque<Waiting>,
    rows: usize,
    writer: Activity,
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

    /// Adds a write to the end of the queue.
    ///
    /// # Errors
    /// `Unavailable` when the queue is full or the writer has stopped.
    pub(super) fn push(&self, waiting: Waiting) -> Result<Pushed> {
        let mut state = self.state.lock();
        if state.writer == Activity::Gone {
            return Err(Error::unavailable("the writer stopped"));
        }
        if state.rows >= self.bound {
            return Err(Error::unavailable("too many writes are waiting"));
        }
        state.rows += waiting.write.change.rows();
        state.waiting.push_back(waiting);
        match std::mem::replace(&mut state.writer, Activity::Committing) {
            Activity::Idle => Ok(Pushed::Wake),
            _ => Ok(Pushed::Busy),
        }
    }

    /// Takes the next batch: as many writes as fit into `rows`, and at least one. If there are none, the writer
    /// becomes idle.
    pub(super) fn take(&self, rows: usize) -> Vec<Waiting> {
        let mut state = self.state.lock();
        let mut taken = 0;
        let fits = |waiting: &&Waiting| {
            taken += waiting.write.change.rows();
            taken <= rows
        };
        let count = state.waiting.iter().take_while(fits).count().max(state.waiting.len().min(1));
        let batch: Vec<Waiting> = state.waiting.drain(..count).collect();
        state.rows -= batch.iter().map(|waiting| waiting.write.change.rows()).sum::<usize>();
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
        drop(std::mem::take(&mut state.waiting));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::writer::Change;
    use platform_model::id::{BinaryId, TenantId};
    use platform_model::managed_object::NewManagedObject;

    fn write() -> (Waiting, oneshot::Receiver<Result<Committed>>) {
        let tenant = TenantId::parse("t1").expect("an id");
        let body = platform_model::body::Body::parse(b"{}").expect("an object");
        let object = NewManagedObject::parse(body).expect("an object").created(None, "somebody");
        let (reply_to, reply) = oneshot::channel();
        let change = Change::InsertBinary(tenant, Arc::new(object), BinaryId(1));
        (Waiting { write: Write { change, describe: None, fence: None }, reply_to }, reply)
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
