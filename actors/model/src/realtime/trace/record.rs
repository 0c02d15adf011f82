//! The records that servers make while a trace runs. A record has no contents of changes and no credentials.

use std::sync::Arc;

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use time::OffsetDateTime;

use crate::links::Linked;
use crate::origin::ProcessingMode;
use crate::timestamp::{Timestamp, micros};

use super::TraceSubject;
pub use super::change::TracedChange;

/// The most lost changes that the record about the end of a session names.
pub const MOST_LOST: usize = 20;

/// Something that happened at a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceRecord {
    /// When it happened, in microseconds since 1970.
    pub at: i64,
    /// The name of the server.
    pub server: String,
    /// The number of the record at its server.
    pub number: u64,
    /// The session or the user that it happened to.
    pub receiver: Option<TracedReceiver>,
    /// The event.
    pub event: TraceEvent,
}

/// The session of a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedReceiver {
    /// The id of the session, a digest of its clientId; `None` for requests without a session.
    pub session: Option<String>,
    /// The user.
    pub user: String,
}

/// The records that are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordFilter {
    /// Since when, in microseconds since 1970.
    pub since: i64,
    /// Only records about a change of this object, or on its channels.
    pub about: Option<i64>,
    /// Only records of this user.
    pub user: Option<String>,
    /// Only records of this session.
    pub session: Option<String>,
    /// The most records, the oldest first.
    pub limit: usize,
}

/// An event at a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum TraceEvent {
    /// A change was stored by this server.
    Stored(Arc<TracedChange>),
    /// A change was published to the sessions of this server.
    Published {
        /// The change.
        change: Arc<TracedChange>,
        /// The mode of its write.
        mode: ProcessingMode,
        /// The number of sessions of this server that received it.
        receivers: u32,
        /// The channels and filters that did not match it.
        rejected: Vec<(String, String)>,
    },
    /// The mode of a write has no notifications.
    NotPublished(Arc<TracedChange>, ProcessingMode),
    /// A notification was passed to a connection of the session.
    Sent(Arc<TracedChange>),
    /// A notification waits in the queue of the session.
    Waits {
        /// The change.
        change: Arc<TracedChange>,
        /// The number of notifications in the queue.
        queued: u64,
    },
    /// A connection did not write a notification, which waits again.
    Returned(Arc<TracedChange>),
    /// A notification was left out, because the list with which the subscription began shows its change.
    InList(Arc<TracedChange>),
    /// The client acknowledged a notification.
    Acknowledged(Arc<TracedChange>),
    /// A session began.
    Began {
        /// The address of its client; of IPv6 that of the network.
        address: Option<std::net::IpAddr>,
    },
    /// A session arrived from another server or thread, or from the database.
    Arrived,
    /// A session left for another server, or was stored.
    Left {
        /// The incarnation of the new server; `None` if the session was stored.
        to: Option<i64>,
    },
    /// A session ended.
    Ended {
        /// The reason.
        reason: EndReason,
        /// The channels of the session, with their filters.
        channels: Vec<(String, Option<String>)>,
        /// The number of notifications that were not delivered.
        lost: u64,
        /// The first of them.
        changes: Vec<Arc<TracedChange>>,
    },
    /// The session subscribed to channels.
    Subscribed {
        /// The channels.
        channels: Vec<String>,
        /// The filter of them all.
        filter: Option<String>,
    },
    /// The session unsubscribed from channels.
    Unsubscribed(Vec<String>),
    /// A Bayeux message was rejected.
    Refused {
        /// The channel of the message, such as `/meta/subscribe`.
        channel: String,
        /// The channels that the message names.
        subscription: Vec<String>,
        /// The Bayeux error, and the reason in words.
        error: String,
    },
    /// A request got an error.
    Request {
        /// The method.
        method: String,
        /// The path without its query.
        path: String,
        /// The HTTP status.
        status: u16,
        /// The message of the error.
        error: String,
    },
}

