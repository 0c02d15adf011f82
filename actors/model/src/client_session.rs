//! Sessions of Bayeux clients as administrators see them, and as servers tell each other about them.

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
    /// The user who owns it.
    pub user: String,
    /// When it began.
    pub since: Timestamp,
    /// The address of the client at its handshake.
    pub address: Option<IpAddr>,
    /// How the client is connected.
    pub transport: SessionTransport,
    /// The name of the server that holds it.
    pub server: String,
    /// Its subscriptions.
    pub subscriptions: Vec<String>,
    /// The notifications that wait for its client.
    pub queued: u64,
    /// When notifications were passed to a connection of the client for the last time.
    pub last_delivery: Option<Timestamp>,
    /// Whether the client waits with a held connect.
    pub holds_connect: bool,
}

/// How a client is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SessionTransport {
    /// By long polls of JSON.
    LongPolling,
    /// By long polls of the CSV protocol.
    Csv,
    /// By a WebSocket.
    WebSocket,
}

impl SessionTransport {
    /// Returns the word of the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LongPolling => "LONG_POLLING",
            Self::Csv => "CSV",
            Self::WebSocket => "WEBSOCKET",
        }
    }
}

/// Which sessions are wanted. What is `None` selects all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionFilter {
    /// The session with this id.
    pub id: Option<String>,
    /// Those of this user.
    pub user: Option<String>,
    /// Those that receive what is published on this channel.
    pub channel: Option<String>,
    /// Those with a subscription to this object or to all objects.
    pub device: Option<ManagedObjectId>,
}

/// The sessions of one server that match a filter.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionsOfServer {
    /// How many match.
    pub count: u64,
    /// Some of them, by id.
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
        map.serialize_entry("queuedNotificationCount", &session.queued)?;
        if let Some(time) = &session.last_delivery {
            map.serialize_entry("lastDeliveryTime", time)?;
        }
        map.serialize_entry("holdsConnect", &session.holds_connect)?;
        map.end()
    }
}
