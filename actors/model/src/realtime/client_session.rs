//! Sessions of Bayeux clients, as administrators see them and as servers send them to each other.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

use crate::id::ManagedObjectId;
use crate::links::{Linked, Links};
use crate::timestamp::Timestamp;

/// A session. Its clientId is a credential, so it is not shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientSession {
    /// A digest of the clientId: 32 hexadecimal digits.
    pub id: String,
    /// The user who owns the session.
    pub user: String,
    /// The time when it began.
    pub since: Timestamp,
    /// The address of the client at its handshake.
    pub address: Option<IpAddr>,
    /// The transport of the client.
    pub transport: SessionTransport,
    /// The name of the server that holds it.
    pub server: String,
    /// Its subscriptions.
    pub subscriptions: Vec<String>,
    /// The filters of those that have one (B-35), by channel.
    #[serde(default)]
    pub filters: BTreeMap<String, String>,
    /// The number of notifications that wait for its client.
    pub queued: u64,
    /// The time when notifications were last passed to a connection of the client.
    pub last_delivery: Option<Timestamp>,
    /// Whether the client waits with a held connect.
    pub holds_connect: bool,
}

/// The transport of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SessionTransport {
    /// Long polls with JSON.
    LongPolling,
    /// Long polls with the CSV protocol.
    Csv,
    /// A WebSocket.
    WebSocket,
}

impl SessionTransport {
    /// Returns the name in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LongPolling => "LONG_POLLING",
            Self::Csv => "CSV",
            Self::WebSocket => "WEBSOCKET",
        }
    }
}

/// Filter of the session list; `None` matches all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionFilter {
    /// Only the session with this id.
    pub id: Option<String>,
    /// Only sessions of this user.
    pub user: Option<String>,
    /// Only sessions that a publication on this channel would notify.
    pub channel: Option<String>,
    /// Only sessions with a subscription to this object or to all objects.
    pub device: Option<ManagedObjectId>,
}

/// The sessions of one server that match a filter.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionsOfServer {
    /// The number of matching sessions.
    pub count: u64,
    /// Some of them, ordered by id.
    pub sessions: Vec<ClientSession>,
}

impl Links {
    /// Returns the link of a session.
    pub fn client_session(&self, id: &str) -> String {
        self.item("/tenant/sessions", id)
    }
}

impl Serialize for Linked<'_, ClientSession> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Linked { value: session, links } = *self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("self", &links.client_session(&session.id))?;
        map.serialize_entry("id", &session.id)?;
        map.serialize_entry("user", &session.user)?;
        map.serialize_entry("creationTime", &session.since)?;
        if let Some(address) = &session.address {
            map.serialize_entry("address", address)?;
        }
        map.serialize_entry("transport", session.transport.as_str())?;
        map.serialize_entry("server", &session.server)?;
        map.serialize_entry("subscriptions", &session.subscriptions)?;
        if !session.filters.is_empty() {
            map.serialize_entry("filters", &session.filters)?;
        }
        map.serialize_entry("queuedNotificationCount", &session.queued)?;
        if let Some(time) = &session.last_delivery {
            map.serialize_entry("lastDeliveryTime", time)?;
        }
        map.serialize_entry("holdsConnect", &session.holds_connect)?;
        map.end()
    }
}
