//! The verdict on all sessions of a run.

use std::collections::{HashMap, HashSet};

use hdrhistogram::Histogram;
use serde::Serialize;

use super::{Client, Row, Session, SessionLedger};
use crate::ledger::Watch;
use crate::report::{Delay, Latency};
use crate::run::latency_histogram;

/// The number of servers that the description of a fault names, with the times since when they were used.
const PLACES: usize = 4;
/// An alarm that was posted so long after the response to another one is told after it, whatever their devices.
const CERTAINLY_LATER: u64 = 1_000_000;
/// How long after a disturbance sessions may end for it: a client may notice it late.
const LATEST_END: u64 = 30_000_000;
/// The number of faults that are described in words.
const EXAMPLES: usize = 20;

/// Something that was done to the servers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Disturbed {
    /// The server, unless it was done to all.
    pub(crate) server: Option<usize>,
    /// When it began.
    pub(crate) from: u64,
    /// When it was over, so that clients could notice it.
    pub(crate) until: u64,
}

impl Disturbed {
    /// Returns whether a session ended because of it.
    fn explains(&self, session: &Session, ended: u64) -> bool {
        let is_in_time = self.from <= ended && ended <= self.until + LATEST_END;
        is_in_time && self.server.is_none_or(|server| session.was_at(server, self.from))
    }
}

/// The verdict. Notifications are counted per client.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct SessionAudit {
    /// The acknowledged alarms, each as often as there are clients that watch it.
    pub(crate) expected: u64,
    /// Those that their client received.
    pub(crate) received: u64,
    /// Those that their client was told to have missed: its session ended, or it had none.
    pub(crate) told: u64,
    /// Those that a session neither received nor was ended for.
    pub(crate) lost: u64,
    /// The deliveries of an alarm that the same session had already.
    pub(crate) doubled: u64,
    /// The deliveries of an acknowledged alarm after a later acknowledged one of the same device.
    pub(crate) reordered: u64,
    /// The deliveries of alarms that were not posted, or that the client does not watch.
    pub(crate) unexpected: u64,
    /// The deliveries of an alarm whose response came before its session was asked for; they are no fault.
    pub(crate) old: u64,
    /// The longest time from such a response to the request for the session, in milliseconds.
    pub(crate) oldest_ms: u64,
    /// The alarms without a 201 response that are stored all the same.
    pub(crate) stored_unacknowledged: u64,
    /// Those of them that a session did not receive that was in force all the time.
    pub(crate) lost_unacknowledged: u64,
    /// The sessions that were opened.
    pub(crate) sessions: u64,
    /// How often a client continued its session at another server.
    pub(crate) moves: u64,
    /// The sessions that ended.
    pub(crate) ended: u64,
    /// The sessions that ended although nothing was done to their server.
    pub(crate) ended_elsewhere: u64,
    /// The clients without a session at the end.
    pub(crate) away: usize,
    /// The milliseconds from the end of a disturbance until the last client had a session again.
    pub(crate) longest_return_ms: u64,
    /// The first faults in words.
    pub(crate) examples: Vec<String>,
    #[serde(skip)]
    same_server: Histogram<u64>,
    #[serde(skip)]
    other_server: Histogram<u64>,
    #[serde(skip)]
    returns: Histogram<u64>,
}

/// Whether a client received an alarm, was told by the end of its session that it may have missed some, or lost it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Received,
    Told,
    Lost,
}

/// What a session has received, for questions about a single alarm.
struct Heard {
    rows: HashSet<usize>,
    /// When the latest posted of them was posted.
    newest: u64,
    /// Per device the highest acknowledged sequence.
    highest: HashMap<u32, u32>,
}

