//! The operations of a run as its agents saw them, and as the server lists them in the end. Pure data; no clock, no I/O.
//! Times are microseconds of the run.

use std::collections::HashMap;

use crate::operations::{Operation, Status};
use crate::report::{Delay, Fact, Latency};
use crate::run::histogram;

/// How an agent comes to know of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sight {
    /// By a notification.
    Notified,
    /// By asking what is PENDING, when it has come back.
    Found,
}

/// One operation.
#[derive(Debug, Default)]
struct Entry {
    /// When it was due to be posted; unknown of what a bulk operation made.
    due: Option<u64>,
    /// How and when its agent saw it first.
    seen: Option<(Sight, u64)>,
    notified: u32,
    /// When the server had taken that it is EXECUTING, each time.
    executing: Vec<u64>,
    /// When the server had taken that it is SUCCESSFUL, each time.
    successful: Vec<u64>,
    /// Where the server says it stands, each time it is listed.
    listed: Vec<Status>,
}

impl Entry {
    fn is_executed_once(&self) -> bool {
        self.executing.len() == 1 && self.successful.len() == 1
    }
}

/// Every operation that was seen or listed in one run.
#[derive(Debug, Default)]
pub(crate) struct OperationLedger {
    /// The agent of each device.
    agents: HashMap<String, u32>,
    entries: HashMap<String, Entry>,
    /// Seen, and not SUCCESSFUL yet.
    open: usize,
    astray: usize,
    found_again: usize,
}

impl OperationLedger {
    /// An empty ledger; `agents` names the agent of each device.
    pub(crate) fn new(agents: HashMap<String, u32>) -> Self {
        Self { agents, ..Self::default() }
    }

    /// An agent sees an operation; gives whether it has to carry it out. It may be told and find it too.
    pub(crate) fn seen(&mut self, agent: u32, operation: &Operation, sight: Sight, at: u64) -> bool {
        if self.agents.get(&operation.device_id) != Some(&agent) {
            self.astray += 1;
            return false;
        }
        let entry = self.entries.entry(operation.id.clone()).or_default();
        match sight {
            Sight::Notified => entry.notified += 1,
            // What the server took as done is not PENDING.
            Sight::Found => self.found_again += usize::from(entry.seen.is_some()),
        }
        if entry.seen.is_some() {
            return false;
        }
        entry.seen = Some((sight, at));
        entry.due = operation.mark().map(|mark| mark.due);
        self.open += 1;
        true
    }

    /// The server took the status of an operation.
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

    /// The server lists an operation.
    pub(crate) fn listed(&mut self, operation: &Operation) {
        self.entries.entry(operation.id.clone()).or_default().listed.push(operation.status);
    }

    /// How many are seen, and how many of these are not done yet.
    pub(crate) fn progress(&self) -> (usize, usize) {
        (self.entries.values().filter(|entry| entry.seen.is_some()).count(), self.open)
    }

    /// Whether so many operations were each told to their agent, carried out once, and stand SUCCESSFUL, and there are no
    /// others.
    pub(crate) fn facts(&self, expected: usize) -> Vec<Fact> {
        let count = |is: &dyn Fn(&Entry) -> bool| self.entries.values().filter(|entry| is(entry)).count();
        let done = |entry: &Entry| entry.listed == [Status::Successful];
        vec![
            Fact::number("executed once", count(&Entry::is_executed_once), expected),
            Fact::number("executed otherwise", count(&|e| e.seen.is_some() && !e.is_executed_once()), 0),
            Fact::number("notified twice", count(&|e| e.notified > 1), 0),
            Fact::number("told to another's agent", self.astray, 0),
            Fact::number("done, and found PENDING", self.found_again, 0),
            Fact::number("listed, SUCCESSFUL", count(&done), expected),
            Fact::number("listed otherwise", count(&|e| !e.listed.is_empty() && !done(e)), 0),
            Fact::number("listed, never seen", count(&|e| !e.listed.is_empty() && e.seen.is_none()), 0),
            Fact::number("seen, not listed", count(&|e| e.seen.is_some() && e.listed.is_empty()), 0),
        ]
    }

    /// How long each leg took, and the whole way, of operations due from `measured_from` on.
    pub(crate) fn delays(&self, measured_from: u64) -> Vec<Delay> {
        let by =
            |sight| move |entry: &Entry| Some((entry.due?, entry.seen.filter(|(by, _)| *by == sight)?.1));
        let leg = |kind, ends: &dyn Fn(&Entry) -> Option<(u64, u64)>| Delay {
            kind,
            latency: self.latency(measured_from, ends),
        };
        let legs = [
            leg("due to notified", &by(Sight::Notified)),
            leg("due to found", &by(Sight::Found)),
            leg("seen to EXECUTING", &|entry| Some((entry.seen?.1, *entry.executing.first()?))),
            leg("EXECUTING to SUCCESSFUL", &|entry| {
                Some((*entry.executing.first()?, *entry.successful.first()?))
            }),
            Delay { kind: "round trip", latency: self.round_trip(measured_from) },
        ];
        legs.into_iter().filter(|leg| !leg.latency.is_empty()).collect()
    }

    /// How long it took from when an operation was due until the server took that it is SUCCESSFUL.
    pub(crate) fn round_trip(&self, measured_from: u64) -> Latency {
        self.latency(measured_from, &|entry| Some((entry.due?, *entry.successful.first()?)))
    }

    fn latency(&self, measured_from: u64, ends: &dyn Fn(&Entry) -> Option<(u64, u64)>) -> Latency {
        let measured = self.entries.values().filter(|entry| entry.due.is_none_or(|due| due >= measured_from));
        Latency::of(&histogram(measured.filter_map(ends).map(|(from, to)| to.saturating_sub(from))))
    }
}

#[cfg(test)]
#[path = "operation_ledger_tests.rs"]
mod tests;
