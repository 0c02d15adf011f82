//! The operations of a run as its agents saw them, and as the server finally lists them. Pure data; no clock,
//! no I/O. Times are microseconds of the run.

use std::collections::HashMap;
use std::ops::{Range, RangeInclusive};

use serde::{Deserialize, Serialize};

use crate::ledger::fact::Fact;
use crate::ledger::latency::{Delay, Latency};
use crate::protocol::operations::{Operation, Status};

/// The way in which an agent learned of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum SeenBy {
    /// It received a notification.
    Notified,
    /// It queried the PENDING operations after a reconnect.
    Found,
}

/// The record of an operation.
#[derive(Debug, Default, Serialize, Deserialize)]
struct OperationRecord {
    /// The agent of its device, if the run has one.
    agent: Option<u32>,
    /// The time it was due to be posted; unknown for operations of a bulk operation.
    due: Option<u64>,
    /// The way and the time in which its agent saw it first.
    seen: Option<(SeenBy, u64)>,
    notified: u32,
    /// The times of the server's responses to the change to EXECUTING.
    executing: Vec<u64>,
    /// The times of the server's responses to the change to SUCCESSFUL.
    successful: Vec<u64>,
    /// The status in each listing by the server.
    listed: Vec<Status>,
}

impl OperationRecord {
    fn is_executed_once(&self) -> bool {
        self.executing.len() == 1 && self.successful.len() == 1
    }
}

/// Every operation that was seen or listed in one run.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct OperationLedger {
    /// The agent of each device.
    #[serde(skip)]
    agents: HashMap<String, u32>,
    entries: HashMap<String, OperationRecord>,
    /// The number of operations that were seen and are not SUCCESSFUL yet.
    open: usize,
    astray: usize,
    found_again: usize,
}

impl OperationLedger {
    /// Creates an empty ledger; `agents` names the agent of each device.
    pub(crate) fn new(agents: HashMap<String, u32>) -> Self {
        Self { agents, ..Self::default() }
    }

    /// Records that an agent saw an operation; returns whether it has to execute it. It may both receive and
    /// find it.
    pub(crate) fn seen(&mut self, agent: u32, operation: &Operation, sight: SeenBy, at: u64) -> bool {
        if self.agents.get(&operation.device_id) != Some(&agent) {
            self.astray += 1;
            return false;
        }
        let entry = self.entries.entry(operation.id.clone()).or_default();
        match sight {
            SeenBy::Notified => entry.notified += 1,
            // An operation that the server accepted as done is not PENDING.
            SeenBy::Found => self.found_again += usize::from(!entry.successful.is_empty()),
        }
        if entry.seen.is_some() {
            return false;
        }
        entry.seen = Some((sight, at));
        entry.agent = Some(agent);
        entry.due = operation.mark().map(|mark| mark.due);
        self.open += 1;
        true
    }

    /// Records that the server accepted a status of an operation.
    pub(crate) fn advanced(&mut self, id: &str, status: Status, at: u64) {
        let entry = self.entries.entry(id.to_owned()).or_default();
        match status {
            Status::Executing => entry.executing.push(at),
            Status::Successful => {
                self.open -= usize::from(entry.successful.is_empty() && entry.seen.is_some());
                entry.successful.push(at);
            }
            Status::Pending | Status::Failed => {}
        }
    }

    /// Adds the records of another generator, which had other agents.
    pub(crate) fn absorb(&mut self, other: Self) {
        self.entries.extend(other.entries);
        self.open += other.open;
        self.astray += other.astray;
        self.found_again += other.found_again;
    }

    /// Records that the server lists an operation.
    pub(crate) fn listed(&mut self, operation: &Operation) {
        let entry = self.entries.entry(operation.id.clone()).or_default();
        entry.due = operation.mark().map(|mark| mark.due);
        entry.listed.push(operation.status);
    }

    /// Returns how many operations were seen, and how many of these are not done yet.
    pub(crate) fn progress(&self) -> (usize, usize) {
        (self.entries.values().filter(|entry| entry.seen.is_some()).count(), self.open)
    }

    /// Returns whether as many operations as expected were each delivered to their agent, executed once, and are
    /// SUCCESSFUL, and there are no others, of those that were due `within` a time.
    pub(crate) fn facts(&self, expected: RangeInclusive<usize>, within: &Range<u64>) -> Vec<Fact> {
        let count =
            |is: &dyn Fn(&OperationRecord) -> bool| self.due(within).filter(|entry| is(entry)).count();
        let done = |entry: &OperationRecord| entry.listed == [Status::Successful];
        let as_many = |what, found: usize| Fact {
            what,
            found: found.to_string(),
            expected: match expected.start() == expected.end() {
                true => expected.start().to_string(),
                false => format!("{} to {}", expected.start(), expected.end()),
            },
            holds: expected.contains(&found),
        };
        vec![
            as_many("executed once", count(&OperationRecord::is_executed_once)),
            Fact::number("executed otherwise", count(&|e| e.seen.is_some() && !e.is_executed_once()), 0),
            Fact::number("notified twice", count(&|e| e.notified > 1), 0),
            Fact::number("sent to another agent", self.astray, 0),
            Fact::number("done, and found PENDING", self.found_again, 0),
            as_many("listed, SUCCESSFUL", count(&done)),
            Fact::number("listed otherwise", count(&|e| !e.listed.is_empty() && !done(e)), 0),
            Fact::number("listed, never seen", count(&|e| !e.listed.is_empty() && e.seen.is_none()), 0),
            Fact::number("seen, not listed", count(&|e| e.seen.is_some() && e.listed.is_empty()), 0),
        ]
    }

    /// Returns the operations that were due within a time; those of bulk operations have no due time.
    fn due(&self, within: &Range<u64>) -> impl Iterator<Item = &OperationRecord> {
        self.entries.values().filter(|entry| entry.due.is_none_or(|due| within.contains(&due)))
    }

    /// Returns the durations of each leg and of the round trip, for operations due within a time.
    pub(crate) fn delays(&self, within: &Range<u64>) -> Vec<Delay> {
        self.delays_of(within, &(0..u32::MAX))
    }

    /// Returns the durations as [`Self::delays`] does, for the operations of some agents.
    pub(crate) fn delays_of(&self, within: &Range<u64>, agents: &Range<u32>) -> Vec<Delay> {
        let is_of = |entry: &&OperationRecord| entry.agent.is_none_or(|agent| agents.contains(&agent));
        let by = |sight| {
            move |entry: &OperationRecord| Some((entry.due?, entry.seen.filter(|(by, _)| *by == sight)?.1))
        };
        let leg = |kind, ends: &dyn Fn(&OperationRecord) -> Option<(u64, u64)>| {
            let times =
                self.due(within).filter(is_of).filter_map(ends).map(|(from, to)| to.saturating_sub(from));
            Delay { kind, latency: Latency::of(&times.collect()) }
        };
        let legs = [
            leg("due to notified", &by(SeenBy::Notified)),
            leg("due to found", &by(SeenBy::Found)),
            leg("seen to EXECUTING", &|entry| Some((entry.seen?.1, *entry.executing.first()?))),
            leg("EXECUTING to SUCCESSFUL", &|entry| {
                Some((*entry.executing.first()?, *entry.successful.first()?))
            }),
            leg("round trip", &|entry| Some((entry.due?, *entry.successful.first()?))),
        ];
        legs.into_iter().filter(|leg| !leg.latency.is_empty()).collect()
    }
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
