//! What waits for a writer's next transaction. Whoever writes puts it here and wakes the writer only when that rests: a busy
//! one looks by itself when its transaction is done. Woken for each write, a server under load would do little else.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::{Write, Written};
use crate::error::{Error, Result};

/// A write, and who waits for what becomes of it.
pub(super) struct Waiting {
    pub(super) write: Write,
    pub(super) reply_to: oneshot::Sender<Result<Written>>,
}

/// The queue of one writer, shared by all who write.
#[derive(Clone)]
pub(super) struct Queue {
    state: Arc<Mutex<State>>,
    /// Rows that may wait.
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
    /// Waits to be woken.
    #[default]
    Resting,
    /// Will look for more by itself.
    Committing,
    /// Died; nobody will look any more.
    Gone,
}

/// What a writer has to be told.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Pushed {
    /// That there is something.
    Wake,
    /// Nothing: it will look.
    Busy,
}

impl Queue {
    pub(super) fn new(bound: usize) -> Self {
        Self { state: Arc::default(), bound }
    }

    /// Puts a write at the end.
    ///
    /// # Errors
    /// `Unavailable` when the queue is full or the writer gone.
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
            Activity::Resting => Ok(Pushed::Wake),
            _ => Ok(Pushed::Busy),
        }
    }

    /// Takes the next batch: as many as `rows` allow, at least one. When there is none the writer rests.
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
            state.writer = Activity::Resting;
        }
        batch
    }

    /// The writer is gone: who waits hears so, as the senders are dropped.
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
    use crate::model::id::{BinaryId, TenantId};
    use crate::model::managed_object::NewManagedObject;
    use crate::writer::Change;

    fn write() -> (Waiting, oneshot::Receiver<Result<Written>>) {
        let tenant = TenantId::parse("t1").expect("an id");
        let body = crate::model::body::Body::parse(b"{}").expect("an object");
        let object = NewManagedObject::parse(body).expect("an object").created(None, "somebody");
        let (reply_to, answer) = oneshot::channel();
        let change = Change::InsertBinary(tenant, Arc::new(object), BinaryId(1));
        (Waiting { write: Write { change, fence: None }, reply_to }, answer)
    }

    #[test]
    fn only_a_resting_writer_is_woken() {
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
    fn full_queue_refuses_until_something_is_taken() {
        let queue = Queue::new(1);
        assert!(queue.push(write().0).is_ok());
        assert!(queue.push(write().0).is_err());
        queue.take(1);
        assert!(queue.push(write().0).is_ok());
    }

    #[test]
    fn who_waits_for_a_writer_that_died_hears_so() {
        let queue = Queue::new(10);
        let (waiting, mut answer) = write();
        assert!(queue.push(waiting).is_ok());
        queue.close();
        assert!(matches!(answer.try_recv(), Err(oneshot::error::TryRecvError::Closed)));
        assert!(queue.push(write().0).is_err());
    }
}
