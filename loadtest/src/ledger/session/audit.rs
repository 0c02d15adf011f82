//! The verdict on all sessions of a run.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::{Client, ClientId, Row, Session, SessionAudit, SessionLedger};

/// An alarm that was posted this long after the response to another one is delivered after it, also for different
/// devices.
const CERTAINLY_LATER: u64 = 1_000_000;
/// The time after a disturbance in which sessions may still end because of it, because a client may notice it late.
const LATEST_END: u64 = 30_000_000;

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

/// The part of a run on which there is a verdict of its own: the posts to some lanes, and some clients.
#[derive(Debug, Clone)]
pub(crate) struct Members {
    pub(crate) lanes: Range<u32>,
    pub(crate) clients: Range<ClientId>,
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
        let all = Members { lanes: 0..u32::MAX, clients: 0..self.clients.len() };
        let mut all = Audits { starts: phases, all: self.audit_of(&all, phases, disturbances, is_stored) };
        self.unexpected.iter().for_each(|at| all.at(*at).unexpected += 1);
        all.all
    }

    /// Returns the verdict on each phase, as [`Self::audit`] does, on a part of the run.
    pub(crate) fn audit_of(
        &self,
        members: &Members,
        phases: &[u64],
        disturbances: &[Disturbed],
        is_stored: impl Fn(u32, u32) -> Option<bool>,
    ) -> Vec<SessionAudit> {
        let away = self.away_of(members.clients.clone());
        let empty = SessionAudit { away, ..SessionAudit::default() };
        let mut audits = Audits { starts: phases, all: vec![empty; phases.len()] };
        let mut unacknowledged = HashSet::new();
        for (index, row) in self.rows.iter().enumerate() {
            let (audit, stored) = (audits.at(row.due), is_stored(row.lane, row.sequence));
            let is_acknowledged = row.acknowledged.is_some();
            if !is_acknowledged && stored == Some(true) {
                unacknowledged.insert(index);
            }
            if !members.lanes.contains(&row.lane) {
                continue;
            }
            audit.acknowledged += u64::from(is_acknowledged);
            audit.not_stored += u64::from(is_acknowledged && row.promise.stores && stored == Some(false));
            audit.stored_unacknowledged += u64::from(!is_acknowledged && stored == Some(true));
        }
        for (id, client) in self.clients.iter().enumerate().filter(|(id, _)| members.clients.contains(id)) {
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
            latency.record(delivery.at.saturating_sub(row.due));
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
        let Client { scope, sessions, .. } = &self.clients[client];
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
                audit.returns.record(back);
                audit.longest_return_ms = audit.longest_return_ms.max(back / 1000);
            }
        }
    }
}