/// The reason for the end of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum EndReason {
    /// The client ended it.
    Disconnected,
    /// No connect arrived in time.
    NoConnect,
    /// The queue exceeded a limit.
    Overflow,
    /// The user or the tenant may not have it any more, or lost a right to one of its channels.
    Revoked,
    /// The server may have missed notifications.
    Gap,
    /// An administrator ended it.
    Administrator,
    /// Another reader took over its consumer, or the consumer was changed or deleted.
    Consumer,
    /// It could not move to another server.
    NotMoved,
    /// The server stopped, or none of the other reasons.
    Server,
}

impl EndReason {
    /// Returns the reason in words, as the end of a sentence.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Disconnected => "its client ended it",
            Self::NoConnect => "its client held no connect for its interval",
            Self::Overflow => "its client did not fetch its notifications, and the queue exceeded a limit",
            Self::Revoked => {
                "its user was changed, disabled or deleted, or lost a right to one of its channels"
            }
            Self::Gap => "the server may have missed notifications",
            Self::Administrator => "an administrator ended it",
            Self::Consumer => "another reader took over its consumer, or the consumer was changed or deleted",
            Self::NotMoved => "it could not move to another server",
            Self::Server => "the server stopped",
        }
    }
}

impl TraceRecord {
    /// Returns when it happened.
    pub fn time(&self) -> Timestamp {
        let time = OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.at) * 1000);
        Timestamp::stored(time.unwrap_or(OffsetDateTime::UNIX_EPOCH), 0)
    }

    /// Returns the session.
    pub fn session(&self) -> Option<&str> {
        self.receiver.as_ref()?.session.as_deref()
    }

    /// Returns the user.
    pub fn user(&self) -> Option<&str> {
        self.receiver.as_ref().map(|receiver| &*receiver.user)
    }
}

impl TraceEvent {
    /// Returns the change that it is about.
    pub fn change(&self) -> Option<&Arc<TracedChange>> {
        match self {
            Self::Stored(change)
            | Self::Published { change, .. }
            | Self::NotPublished(change, _)
            | Self::Sent(change)
            | Self::Waits { change, .. }
            | Self::Returned(change)
            | Self::InList(change)
            | Self::Acknowledged(change) => Some(change),
            _ => None,
        }
    }

    fn word(&self) -> &'static str {
        match self {
            Self::Stored(_) => "STORED",
            Self::Published { .. } => "PUBLISHED",
            Self::NotPublished(..) => "NOT_PUBLISHED",
            Self::Sent(_) => "SENT",
            Self::Waits { .. } => "WAITS",
            Self::Returned(_) => "RETURNED",
            Self::InList(_) => "IN_LIST",
            Self::Acknowledged(_) => "ACKNOWLEDGED",
            Self::Began { .. } => "SESSION_BEGAN",
            Self::Arrived => "SESSION_ARRIVED",
            Self::Left { .. } => "SESSION_LEFT",
            Self::Ended { .. } => "SESSION_ENDED",
            Self::Subscribed { .. } => "SUBSCRIBED",
            Self::Unsubscribed(_) => "UNSUBSCRIBED",
            Self::Refused { .. } => "REFUSED",
            Self::Request { .. } => "REQUEST_FAILED",
        }
    }

    /// Returns a sentence about it.
    pub fn in_words(&self) -> String {
        match self {
            Self::Stored(change) => format!("{} was stored", change.in_words()),
            Self::Published { change, mode, receivers, rejected } => {
                let mode = if *mode == ProcessingMode::Persistent { "" } else { mode.as_str() };
                let mode = if mode.is_empty() { String::new() } else { format!(" in the mode {mode}") };
                let filters = match rejected.len() {
                    0 => String::new(),
                    count => format!("; filters that did not match: {count}"),
                };
                let change = change.in_words();
                format!("{change} was published{mode}; sessions that received it: {receivers}{filters}")
            }
            Self::NotPublished(change, mode) => {
                format!("{} was not published, because its mode is {}", change.in_words(), mode.as_str())
            }
            Self::Sent(change) => format!("{} was passed to a connection", change.in_words()),
            Self::Waits { change, queued } => {
                format!("{} waits for a connect; queued notifications: {queued}", change.in_words())
            }
            Self::Returned(change) => format!("{} could not be written and waits again", change.in_words()),
            Self::InList(change) => format!("{} is in the list of the subscription", change.in_words()),
            Self::Acknowledged(change) => format!("{} was acknowledged", change.in_words()),
            other => other.of_receiver_in_words(),
        }
    }

    /// Returns a sentence about a session or a request.
    fn of_receiver_in_words(&self) -> String {
        match self {
            Self::Began { address: Some(address) } => format!("the session began, from {address}"),
            Self::Began { address: None } => "the session began".into(),
            Self::Arrived => "the session arrived from another server or thread".into(),
            Self::Left { to: Some(_) } => "the session left for another server or thread".into(),
            Self::Left { to: None } => "the session was stored, because the last server stopped".into(),
            Self::Ended { reason, lost: 0, .. } => format!("the session ended: {}", reason.in_words()),
            Self::Ended { reason, lost, .. } => {
                format!("the session ended: {}; lost notifications: {lost}", reason.in_words())
            }
            Self::Subscribed { channels, filter: None } => {
                format!("the session subscribed to {}", channels.join(", "))
            }
            Self::Subscribed { channels, filter: Some(filter) } => {
                format!("the session subscribed to {} with the filter {filter}", channels.join(", "))
            }
            Self::Unsubscribed(channels) => format!("the session unsubscribed from {}", channels.join(", ")),
            Self::Refused { channel, subscription, error } if subscription.is_empty() => {
                format!("{channel} was refused: {error}")
            }
            Self::Refused { channel, subscription, error } => {
                format!("{channel} of {} was refused: {error}", subscription.join(", "))
            }
            Self::Request { method, path, status, error } => format!("{method} {path} got {status}: {error}"),
            other => other.word().to_owned(),
        }
    }
}

