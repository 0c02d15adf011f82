//! Look-ups by key that share statements. While a fleet reconnects, thousands of requests look up users and owners at
//! the same time: one statement for each would cost more than all their other work on the server.
//!
//! A look-up that finds a turn free runs a statement at once. The others wait; when a statement ends, the one that
//! has waited longest runs the next statement for all of them. So a single look-up does not wait, and under load each
//! statement serves a batch. A statement begins after all of its look-ups did, so no request gets a value from before
//! it began.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::Arc;

use parking_lot::Mutex;
use platform_model::error::{Error, Result};
use tokio::sync::oneshot;

/// The number of statements of one kind that run at once: while PostgreSQL works on one, the server reads the other.
pub(crate) const STATEMENTS_AT_ONCE: usize = 2;
/// The greatest number of keys in one statement.
const BATCH: usize = 256;

/// A kind of look-ups.
pub(crate) trait Lookup: Send + Sync + 'static {
    /// The key of a look-up.
    type Key: Eq + Hash + Clone + Send + Sync;
    /// The value that is looked up.
    type Value: Clone + Send + Sync;

    /// Returns the values of those keys that have one. One statement.
    fn load(&self, keys: &[Self::Key]) -> impl Future<Output = Result<Values<Self>>> + Send;
}

/// The values of some keys.
type Values<L> = HashMap<<L as Lookup>::Key, <L as Lookup>::Value>;
/// The value of a key, if it has one.
type Found<L> = Result<Option<<L as Lookup>::Value>>;

/// The look-ups of one kind.
pub(crate) struct SharedLookups<L: Lookup>(Arc<Shared<L>>);

struct Shared<L: Lookup> {
    lookup: L,
    queue: Mutex<Queue<L>>,
}

struct Queue<L: Lookup> {
    waiting: VecDeque<Waiting<L>>,
    /// The number of statements that are running.
    running: usize,
}

struct Waiting<L: Lookup> {
    key: L::Key,
    outcome: oneshot::Sender<Outcome<L>>,
}

enum Outcome<L: Lookup> {
    Found(Found<L>),
    RunsNext(StatementTurn<L>),
}

/// The right to run a statement. Dropping it passes it on, also when the client of the request has disconnected.
struct StatementTurn<L: Lookup>(Arc<Shared<L>>);

impl<L: Lookup> SharedLookups<L> {
    pub(crate) fn new(lookup: L) -> Self {
        Self(Arc::new(Shared { lookup, queue: Mutex::new(Queue { waiting: VecDeque::new(), running: 0 }) }))
    }

    /// Returns the value of a key, or `None` if it has none.
    ///
    /// # Errors
    /// The error of the statement, for everybody who shares it.
    pub(crate) async fn find(&self, key: L::Key) -> Found<L> {
        loop {
            let turn = match self.enter(&key) {
                Ok(turn) => turn,
                Err(outcome) => match outcome.await {
                    Ok(Outcome::Found(found)) => return found,
                    Ok(Outcome::RunsNext(turn)) => turn,
                    // The client of the request that ran the statement has disconnected.
                    Err(_) => continue,
                },
            };
            return turn.run_statement(key).await;
        }
    }

    /// Takes a turn, or waits for the outcome of another look-up's.
    fn enter(&self, key: &L::Key) -> std::result::Result<StatementTurn<L>, oneshot::Receiver<Outcome<L>>> {
        let mut queue = self.0.queue.lock();
        if queue.running < STATEMENTS_AT_ONCE {
            queue.running += 1;
            return Ok(StatementTurn(self.0.clone()));
        }
        let (outcome, receiver) = oneshot::channel();
        queue.waiting.push_back(Waiting { key: key.clone(), outcome });
        Err(receiver)
    }
}

impl<L: Lookup> StatementTurn<L> {
    async fn run_statement(self, key: L::Key) -> Found<L> {
        let (mut keys, mut outcomes) = (vec![key], Vec::new());
        self.take_waiting(&mut keys, &mut outcomes);
        let loaded = self.0.lookup.load(&keys).await;
        drop(self);
        let found = |key| loaded.as_ref().map(|values| values.get(key).cloned()).map_err(Error::clone);
        for (key, outcome) in keys[1..].iter().zip(outcomes) {
            // A look-up whose client has disconnected needs no value.
            let _ = outcome.send(Outcome::Found(found(key)));
        }
        found(&keys[0])
    }

