//! The results of all phases: one report for all groups and dashboards, with the figures of each.

use std::iter;
use std::ops::Range;
use std::sync::atomic::Ordering;

use super::Begun;
use super::plan::Group;
use super::posters::Posted;
use super::shared::Shared;
use crate::ledger::positions::{PositionAudit, Promises};
use crate::ledger::session::{ClientId, Disturbed, Members, SessionAudit, TOPICS};
use crate::ledger::{Audit, ReceiverId};
use crate::report::{Consumed, Deliveries, Fact, Kept, Part, Posts, Queries, Report};

/// The longest time until all sessions are back after a fault of a server, in milliseconds.
const LONGEST_RETURN: u64 = 10_000;

/// A group or dashboards, with the devices and clients that belong to it.
#[derive(Debug, Clone)]
struct Named {
    name: String,
    /// The devices; none for dashboards.
    devices: Range<u32>,
    clients: Range<ClientId>,
}

impl Named {
    /// Returns the groups and dashboards of a run.
    fn all(shared: &Shared) -> Vec<Self> {
        let devices = shared.world.groups.iter().cloned().chain(iter::repeat(0..0));
        let named = shared.clients_by_name.iter().cloned().zip(devices);
        named.map(|((name, clients), devices)| Self { name, devices, clients }).collect()
    }

    /// Returns the posts and clients that the verdict is about.
    fn members(&self) -> Members {
        let lanes = self.devices.start * TOPICS..self.devices.end * TOPICS;
        Members { lanes, clients: self.clients.clone() }
    }
}

/// Returns the report of each phase. `database` is the receiver of what was read back, if that succeeded.
pub(super) fn reports(
    shared: &Shared,
    (phases, groups): (&[Begun], &[Group]),
    posted: &[Posted],
    disturbances: &[Disturbed],
    database: Option<ReceiverId>,
) -> Vec<Report> {
    let starts: Vec<u64> = phases.iter().map(|phase| phase.start).collect();
    let is_stored = |lane, sequence| Some(shared.run.has_received(database?, lane, sequence));
    let audits = shared.ledger.lock().audit(&starts, disturbances, is_stored);
    let part = |named: Named| {
        let audits = shared.ledger.lock().audit_of(&named.members(), &starts, disturbances, is_stored);
        (named, audits)
    };
    let parts: Vec<_> = Named::all(shared).into_iter().map(part).collect();
    let consumed = Consumers::of(shared, &starts, is_stored);
    let stored = database.map(|_| shared.run.audit());
    Outcomes { shared, phases, groups, posted, parts: &parts, consumed, stored }.reports(audits)
}

/// The verdict on each phase of all consumers, and of those of each name.
struct Consumers {
    all: Vec<PositionAudit>,
    by_name: Vec<(String, Vec<PositionAudit>)>,
}

impl Consumers {
    fn of(shared: &Shared, starts: &[u64], is_stored: impl Fn(u32, u32) -> Option<bool>) -> Self {
        let ledger = shared.ledger.lock();
        let promises: Promises = match shared.consumers_by_name.is_empty() {
            true => Promises::new(),
            false => ledger
                .promised()
                .map(|one| ((one.lane, one.sequence), (one, is_stored(one.lane, one.sequence))))
                .collect(),
        };
        drop(ledger);
        let positions = shared.positions.lock();
        let count = shared.consumers_by_name.last().map_or(0, |(_, consumers)| consumers.end);
        let of_name = |(name, consumers): &(String, Range<usize>)| {
            (name.clone(), positions.audit(consumers.clone(), starts, &promises))
        };
        Self {
            all: positions.audit(0..count, starts, &promises),
            by_name: shared.consumers_by_name.iter().map(of_name).collect(),
        }
    }

    /// Returns the figures of all consumers in a phase, if there are any.
    fn in_phase(&self, number: usize, seconds: f64) -> Option<Consumed> {
        let audit = self.all.get(number).filter(|audit| audit.consumers > 0)?;
        Some(Consumed::of(audit.clone(), seconds))
    }

    /// Returns the figures of the consumers of each name in a phase.
    fn parts(&self, number: usize, seconds: f64) -> impl Iterator<Item = Part> {
        self.by_name.iter().filter_map(move |(name, audits)| {
            let consumed = Consumed::of(audits.get(number)?.clone(), seconds);
            Some(Part { name: name.clone(), consumed: Some(consumed), ..Part::default() })
        })
    }
}

/// The records at the end of a run.
struct Outcomes<'a> {
    shared: &'a Shared,
    phases: &'a [Begun],
    /// The names of the groups.
    groups: &'a [Group],
    /// The posts of each group, phase by phase.
    posted: &'a [Posted],
    /// The verdict on each phase of each group, and then of the dashboards.
    parts: &'a [(Named, Vec<SessionAudit>)],
    consumed: Consumers,
    /// The verdict on the stored data, if it was read back.
    stored: Option<Audit>,
}

