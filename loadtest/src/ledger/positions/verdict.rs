//! The figures of the verdict on the consumers of a phase.

use serde::Serialize;

use super::Consumer;
use crate::ledger::latency::Times;

/// The number of faults that are described in words.
const EXAMPLES: usize = 20;

/// The verdict on a phase. Notifications are counted per consumer.
#[derive(Debug, Default, Clone, Serialize)]
pub(crate) struct PositionAudit {
    pub(crate) consumers: u64,
    /// The accepted posts, each as often as there are consumers of its channel.
    pub(crate) expected: u64,
    /// The number of expected notifications that consumers received.
    pub(crate) received: u64,
    /// The number of expected notifications that a consumer never received, without any report of a gap.
    pub(crate) lost: u64,
    /// The same of posts without a 201 response that are stored nevertheless.
    pub(crate) lost_unacknowledged: u64,
    /// The number of posts that a consumer did not receive and of which the server reported a gap.
    pub(crate) told: u64,
    /// The further deliveries of positions that a consumer had received before.
    pub(crate) repeated: u64,
    /// The deliveries of a position with another notification than before.
    pub(crate) changed: u64,
    /// The objects that were created at two positions, and the positions that a response has twice.
    pub(crate) doubled: u64,
    /// The positions that came after a later one.
    pub(crate) reordered: u64,
    /// The notifications of objects that were not posted or not stored, or that are not of the consumer's channels.
    pub(crate) unexpected: u64,
    /// The positions that consumers of all changes did not receive before later ones.
    pub(crate) holes: u64,
    /// The newest positions that consumers of all changes had not received at the end.
    pub(crate) unread: u64,
    /// The gaps that servers reported (`recovered: false`), and the number of positions in them.
    pub(crate) gaps: u64,
    pub(crate) missed: u64,
    /// The first faults in words.
    pub(crate) examples: Vec<String>,
    /// The times from the response to a post until the consumer received its notification.
    #[serde(skip)]
    pub(crate) after_response: Times,
    /// The times from the due time of a post until the consumer received its notification.
    #[serde(skip)]
    pub(crate) after_due: Times,
}

impl PositionAudit {
    /// Returns whether every accepted post was received, in order, and no gap was reported.
    pub(crate) fn is_clean(&self) -> bool {
        let Self { lost, lost_unacknowledged, changed, doubled, reordered, .. } = *self;
        let Self { unexpected, holes, unread, gaps, .. } = *self;
        [lost, lost_unacknowledged, changed, doubled, reordered, unexpected, holes, unread, gaps] == [0; 9]
    }

    pub(super) fn describe(&mut self, what: &str, consumer: &Consumer, position: u64, at: u64) {
        if self.examples.len() < EXAMPLES {
            let seconds = at as f64 / 1e6;
            let name = &consumer.name;
            self.examples.push(format!("{what}: consumer {name}, position {position}, at {seconds:.3} s"));
        }
    }

    /// Returns the lines of the table.
    pub(crate) fn rows(&self) -> Vec<(&'static str, String)> {
        let mut rows = vec![
            (
                "consumers",
                format!(
                    "{}  expected {}  received {}  lost silently {}  known to be missed {}  without a 201 lost {}",
                    self.consumers,
                    self.expected,
                    self.received,
                    self.lost,
                    self.told,
                    self.lost_unacknowledged
                ),
            ),
            (
                "positions",
                format!(
                    "repeated {}  of which changed {}  doubled {}  reordered {}  unexpected {}  holes {}  unread {}  \
                     not recovered {} times, {} positions",
                    self.repeated,
                    self.changed,
                    self.doubled,
                    self.reordered,
                    self.unexpected,
                    self.holes,
                    self.unread,
                    self.gaps,
                    self.missed
                ),
            ),
        ];
        rows.extend(self.examples.iter().map(|fault| ("", fault.clone())));
        rows
    }
}
