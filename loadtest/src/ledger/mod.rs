//! The ledger: the posts, the receivers that must receive each, and the deliveries. Pure data; no clock, no I/O.

pub(crate) mod fact;
pub(crate) mod latency;
pub(crate) mod mark;
pub(crate) mod run;
pub(crate) mod session;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// A larger jump in a device's sequence is not a gap but an invalid mark.
const LARGEST_GAP: u32 = 100_000;
/// The number of faults that are described in words.
const EXAMPLES: usize = 10;

/// The devices a receiver subscribed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Watch {
    /// The channel of one device (its index).
    Device(u32),
    /// The wildcard channel.
    All,
}

/// The result of a posted row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Outcome {
    /// No response, or a 5xx: it may be stored and delivered, or not.
    Unknown,
    /// A 201 response: it must reach every receiver that watches its device.
    Acknowledged,
    /// A 4xx response: it must reach no receiver.
    Refused,
}

/// The index of a receiver in the ledger.
pub(crate) type ReceiverId = usize;

#[derive(Debug)]
struct Receiver {
    watch: Watch,
    /// Per watched device the sequence expected next; one element for [`Watch::Device`].
    next: Vec<u32>,
    /// The sequences that were skipped and have not arrived yet.
    gaps: BTreeSet<(u32, u32)>,
}

/// Every alarm posted and every delivery seen in one run.
#[derive(Debug)]
pub(crate) struct Ledger {
    /// Per device the outcome of each sequence.
    outcomes: Vec<Vec<Outcome>>,
    receivers: Vec<Receiver>,
    /// The number of receivers that watch each device by its own channel.
    watchers: Vec<u32>,
    wildcard_watchers: u32,
    /// The posts of several rows: device, first sequence, number.
    collections: Vec<(u32, u32, u32)>,
    expected: u64,
    delivered: u64,
    faults: Faults,
}

#[derive(Debug, Default)]
struct Faults {
    doubled: u64,
    reordered: u64,
    unexpected: u64,
    lost: u64,
    torn: u64,
    examples: Vec<String>,
}

/// The verdict on a run. Clean means: nothing was lost, doubled, reordered, unexpected or torn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Audit {
    /// The alarms with a 201 response.
    pub(crate) acknowledged: u64,
    /// The alarms with an unknown outcome (no response, or a 5xx), which may or may not arrive.
    pub(crate) unknown: u64,
    /// The deliveries that the acknowledged alarms must cause.
    pub(crate) expected: u64,
    /// The distinct deliveries that arrived.
    pub(crate) delivered: u64,
    /// The acknowledged alarms that did not reach a receiver, counted per receiver.
    pub(crate) lost: u64,
    /// The deliveries of an alarm that the receiver already had.
    pub(crate) doubled: u64,
    /// The deliveries that arrived after a later one of the same device.
    pub(crate) reordered: u64,
    /// The deliveries of alarms that were rejected, never posted, or of a device the receiver does not watch.
    pub(crate) unexpected: u64,
    /// The collections of which only a part arrived.
    pub(crate) torn: u64,
    /// The first faults in words.
    pub(crate) examples: Vec<String>,
}

impl Audit {
    /// Returns whether every acknowledged alarm reached every watcher exactly once and in order.
    pub(crate) fn is_clean(&self) -> bool {
        [self.lost, self.doubled, self.reordered, self.unexpected, self.torn] == [0; 5]
    }
}

impl Ledger {
    /// Creates an empty ledger for `devices` devices, indexed from 0.
    pub(crate) fn new(devices: usize) -> Self {
        Self {
            outcomes: vec![Vec::new(); devices],
            receivers: Vec::new(),
            watchers: vec![0; devices],
            wildcard_watchers: 0,
            collections: Vec::new(),
            expected: 0,
            delivered: 0,
            faults: Faults::default(),
        }
    }

    /// Adds a receiver; all receivers are added before the first post.
    pub(crate) fn add_receiver(&mut self, watch: Watch) -> ReceiverId {
        let devices = match watch {
            Watch::Device(device) => {
                self.watchers[device as usize] += 1;
                1
            }
            Watch::All => {
                self.wildcard_watchers += 1;
                self.outcomes.len()
            }
        };
        self.receivers.push(Receiver { watch, next: vec![0; devices], gaps: BTreeSet::new() });
        self.receivers.len() - 1
    }

    /// Returns the sequence of the device's next alarm; its outcome is unknown until [`Self::settle`].
    pub(crate) fn post(&mut self, device: u32) -> u32 {
        let sequences = &mut self.outcomes[device as usize];
        sequences.push(Outcome::Unknown);
        sequences.len() as u32 - 1
    }

    /// Returns the sequence of the first of several rows that are posted together.
    pub(crate) fn post_rows(&mut self, device: u32, rows: u32) -> u32 {
        let first = self.post_apart(device, rows);
        if rows > 1 {
            self.collections.push((device, first, rows));
        }
        first
    }

    /// Returns the sequence of the first of several rows that are sent together but stored separately.
    pub(crate) fn post_apart(&mut self, device: u32, rows: u32) -> u32 {
        let first = self.post(device);
        for _ in 1..rows {
            self.post(device);
        }
        first
    }

    /// Records the response to a post.
    pub(crate) fn settle(&mut self, device: u32, sequence: u32, outcome: Outcome) {
        self.outcomes[device as usize][sequence as usize] = outcome;
        if outcome == Outcome::Acknowledged {
            self.expected += u64::from(self.watchers[device as usize] + self.wildcard_watchers);
        }
    }

