//! The state that all clients of one run share: its clock, its number, the ledger and the latencies.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::ledger::latency::Times;
use crate::ledger::mark::Mark;
use crate::ledger::positions::Promises;
use crate::ledger::session::Promised;
use crate::ledger::{Audit, Ledger, Outcome, ReceiverId, Watch};

/// A run, shared by posters and receivers.
#[derive(Debug)]
pub(crate) struct Run {
    id: u32,
    started: Instant,
    /// Whether posting has ended.
    is_over: AtomicBool,
    /// Signalled when the last outstanding delivery has arrived.
    settled: Notify,
    observed: Mutex<Observed>,
}

#[derive(Debug)]
struct Observed {
    ledger: Ledger,
    latency: Times,
    /// The time of the latest delivery (microseconds of the run).
    last_delivery: u64,
    /// Alarms due before this (microseconds of the run) are in the ledger but not measured.
    measured_from: u64,
    /// The time of the response to each row of a device, if these times are kept.
    responses: Option<Vec<Vec<u64>>>,
}

impl Run {
    /// Creates a run over `devices` devices that starts now and measures nothing until
    /// [`Self::measure_from`].
    pub(crate) fn new(devices: usize) -> Self {
        let clock = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self::of(clock.as_micros() as u32, Instant::now(), devices)
    }

    /// Creates the part of a run that another generator began.
    pub(crate) fn of(id: u32, started: Instant, devices: usize) -> Self {
        let observed = Observed {
            ledger: Ledger::new(devices),
            latency: Times::default(),
            last_delivery: 0,
            measured_from: u64::MAX,
            responses: None,
        };
        Self {
            id,
            started,
            is_over: AtomicBool::new(false),
            settled: Notify::new(),
            observed: Mutex::new(observed),
        }
    }

    /// Returns the number of the run, which its marks have.
    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    /// Returns the outcomes of all rows of each device.
    pub(crate) fn outcomes(&self) -> Vec<Vec<Outcome>> {
        self.observed.lock().ledger.outcomes().to_vec()
    }

    /// Adds the posts of another generator, which are for other devices.
    pub(crate) fn absorb(&self, outcomes: &[Vec<Outcome>]) {
        let mut observed = self.observed.lock();
        for (device, outcomes) in (0..).zip(outcomes) {
            for outcome in outcomes {
                let sequence = observed.ledger.post(device);
                observed.ledger.settle(device, sequence, *outcome);
            }
        }
    }

    /// Returns the microseconds since the run started.
    pub(crate) fn now(&self) -> u64 {
        self.started.elapsed().as_micros() as u64
    }

    /// Returns the instant of a time of the run, for timers.
    pub(crate) fn instant(&self, micros: u64) -> Instant {
        self.started + Duration::from_micros(micros)
    }

    /// Ends all schedules, because the run is interrupted or over.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    /// Returns whether posting has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Measures alarms due from this time on (microseconds of the run).
    pub(crate) fn measure_from(&self, micros: u64) {
        self.observed.lock().measured_from = micros;
    }

    /// Registers a receiver.
    pub(crate) fn add_receiver(&self, watch: Watch) -> ReceiverId {
        self.observed.lock().ledger.add_receiver(watch)
    }

    /// Records the next post of a device, due at `due`, in the ledger; returns the mark of its first row.
    pub(crate) fn post(&self, device: u32, rows: u32, due: u64) -> Mark {
        let sequence = self.observed.lock().ledger.post_rows(device, rows);
        Mark { run: self.id, device, sequence, due }
    }

    /// Records as [`Self::post`] does, for rows that are stored separately.
    pub(crate) fn post_apart(&self, device: u32, rows: u32, due: u64) -> Mark {
        let sequence = self.observed.lock().ledger.post_apart(device, rows);
        Mark { run: self.id, device, sequence, due }
    }

    /// Returns the mark of a row of a device that was read back with nothing but its sequence.
    pub(crate) fn mark_of(&self, device: u32, sequence: u32) -> Mark {
        Mark { run: self.id, device, sequence, due: 0 }
    }

    /// Records the results of rows that differ, given the mark of the first.
    pub(crate) fn settle_each(&self, first: Mark, outcomes: &[Outcome]) {
        let mut observed = self.observed.lock();
        for (row, outcome) in (0..).zip(outcomes) {
            observed.ledger.settle(first.device, first.sequence + row, *outcome);
        }
    }

    /// Returns whether a mark belongs to this run.
    pub(crate) fn is_own(&self, mark: Mark) -> bool {
        mark.run == self.id
    }

