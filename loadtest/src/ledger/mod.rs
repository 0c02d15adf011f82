//! The ledger: the posts, the receivers that must receive each, and the deliveries. Pure data; no clock, no I/O.

pub(crate) mod fact;
pub(crate) mod latency;
pub(crate) mod mark;
pub(crate) mod positions;
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

impl Receiver {
    /// Returns the place of a device in `next`, if the receiver watches it.
    fn place(&self, device: u32) -> Option<usize> {
        match self.watch {
            Watch::Device(watched) => (watched == device).then_some(0),
            Watch::All => Some(device as usize),
        }
    }

    /// Returns the sequence expected next of a device; `None` if the receiver does not watch it.
    fn next(&self, device: u32) -> Option<u32> {
        self.next.get(self.place(device)?).copied()
    }

    fn has(&self, device: u32, sequence: u32) -> bool {
        self.next(device).is_some_and(|next| sequence < next) && !self.gaps.contains(&(device, sequence))
    }
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
    /// The verdict so far.
    audit: Audit,
}

/// A fault of deliveries.
#[derive(Debug, Clone, Copy)]
enum Fault {
    Lost,
    Doubled,
    Reordered,
    Unexpected,
    Torn,
}

/// The verdict on a run. Clean means: nothing was lost, doubled, reordered, unexpected or torn.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize)]
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

    fn note(&mut self, fault: Fault, receiver: ReceiverId, device: u32, sequence: u32) {
        let (count, name) = match fault {
            Fault::Lost => (&mut self.lost, "lost"),
            Fault::Doubled => (&mut self.doubled, "doubled"),
            Fault::Reordered => (&mut self.reordered, "reordered"),
            Fault::Unexpected => (&mut self.unexpected, "unexpected"),
            Fault::Torn => (&mut self.torn, "torn"),
        };
        *count += 1;
        if self.examples.len() < EXAMPLES {
            self.examples.push(format!("{name}: receiver {receiver}, device {device}, row {sequence}"));
        }
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
            audit: Audit::default(),
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
            self.audit.expected += u64::from(self.watchers[device as usize] + self.wildcard_watchers);
        }
    }

    /// Returns the outcomes of all rows of each device.
    pub(crate) fn outcomes(&self) -> &[Vec<Outcome>] {
        &self.outcomes
    }

    /// Records a delivery; it may arrive before the response to its post.
    pub(crate) fn deliver(&mut self, receiver: ReceiverId, device: u32, sequence: u32) {
        let watches = &mut self.receivers[receiver];
        let next = watches.place(device).and_then(|place| watches.next.get_mut(place));
        let Some(next) = next.filter(|next| sequence < next.saturating_add(LARGEST_GAP)) else {
            return self.audit.note(Fault::Unexpected, receiver, device, sequence);
        };
        if sequence >= *next {
            watches.gaps.extend((*next..sequence).map(|passed| (device, passed)));
            *next = sequence + 1;
        } else if watches.gaps.remove(&(device, sequence)) {
            self.audit.note(Fault::Reordered, receiver, device, sequence);
        } else {
            return self.audit.note(Fault::Doubled, receiver, device, sequence);
        }
        self.audit.delivered += 1;
    }

    /// Returns whether a receiver has received a row.
    pub(crate) fn has_received(&self, receiver: ReceiverId, device: u32, sequence: u32) -> bool {
        self.receivers[receiver].has(device, sequence)
    }

    /// Returns the deliveries outstanding for acknowledged alarms; negative while deliveries run ahead of the
    /// responses.
    pub(crate) fn outstanding(&self) -> i64 {
        self.audit.expected as i64 - self.audit.delivered as i64
    }

    /// Returns the verdict, and counts everything that has not arrived as lost.
    pub(crate) fn audit(mut self) -> Audit {
        let mut audit = std::mem::take(&mut self.audit);
        for (id, receiver) in self.receivers.iter().enumerate() {
            for (device, outcomes) in (0..).zip(&self.outcomes) {
                if let Some(next) = receiver.next(device) {
                    audit_device(&mut audit, (id, receiver), device, outcomes, next);
                }
            }
            for &(device, first, rows) in &self.collections {
                let missing = |sequence: &u32| !receiver.has(device, *sequence);
                let missed = (first..first + rows).filter(missing).count() as u32;
                if receiver.next(device).is_some() && missed != 0 && missed != rows {
                    audit.note(Fault::Torn, id, device, first);
                }
            }
        }
        let count = |outcome| self.outcomes.iter().flatten().filter(|is| **is == outcome).count() as u64;
        Audit { acknowledged: count(Outcome::Acknowledged), unknown: count(Outcome::Unknown), ..audit }
    }
}

fn audit_device(
    audit: &mut Audit,
    (id, receiver): (ReceiverId, &Receiver),
    device: u32,
    outcomes: &[Outcome],
    next: u32,
) {
    for (sequence, outcome) in (0..).zip(outcomes) {
        match (outcome, receiver.has(device, sequence)) {
            (Outcome::Acknowledged, false) => audit.note(Fault::Lost, id, device, sequence),
            (Outcome::Refused, true) => audit.note(Fault::Unexpected, id, device, sequence),
            _ => {}
        }
    }
    for sequence in (outcomes.len() as u32..next).filter(|sequence| receiver.has(device, *sequence)) {
        audit.note(Fault::Unexpected, id, device, sequence);
    }
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