impl RecordFilter {
    /// Returns the filter for what a trace is about, since a moment.
    pub fn of_trace(subject: &TraceSubject, since: Option<Timestamp>) -> Self {
        let (device, user, session) = subject.parts();
        Self {
            since: since.map_or(0, |since| micros(since.instant())),
            about: device.map(|device| device.0),
            user: user.map(ToOwned::to_owned),
            session: session.map(ToOwned::to_owned),
            limit: 0,
        }
    }

    /// Returns whether it matches a record of this receiver about this change. With an object and a receiver, these are
    /// the publications of the object, their notifications at the receiver, and everything else about the receiver.
    pub fn matches(&self, receiver: Option<&TracedReceiver>, change: Option<&TracedChange>) -> bool {
        let concerns = |id| change.is_some_and(|change| change.concerns(id));
        let is_of_receiver = receiver.is_some_and(|receiver| {
            self.user.as_ref().is_none_or(|user| *user == receiver.user)
                && self.session.as_ref().is_none_or(|session| receiver.session.as_ref() == Some(session))
        });
        match (self.about, self.user.is_some() || self.session.is_some()) {
            (None, false) => true,
            (None, true) => is_of_receiver,
            (Some(id), false) => concerns(id),
            (Some(id), true) if receiver.is_none() => concerns(id),
            (Some(id), true) => is_of_receiver && (change.is_none() || concerns(id)),
        }
    }
}

impl Serialize for Linked<'_, TraceRecord> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let record = self.value;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("time", &record.time())?;
        map.serialize_entry("server", &record.server)?;
        map.serialize_entry("number", &record.number)?;
        map.serialize_entry("type", record.event.word())?;
        map.serialize_entry("text", &record.event.in_words())?;
        if let Some(session) = record.session() {
            map.serialize_entry("session", session)?;
        }
        if let Some(user) = record.user() {
            map.serialize_entry("user", user)?;
        }
        if let Some(change) = record.event.change() {
            map.serialize_entry("channel", &change.channel)?;
            map.serialize_entry("action", &change.action)?;
            if let Some(id) = change.id {
                map.serialize_entry("id", &id.to_string())?;
            }
        }
        map.end()
    }
}