impl Outcomes<'_> {
    /// Returns the report of each phase.
    fn reports(&self, audits: Vec<SessionAudit>) -> Vec<Report> {
        let ends = self.phases.iter().skip(1).map(|phase| phase.start).chain([u64::MAX]);
        let of_groups = self.posted.chunks(self.groups.len().max(1));
        let phases = (0..).zip(self.phases).zip(ends).zip(of_groups).zip(audits);
        let reports = phases.map(|((((number, phase), end), of_groups), audit)| {
            let mut parts = self.parts(number, phase, end, of_groups);
            parts.extend(self.consumed.parts(number, phase.seconds));
            let consumed = self.consumed.in_phase(number, phase.seconds);
            let report = self.report(phase, end, of_groups, audit);
            let is_clean = consumed.as_ref().is_none_or(Consumed::is_clean);
            Report { parts, clean: report.clean && is_clean, consumed, ..report }
        });
        reports.collect()
    }

    /// Returns the figures of each group and of all dashboards of a name.
    fn parts(&self, number: usize, phase: &Begun, end: u64, of_groups: &[Posted]) -> Vec<Part> {
        let posted = of_groups.iter().map(Some).chain(iter::repeat(None));
        let parts = self.parts.iter().zip(posted).filter_map(|((named, audits), posted)| {
            let audit = audits.get(number)?.clone();
            let mut delays = audit.delays();
            delays.extend(self.shared.operations.lock().delays_of(&(phase.start..end), &named.devices));
            Some(Part {
                name: named.name.clone(),
                posts: posted.map(|posted| Posts::of(&posted.responses, phase.seconds)),
                queries: posted.and_then(|posted| Queries::of(&posted.reads, phase.seconds)),
                kept: posted.map(|posted| Kept { late: posted.late, unsent: posted.unsent }),
                deliveries: (audit.expected > 0).then(|| Deliveries::of(&audit.latency(), phase.seconds)),
                delays,
                sessions: audit,
                consumed: None,
            })
        });
        parts.collect()
    }

    fn report(&self, phase: &Begun, end: u64, of_groups: &[Posted], audit: SessionAudit) -> Report {
        let mut posted = Posted::default();
        of_groups.iter().for_each(|of_group| posted.add(of_group));
        let mut facts = facts(phase, &posted, &audit);
        let within = phase.start..end;
        let operations = self.shared.operations.lock();
        let [accepted, unknown] = posted.operations;
        if accepted + unknown > 0 {
            facts.extend(operations.facts(accepted..=accepted + unknown, &within));
        }
        let mut delays = audit.delays();
        delays.extend(operations.delays(&within));
        drop(operations);
        if end == u64::MAX {
            facts.extend(self.facts_of_the_run());
        }
        let latency = audit.latency();
        Report {
            scenario: "groups",
            target: "all devices and dashboards".to_owned(),
            seconds: phase.seconds,
            clean: audit.is_clean() && facts.iter().all(|fact| fact.holds),
            posts: Some(Posts::of(&posted.responses, phase.seconds)),
            deliveries: (audit.expected > 0).then(|| Deliveries::of(&latency, phase.seconds)),
            queries: Queries::of(&posted.reads, phase.seconds),
            kept: Some(Kept { late: posted.late, unsent: posted.unsent }),
            delays,
            facts,
            sessions: Some(audit),
            ..Report::default()
        }
    }

    /// Returns the results that only exist for the whole run; they are shown with the last phase.
    fn facts_of_the_run(&self) -> Vec<Fact> {
        let causes = self.shared.causes.lock();
        let mut facts = Vec::new();
        if !causes.is_empty() {
            facts.push(Fact::any("ends and failures", format!("{causes:?}")));
        }
        let clock_error = self.shared.clock_error.load(Ordering::Relaxed);
        if clock_error > 0 {
            let found = format!("to {:.2} ms", clock_error as f64 / 1000.0);
            facts.push(Fact::any("clocks of workers known", found));
        }
        if let Some(stored) = &self.stored {
            facts.push(Fact::number("collections stored in part", stored.torn as usize, 0));
            facts.push(Fact::number("stored twice", stored.doubled as usize, 0));
            facts.push(Fact::number("stored without being posted", stored.unexpected as usize, 0));
        }
        facts
    }
}

fn facts(phase: &Begun, posted: &Posted, audit: &SessionAudit) -> Vec<Fact> {
    let refused = posted.responses.refused() as usize;
    let mut facts = match phase.server_faults {
        0 => vec![
            Fact::number("posts failed, not 503", posted.failures() as usize, 0),
            Fact::number("ended without need", audit.ended_elsewhere as usize, 0),
        ],
        _ => {
            let found = audit.longest_return_ms;
            vec![
                Fact::number("posts rejected", refused, 0),
                Fact::number("ended without need", audit.ended_elsewhere as usize, 0),
                Fact {
                    what: "last session back after",
                    found: format!("{found} ms"),
                    expected: format!("at most {LONGEST_RETURN} ms"),
                    holds: found <= LONGEST_RETURN,
                },
            ]
        }
    };
    facts.push(Fact::number("5xx that do not say when to retry", posted.server_errors() as usize, 0));
    let failed_reads = Queries::of(&posted.reads, phase.seconds).map_or(0, |queries| queries.failed);
    if phase.server_faults == 0 && failed_reads > 0 {
        facts.push(Fact::number("reads failed", failed_reads as usize, 0));
    }
    facts.push(Fact::number("posts never sent", posted.unsent as usize, 0));
    facts.push(Fact::any("accepted writes", audit.acknowledged.to_string()));
    facts.push(Fact::number("of them not stored", audit.not_stored as usize, 0));
    facts.push(Fact::number("clients without session", audit.away, 0));
    for (what, quantile) in [("added elsewhere, p50", 0.5), ("added elsewhere, p99", 0.99)] {
        facts.extend(audit.added_ms(quantile).map(|added| Fact::any(what, format!("{added:.2} ms"))));
    }
    facts
}