    fn take_waiting(&self, keys: &mut Vec<L::Key>, outcomes: &mut Vec<oneshot::Sender<Outcome<L>>>) {
        let waiting = &mut self.0.queue.lock().waiting;
        let batch = waiting.len().min(BATCH - 1);
        for Waiting { key, outcome } in waiting.drain(..batch).filter(|one| !one.outcome.is_closed()) {
            keys.push(key);
            outcomes.push(outcome);
        }
    }
}

impl<L: Lookup> Drop for StatementTurn<L> {
    fn drop(&mut self) {
        if let Some(next) = self.0.next() {
            // If its client disconnects at this moment, the turn comes back, is dropped, and so passed on again.
            let _ = next.outcome.send(Outcome::RunsNext(Self(self.0.clone())));
        }
    }
}

impl<L: Lookup> Shared<L> {
    /// Returns the look-up that has waited longest; without any, there is one running statement less.
    fn next(&self) -> Option<Waiting<L>> {
        let mut queue = self.queue.lock();
        while let Some(next) = queue.waiting.pop_front() {
            if !next.outcome.is_closed() {
                return Some(next);
            }
        }
        queue.running -= 1;
        None
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use futures_util::FutureExt;
    use futures_util::future::join_all;
    use tokio::sync::Notify;

    use super::*;

    /// A database that responds when the test lets it, and records its statements.
    #[derive(Default)]
    struct Slow {
        statements: Mutex<Vec<Vec<u32>>>,
        responds: Notify,
        fails: AtomicBool,
    }

    impl Lookup for Slow {
        type Key = u32;
        type Value = u32;

        async fn load(&self, keys: &[u32]) -> Result<HashMap<u32, u32>> {
            self.statements.lock().push(keys.to_vec());
            self.responds.notified().await;
            if self.fails.load(Ordering::Relaxed) {
                Err(Error::unavailable("no database"))
            } else {
                Ok(keys.iter().filter(|key| **key < 1000).map(|key| (*key, key * 2)).collect())
            }
        }
    }

    impl SharedLookups<Slow> {
        /// Lets the database respond until a future is ready.
        fn respond_until<T>(&self, future: impl Future<Output = T>) -> T {
            let mut future = Box::pin(future);
            loop {
                if let Some(ready) = future.as_mut().now_or_never() {
                    assert_eq!(self.0.queue.lock().running, 0);
                    return ready;
                }
                self.0.lookup.responds.notify_one();
            }
        }

        fn statements(&self) -> Vec<Vec<u32>> {
            self.0.lookup.statements.lock().clone()
        }
    }

    #[test]
    fn look_ups_that_arrive_during_a_statement_share_the_next_one() {
        let lookups = SharedLookups::new(Slow::default());

        let found = lookups.respond_until(join_all((0..600).map(|key| lookups.find(key))));

        let expected: Vec<_> = (0..600).map(|key| Some(key * 2)).collect();
        assert_eq!(found.into_iter().collect::<Result<Vec<_>>>().expect("values"), expected);
        let sizes: Vec<_> = lookups.statements().iter().map(Vec::len).collect();
        assert_eq!(sizes, [1, 1, BATCH, BATCH, 600 - 2 - 2 * BATCH]);
    }

    #[test]
    fn client_that_disconnects_during_its_statement_or_before_its_turn_delays_nobody() {
        let lookups = SharedLookups::new(Slow::default());
        let mut look_ups: Vec<_> = (0..6).map(|key| Some(Box::pin(lookups.find(key)))).collect();
        for look_up in look_ups.iter_mut().flatten() {
            assert!(look_up.now_or_never().is_none());
        }

        look_ups[2] = None;
        look_ups[0] = None;
        assert!(look_ups[3].as_mut().expect("one").now_or_never().is_none());
        assert_eq!(lookups.statements(), [vec![0], vec![1], vec![3, 4, 5]]);
        look_ups[3] = None;

        let found = lookups.respond_until(join_all(look_ups.into_iter().flatten()));
        let found: Vec<_> = found.into_iter().map(|found| found.expect("a value")).collect();
        assert_eq!(found, [Some(2), Some(8), Some(10)]);
    }

    #[test]
    fn unknown_key_is_none_and_an_error_reaches_every_caller() {
        let lookups = SharedLookups::new(Slow::default());
        assert!(lookups.respond_until(lookups.find(1000)).expect("no error").is_none());

        lookups.0.lookup.fails.store(true, Ordering::Relaxed);
        let found = lookups.respond_until(join_all((0..5).map(|key| lookups.find(key))));
        assert!(found.iter().all(|found| matches!(found, Err(Error::Unavailable(_)))));
    }
}
