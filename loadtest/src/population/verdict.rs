//! The results of all phases: one report for all groups and dashboards.

use std::sync::atomic::Ordering;

use super::Begun;
use super::posters::Posted;
use super::shared::{Shared, lock};
use crate::ledger::Audit;
use crate::report::{Deliveries, Fact, Kept, Posts, Report};
use crate::session_ledger::SessionAudit;

/// The longest time until all sessions are back after a fault of a server, in milliseconds.
const LONGEST_RETURN: u64 = 10_000;

/// The records at the end of a run.
pub(super) struct Outcomes<'a> {
    pub(super) shared: &'a Shared,
    pub(super) phases: &'a [Begun],
    pub(super) posted: &'a [Posted],
    /// The verdict on the stored data, if it was read back.
    pub(super) stored: Option<Audit>,
}

impl Outcomes<'_> {
    /// Returns the report of each phase.
    pub(super) fn reports(&self, audits: Vec<SessionAudit>) -> Vec<Report> {
        let ends = self.phases.iter().skip(1).map(|phase| phase.start).chain([u64::MAX]);
        let phases = self.phases.iter().zip(ends).zip(self.posted).zip(audits);
        phases.map(|(((phase, end), posted), audit)| self.report(phase, end, posted, audit)).collect()
    }

    fn report(&self, phase: &Begun, end: u64, posted: &Posted, audit: SessionAudit) -> Report {
        let mut facts = facts(phase, posted, &audit);
        let within = phase.start..end;
        let operations = self.shared.operations();
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
            kept: Some(Kept { late: posted.late, unsent: posted.unsent }),
            delays,
            facts,
            sessions: Some(audit),
            ..Report::default()
        }
    }

    /// Returns the results that only exist for the whole run; they are shown with the last phase.
    fn facts_of_the_run(&self) -> Vec<Fact> {
        let causes = lock(&self.shared.causes);
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
    facts.push(Fact::number("posts never sent", posted.unsent as usize, 0));
    facts.push(Fact::any("accepted writes", audit.acknowledged.to_string()));
    facts.push(Fact::number("of them not stored", audit.not_stored as usize, 0));
    facts.push(Fact::number("clients without session", audit.away, 0));
    for (what, quantile) in [("added elsewhere, p50", 0.5), ("added elsewhere, p99", 0.99)] {
        facts.extend(audit.added_ms(quantile).map(|added| Fact::any(what, format!("{added:.2} ms"))));
    }
    facts
}
