//! Posts on a fixed schedule regardless of the responses. Latency is measured from the due time, so that a
//! server that falls behind is charged for every post that had to wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinSet;

use crate::ledger::Outcome;
use crate::ledger::run::Run;
use crate::traffic::poster::{Poster, Responses};
use crate::traffic::schedule::Schedule;

/// The time between the start of a schedule and its first post, in microseconds.
const LEAD: u64 = 50_000;
/// A post that waits longer than this for a free connection is late.
const LATE: Duration = Duration::from_millis(10);
/// A post that waits longer than this is not sent.
const OVERTIME: Duration = Duration::from_secs(5);

/// The results of one schedule.
#[derive(Debug, Default)]
pub(super) struct Outcomes {
    /// The responses to the posts that were sent.
    pub(super) responses: Responses,
    /// The posts that were sent more than 10 ms after they were due, because every connection was waiting.
    pub(super) late: u64,
    /// The posts that were not sent within 5 s.
    pub(super) unsent: u64,
}

impl Outcomes {
    /// Adds the results of another schedule.
    pub(super) fn add(&mut self, other: &Self) {
        self.responses.add(&other.responses);
        self.late += other.late;
        self.unsent += other.unsent;
    }
}

/// The connections that post, kept from schedule to schedule.
#[derive(Debug)]
pub(super) struct OpenLoop {
    run: Arc<Run>,
    ids: Arc<Vec<String>>,
    posters: Vec<Poster>,
    next_device: Arc<AtomicUsize>,
}

#[derive(Debug)]
struct Worker {
    poster: Poster,
    late: u64,
    unsent: u64,
}

impl OpenLoop {
    /// Creates connections that post to all devices in turn.
    pub(super) fn new(run: &Arc<Run>, ids: &Arc<Vec<String>>, posters: Vec<Poster>) -> Self {
        let next_device = Arc::new(AtomicUsize::new(0));
        Self { run: Arc::clone(run), ids: Arc::clone(ids), posters, next_device }
    }

    /// Posts at a rate; those due in the warm-up are not measured.
    pub(super) async fn post(&mut self, per_second: u32, warmup: u64, seconds: u64) -> Outcomes {
        let start = self.run.now() + LEAD;
        let schedule = Schedule::constant(start, per_second, warmup + seconds);
        let (sender, dues) = mpsc::unbounded_channel();
        let dues = Arc::new(Mutex::new(dues));
        let mut workers = JoinSet::new();
        for mut poster in self.posters.drain(..) {
            poster.measure_from(start + warmup * 1_000_000);
            let worker = Worker { poster, late: 0, unsent: 0 };
            let (ids, next_device) = (Arc::clone(&self.ids), Arc::clone(&self.next_device));
            workers.spawn(worker.work(Arc::clone(&dues), ids, next_device));
        }
        let run = Arc::clone(&self.run);
        let pacer = std::thread::spawn(move || schedule.pace(&run, &[sender]));
        let mut outcomes = Outcomes::default();
        while let Some(Ok(mut worker)) = workers.join_next().await {
            outcomes.responses.add(&worker.poster.measure_from(u64::MAX));
            outcomes.late += worker.late;
            outcomes.unsent += worker.unsent;
            self.posters.push(worker.poster);
        }
        pacer.join().ok();
        outcomes
    }
}

impl Worker {
    /// Takes due times, concurrently with other free connections, until the schedule is over.
    async fn work(
        mut self,
        dues: Arc<Mutex<mpsc::UnboundedReceiver<u64>>>,
        ids: Arc<Vec<String>>,
        next_device: Arc<AtomicUsize>,
    ) -> Self {
        loop {
            let due = dues.lock().await.recv().await;
            let Some(due) = due else { return self };
            let lateness = self.poster.lateness(due);
            if lateness > OVERTIME {
                self.unsent += 1;
                continue;
            }
            self.late += u64::from(lateness > LATE);
            let device = next_device.fetch_add(1, Ordering::Relaxed) % ids.len();
            if self.poster.post(device as u32, &ids[device], due).await == Outcome::Unknown {
                // A server that is down is not called in a tight loop.
                tokio::time::sleep(super::closed_loop::PAUSE_AFTER_FAILURE).await;
            }
        }
    }
}