impl SessionLedger {
    /// Returns the verdict. `is_stored` tells whether an alarm, by device and sequence, was found in the database;
    /// latencies are those of alarms that were due from `measured_from` on.
    pub(crate) fn audit(
        &self,
        measured_from: u64,
        disturbances: &[Disturbed],
        is_stored: impl Fn(u32, u32) -> bool,
    ) -> SessionAudit {
        let mut audit = SessionAudit::empty(self.unknown, self.away());
        let is_unacknowledged = |row: &Row| row.acknowledged.is_none() && is_stored(row.device, row.sequence);
        let unacknowledged: HashSet<usize> =
            (0..).zip(&self.rows).filter(|(_, row)| is_unacknowledged(row)).map(|(index, _)| index).collect();
        audit.stored_unacknowledged = unacknowledged.len() as u64;
        for (id, client) in self.clients.iter().enumerate() {
            let mut heard = Vec::new();
            for session in &client.sessions {
                heard.push(self.audit_session(&mut audit, id, session, measured_from));
            }
            audit.note_ends(client, disturbances);
            match client.watch {
                Watch::Device(device) => {
                    let rows = self.of_devices[device as usize].iter().copied();
                    self.audit_rows(&mut audit, id, &heard, &unacknowledged, rows);
                }
                Watch::All => self.audit_rows(&mut audit, id, &heard, &unacknowledged, 0..self.rows.len()),
            }
        }
        audit
    }

    /// Checks what a session received.
    fn audit_session(
        &self,
        audit: &mut SessionAudit,
        client: usize,
        session: &Session,
        measured_from: u64,
    ) -> Heard {
        let mut heard = Heard { rows: HashSet::new(), newest: 0, highest: HashMap::new() };
        for delivery in &session.received {
            let row = &self.rows[delivery.row];
            let Row { device, sequence, .. } = *row;
            if !heard.rows.insert(delivery.row) {
                audit.doubled += 1;
                audit.describe("doubled", client, row, session);
                continue;
            }
            heard.newest = heard.newest.max(row.sent);
            let Some(acknowledged) = row.acknowledged else { continue };
            if let Some(age) = session.asked.checked_sub(acknowledged).filter(|age| *age > 0) {
                audit.old += 1;
                audit.oldest_ms = audit.oldest_ms.max(age / 1000);
            }
            let highest = heard.highest.entry(device).or_insert(sequence);
            if sequence < *highest {
                audit.reordered += 1;
                audit.describe("reordered", client, row, session);
            }
            *highest = sequence.max(*highest);
            if row.due >= measured_from {
                let latency =
                    if delivery.is_same_server { &mut audit.same_server } else { &mut audit.other_server };
                latency.saturating_record(delivery.at.saturating_sub(row.due));
            }
        }
        heard
    }

    /// Checks which alarms a client has not received.
    fn audit_rows(
        &self,
        audit: &mut SessionAudit,
        client: usize,
        heard: &[Heard],
        unacknowledged: &HashSet<usize>,
        rows: impl Iterator<Item = usize>,
    ) {
        let sessions = &self.clients[client].sessions;
        for index in rows {
            let row = &self.rows[index];
            if row.acknowledged.is_none() && !unacknowledged.contains(&index) {
                continue;
            }
            let in_force = sessions.partition_point(|session| session.confirmed <= row.sent).checked_sub(1);
            let fate = match in_force.map(|number| (&sessions[number], &heard[number])) {
                _ if heard.iter().any(|heard| heard.rows.contains(&index)) => Fate::Received,
                Some((session, heard)) if heard.has_skipped(session, row) => {
                    audit.describe("lost", client, row, session);
                    Fate::Lost
                }
                _ => Fate::Told,
            };
            match (row.acknowledged, fate) {
                (None, Fate::Lost) => audit.lost_unacknowledged += 1,
                (None, _) => {}
                (Some(_), Fate::Received) => audit.received += 1,
                (Some(_), Fate::Told) => audit.told += 1,
                (Some(_), Fate::Lost) => audit.lost += 1,
            }
            audit.expected += u64::from(row.acknowledged.is_some());
        }
    }
}

impl Heard {
    /// Returns whether an alarm that was posted while the session was in force, and that it has not received, was
    /// skipped silently: the session was not ended, or received something later before it was.
    fn has_skipped(&self, session: &Session, row: &Row) -> bool {
        if session.ended.is_none() {
            return true;
        }
        let Some(acknowledged) = row.acknowledged else { return false };
        self.newest > acknowledged + CERTAINLY_LATER
            || self.highest.get(&row.device).is_some_and(|highest| *highest > row.sequence)
    }
}

