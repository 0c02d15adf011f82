//! The verdict on all consumers of a run.

use std::collections::HashMap;
use std::ops::Range;

use super::{Consumer, ConsumerId, Fault, Noted, PositionAudit, PositionLedger};
use crate::ledger::session::Promised;

/// The posts of a run by lane and sequence, each with whether it was found in the database, if that is known.
pub(crate) type Promises = HashMap<(u32, u32), (Promised, Option<bool>)>;

impl PositionLedger {
    /// Returns the verdict on some consumers in each phase, given the starts of the phases. A post belongs to the phase
    /// in which it was due, a fault of deliveries to the one in which it occurred. `promises` are the posts of objects
    /// that are stored and notified.
    pub(crate) fn audit(
        &self,
        consumers: Range<ConsumerId>,
        starts: &[u64],
        promises: &Promises,
    ) -> Vec<PositionAudit> {
        let mut audits = Audits { starts, all: vec![PositionAudit::default(); starts.len()] };
        for consumer in &self.consumers[consumers] {
            audits.all.iter_mut().for_each(|audit| audit.consumers += 1);
            consumer.noted.iter().for_each(|noted| audits.note(consumer, *noted));
            if let Some(last) = audits.all.last_mut() {
                last.repeated += consumer.counts[1];
            }
            self.audit_rows(&mut audits, consumer, promises);
        }
        audits.all
    }

    /// Compares the posts with what a consumer received.
    fn audit_rows(&self, audits: &mut Audits<'_>, consumer: &Consumer, promises: &Promises) {
        let rows = &self.journals[consumer.journal].rows;
        // The posts of the positions that the server reported as missed are not lost silently.
        let mut missed = consumer.missed();
        for (&(lane, sequence), &(promised, stored)) in promises {
            if !consumer.scope.contains(lane) {
                continue;
            }
            let audit = audits.at(promised.due);
            let position = rows.get(&(lane, sequence)).copied();
            let received = position.and_then(|position| consumer.received_at(position));
            audit.expected += u64::from(promised.acknowledged.is_some());
            match (received, promised.acknowledged) {
                (Some(at), Some(acknowledged)) => {
                    audit.received += 1;
                    audit.after_response.record(at.saturating_sub(acknowledged));
                    audit.after_due.record(at.saturating_sub(promised.due));
                }
                (Some(_), None) if stored == Some(false) => {
                    audit.unexpected += 1;
                    audit.describe(
                        "received, not stored",
                        consumer,
                        position.unwrap_or_default(),
                        promised.due,
                    );
                }
                (Some(_), None) => {}
                (None, None) if stored != Some(true) => {}
                (None, _) if missed > 0 => {
                    missed -= 1;
                    audit.told += 1;
                }
                (None, acknowledged) => {
                    let counted = match acknowledged {
                        Some(_) => &mut audit.lost,
                        None => &mut audit.lost_unacknowledged,
                    };
                    *counted += 1;
                    let what = format!("lost: lane {lane} row {sequence}");
                    audit.describe(&what, consumer, position.unwrap_or_default(), promised.due);
                }
            }
        }
        for (&(lane, sequence), &position) in rows {
            let is_received = consumer.received_at(position);
            if let Some(at) = is_received.filter(|_| !promises.contains_key(&(lane, sequence))) {
                let audit = audits.at(at);
                audit.unexpected += 1;
                audit.describe("not posted so", consumer, position, at);
            }
        }
    }
}

/// The verdicts on the phases.
struct Audits<'a> {
    starts: &'a [u64],
    all: Vec<PositionAudit>,
}

impl Audits<'_> {
    /// Returns the verdict on the phase that contains this time.
    fn at(&mut self, time: u64) -> &mut PositionAudit {
        let phase = self.starts.partition_point(|start| *start <= time).saturating_sub(1);
        &mut self.all[phase]
    }

    fn note(&mut self, consumer: &Consumer, Noted { at, position, fault }: Noted) {
        let audit = self.at(at);
        let what = match fault {
            Fault::Changed => count(&mut audit.changed, 1, "changed"),
            Fault::Doubled => count(&mut audit.doubled, 1, "doubled"),
            Fault::Reordered => count(&mut audit.reordered, 1, "reordered"),
            Fault::Unexpected => count(&mut audit.unexpected, 1, "unexpected"),
            Fault::Holes(positions) => count(&mut audit.holes, positions, "holes before"),
            Fault::Unread(positions) => count(&mut audit.unread, positions, "unread before"),
            Fault::Gap(positions) => {
                audit.missed += positions;
                count(&mut audit.gaps, 1, "not recovered, missed up to")
            }
        };
        audit.describe(what, consumer, position, at);
    }
}

fn count(counter: &mut u64, more: u64, what: &'static str) -> &'static str {
    *counter += more;
    what
}
