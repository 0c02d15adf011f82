//! The ledger of sessions that begin and end during a run: what each must have received while it was in force.
//! Pure data; no clock, no I/O. Times are microseconds of the run.
//!
//! A client has one session after the other. A session must receive every alarm that was posted after its
//! subscription was confirmed, once, and those of a device in the order of the posts. What it has not received when
//! it is ended (402, or its connection broke) its client is told to have missed, so that is no fault. It is one if
//! the session went on to receive something later, because then nobody is told.

mod audit;

pub(crate) use self::audit::{Disturbed, SessionAudit};
use crate::ledger::Watch;

/// The longest time until a session has followed its client, in microseconds: a server that has it and is silent
/// counts as lost after two seconds.
const LONGEST_MOVE: u64 = 3_000_000;

/// The index of a client.
pub(crate) type ClientId = usize;

/// A posted alarm.
#[derive(Debug)]
struct Row {
    device: u32,
    sequence: u32,
    /// The server to which it was posted.
    server: usize,
    due: u64,
    sent: u64,
    /// The time of its 201 response, if it had one.
    acknowledged: Option<u64>,
}

/// A session of a client.
#[derive(Debug)]
struct Session {
    /// The servers that its client used, at least that of the handshake.
    places: Vec<Place>,
    /// The time when the client began to open it.
    asked: u64,
    /// The time when its subscription was confirmed.
    confirmed: u64,
    /// The time when the client learned that it had ended.
    ended: Option<u64>,
    received: Vec<Delivery>,
}

/// A server that the client of a session uses from a time on.
#[derive(Debug, Clone, Copy)]
struct Place {
    server: usize,
    since: u64,
}

#[derive(Debug, Clone, Copy)]
struct Delivery {
    /// The index of the row.
    row: usize,
    at: u64,
    /// Whether the alarm was posted to the server that the client used at that time.
    is_same_server: bool,
}

impl Session {
    /// Returns the server that its client used last.
    fn server(&self) -> usize {
        self.places.last().expect("a session begins at a server").server
    }

    /// Returns whether its client used a server at this time or later, or had left it so recently that the session
    /// may not have followed yet.
    fn was_at(&self, server: usize, from: u64) -> bool {
        let lefts = self.places.iter().skip(1).map(|next| next.since).chain([u64::MAX]);
        let mut stays = self.places.iter().zip(lefts);
        stays.any(|(place, left)| place.server == server && left.saturating_add(LONGEST_MOVE) >= from)
    }
}

#[derive(Debug)]
struct Client {
    watch: Watch,
    sessions: Vec<Session>,
}

/// Every alarm posted, every session, and every delivery of one run.
#[derive(Debug)]
pub(crate) struct SessionLedger {
    rows: Vec<Row>,
    /// Per device the indexes of its rows, by sequence.
    of_devices: Vec<Vec<usize>>,
    clients: Vec<Client>,
    deliveries: u64,
    /// The deliveries of alarms that were never posted.
    unknown: u64,
}

impl SessionLedger {
    /// Creates an empty ledger for `devices` devices, indexed from 0.
    pub(crate) fn new(devices: usize) -> Self {
        Self {
            rows: Vec::new(),
            of_devices: vec![Vec::new(); devices],
            clients: Vec::new(),
            deliveries: 0,
            unknown: 0,
        }
    }

    /// Adds a client that has no session yet.
    pub(crate) fn add_client(&mut self, watch: Watch) -> ClientId {
        self.clients.push(Client { watch, sessions: Vec::new() });
        self.clients.len() - 1
    }

    /// Records that the next alarm of a device is posted to a server.
    pub(crate) fn post(&mut self, device: u32, server: usize, due: u64, sent: u64) {
        let of_device = &mut self.of_devices[device as usize];
        let sequence = of_device.len() as u32;
        of_device.push(self.rows.len());
        self.rows.push(Row { device, sequence, server, due, sent, acknowledged: None });
    }

    /// Records the 201 response to an alarm.
    pub(crate) fn acknowledge(&mut self, device: u32, sequence: u32, at: u64) {
        let row = self.of_devices[device as usize][sequence as usize];
        self.rows[row].acknowledged = Some(at);
    }

    /// Records that a client has a session at a server, which it began to open at `asked`.
    pub(crate) fn open(&mut self, client: ClientId, server: usize, asked: u64, confirmed: u64) {
        let places = vec![Place { server, since: asked }];
        let session = Session { places, asked, confirmed, ended: None, received: Vec::new() };
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

    /// Records a delivery to the present session of a client.
    pub(crate) fn deliver(&mut self, client: ClientId, device: u32, sequence: u32, at: u64) {
        let of_device = self.of_devices.get(device as usize);
        let row = of_device.and_then(|rows| rows.get(sequence as usize));
        let watches = match self.clients[client].watch {
            Watch::Device(watched) => watched == device,
            Watch::All => true,
        };
        match (row.filter(|_| watches), self.clients[client].sessions.last_mut()) {
            (Some(row), Some(session)) => {
                let is_same_server = session.server() == self.rows[*row].server;
                session.received.push(Delivery { row: *row, at, is_same_server });
                self.deliveries += 1;
            }
            _ => self.unknown += 1,
        }
    }

    /// Returns the number of deliveries so far.
    pub(crate) fn deliveries(&self) -> u64 {
        self.deliveries
    }

    /// Returns how many clients have no session at present.
    pub(crate) fn away(&self) -> usize {
        let has_one = |client: &&Client| client.sessions.last().is_some_and(|last| last.ended.is_none());
        self.clients.len() - self.clients.iter().filter(has_one).count()
    }
}

#[cfg(test)]
#[path = "session_ledger_tests.rs"]
mod tests;
