//! The changes that records of traces name.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::ManagedObjectId;
use crate::realtime::bayeux::Channel;
use crate::realtime::change::PublishedChange;

/// A change that was published.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TracedChange {
    /// The object on whose channels it was published.
    pub source: ManagedObjectId,
    /// The channel of that object.
    pub channel: String,
    /// The id of the changed object; `None` if nothing was stored.
    pub id: Option<i64>,
    /// `CREATE`, `UPDATE` or `DELETE`.
    pub action: String,
}

/// The parts of a Bayeux message that records name.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message {
    channel: String,
    data: Content,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Content {
    realtime_action: String,
    data: Value,
}

impl TracedChange {
    /// Returns what records say about a change that is published on the channels of an object.
    pub fn of(source: ManagedObjectId, change: &PublishedChange) -> Self {
        let (id, action) = change.identity();
        let channel = Channel { resource: change.resource(), id: source };
        Self { source, channel: channel.to_string(), id, action: action.into() }
    }

    /// Returns what records say about a notification that another server has encoded; `None` for one that is not about
    /// a change on the channel of an object.
    pub fn of_message(json: &[u8]) -> Option<Self> {
        let Message { channel, data } = serde_json::from_slice(json).ok()?;
        let source = ManagedObjectId::parse(channel.rsplit('/').next()?).ok()?;
        let id = match &data.data {
            Value::String(id) => Some(id),
            Value::Object(object) => match object.get("id")? {
                Value::String(id) => Some(id),
                _ => None,
            },
            _ => None,
        };
        let id = id.and_then(|id| id.parse().ok());
        Some(Self { source, channel, id, action: data.realtime_action })
    }

    /// Returns the change in words, as the beginning of a sentence.
    pub fn in_words(&self) -> String {
        match self.id {
            Some(id) => format!("{} of {id} on {}", self.action, self.channel),
            None => format!("{} on {}", self.action, self.channel),
        }
    }

    /// Returns whether it is about an object: the changed one, or the one whose channels carry it.
    pub fn concerns(&self, id: i64) -> bool {
        self.id == Some(id) || self.source.0 == id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn change_is_read_from_an_encoded_notification() {
        let traced = |id: &str, action: &str| TracedChange {
            source: ManagedObjectId(7),
            channel: "/alarms/7".into(),
            id: id.parse().ok(),
            action: action.into(),
        };
        let created =
            br#"{"channel":"/alarms/7","id":"3","data":{"realtimeAction":"CREATE","data":{"id":"42"}}}"#;
        assert_eq!(TracedChange::of_message(created), Some(traced("42", "CREATE")));
        let deleted = br#"{"channel":"/alarms/7","id":"3","data":{"realtimeAction":"DELETE","data":"42"}}"#;
        assert_eq!(TracedChange::of_message(deleted), Some(traced("42", "DELETE")));
        let row = br#"{"channel":"/pumps/hot","id":"3","data":{"a":1}}"#;
        assert_eq!(TracedChange::of_message(row), None);
    }
}
