//! The ledger of named consumers, by positions. Pure data; no clock, no I/O. Times are microseconds of the run.
//!
//! A consumer must receive every accepted write of its channels at least once. Its positions increase, except for
//! repetitions of positions that it has seen, and a position always has the same notification, at all consumers of a
//! tenant. A consumer of all changes receives each position: n, n + 1, n + 2. Its server may report a gap; that is
//! never silent, and never clean.

mod audit;
mod verdict;

use std::collections::HashMap;
use std::ops::Range;

pub(crate) use self::audit::Promises;
pub(crate) use self::verdict::PositionAudit;
use crate::ledger::session::Scope;

/// A larger jump of positions is not a hole but an invalid position.
const LARGEST_JUMP: u64 = 20_000_000;

/// The index of a consumer.
pub(crate) type ConsumerId = usize;

/// A notification that a consumer received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Received {
    pub(crate) position: u64,
    /// Equal contents have equal digests.
    pub(crate) digest: u64,
    /// Lane and sequence, if it is the creation of an object of this run.
    pub(crate) row: Option<(u32, u32)>,
}

/// The notifications of a tenant by position.
#[derive(Debug, Default)]
struct Journal {
    digests: HashMap<u64, u64>,
    /// The position of each created object.
    rows: HashMap<(u32, u32), u64>,
}

/// A fault of deliveries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// Another notification had this position.
    Changed,
    /// The same object was created at another position, or a response has a position twice.
    Doubled,
    /// A position that was not seen before came after a later one, or a response is not in order.
    Reordered,
    /// The object is not of the consumer's channels, or the position is invalid.
    Unexpected,
    /// Positions are missing before this one.
    Holes(u64),
    /// The server reported a gap of this many positions.
    Gap(u64),
    /// The newest positions of the tenant were not received at the end.
    Unread(u64),
}

/// A fault with its time and position.
#[derive(Debug, Clone, Copy)]
struct Noted {
    at: u64,
    position: u64,
    fault: Fault,
}

/// A consumer.
#[derive(Debug)]
struct Consumer {
    name: String,
    /// The index of the tenant.
    journal: usize,
    scope: Scope,
    is_dense: bool,
    /// The position at which it was created.
    start: u64,
    highest: u64,
    /// The last position of the present response or stream.
    last: Option<u64>,
    /// The time at which each position after the start was first received; 0 for never.
    received: Vec<u64>,
    /// The positions that were first received, and the further deliveries of these.
    counts: [u64; 2],
    gaps: Vec<(u64, u64)>,
    noted: Vec<Noted>,
}

/// Everything that the consumers of a run received.
#[derive(Debug, Default)]
pub(crate) struct PositionLedger {
    journals: Vec<Journal>,
    consumers: Vec<Consumer>,
}

impl Consumer {
    fn received_at(&self, position: u64) -> Option<u64> {
        let index = position.checked_sub(self.start + 1)? as usize;
        self.received.get(index).copied().filter(|at| *at > 0)
    }

    fn note(&mut self, at: u64, position: u64, fault: Fault) {
        self.noted.push(Noted { at, position, fault });
    }

    /// Records a position that it has not received before.
    fn receive_first(&mut self, position: u64, at: u64) {
        if position < self.highest {
            self.note(at, position, Fault::Reordered);
        } else if self.is_dense && position > self.highest + 1 {
            self.note(at, position, Fault::Holes(position - self.highest - 1));
        }
        let index = (position - self.start - 1) as usize;
        if self.received.len() <= index {
            self.received.resize(index + 1, 0);
        }
        self.received[index] = at.max(1);
        self.highest = self.highest.max(position);
        self.counts[0] += 1;
    }

    /// Returns how many positions the server reported as missed, without those that were received.
    fn missed(&self) -> u64 {
        let of_gap = |(from, to): &(u64, u64)| {
            (*from..=*to).filter(|position| self.received_at(*position).is_none()).count() as u64
        };
        self.gaps.iter().map(of_gap).sum()
    }
}