impl SessionAudit {
    fn empty(unexpected: u64, away: usize) -> Self {
        Self {
            expected: 0,
            received: 0,
            told: 0,
            lost: 0,
            doubled: 0,
            reordered: 0,
            unexpected,
            old: 0,
            oldest_ms: 0,
            stored_unacknowledged: 0,
            lost_unacknowledged: 0,
            sessions: 0,
            moves: 0,
            ended: 0,
            ended_elsewhere: 0,
            away,
            longest_return_ms: 0,
            examples: Vec::new(),
            same_server: latency_histogram(),
            other_server: latency_histogram(),
            returns: latency_histogram(),
        }
    }

    /// Returns whether no gap was silent, and nothing was doubled, reordered or unexpected.
    pub(crate) fn is_clean(&self) -> bool {
        [self.lost, self.lost_unacknowledged, self.doubled, self.reordered, self.unexpected] == [0; 5]
    }

    /// Returns how long notifications took from the due time of the post to their delivery, and how long clients
    /// were without a session after a disturbance.
    pub(crate) fn delays(&self) -> Vec<Delay> {
        let delay = |kind, times| Delay { kind, latency: Latency::of(times) };
        let all = [
            delay("told at the same server", &self.same_server),
            delay("told at another server", &self.other_server),
            delay("sessions back after", &self.returns),
        ];
        all.into_iter().filter(|delay| !delay.latency.is_empty()).collect()
    }

    /// Returns by how many milliseconds a quantile is longer at another server than at the same one.
    pub(crate) fn added_ms(&self, quantile: f64) -> Option<f64> {
        let at = |times: &Histogram<u64>| {
            (!times.is_empty()).then(|| times.value_at_quantile(quantile) as f64 / 1000.0)
        };
        Some(at(&self.other_server)? - at(&self.same_server)?)
    }

    /// Notes when the sessions of a client ended, and when it had one again.
    fn note_ends(&mut self, client: &Client, disturbances: &[Disturbed]) {
        self.sessions += client.sessions.len() as u64;
        for (number, session) in client.sessions.iter().enumerate() {
            self.moves += session.places.len() as u64 - 1;
            let Some(ended) = session.ended else { continue };
            self.ended += 1;
            let cause = disturbances.iter().rev().find(|disturbed| disturbed.explains(session, ended));
            self.ended_elsewhere += u64::from(cause.is_none());
            if let Some((cause, next)) = cause.zip(client.sessions.get(number + 1)) {
                let back = next.confirmed.saturating_sub(cause.until);
                self.returns.saturating_record(back);
                self.longest_return_ms = self.longest_return_ms.max(back / 1000);
            }
        }
    }

    fn describe(&mut self, fault: &str, client: usize, row: &Row, session: &Session) {
        if self.examples.len() < EXAMPLES {
            let seconds = |micros: u64| micros as f64 / 1e6;
            let places = session.places.iter().rev().take(PLACES).rev();
            let places: Vec<String> =
                places.map(|place| format!("{} ({:.3})", place.server, seconds(place.since))).collect();
            let time = |at: Option<u64>| at.map_or("never".to_owned(), |at| format!("{:.3}", seconds(at)));
            self.examples.push(format!(
                "{fault}: client {client} at servers {}, confirmed {:.3}, ended {}; device {} row {} by server {}, \
                 sent {:.3}, acknowledged {}",
                places.join(", "),
                seconds(session.confirmed),
                time(session.ended),
                row.device,
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
                    "expected {}  received {}  told to be missed {}  lost silently {}  doubled {}  reordered {}  unexpected {}  old {} (at most {} ms)",
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
                    "opened {}  moved {} times  ended {}  of which at servers that were left alone {}",
                    self.sessions, self.moves, self.ended, self.ended_elsewhere
                ),
            ),
        ];
        rows.extend(self.examples.iter().map(|fault| ("", fault.clone())));
        rows
    }
}
