//! Consumers of all changes of a tenant, and their readers.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::devices;
use crate::devices::random;
use crate::error::Error;
use crate::ledger::positions::{ConsumerId, PositionAudit, PositionLedger, Received};
use crate::ledger::run::Run;
use crate::ledger::session::Scope;
use crate::protocol::consumer::batch::{Batch, Notification};
use crate::protocol::consumer::reader::{Reader, Reading};
use crate::protocol::consumer::{Consumer, NAMES, NewConsumer, path_of};
use crate::report::Fact;
use crate::target::Target;

/// The pause after a failed request.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_millis(100);
const CHECK_INTERVAL: Duration = Duration::from_millis(20);
/// Readers that receive nothing for this long, and are behind, do not catch up.
const SILENCE_LIMIT: Duration = Duration::from_secs(30);
/// The number of failures that are shown.
const EXAMPLES: usize = 3;

/// Consumers; dropping it ends their readers.
pub(super) struct Crowd {
    target: Arc<Target>,
    names: Vec<String>,
    state: Arc<State>,
    tasks: JoinSet<()>,
}

/// The state that the readers share.
struct State {
    run: Arc<Run>,
    ledger: Mutex<PositionLedger>,
    /// The failures of requests, in words.
    failures: Mutex<Vec<String>>,
}

/// The results of consumers that were deleted.
pub(super) struct Closed {
    pub(super) audit: PositionAudit,
    pub(super) failures: Vec<String>,
    pub(super) left: usize,
}

impl Crowd {
    /// Creates this number of consumers with a bound of their backlogs in bytes. `devices` is the number of devices of
    /// the run.
    ///
    /// # Errors
    /// The server rejects one; those that were created before are deleted.
    pub(super) async fn create(
        target: &Arc<Target>,
        run: &Arc<Run>,
        devices: usize,
        (count, max_bytes): (u32, u64),
    ) -> Result<Self, Error> {
        let state = State { run: Arc::clone(run), ledger: Mutex::default(), failures: Mutex::default() };
        let (names, tasks) = (Vec::new(), JoinSet::new());
        let mut crowd = Self { target: Arc::clone(target), names, state: Arc::new(state), tasks };
        let (mut connection, of_run) = (target.connect().await?, random::text(6).to_lowercase());
        for number in 0..count {
            let mut new = NewConsumer::of_everything(&format!("{NAMES}{of_run}-{number}"));
            new.max_bytes = Some(max_bytes);
            match new.create(target, &mut connection).await {
                Ok(Consumer { name, position, .. }) => {
                    let scope = Scope::new(0..devices as u32, vec![0, 1, 2, 3]);
                    crowd.state.ledger.lock().add_consumer(&name, 0, (scope, true), position);
                    crowd.names.push(name);
                }
                Err(error) => {
                    crowd.remove().await;
                    return Err(error);
                }
            }
        }
        Ok(crowd)
    }

    /// Returns the names of the consumers.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Starts a reader of each consumer.
    pub(super) fn read(&mut self, reading: Reading) {
        for (id, name) in self.names.iter().enumerate() {
            let (state, target) = (Arc::clone(&self.state), Arc::clone(&self.target));
            self.tasks.spawn(state.read_all(target, id, name.clone(), reading));
        }
    }

    /// Returns the number of notifications that each consumer received within a time.
    pub(super) fn received_within(&self, within: std::ops::Range<u64>) -> Vec<u64> {
        let ledger = self.state.ledger.lock();
        (0..self.names.len()).map(|id| ledger.received_within(id, &within)).collect()
    }

    /// Returns how far the consumers are behind a position, together.
    pub(super) fn behind(&self, position: u64) -> u64 {
        let ledger = self.state.ledger.lock();
        (0..self.names.len()).map(|id| position.saturating_sub(ledger.highest(id))).sum()
    }

    /// Returns the newest position of the tenant.
    ///
    /// # Errors
    /// The server does not return it.
    pub(super) async fn newest(&self) -> Result<u64, Error> {
        let Some(name) = self.names.first() else { return Ok(0) };
        Ok(Consumer::get(&self.target, &mut self.target.connect().await?, name).await?.newest)
    }

