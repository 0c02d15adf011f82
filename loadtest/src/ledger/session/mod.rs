//! The ledger of sessions that start and end during a run. It determines which notifications each session must have
//! received while it existed. Pure data; no clock, no I/O. Times are microseconds of the run.
//!
//! A client has one session after the other. A session must receive every alarm that was posted after its subscription
//! was confirmed once, and the alarms of a device in the order of the posts. When a session ends (402, or its
//! connection broke), its client knows that it may have missed notifications, so these do not count as lost. A
//! notification is lost if the session received a later one, because then the client does not know of the gap.

mod audit;
mod verdict;

use std::ops::Range;

use serde::{Deserialize, Serialize};

pub(crate) use self::audit::{Disturbed, Members};
pub(crate) use self::verdict::SessionAudit;

/// The longest time until a session has followed its client to another server, in microseconds. A server that has the
/// session and does not respond counts as lost after two seconds.
const LONGEST_MOVE: u64 = 3_000_000;

/// The index of a client.
pub(crate) type ClientId = usize;

/// The number of kinds of objects of a device, each with an order of its own. Lane `n` belongs to device `n / TOPICS`.
pub(crate) const TOPICS: u32 = 4;

/// The lanes that a client watches.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Scope {
    /// The range of the lanes.
    lanes: Range<u32>,
    /// The topics of these lanes.
    topics: Vec<u32>,
}

impl Scope {
    /// Returns the scope of these topics of some devices.
    pub(crate) fn new(devices: Range<u32>, topics: Vec<u32>) -> Self {
        Self { lanes: devices.start * TOPICS..devices.end * TOPICS, topics }
    }

    /// Returns whether a lane belongs to it.
    pub(crate) fn contains(&self, lane: u32) -> bool {
        self.lanes.contains(&lane) && self.topics.contains(&(lane % TOPICS))
    }

    fn lanes(&self) -> impl Iterator<Item = u32> {
        self.lanes.clone().filter(|lane| self.contains(*lane))
    }
}

/// The effects of a post that the server accepts.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Promise {
    /// Whether the object is stored.
    pub(crate) stores: bool,
    /// Whether clients are notified of the object.
    pub(crate) notifies: bool,
}

/// A posted object.
#[derive(Debug, Serialize, Deserialize)]
struct Row {
    lane: u32,
    sequence: u32,
    promise: Promise,
    /// The server to which it was posted.
    server: usize,
    due: u64,
    sent: u64,
    /// The time of its 201 response, if it had one.
    acknowledged: Option<u64>,
}

/// A post of an object that is stored and notified if it is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Promised {
    pub(crate) lane: u32,
    pub(crate) sequence: u32,
    pub(crate) due: u64,
    /// The time of its 201 response, if it had one.
    pub(crate) acknowledged: Option<u64>,
}

/// A session of a client.
#[derive(Debug, Serialize, Deserialize)]
struct Session {
    /// The servers that the client used, at least the server of the handshake.
    places: Vec<Place>,
    /// The time when the client started to open the session.
    asked: u64,
    /// The time when its subscription was confirmed.
    confirmed: u64,
    /// The time when the client learned that the session had ended.
    ended: Option<u64>,
    /// Whether the client ended the session itself.
    is_left: bool,
    received: Vec<Delivery>,
}

/// A server that the client of a session uses, with the start of that use.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Place {
    server: usize,
    since: u64,
}

/// An object that a session received. Its row is determined at the end, because another generator may have posted it.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(from = "(u32, u32, u32, u64)", into = "(u32, u32, u32, u64)")]
struct Delivery {
    lane: u32,
    sequence: u32,
    /// The server that the client used at that time.
    server: u32,
    at: u64,
}

impl From<(u32, u32, u32, u64)> for Delivery {
    fn from((lane, sequence, server, at): (u32, u32, u32, u64)) -> Self {
        Self { lane, sequence, server, at }
    }
}

impl From<Delivery> for (u32, u32, u32, u64) {
    fn from(Delivery { lane, sequence, server, at }: Delivery) -> Self {
        (lane, sequence, server, at)
    }
}

impl Session {
    /// Returns the server that the client used last.
    fn server(&self) -> usize {
        self.places.last().expect("a session begins at a server").server
    }

    /// Returns whether the client used a server at this time or later, or had left it so recently that the session may
    /// not have followed yet.
    fn was_at(&self, server: usize, from: u64) -> bool {
        let lefts = self.places.iter().skip(1).map(|next| next.since).chain([u64::MAX]);
        let mut stays = self.places.iter().zip(lefts);
        stays.any(|(place, left)| place.server == server && left.saturating_add(LONGEST_MOVE) >= from)
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Client {
    scope: Scope,
    /// Whether the client has no session because it is not meant to have one.
    is_out: bool,
    sessions: Vec<Session>,
}

impl Client {
    fn has_session(&self) -> bool {
        self.sessions.last().is_some_and(|last| last.ended.is_none())
    }
}

/// Every object posted, every session, and every delivery of one run.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SessionLedger {
    rows: Vec<Row>,
    /// The indexes of the rows of each lane, by sequence.
    of_lanes: Vec<Vec<usize>>,
    clients: Vec<Client>,
    deliveries: u64,
    /// The times of deliveries to clients without a session.
    unexpected: Vec<u64>,
}

impl SessionLedger {
    /// Creates an empty ledger for this number of lanes, indexed from 0.
    pub(crate) fn new(lanes: usize) -> Self {
        Self {
            rows: Vec::new(),
            of_lanes: vec![Vec::new(); lanes],
            clients: Vec::new(),
            deliveries: 0,
            unexpected: Vec::new(),
        }
    }

