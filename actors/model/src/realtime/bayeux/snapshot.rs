//! Subscriptions that begin with a list: the extension of `/meta/subscribe`, and the notifications with the list
//! (B-36).

use serde_json::value::RawValue;

use super::{Channel, Pattern, Resource};
use crate::id::ManagedObjectId;

/// The member of `ext` of a subscription that begins with a list.
pub const SNAPSHOT_EXTENSION: &str = "com.platform.snapshot";

/// The most objects of one notification.
const MOST_MEMBERS: usize = 100;
/// The most bytes of the objects of one notification, unless a single object is larger.
const MOST_BYTES: usize = 64 << 10;
/// The most characters of a value that an error repeats.
const SHOWN: usize = 100;

/// A list that a session can receive before the changes of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SnapshotList {
    /// `GET /alarm/alarms`.
    Alarms,
    /// `GET /event/events`.
    Events,
    /// `GET /devicecontrol/operations`.
    Operations,
    /// `GET /inventory/managedObjects`.
    ManagedObjects,
}

impl SnapshotList {
    const ALL: [Self; 4] = [Self::Alarms, Self::Events, Self::Operations, Self::ManagedObjects];

    /// Returns the name of the list: the member of the collection with its objects.
    pub fn name(self) -> &'static str {
        match self {
            Self::Alarms => "alarms",
            Self::Events => "events",
            Self::Operations => "operations",
            Self::ManagedObjects => "managedObjects",
        }
    }

    /// Returns the parameter of the list that selects what belongs to the channel of an object.
    pub fn object_parameter(self) -> &'static str {
        match self {
            Self::Alarms | Self::Events => "source",
            Self::Operations => "deviceId",
            Self::ManagedObjects => "ids",
        }
    }

    /// Returns the kind of the channels whose changes follow the list.
    fn resource(self) -> Resource {
        match self {
            Self::Alarms => Resource::Alarms,
            Self::Events => Resource::Events,
            Self::Operations => Resource::Operations,
            Self::ManagedObjects => Resource::ManagedObjects,
        }
    }
}

/// A subscription to one channel that begins with a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotRequest {
    /// The list.
    pub list: SnapshotList,
    /// The query of the list, as it follows `?` in a GET.
    pub query: String,
    /// The channel: all objects of the list's kind, or one of them.
    pub pattern: Pattern,
}

impl SnapshotRequest {
    /// Parses the extension of a subscription to these channels.
    ///
    /// # Errors
    /// The Bayeux error: what is wrong, where, the value, and what is allowed.
    pub fn parse(extension: &RawValue, patterns: &[Pattern]) -> Result<Self, String> {
        let (list, query) = member(extension)?;
        let [pattern] = patterns else {
            return Err(format!(
                "400::ext.{SNAPSHOT_EXTENSION} belongs to one channel, and 'subscription' has {}",
                patterns.len()
            ));
        };
        match pattern {
            Pattern::All(resource) | Pattern::Exact(Channel { resource, .. })
                if *resource == list.resource() =>
            {
                Ok(Self { list, query, pattern: pattern.clone() })
            }
            other => Err(format!(
                "400::ext.{SNAPSHOT_EXTENSION}: the list '{}' does not fit to the channel '{other}'; it fits to {} and \
                 to the same channel with the id of an object",
                list.name(),
                Pattern::All(list.resource())
            )),
        }
    }

    /// Returns the object of the channel; `None` for the channel of all objects.
    pub fn object(&self) -> Option<ManagedObjectId> {
        match &self.pattern {
            Pattern::Exact(channel) => Some(channel.id),
            _ => None,
        }
    }

    /// Returns the channel of the notifications with the list. It is one that the subscription receives.
    pub fn channel(&self) -> String {
        match &self.pattern {
            Pattern::All(_) => self.pattern.to_string().replace('*', "snapshot"),
            one => one.to_string(),
        }
    }

