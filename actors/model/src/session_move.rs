//! How a session travels from one server to another one: what the servers tell each other, and the state of a session
//! outside of a server.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::bayeux::Pattern;
use crate::client_session::{SessionFilter, SessionsOfServer};
use crate::units::SystemOfUnits;

/// The point at which a session moves, in the order of everything that is published for its tenant: what was published
/// before is in the queue that its old server hands over, and what is published later goes to its new place.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SessionMove {
    /// The clientId of the session.
    pub client: String,
    /// The number of the server process that hands it over.
    pub from: i64,
    /// The number of the server process that takes it; it may be the same one.
    pub to: i64,
    /// The number that the taker gave its request.
    pub request: u64,
    /// The subscriptions of the session.
    pub patterns: Vec<Pattern>,
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
    /// How long it lives after a connect.
    pub interval: Duration,
    /// Its subscriptions.
    pub patterns: Vec<Pattern>,
    /// The system of units in which it receives measurements (B-20).
    pub units: Option<SystemOfUnits>,
    /// How many connects it has had.
    pub connects: u64,
    /// Whether it ever had a connection.
    pub appeared: bool,
    /// When it began and what else administrators see of it.
    #[serde(default)]
    pub traces: SessionTraces,
    /// The template sets of a CSV client (S-53).
    pub templates: Option<TemplateNames>,
    /// The notifications that wait for a connect, oldest first.
    pub waiting: Vec<Box<RawValue>>,
    /// The batches under the acknowledgement extension, if the client uses it (B-22).
    pub batches: Option<BatchState>,
}

/// What administrators see of the past of a session.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionTraces {
    /// When it began, in seconds since 1970.
    pub began: u32,
    /// When notifications were passed to a connection for the last time, in seconds since 1970; 0 for never.
    pub delivered: u32,
    /// The address of its client at the handshake.
    pub address: Option<std::net::IpAddr>,
}

/// The names of the template sets of a session, as in its header and beside it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TemplateNames {
    /// The sets that headers named.
    pub header: Vec<Box<str>>,
    /// The sets that subscriptions named besides.
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

/// What one server tells another one about a session.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum ServerMessage {
    /// A client of the session has sent a message to the server `by`, which asks for the session.
    Wanted {
        /// The clientId.
        client: String,
        /// The tenant of the caller.
        tenant: String,
        /// The user of the caller; the session moves only if it is the user's.
        user: String,
        /// The number of the request.
        request: u64,
        /// The server that asks.
        by: i64,
    },
    /// A socket without credentials names the session; the server `by` asks for its owner (B-18a).
    WhoOwns {
        /// The clientId.
        client: String,
        /// The number of the request.
        request: u64,
        /// The server that asks.
        by: i64,
    },
    /// The owner of a session.
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
    /// The session is not at the server that was asked, or belongs to somebody else, or has ended.
    Absent {
        /// The number of the request.
        request: u64,
    },
    /// The session is on its way to another server. The taker asks again.
    Moving {
        /// The number of the request.
        request: u64,
    },
    /// The session as it was at the point of its [`SessionMove`].
    Arrives {
        /// The number of the request.
        request: u64,
        /// The state.
        state: Box<SessionState>,
    },
    /// A server tells this to itself, to know when it has heard everything that was published before.
    Echo {
        /// The number of the request.
        request: u64,
    },
    /// Notifications of the session came back from a connection after it had moved. It ends, because its client would
    /// miss them.
    End {
        /// The clientId.
        client: String,
        /// The tenant.
        tenant: String,
    },
    /// An administrator of a tenant wants to see its sessions, or to end one of them; the server `by` asks for those of
    /// this server.
    Show {
        /// The number of the request.
        request: u64,
        /// The server that asks.
        by: i64,
        /// The tenant.
        tenant: String,
        /// Which sessions are wanted.
        filter: SessionFilter,
        /// The id after which the page begins.
        after: Option<String>,
        /// How many sessions are wanted.
        limit: usize,
        /// Whether they are to end.
        ends: bool,
    },
    /// The sessions that were asked for.
    Shown {
        /// The number of the request.
        request: u64,
        /// The server that has them.
        from: i64,
        /// The sessions.
        found: SessionsOfServer,
    },
    /// A server that stops asks for its sessions to be taken.
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