    /// Adds a client that has no session yet.
    pub(crate) fn add_client(&mut self, scope: Scope) -> ClientId {
        self.clients.push(Client { scope, is_out: false, sessions: Vec::new() });
        self.clients.len() - 1
    }

    /// Records that the next object of a lane is posted to a server.
    pub(crate) fn post(&mut self, lane: u32, promise: Promise, server: usize, due: u64, sent: u64) {
        let of_lane = &mut self.of_lanes[lane as usize];
        let sequence = of_lane.len() as u32;
        of_lane.push(self.rows.len());
        self.rows.push(Row { lane, sequence, promise, server, due, sent, acknowledged: None });
    }

    /// Records that the server accepted an object.
    pub(crate) fn acknowledge(&mut self, lane: u32, sequence: u32, at: u64) {
        let row = self.of_lanes[lane as usize][sequence as usize];
        self.rows[row].acknowledged = Some(at);
    }

    /// Records that a client has a session at a server, which it started to open at `asked`.
    pub(crate) fn open(&mut self, client: ClientId, server: usize, asked: u64, confirmed: u64) {
        let places = vec![Place { server, since: asked }];
        let session = Session { places, asked, confirmed, ended: None, is_left: false, received: Vec::new() };
        self.clients[client].sessions.push(session);
    }

    /// Records that a client continues its session at a server.
    pub(crate) fn move_to(&mut self, client: ClientId, server: usize, since: u64) {
        if let Some(session) = self.clients[client].sessions.last_mut() {
            session.places.push(Place { server, since });
        }
    }

    /// Records that a client learned of the end of its session.
    pub(crate) fn end(&mut self, client: ClientId, at: u64) {
        if let Some(session) = self.clients[client].sessions.last_mut() {
            session.ended = Some(at);
        }
    }

    /// Records that a client ended its session itself.
    pub(crate) fn leave(&mut self, client: ClientId, at: u64) {
        if let Some(session) = self.clients[client].sessions.last_mut() {
            (session.ended, session.is_left) = (Some(at), true);
        }
    }

    /// Records whether a client is meant to have no session from now on.
    pub(crate) fn set_out(&mut self, client: ClientId, is_out: bool) {
        self.clients[client].is_out = is_out;
    }

    /// Records a delivery to the present session of a client.
    pub(crate) fn deliver(&mut self, client: ClientId, lane: u32, sequence: u32, at: u64) {
        self.deliveries += 1;
        match self.clients[client].sessions.last_mut() {
            Some(session) => {
                let server = session.server() as u32;
                session.received.push(Delivery { lane, sequence, server, at });
            }
            None => self.unexpected.push(at),
        }
    }

    /// Returns the index of a row if the client should be notified of it.
    fn meant(&self, scope: &Scope, lane: u32, sequence: u32) -> Option<usize> {
        let row = *self.of_lanes.get(lane as usize)?.get(sequence as usize)?;
        (scope.contains(lane) && self.rows[row].promise.notifies).then_some(row)
    }

    /// Adds the records of another generator, which posted to other lanes and had other clients. Both know all clients.
    pub(crate) fn absorb(&mut self, other: Self) {
        let before = self.rows.len();
        self.rows.extend(other.rows);
        for (lane, rows) in other.of_lanes.into_iter().enumerate().filter(|(_, rows)| !rows.is_empty()) {
            self.of_lanes[lane] = rows.into_iter().map(|row| before + row).collect();
        }
        for (client, of_other) in self.clients.iter_mut().zip(other.clients) {
            client.sessions.extend(of_other.sessions);
            client.is_out |= of_other.is_out;
        }
        self.deliveries += other.deliveries;
        self.unexpected.extend(other.unexpected);
    }

    /// Returns the posts of objects that are stored and notified if they are accepted.
    pub(crate) fn promised(&self) -> impl Iterator<Item = Promised> + '_ {
        let rows = self.rows.iter().filter(|row| row.promise.stores && row.promise.notifies);
        rows.map(|&Row { lane, sequence, due, acknowledged, .. }| Promised {
            lane,
            sequence,
            due,
            acknowledged,
        })
    }

    /// Returns the number of clients with a session at present.
    pub(crate) fn present(&self) -> usize {
        self.clients.iter().filter(|client| client.has_session()).count()
    }

    /// Returns the number of deliveries so far.
    pub(crate) fn deliveries(&self) -> u64 {
        self.deliveries
    }

    /// Returns the number of clients that have no session at present although they are meant to have one.
    pub(crate) fn away(&self) -> usize {
        self.away_of(0..self.clients.len())
    }

    fn away_of(&self, clients: Range<ClientId>) -> usize {
        let clients = &self.clients[clients];
        clients.iter().filter(|client| !client.is_out && !client.has_session()).count()
    }
}

#[cfg(test)]
#[path = "session_ledger_tests.rs"]
mod tests;