    /// Returns the outcomes of all rows of each device.
    pub(crate) fn outcomes(&self) -> &[Vec<Outcome>] {
        &self.outcomes
    }

    /// Records a delivery; it may arrive before the response to its post.
    pub(crate) fn deliver(&mut self, receiver: ReceiverId, device: u32, sequence: u32) {
        let watches = &mut self.receivers[receiver];
        let slot = match watches.watch {
            Watch::Device(watched) if watched == device => Some(0),
            Watch::Device(_) => None,
            Watch::All => Some(device as usize),
        };
        let next = slot.and_then(|slot| watches.next.get_mut(slot));
        let Some(next) = next.filter(|next| sequence < next.saturating_add(LARGEST_GAP)) else {
            return self.faults.unexpected(receiver, device, sequence);
        };
        if sequence >= *next {
            watches.gaps.extend((*next..sequence).map(|passed| (device, passed)));
            *next = sequence + 1;
        } else if watches.gaps.remove(&(device, sequence)) {
            self.faults.reordered(receiver, device, sequence);
        } else {
            return self.faults.doubled(receiver, device, sequence);
        }
        self.delivered += 1;
    }

    /// Returns whether a receiver of all devices has received a row.
    pub(crate) fn has_received(&self, receiver: ReceiverId, device: u32, sequence: u32) -> bool {
        let Receiver { next, gaps, .. } = &self.receivers[receiver];
        next.get(device as usize).is_some_and(|next| sequence < *next) && !gaps.contains(&(device, sequence))
    }

    /// Returns the deliveries outstanding for acknowledged alarms; negative while deliveries run ahead of the
    /// responses.
    pub(crate) fn outstanding(&self) -> i64 {
        self.expected as i64 - self.delivered as i64
    }

    /// Returns the verdict, and counts everything that has not arrived as lost.
    pub(crate) fn audit(mut self) -> Audit {
        let mut faults = std::mem::take(&mut self.faults);
        for (id, receiver) in self.receivers.iter().enumerate() {
            match receiver.watch {
                Watch::Device(device) => self.audit_device(&mut faults, id, device, receiver.next[0]),
                Watch::All => {
                    for (device, next) in receiver.next.iter().enumerate() {
                        self.audit_device(&mut faults, id, device as u32, *next);
                    }
                }
            }
        }
        self.audit_collections(&mut faults);
        let count = |outcome| self.outcomes.iter().flatten().filter(|is| **is == outcome).count() as u64;
        Audit {
            acknowledged: count(Outcome::Acknowledged),
            unknown: count(Outcome::Unknown),
            expected: self.expected,
            delivered: self.delivered,
            lost: faults.lost,
            doubled: faults.doubled,
            reordered: faults.reordered,
            unexpected: faults.unexpected,
            torn: faults.torn,
            examples: faults.examples,
        }
    }

    fn audit_collections(&self, faults: &mut Faults) {
        for (id, receiver) in self.receivers.iter().enumerate() {
            for &(device, first, rows) in &self.collections {
                let next = match receiver.watch {
                    Watch::Device(watched) if watched == device => receiver.next[0],
                    Watch::Device(_) => continue,
                    Watch::All => receiver.next[device as usize],
                };
                let missing =
                    |sequence: &u32| *sequence >= next || receiver.gaps.contains(&(device, *sequence));
                let missed = (first..first + rows).filter(missing).count() as u32;
                if missed != 0 && missed != rows {
                    faults.torn(id, device, first);
                }
            }
        }
    }

    fn audit_device(&self, faults: &mut Faults, id: ReceiverId, device: u32, next: u32) {
        let gaps = &self.receivers[id].gaps;
        let outcomes = &self.outcomes[device as usize];
        for (sequence, outcome) in (0..).zip(outcomes) {
            let arrived = sequence < next && !gaps.contains(&(device, sequence));
            match outcome {
                Outcome::Acknowledged if !arrived => faults.lost(id, device, sequence),
                Outcome::Refused if arrived => faults.unexpected(id, device, sequence),
                _ => {}
            }
        }
        for sequence in outcomes.len() as u32..next {
            if !gaps.contains(&(device, sequence)) {
                faults.unexpected(id, device, sequence);
            }
        }
    }
}

impl Faults {
    fn doubled(&mut self, receiver: ReceiverId, device: u32, sequence: u32) {
        self.doubled += 1;
        self.describe("doubled", receiver, device, sequence);
    }

    fn reordered(&mut self, receiver: ReceiverId, device: u32, sequence: u32) {
        self.reordered += 1;
        self.describe("reordered", receiver, device, sequence);
    }

    fn unexpected(&mut self, receiver: ReceiverId, device: u32, sequence: u32) {
        self.unexpected += 1;
        self.describe("unexpected", receiver, device, sequence);
    }

    fn lost(&mut self, receiver: ReceiverId, device: u32, sequence: u32) {
        self.lost += 1;
        self.describe("lost", receiver, device, sequence);
    }

    fn torn(&mut self, receiver: ReceiverId, device: u32, sequence: u32) {
        self.torn += 1;
        self.describe("torn", receiver, device, sequence);
    }

    fn describe(&mut self, fault: &str, receiver: ReceiverId, device: u32, sequence: u32) {
        if self.examples.len() < EXAMPLES {
            self.examples.push(format!("{fault}: receiver {receiver}, device {device}, row {sequence}"));
        }
    }
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
