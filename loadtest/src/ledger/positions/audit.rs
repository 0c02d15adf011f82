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
            self.audit_strangers(&mut audits, consumer, promises);
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
            audit.expected += u64::from(promised.acknowledged.is_some());
            let position = rows.get(&(lane, sequence)).copied().unwrap_or_default();
            match Fate::of(consumer.received_at(position), promised, stored) {
                Fate::Received(at, acknowledged) => {
                    audit.received += 1;
                    audit.after_response.record(at.saturating_sub(acknowledged));
                    audit.after_due.record(at.saturating_sub(promised.due));
                }
                Fate::Open => {}
                Fate::NotStored => {
                    audit.unexpected += 1;
                    audit.describe("received, not stored", consumer, position, promised.due);
                }
                Fate::Missing if missed > 0 => {
                    missed -= 1;
                    audit.told += 1;
                }
                Fate::Missing => {
                    let is_acknowledged = promised.acknowledged.is_some();
                    audit.lost += u64::from(is_acknowledged);
                    audit.lost_unacknowledged += u64::from(!is_acknowledged);
                    let what = format!("lost: lane {lane} row {sequence}");
                    audit.describe(&what, consumer, position, promised.due);
                }
            }
        }
    }

    /// Finds the objects of the run that a consumer received and nobody posted.
    fn audit_strangers(&self, audits: &mut Audits<'_>, consumer: &Consumer, promises: &Promises) {
        for (row, &position) in &self.journals[consumer.journal].rows {
            let received = consumer.received_at(position).filter(|_| !promises.contains_key(row));
            if let Some(at) = received {
                let audit = audits.at(at);
                audit.unexpected += 1;
                audit.describe("not posted so", consumer, position, at);
            }
        }
    }
}

/// Whether a consumer received the notification of a post.
enum Fate {
    /// It received it at a time; the response to the post came at another one.
    Received(u64, u64),
    /// It received it although the object is not in the database.
    NotStored,
    /// It did not receive it although it had to.
    Missing,
    /// The post had no response, so it may be stored or not.
    Open,
}

impl Fate {
    fn of(received: Option<u64>, promised: Promised, stored: Option<bool>) -> Self {
        match (received, promised.acknowledged) {
            (Some(at), Some(acknowledged)) => Self::Received(at, acknowledged),
            (Some(_), None) if stored == Some(false) => Self::NotStored,
            (None, None) if stored == Some(true) => Self::Missing,
            (None, Some(_)) => Self::Missing,
            (_, None) => Self::Open,
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