    /// Waits until all consumers have received this position. Gives up when nothing arrives for 30 s.
    pub(super) async fn until(&self, position: u64) {
        let (mut last, mut since) = (0, Instant::now());
        while self.behind(position) > 0 && since.elapsed() < SILENCE_LIMIT {
            sleep(CHECK_INTERVAL).await;
            let now = self.state.ledger.lock().deliveries();
            if now != last {
                (last, since) = (now, Instant::now());
            }
        }
    }

    /// Waits until all consumers have received the newest change, deletes them, and judges what they received.
    ///
    /// # Errors
    /// The server does not return the newest position; the consumers are deleted then, too.
    pub(super) async fn close(mut self) -> Result<Closed, Error> {
        let newest = self.newest().await;
        if let Ok(newest) = newest {
            self.until(newest).await;
            let now = self.state.run.now();
            (0..self.names.len()).for_each(|id| self.state.ledger.lock().end(id, newest, now));
        }
        let left = self.remove().await;
        newest?;
        let promises = self.state.run.promises();
        let audit = self.state.ledger.lock().audit(0..self.names.len(), &[0], &promises).remove(0);
        Ok(Closed { audit, failures: std::mem::take(&mut *self.state.failures.lock()), left })
    }

    /// Ends the readers and deletes the consumers. Returns how many could not be deleted.
    pub(super) async fn remove(&mut self) -> usize {
        self.tasks.shutdown().await;
        let requests = self.names.iter().map(|name| self.target.delete(&path_of(name))).collect();
        devices::send_all(&self.target, "removing consumers", requests, 204).await
    }
}

impl State {
    async fn read_all(self: Arc<Self>, target: Arc<Target>, id: ConsumerId, name: String, reading: Reading) {
        let mut handled = None;
        loop {
            let Err(error) = self.read(&target, id, &name, reading, &mut handled).await;
            self.failures.lock().push(error.to_string());
            sleep(PAUSE_AFTER_FAILURE).await;
        }
    }

    /// Reads over one connection.
    async fn read(
        &self,
        target: &Target,
        id: ConsumerId,
        name: &str,
        reading: Reading,
        handled: &mut Option<u64>,
    ) -> Result<std::convert::Infallible, Error> {
        let mut reader = Reader::connect(target, name, reading, *handled).await?;
        loop {
            let begins = reader.begins_anew();
            let batch = Box::pin(reader.receive(target)).await?;
            let mut ledger = self.ledger.lock();
            if begins {
                ledger.begin(id);
            }
            self.consume(&mut ledger, id, &batch);
            *handled = batch.position.or(*handled);
        }
    }

    fn consume(&self, ledger: &mut PositionLedger, id: ConsumerId, batch: &Batch) {
        let now = self.run.now();
        if let Some(missed) = batch.missed {
            ledger.miss(id, (missed.from, missed.to), now);
        }
        for &Notification { position, digest, mark } in &batch.notifications {
            let row = mark.filter(|mark| self.run.is_own(*mark)).map(|mark| (mark.device, mark.sequence));
            ledger.deliver(id, Received { position, digest, row }, now);
        }
    }
}

impl Closed {
    /// Returns the verdict of the ledger and the failures of readers.
    pub(super) fn facts(&self) -> [Fact; 2] {
        let failures = self.failures.iter().take(EXAMPLES).cloned().collect::<Vec<_>>().join("; ");
        let ledger: Vec<String> = self.audit.rows().into_iter().map(|(_, text)| text).collect();
        [
            Fact {
                what: "ledger by positions",
                found: ledger.join("  "),
                expected: "nothing lost, skipped, doubled or reordered".to_owned(),
                holds: self.audit.is_clean(),
            },
            Fact {
                what: "failures of readers",
                found: format!("{} {failures}  consumers left behind {}", self.failures.len(), self.left),
                expected: "0".to_owned(),
                holds: self.failures.is_empty() && self.left == 0,
            },
        ]
    }
}