    /// Returns the Bayeux messages with the objects of the list, each encoded as JSON, and the marker at their end.
    /// `is_complete` tells whether the list has no further objects.
    pub fn messages(&self, objects: &[Vec<u8>], is_complete: bool) -> Vec<Vec<u8>> {
        let channel = self.channel();
        let message = |action: &str, data: &[u8]| {
            let head = format!(r#"{{"channel":"{channel}","data":{{"realtimeAction":"{action}","data":"#)
                .into_bytes();
            [&head, data, b"}}"].concat()
        };
        let mut messages = Vec::with_capacity(objects.len() / MOST_MEMBERS + 2);
        let mut rest = objects;
        while !rest.is_empty() {
            let mut bytes = 0;
            let fits = |object: &&Vec<u8>| {
                bytes += object.len();
                bytes <= MOST_BYTES
            };
            let count = rest.iter().take(MOST_MEMBERS).take_while(fits).count().max(1);
            let (piece, later) = rest.split_at(count);
            messages.push(message("SNAPSHOT", &[b"[", &*piece.join(&b','), b"]"].concat()));
            rest = later;
        }
        let marker = format!(r#"{{"count":{},"complete":{is_complete}}}"#, objects.len());
        messages.push(message("SNAPSHOT_END", marker.as_bytes()));
        messages
    }
}

/// Returns the list and the query that the extension names.
fn member(extension: &RawValue) -> Result<(SnapshotList, String), String> {
    let names = SnapshotList::ALL.map(|list| format!("'{}'", list.name())).join(", ");
    let wrong = |what: &str| {
        let value: String = extension.get().chars().take(SHOWN).collect();
        Err(format!(
            "400::ext.{SNAPSHOT_EXTENSION} {what}: {value}; allowed is an object with one of {names} and the query of \
             this list as text"
        ))
    };
    let members: Result<std::collections::BTreeMap<String, &RawValue>, _> =
        serde_json::from_str(extension.get());
    let Ok(members) = members else { return wrong("is no object") };
    let mut members = members.into_iter();
    let (Some((name, query)), None) = (members.next(), members.next()) else {
        return wrong("does not name one list");
    };
    let Some(list) = SnapshotList::ALL.into_iter().find(|list| list.name() == name) else {
        return wrong("names an unknown list");
    };
    match serde_json::from_str(query.get()) {
        Ok(query) => Ok((list, query)),
        Err(_) => wrong("has a query that is no text"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::realtime::bayeux::channel::Endpoint;

    fn parse(extension: &str, channels: &[&str]) -> Result<SnapshotRequest, String> {
        let pattern = |channel: &&str| Pattern::parse(Endpoint::Realtime, channel).expect("a channel");
        let patterns: Vec<Pattern> = channels.iter().map(pattern).collect();
        SnapshotRequest::parse(&RawValue::from_string(extension.into()).expect("JSON"), &patterns)
    }

    #[test]
    fn each_list_fits_to_its_channels() {
        for (list, word) in [
            ("alarms", "alarms"),
            ("events", "events"),
            ("operations", "operations"),
            ("managedObjects", "managedobjects"),
        ] {
            let extension = format!(r#"{{"{list}":"pageSize=7"}}"#);
            let all = parse(&extension, &[&format!("/{word}/*")]).expect("it fits");
            assert_eq!((all.object(), all.channel()), (None, format!("/{word}/snapshot")));
            let one = parse(&extension, &[&format!("/{word}/12")]).expect("it fits");
            assert_eq!((one.object(), one.channel()), (Some(ManagedObjectId(12)), format!("/{word}/12")));
            assert_eq!((one.list.name(), &*one.query), (list, "pageSize=7"));
        }
    }

    #[test]
    fn error_names_the_fault_the_value_and_what_is_allowed() {
        let alarms = r#"{"alarms":""}"#;
        let long = format!("\"{}\"", "x".repeat(1000));
        for (extension, channels, parts) in [
            (alarms, &["/events/*"][..], ["'alarms'", "'/events/*'", "/alarms/*"]),
            (alarms, &["/alarmsWithChildren/1"], ["'alarms'", "'/alarmsWithChildren/1'", "/alarms/*"]),
            (alarms, &["/module/*"], ["'alarms'", "'/module/*'", "/alarms/*"]),
            (alarms, &["/alarms/*", "/events/*"], ["one channel", "has 2", SNAPSHOT_EXTENSION]),
            ("7", &["/alarms/*"], ["no object", ": 7;", "'managedObjects'"]),
            ("{}", &["/alarms/*"], ["one list", ": {};", "'managedObjects'"]),
            (r#"{"alarms":"","events":""}"#, &["/alarms/*"], ["one list", r#""events""#, "'managedObjects'"]),
            (r#"{"audits":""}"#, &["/alarms/*"], ["unknown list", r#""audits""#, "'managedObjects'"]),
            (r#"{"alarms":5}"#, &["/alarms/*"], ["no text", ":5}", "as text"]),
            (&long, &["/alarms/*"], ["no object", "xxx;", "'managedObjects'"]),
        ] {
            let error = parse(extension, channels).expect_err(extension);
            assert!(parts.iter().all(|part| error.contains(part)), "{extension} {channels:?}: {error}");
            assert!(error.starts_with("400::") && error.len() < 500, "{error}");
        }
    }

    #[test]
    fn pieces_have_bounds_and_the_marker_has_the_count() {
        let request = parse(r#"{"alarms":""}"#, &["/alarms/*"]).expect("it fits");
        for (objects, size, pieces) in
            [(0, 2, 0), (1, 100_000, 1), (3, 60_000, 3), (250, 2, 3), (100, 655, 1)]
        {
            let objects = vec![format!("\"{}\"", "x".repeat(size - 2)).into_bytes(); objects];
            let messages = request.messages(&objects, false);
            let json =
                |message: &Vec<u8>| serde_json::from_slice::<serde_json::Value>(message).expect("JSON");
            let (end, before) = messages.split_last().expect("a marker");
            assert_eq!(before.len(), pieces, "{} of {size} bytes", objects.len());
            let found: usize = before
                .iter()
                .map(json)
                .map(|message| {
                    assert_eq!(message["channel"], "/alarms/snapshot");
                    assert_eq!(message["data"]["realtimeAction"], "SNAPSHOT");
                    message["data"]["data"].as_array().expect("objects").len()
                })
                .sum();
            assert_eq!(found, objects.len());
            let marker = serde_json::json!({ "count": found, "complete": false });
            assert_eq!(
                json(end)["data"],
                serde_json::json!({ "realtimeAction": "SNAPSHOT_END", "data": marker })
            );
        }
    }
}
