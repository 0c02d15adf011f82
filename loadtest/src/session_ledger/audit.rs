//! The verdict on all sessions of a run.

use std::collections::{HashMap, HashSet};

use hdrhistogram::Histogram;
use serde::Serialize;

use super::{Client, Row, Session, SessionLedger, TOPICS};
use crate::latency::{Delay, Latency};
use crate::run::latency_histogram;

/// The number of servers that the description of a fault contains, with the start of the use of each.
const PLACES: usize = 4;
/// An alarm that was posted this long after the response to another one is delivered after it, also for different
/// devices.
const CERTAINLY_LATER: u64 = 1_000_000;
/// The time after a disturbance in which sessions may still end because of it, because a client may notice it late.
const LATEST_END: u64 = 30_000_000;
/// The number of faults that are described in words.
const EXAMPLES: usize = 20;

/// A fault that was caused at the servers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Disturbed {
    /// The affected server; `None` if all servers were affected.
    pub(crate) server: Option<usize>,
    /// The start of the disturbance.
    pub(crate) from: u64,
    /// The end of the disturbance, from which clients could notice it.
    pub(crate) until: u64,
}

impl Disturbed {
    /// Returns whether a session may have ended because of this disturbance.
    fn explains(&self, session: &Session, ended: u64) -> bool {
        let is_in_time = self.from <= ended && ended <= self.until + LATEST_END;
        is_in_time && self.server.is_none_or(|server| session.was_at(server, self.from))
    }
}

/// The verdict on a phase. Notifications are counted per client.
#[derive(Debug, Clone, Serialize)]
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
    same_server: Histogram<u64>,
    #[serde(skip)]
    other_server: Histogram<u64>,
    #[serde(skip)]
    returns: Histogram<u64>,
}

/// Whether a client received an alarm, knows from the end of its session that it may have missed it, or lost it
/// silently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Received,
    Told,
    Lost,
}

/// The notifications that a session has received, to judge single alarms.
struct Heard {
    rows: HashSet<usize>,
    /// The time at which the latest of these alarms was posted.
    newest: u64,
    /// The highest acknowledged sequence of each device.
    highest: HashMap<u32, u32>,
}

impl SessionLedger {
    /// Returns the verdict on each phase, given their starts. A post belongs to the phase in which it was due.
    /// `is_stored` returns whether an object, by lane and sequence, was found in the database, or `None` if that is
    /// unknown.
    pub(crate) fn audit(
        &self,
        phases: &[u64],
        disturbances: &[Disturbed],
        is_stored: impl Fn(u32, u32) -> Option<bool>,
    ) -> Vec<SessionAudit> {
        let mut audits = Audits { starts: phases, all: vec![SessionAudit::empty(self.away()); phases.len()] };
        self.unexpected.iter().for_each(|at| audits.at(*at).unexpected += 1);
        let mut unacknowledged = HashSet::new();
        for (index, row) in self.rows.iter().enumerate() {
            let (audit, stored) = (audits.at(row.due), is_stored(row.lane, row.sequence));
            let is_acknowledged = row.acknowledged.is_some();
            audit.acknowledged += u64::from(is_acknowledged);
            audit.not_stored += u64::from(is_acknowledged && row.promise.stores && stored == Some(false));
            if !is_acknowledged && stored == Some(true) {
                audit.stored_unacknowledged += 1;
                unacknowledged.insert(index);
            }
        }
        for (id, client) in self.clients.iter().enumerate() {
            let heard: Vec<Heard> = client
                .sessions
                .iter()
                .map(|session| self.audit_session(&mut audits, id, client, session))
                .collect();
            audits.note_ends(client, disturbances);
            self.audit_rows(&mut audits, id, &heard, &unacknowledged);
        }
        audits.all
    }

