//! The figures of the verdict on the sessions of a phase.

use serde::Serialize;

use super::{Row, Session, TOPICS};
use crate::ledger::latency::Times;
use crate::ledger::latency::{Delay, Latency};

/// The number of servers that the description of a fault contains, with the start of the use of each.
const PLACES: usize = 4;
/// The number of faults that are described in words.
const EXAMPLES: usize = 20;

/// The verdict on a phase. Notifications are counted per client.
#[derive(Debug, Default, Clone, Serialize)]
pub(crate) struct SessionAudit {
    /// The posts that the server accepted.
    pub(crate) acknowledged: u64,
    /// The number of accepted posts that should be stored and were not found.
    pub(crate) not_stored: u64,
    /// The acknowledged alarms, each as often as there are clients that watch it.
    pub(crate) expected: u64,
    /// The number of expected notifications that clients received.
    pub(crate) received: u64,
    /// The number of expected notifications that a client knows it may have missed, because its session ended or it had
    /// none.
    pub(crate) told: u64,
    /// The number of expected notifications that a session missed although it did not end.
    pub(crate) lost: u64,
    /// The deliveries of an alarm that the same session had already.
    pub(crate) doubled: u64,
    /// The deliveries of an acknowledged alarm after a later acknowledged one of the same device.
    pub(crate) reordered: u64,
    /// The deliveries of alarms that were not posted, or that the client does not watch.
    pub(crate) unexpected: u64,
    /// The deliveries of an alarm whose response came before its session was requested; they do not count as faults.
    pub(crate) old: u64,
    /// The longest time from such a response to the request for the session, in milliseconds.
    pub(crate) oldest_ms: u64,
    /// The alarms without a 201 response that are stored nevertheless.
    pub(crate) stored_unacknowledged: u64,
    /// The number of these alarms that were missed by a session which existed all the time.
    pub(crate) lost_unacknowledged: u64,
    /// The sessions that were opened.
    pub(crate) sessions: u64,
    /// The number of times that a client continued its session at another server.
    pub(crate) moves: u64,
    /// The sessions that ended, except those that their clients ended.
    pub(crate) ended: u64,
    /// The sessions that their clients ended in order to open new ones.
    pub(crate) left: u64,
    /// The sessions that ended without a fault of their server.
    pub(crate) ended_elsewhere: u64,
    /// The clients without a session at the end.
    pub(crate) away: usize,
    /// The milliseconds from the end of a disturbance until the last client had a session again.
    pub(crate) longest_return_ms: u64,
    /// The first faults in words.
    pub(crate) examples: Vec<String>,
    #[serde(skip)]
    pub(super) same_server: Times,
    #[serde(skip)]
    pub(super) other_server: Times,
    #[serde(skip)]
    pub(super) returns: Times,
}

impl SessionAudit {
    /// Returns whether no notification was lost, doubled, reordered or unexpected.
    pub(crate) fn is_clean(&self) -> bool {
        let faults = [self.lost, self.lost_unacknowledged, self.doubled, self.reordered, self.unexpected];
        faults == [0; 5] && self.not_stored == 0
    }

    /// Returns the times of all notifications from the due time of the post to their delivery.
    pub(crate) fn latency(&self) -> Times {
        let mut latency = self.same_server.clone();
        latency.add(&self.other_server);
        latency
    }

    /// Returns the times of notifications from the due time of the post to their delivery, if several servers were
    /// used, and the times that clients were without a session after a disturbance.
    pub(crate) fn delays(&self) -> Vec<Delay> {
        let delay = |kind, times| Delay { kind, latency: Latency::of(times) };
        let of_servers = [
            delay("told at the same server", &self.same_server),
            delay("told at another server", &self.other_server),
        ];
        let all = of_servers.into_iter().filter(|_| !self.other_server.is_empty());
        let all = all.chain([delay("sessions back after", &self.returns)]);
        all.filter(|delay| !delay.latency.is_empty()).collect()
    }

    /// Returns the milliseconds by which a quantile is longer at another server than at the server of the post.
    pub(crate) fn added_ms(&self, quantile: f64) -> Option<f64> {
        let at = |times: &Times| (!times.is_empty()).then(|| times.ms(quantile));
        Some(at(&self.other_server)? - at(&self.same_server)?)
    }

    pub(super) fn describe(&mut self, fault: &str, client: usize, row: &Row, session: &Session) {
        if self.examples.len() < EXAMPLES {
            let seconds = |micros: u64| micros as f64 / 1e6;
            let places = session.places.iter().rev().take(PLACES).rev();
            let places: Vec<String> =
                places.map(|place| format!("{} ({:.3})", place.server, seconds(place.since))).collect();
            let time = |at: Option<u64>| at.map_or("never".to_owned(), |at| format!("{:.3}", seconds(at)));
            self.examples.push(format!(
                "{fault}: client {client} at servers {}, confirmed {:.3}, ended {}; device {} topic {} row {} by \
                 server {}, sent {:.3}, acknowledged {}",
                places.join(", "),
                seconds(session.confirmed),
                time(session.ended),
                row.lane / TOPICS,
                row.lane % TOPICS,
                row.sequence,
                row.server,
                seconds(row.sent),
                time(row.acknowledged)
            ));
        }
    }

    /// Returns the lines of the table.
    pub(crate) fn rows(&self) -> Vec<(&'static str, String)> {
        let mut rows = vec![
            (
                "notifications",
                format!(
                    "expected {}  received {}  known to be missed {}  lost silently {}  doubled {}  reordered {}  \
                     unexpected {}  old {} (at most {} ms)",
                    self.expected,
                    self.received,
                    self.told,
                    self.lost,
                    self.doubled,
                    self.reordered,
                    self.unexpected,
                    self.old,
                    self.oldest_ms
                ),
            ),
            (
                "writes without a 201",
                format!(
                    "{} stored all the same, {} notifications of them lost silently",
                    self.stored_unacknowledged, self.lost_unacknowledged
                ),
            ),
            (
                "sessions",
                format!(
                    "opened {}  left {}  moved {} times  ended {}  of which at servers that were left alone {}",
                    self.sessions, self.left, self.moves, self.ended, self.ended_elsewhere
                ),
            ),
        ];
        rows.extend(self.examples.iter().map(|fault| ("", fault.clone())));
        rows
    }
}
