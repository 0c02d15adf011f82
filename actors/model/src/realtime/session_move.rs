//! The move of a session from one server to another one: the messages between the servers, and the state of a session
//! outside of a server.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::realtime::bayeux::{Pattern, Subscription};
use crate::realtime::client_session::{SessionFilter, SessionsOfServer};
use crate::realtime::consumer::JournalPosition;
use crate::realtime::trace::record::{RecordFilter, TraceRecord};
use crate::realtime::transactions::ShownTransactions;
use crate::units::SystemOfUnits;

/// The point at which a session moves, in the order of all publications of its tenant: earlier publications are in
/// the queue that its old server hands over, and its new server delivers the later ones.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SessionMove {
    /// The clientId of the session.
    pub client: String,
    /// The incarnation of the server process that hands it over.
    pub from: i64,
    /// The incarnation of the server process that takes it over; it may be the same one.
    pub to: i64,
    /// The number of the request of the new server.
    pub request: u64,
    /// The subscriptions of the session.
    #[serde(rename = "patterns")]
    pub subscriptions: Vec<Subscription>,
    /// The system of units in which the session receives measurements (B-20).
    pub units: Option<SystemOfUnits>,
}

/// A session that is at no server, or on its way to one.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SessionState {
    /// The name of the user who owns it.
    pub user: String,
    /// The rest of the lifetime of the token that the user last sent; `None` for a password.
    pub expires_in: Option<Duration>,
    /// The time that it lives after a connect.
    pub interval: Duration,
    /// Its subscriptions.
    #[serde(rename = "patterns")]
    pub subscriptions: Vec<Subscription>,
    /// The seconds that it lives longer before its next connect, because there was no server for that long (B-10).
    #[serde(default)]
    pub grace: u8,
    /// The system of units in which it receives measurements (B-20).
    pub units: Option<SystemOfUnits>,
    /// The number of its connects so far.
    pub connects: u64,
    /// Whether its client may pause before each connect, because of an interval that has not been taken back (B-09a).
    /// Servers of version 0.1.0 do not say so, and took no interval back.
    #[serde(default = "may_pause")]
    pub pauses: bool,
    /// Whether it ever had a connection.
    pub appeared: bool,
    /// The history that administrators see.
    #[serde(default)]
    pub traces: SessionTraces,
    /// The template sets of a CSV client (S-53).
    pub templates: Option<TemplateNames>,
    /// The notifications that wait for a connect, oldest first.
    pub waiting: Vec<Box<RawValue>>,
    /// The batches under the acknowledgement extension, if the client uses it (B-22).
    pub batches: Option<BatchState>,
    /// The consumer whose notifications it delivers.
    #[serde(default)]
    pub consumer: Option<ConsumerState>,
    /// The lists that it has received, with what they show (B-36). Another server does not need them, because it
    /// receives nothing that was committed before the point of the move.
    #[serde(skip)]
    pub snapshots: Vec<(Pattern, Arc<ShownTransactions>)>,
}

/// The consumer of a session that moves.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ConsumerState {
    /// The name of the consumer.
    pub name: String,
    /// The position of each notification that the session has, oldest first.
    pub positions: Vec<JournalPosition>,
    /// The position up to which the journal was read.
    pub read: JournalPosition,
    /// The number of the session as a reader, by which the new place knows whether another reader took over.
    pub number: Option<i64>,
}

/// The value for sessions of servers that do not say it.
fn may_pause() -> bool {
    true
}

/// The history of a session that administrators see.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionTraces {
    /// The time when it began, in seconds since 1970.
    pub began: u32,
    /// The time when notifications were last passed to a connection, in seconds since 1970; 0 for never.
    pub delivered: u32,
    /// The address of its client at the handshake.
    pub address: Option<std::net::IpAddr>,
}

/// The names of the template sets of a session.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TemplateNames {
    /// The sets that headers named.
    pub header: Vec<Box<str>>,
    /// The sets that only subscriptions named.
    pub extra: Vec<Box<str>>,
}

/// The batches that were sent and not acknowledged.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct BatchState {
    /// The number of the last batch.
    pub last: i64,
    /// Each notification with the number of its batch.
    pub unacknowledged: Vec<(i64, Box<RawValue>)>,
}

/// A message between two servers about a session.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum ServerMessage {
    /// Requests a session for the server `by`, because its client has sent a message to that server.
    Wanted {
        /// The clientId.
        client: String,
        /// The tenant of the caller.
        tenant: String,
        /// The user of the caller; the session moves only if this user owns it.
        user: String,
        /// The number of the request.
        request: u64,
        /// The requesting server.
        by: i64,
    },
    /// Requests the owner of a session for the server `by`, because a socket without credentials names the session
    /// (B-18a).
    WhoOwns {
        /// The clientId.
        client: String,
        /// The number of the request.
        request: u64,
        /// The requesting server.
        by: i64,
    },
    /// Returns the owner of a session.
    Owner {
        /// The number of the request.
        request: u64,
        /// The tenant.
        tenant: String,
        /// The user.
        user: String,
        /// The rest of the lifetime of the user's token; `None` for a password.
        expires_in: Option<Duration>,
    },
    /// Rejects a request: the session is not at this server, belongs to another user, or has ended.
    Absent {
        /// The number of the request.
        request: u64,
    },
    /// Delays a request: the session is on its way to another server, so the requester has to retry.
    Moving {
        /// The number of the request.
        request: u64,
    },
    /// Hands over a session with its state at the point of its [`SessionMove`].
    Arrives {
        /// The number of the request.
        request: u64,
        /// The state.
        state: Box<SessionState>,
    },
    /// A message of a server to itself. When it arrives, the server has received everything that was published
    /// before.
    Echo {
        /// The number of the request.
        request: u64,
    },
    /// Ends a session, because notifications came back from a connection after it had moved, and its client would
    /// miss them.
    End {
        /// The clientId.
        client: String,
        /// The tenant.
        tenant: String,
    },
    /// Requests the records of the traces of a tenant at this server (B-37).
    ShowRecords {
        /// The number of the request.
        request: u64,
        /// The requesting server.
        by: i64,
        /// The tenant.
        tenant: String,
        /// The wanted records.
        filter: RecordFilter,
    },
    /// Returns the records of traces.
    RecordsShown {
        /// The number of the request.
        request: u64,
        /// The responding server.
        from: i64,
        /// The records.
        records: Vec<TraceRecord>,
    },
    /// Requests the sessions of a tenant at this server for the server `by`, where an administrator lists them or
    /// ends one.
    Show {
        /// The number of the request.
        request: u64,
        /// The requesting server.
        by: i64,
        /// The tenant.
        tenant: String,
        /// The filter of the sessions.
        filter: SessionFilter,
        /// The id after which the page begins.
        after: Option<String>,
        /// The most sessions to return.
        limit: usize,
        /// Whether the matching sessions are ended.
        ends: bool,
    },
    /// Returns the requested sessions.
    Shown {
        /// The number of the request.
        request: u64,
        /// The server that holds them.
        from: i64,
        /// The sessions.
        found: SessionsOfServer,
    },
    /// Requests that this server takes over the sessions of a server that stops.
    Adopt {
        /// The sessions.
        sessions: Vec<Leaving>,
    },
}

/// A session of a server that stops.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Leaving {
    /// The clientId.
    pub client: String,
    /// The tenant.
    pub tenant: String,
    /// The user who owns it.
    pub user: String,
}