impl PositionLedger {
    /// Adds a consumer that was created at a position of the journal of a tenant. `is_dense` says that its channels see
    /// every change of the tenant.
    pub(crate) fn add_consumer(
        &mut self,
        name: &str,
        tenant: usize,
        (scope, is_dense): (Scope, bool),
        start: u64,
    ) -> ConsumerId {
        if self.journals.len() <= tenant {
            self.journals.resize_with(tenant + 1, Journal::default);
        }
        self.consumers.push(Consumer {
            name: name.to_owned(),
            journal: tenant,
            scope,
            is_dense,
            start,
            highest: start,
            last: None,
            received: Vec::new(),
            counts: [0; 2],
            gaps: Vec::new(),
            noted: Vec::new(),
        });
        self.consumers.len() - 1
    }

    /// Records that the next notifications of a consumer come in another response or stream.
    pub(crate) fn begin(&mut self, consumer: ConsumerId) {
        self.consumers[consumer].last = None;
    }

    /// Records a notification.
    pub(crate) fn deliver(&mut self, consumer: ConsumerId, received: Received, at: u64) {
        let Received { position, digest, row } = received;
        let consumer = &mut self.consumers[consumer];
        if position <= consumer.start || position > consumer.highest + LARGEST_JUMP {
            return consumer.note(at, position, Fault::Unexpected);
        }
        match consumer.last.replace(position) {
            Some(last) if last == position => consumer.note(at, position, Fault::Doubled),
            // A position that comes too late for the first time is noted below.
            Some(last) if last > position && consumer.received_at(position).is_some() => {
                consumer.note(at, position, Fault::Reordered);
            }
            _ => {}
        }
        let journal = &mut self.journals[consumer.journal];
        if *journal.digests.entry(position).or_insert(digest) != digest {
            consumer.note(at, position, Fault::Changed);
        }
        if consumer.received_at(position).is_some() {
            consumer.counts[1] += 1;
            return;
        }
        consumer.receive_first(position, at);
        if let Some((lane, sequence)) = row {
            if !consumer.scope.contains(lane) {
                consumer.note(at, position, Fault::Unexpected);
            }
            if *journal.rows.entry((lane, sequence)).or_insert(position) != position {
                consumer.note(at, position, Fault::Doubled);
            }
        }
    }

    /// Records that the server reports a gap; it repeats that until the gap is acknowledged.
    pub(crate) fn miss(&mut self, consumer: ConsumerId, (from, to): (u64, u64), at: u64) {
        let consumer = &mut self.consumers[consumer];
        if from == 0 || to < from || to > consumer.highest + LARGEST_JUMP {
            return consumer.note(at, to, Fault::Unexpected);
        }
        if consumer.gaps.last().is_some_and(|(_, last)| *last >= to) {
            return;
        }
        if consumer.is_dense && from > consumer.highest + 1 {
            consumer.note(at, from, Fault::Holes(from - consumer.highest - 1));
        }
        consumer.gaps.push((from, to));
        consumer.note(at, to, Fault::Gap(to - from + 1));
        consumer.highest = consumer.highest.max(to);
    }

    /// Records the newest position of the tenant at the end, all of which a consumer of all changes must have received.
    pub(crate) fn end(&mut self, consumer: ConsumerId, newest: u64, at: u64) {
        let consumer = &mut self.consumers[consumer];
        if consumer.is_dense && newest > consumer.highest {
            consumer.note(at, newest, Fault::Unread(newest - consumer.highest));
        }
    }

    /// Returns the highest position that a consumer has received, or that was reported as missed.
    pub(crate) fn highest(&self, consumer: ConsumerId) -> u64 {
        self.consumers[consumer].highest
    }

    /// Returns whether the channels of a consumer see every change of its tenant.
    pub(crate) fn is_dense(&self, consumer: ConsumerId) -> bool {
        self.consumers[consumer].is_dense
    }

    /// Returns the number of positions that a consumer received for the first time within a time.
    pub(crate) fn received_within(&self, consumer: ConsumerId, within: &Range<u64>) -> u64 {
        self.consumers[consumer].received.iter().filter(|at| within.contains(at)).count() as u64
    }

    /// Returns the number of deliveries so far, repetitions included.
    pub(crate) fn deliveries(&self) -> u64 {
        self.consumers.iter().flat_map(|consumer| consumer.counts).sum()
    }
}

#[cfg(test)]
#[path = "position_ledger_tests.rs"]
mod tests;