    /// Checks the notifications that a session received.
    fn audit_session(&self, audits: &mut Audits<'_>, id: usize, client: &Client, session: &Session) -> Heard {
        let mut heard = Heard { rows: HashSet::new(), newest: 0, highest: HashMap::new() };
        for delivery in &session.received {
            let Some(index) = self.meant(&client.scope, delivery.lane, delivery.sequence) else {
                audits.at(delivery.at).unexpected += 1;
                continue;
            };
            let row = &self.rows[index];
            let (&Row { lane, sequence, .. }, audit) = (row, audits.at(row.due));
            if !heard.rows.insert(index) {
                audit.doubled += 1;
                audit.describe("doubled", id, row, session);
                continue;
            }
            heard.newest = heard.newest.max(row.sent);
            let Some(acknowledged) = row.acknowledged else { continue };
            if let Some(age) = session.asked.checked_sub(acknowledged).filter(|age| *age > 0) {
                audit.old += 1;
                audit.oldest_ms = audit.oldest_ms.max(age / 1000);
            }
            let highest = heard.highest.entry(lane).or_insert(sequence);
            if sequence < *highest {
                audit.reordered += 1;
                audit.describe("reordered", id, row, session);
            }
            *highest = sequence.max(*highest);
            let is_same_server = delivery.server as usize == row.server;
            let latency = if is_same_server { &mut audit.same_server } else { &mut audit.other_server };
            latency.saturating_record(delivery.at.saturating_sub(row.due));
        }
        heard
    }

    /// Checks which alarms a client has not received.
    fn audit_rows(
        &self,
        audits: &mut Audits<'_>,
        client: usize,
        heard: &[Heard],
        unacknowledged: &HashSet<usize>,
    ) {
        let Client { scope, sessions } = &self.clients[client];
        for &index in scope.lanes().flat_map(|lane| &self.of_lanes[lane as usize]) {
            let row = &self.rows[index];
            let is_accepted = row.acknowledged.is_some() || unacknowledged.contains(&index);
            if !is_accepted || !row.promise.notifies {
                continue;
            }
            let audit = audits.at(row.due);
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
    /// Returns whether an alarm that was posted while the session existed, and that it has not received, was missed
    /// silently: the session has not ended, or it received a later alarm before it ended.
    fn has_skipped(&self, session: &Session, row: &Row) -> bool {
        if session.ended.is_none() {
            return true;
        }
        let Some(acknowledged) = row.acknowledged else { return false };
        self.newest > acknowledged + CERTAINLY_LATER
            || self.highest.get(&row.lane).is_some_and(|highest| *highest > row.sequence)
    }
}

/// The verdicts on the phases.
struct Audits<'a> {
    starts: &'a [u64],
    all: Vec<SessionAudit>,
}

impl Audits<'_> {
    /// Returns the verdict on the phase that contains this time.
    fn at(&mut self, time: u64) -> &mut SessionAudit {
        let phase = self.starts.partition_point(|start| *start <= time).saturating_sub(1);
        &mut self.all[phase]
    }

    /// Records when the sessions of a client ended, and when it had a session again.
    fn note_ends(&mut self, client: &Client, disturbances: &[Disturbed]) {
        for (number, session) in client.sessions.iter().enumerate() {
            self.at(session.asked).sessions += 1;
            session.places.iter().skip(1).for_each(|place| self.at(place.since).moves += 1);
            let Some(ended) = session.ended else { continue };
            if session.is_left {
                self.at(ended).left += 1;
                continue;
            }
            let cause = disturbances.iter().rev().find(|disturbed| disturbed.explains(session, ended));
            let audit = self.at(ended);
            audit.ended += 1;
            audit.ended_elsewhere += u64::from(cause.is_none());
            if let Some((cause, next)) = cause.zip(client.sessions.get(number + 1)) {
                let back = next.confirmed.saturating_sub(cause.until);
                audit.returns.saturating_record(back);
                audit.longest_return_ms = audit.longest_return_ms.max(back / 1000);
            }
        }
    }
}

impl SessionAudit {
    fn empty(away: usize) -> Self {
        Self {
            acknowledged: 0,
            not_stored: 0,
            left: 0,
            expected: 0,
            received: 0,
            told: 0,
            lost: 0,
            doubled: 0,
            reordered: 0,
            unexpected: 0,
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

    /// Returns whether no notification was lost, doubled, reordered or unexpected.
    pub(crate) fn is_clean(&self) -> bool {
        let faults = [self.lost, self.lost_unacknowledged, self.doubled, self.reordered, self.unexpected];
        faults == [0; 5] && self.not_stored == 0
    }

    /// Returns the times of all notifications from the due time of the post to their delivery.
    pub(crate) fn latency(&self) -> Histogram<u64> {
        let mut latency = self.same_server.clone();
        latency.add(&self.other_server).expect("all latency histograms have the same bounds");
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
        let at = |times: &Histogram<u64>| {
            (!times.is_empty()).then(|| times.value_at_quantile(quantile) as f64 / 1000.0)
        };
        Some(at(&self.other_server)? - at(&self.same_server)?)
    }

    fn describe(&mut self, fault: &str, client: usize, row: &Row, session: &Session) {
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