    /// Keeps the times of all responses; it is called before the first post.
    pub(crate) fn keep_times(&self) {
        let mut observed = self.observed.lock();
        observed.responses = Some(vec![Vec::new(); observed.ledger.outcomes().len()]);
    }

    /// Returns the posts by device and sequence, with the times of their responses if these were kept.
    pub(crate) fn promises(&self) -> Promises {
        let observed = self.observed.lock();
        let time = |device: u32, sequence: u32| {
            observed.responses.as_ref()?.get(device as usize)?.get(sequence as usize).copied()
        };
        let of_device = |(device, outcomes): (u32, &Vec<Outcome>)| {
            let rows = (0..).zip(outcomes).filter(|(_, outcome)| **outcome != Outcome::Refused);
            let rows: Vec<_> = rows.map(|(sequence, outcome)| (sequence, *outcome)).collect();
            rows.into_iter().map(move |(sequence, outcome)| (device, sequence, outcome))
        };
        let rows = (0..).zip(observed.ledger.outcomes()).flat_map(of_device);
        let promise = |(lane, sequence, outcome): (u32, u32, Outcome)| {
            let at = time(lane, sequence).unwrap_or_default();
            let acknowledged = (outcome == Outcome::Acknowledged).then_some(at);
            ((lane, sequence), (Promised { lane, sequence, due: at, acknowledged }, None))
        };
        rows.map(promise).collect()
    }

    /// Records the response to a post, given the mark of its first row.
    pub(crate) fn settle(&self, first: Mark, rows: u32, outcome: Outcome) {
        let now = self.now();
        let mut observed = self.observed.lock();
        if let Some(responses) = &mut observed.responses {
            let of_device = &mut responses[first.device as usize];
            let end = (first.sequence + rows) as usize;
            if of_device.len() < end {
                of_device.resize(end, 0);
            }
            of_device[first.sequence as usize..end].fill(now);
        }
        for row in 0..rows {
            observed.ledger.settle(first.device, first.sequence + row, outcome);
        }
    }

    /// Records everything that was read back for a device; lists may be in any order.
    pub(crate) fn found(&self, receiver: ReceiverId, device: u32, mut marks: Vec<Mark>) {
        marks.retain(|mark| self.is_own(*mark));
        marks.sort_unstable_by_key(|mark| (mark.device != device, mark.sequence));
        let mut observed = self.observed.lock();
        for mark in marks {
            // A row in the list of another device is as wrong as one never posted.
            let sequence = if mark.device == device { mark.sequence } else { u32::MAX };
            observed.ledger.deliver(receiver, device, sequence);
        }
    }

    /// Returns whether a receiver of all devices has received a row.
    pub(crate) fn has_received(&self, receiver: ReceiverId, device: u32, sequence: u32) -> bool {
        self.observed.lock().ledger.has_received(receiver, device, sequence)
    }

    /// Records every notification of this run in a batch; returns how many there were.
    pub(crate) fn deliver(&self, receiver: ReceiverId, batch: &[u8]) -> usize {
        let mut count = 0;
        let now = self.now();
        let mut observed = self.observed.lock();
        for mark in Mark::scan(batch).filter(|mark| self.is_own(*mark)) {
            count += 1;
            observed.ledger.deliver(receiver, mark.device, mark.sequence);
            observed.last_delivery = now;
            if mark.due >= observed.measured_from {
                observed.latency.record(now.saturating_sub(mark.due));
            }
        }
        if count > 0 && observed.ledger.outstanding() == 0 {
            self.settled.notify_one();
        }
        count
    }

    /// Waits until every acknowledged alarm has reached every receiver, at most `limit`; the audit reports
    /// what is missing then.
    pub(crate) async fn drain(&self, limit: Duration) {
        let all_delivered = async {
            while self.observed.lock().ledger.outstanding() > 0 {
                self.settled.notified().await;
            }
        };
        tokio::time::timeout(limit, all_delivered).await.ok();
    }

    /// Returns the number of outstanding deliveries.
    pub(crate) fn outstanding(&self) -> i64 {
        self.observed.lock().ledger.outstanding()
    }

    /// Returns the latencies from due time to delivery, in microseconds; there are as many samples as
    /// measured deliveries.
    pub(crate) fn latency(&self) -> Times {
        self.observed.lock().latency.clone()
    }

    /// Returns the time of the latest delivery, in microseconds of the run.
    pub(crate) fn last_delivery(&self) -> u64 {
        self.observed.lock().last_delivery
    }

    /// Closes the ledger and returns the verdict; the run must be over.
    pub(crate) fn audit(&self) -> Audit {
        std::mem::replace(&mut self.observed.lock().ledger, Ledger::new(0)).audit()
    }
}
