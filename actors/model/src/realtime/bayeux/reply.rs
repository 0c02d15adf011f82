//! Replies to meta messages, with advice (B-07, B-08, B-14, B-22).

use std::fmt::Display;
use std::io::Write;
use std::time::Duration;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::CONSUMER_EXTENSION;
use crate::realtime::consumer::{JournalPosition, Missed};

/// Advice to a client on its next message. Durations are serialized in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Advice {
    /// The time that the client should wait before the next connect.
    pub interval: Option<Duration>,
    /// The time for which the server holds a connect.
    pub timeout: Option<Duration>,
    /// Whether the client should connect again, handshake first, or stop.
    pub reconnect: Reconnect,
}

/// The member `reconnect` of advice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Reconnect {
    /// Connect again.
    Retry,
    /// Handshake, and then subscribe again.
    Handshake,
    /// Do not reconnect.
    None,
}

impl Advice {
    /// The advice for a client whose session has ended (B-14).
    pub const HANDSHAKE: Self =
        Self { interval: Some(Duration::ZERO), timeout: None, reconnect: Reconnect::Handshake };
    /// The advice for a client whose session cannot be used at the moment (B-16a).
    pub const RETRY: Self =
        Self { interval: Some(Duration::ZERO), timeout: None, reconnect: Reconnect::Retry };
    /// The advice for a client that is rejected (B-14).
    pub const NONE: Self = Self { interval: None, timeout: None, reconnect: Reconnect::None };

    /// Returns the advice for a client that may connect again.
    pub fn retry(interval: Duration, timeout: Duration) -> Self {
        Self { interval: Some(interval), timeout: Some(timeout), reconnect: Reconnect::Retry }
    }
}

impl Serialize for Advice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in [("interval", self.interval), ("timeout", self.timeout)] {
            if let Some(value) = value {
                map.serialize_entry(name, &(value.as_millis() as u64))?;
            }
        }
        map.serialize_entry("reconnect", &self.reconnect)?;
        map.end()
    }
}

/// A reply. Absent members are not serialized.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Reply<'a> {
    /// The id of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<&'a RawValue>,
    /// The channel of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<&'a str>,
    /// The protocol version, in handshake replies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<&'static str>,
    /// The oldest supported protocol version, in handshake replies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum_version: Option<&'static str>,
    /// The common connection types, in handshake replies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supported_connection_types: Option<&'a [&'static str]>,
    /// The id of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_id: Option<&'a str>,
    /// The subscription in the form of the request (B-16).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subscription: Option<&'a RawValue>,
    /// Whether the message was accepted.
    pub successful: bool,
    /// The error string (B-14).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<&'a str>,
    /// The advice on the next message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<Advice>,
    /// The acknowledgement extension (B-22).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ext: Option<Acknowledgement>,
}

/// The member `ext` of a reply under the acknowledgement extension (B-22).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acknowledgement {
    /// In a handshake reply: batches will be numbered.
    Enabled,
    /// In a handshake reply: batches will be numbered, and the session delivers the notifications of a consumer.
    EnabledForConsumer {
        /// The last notification that the consumer acknowledged.
        position: JournalPosition,
        /// The notifications that it missed.
        missed: Option<Missed>,
    },
    /// In a connect reply: the number of this batch.
    Batch(i64),
}

impl Serialize for Acknowledgement {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Consumer<'c> {
            position: JournalPosition,
            recovered: bool,
            #[serde(skip_serializing_if = "Option::is_none")]
            missed: Option<&'c Missed>,
        }
        let mut map = serializer.serialize_map(None)?;
        match self {
            Self::Enabled => map.serialize_entry("ack", &true)?,
            Self::EnabledForConsumer { position, missed } => {
                map.serialize_entry("ack", &true)?;
                let consumer =
                    Consumer { position: *position, recovered: missed.is_none(), missed: missed.as_ref() };
                map.serialize_entry(CONSUMER_EXTENSION, &consumer)?;
            }
            Self::Batch(number) => map.serialize_entry("ack", number)?,
        }
        map.end()
    }
}

impl Reply<'_> {
    /// Appends the reply to a response.
    pub fn write(&self, out: &mut Vec<u8>) {
        serde_json::to_writer(out, self).expect("writing to memory does not fail and all keys are strings");
    }

    /// Appends the reply to a connect without further members, the most frequent one.
    pub fn write_connected(id: Option<&RawValue>, client: impl Display, out: &mut Vec<u8>) {
        out.push(b'{');
        if let Some(id) = id {
            write!(out, "\"id\":{id},").expect("memory grows");
        }
        let members = r#""channel":"/meta/connect","clientId":""#;
        write!(out, "{members}{client}\",\"successful\":true}}").expect("memory grows");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_reply_to_a_connect_equals_the_general_one() {
        let id = RawValue::from_string(r#""a 7""#.into()).expect("JSON");
        for id in [None, Some(&*id)] {
            let (mut plain, mut any) = (Vec::new(), Vec::new());
            let (channel, client_id) = (Some("/meta/connect"), Some("0123456789abcdef0123456789abcdef"));
            let reply = Reply { id, channel, client_id, successful: true, ..Reply::default() };

            Reply::write_connected(id, "0123456789abcdef0123456789abcdef", &mut plain);

            reply.write(&mut any);
            assert_eq!(plain, any);
        }
    }

    #[test]
    fn reply_contains_only_members_that_are_set() {
        let mut out = Vec::new();
        let reply = Reply {
            channel: Some("/meta/connect"),
            error: Some(super::super::error::UNKNOWN_CLIENT),
            advice: Some(Advice::HANDSHAKE),
            ..Reply::default()
        };
        reply.write(&mut out);
        let expected = r#"{"channel":"/meta/connect","successful":false,"error":"402::Unknown client","advice":{"interval":0,"reconnect":"handshake"}}"#;
        assert_eq!(String::from_utf8(out).expect("UTF-8"), expected);
    }
}
