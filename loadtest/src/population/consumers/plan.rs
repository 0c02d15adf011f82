//! The checked description of consumers in a scenario file. Pure data.

use std::time::Duration;

use super::super::between::Between;
use super::super::clients::{OPERATIONS, topic};
use crate::protocol::consumer::reader::Way;
use crate::protocol::object_kind::ObjectKind;

/// The changes that a consumer receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Watched {
    /// New objects of devices.
    Objects(ObjectKind),
    /// Operations.
    Operations,
    /// Managed objects.
    Inventory,
}

/// All kinds of changes, with their words in a file.
pub(crate) const WATCHED: [(&str, Watched); 5] = [
    ("alarms", Watched::Objects(ObjectKind::Alarm)),
    ("events", Watched::Objects(ObjectKind::Event)),
    ("measurements", Watched::Objects(ObjectKind::Measurement)),
    ("operations", Watched::Operations),
    ("inventory", Watched::Inventory),
];

/// The ways to read a consumer, with their words in a file.
pub(crate) const WAYS: [(&str, Way); 2] = [("long-poll", Way::LongPoll), ("events", Way::Events)];

/// Consumers of one kind. Each is read by one reader, as the administrator of the tenant.
#[derive(Debug, Clone)]
pub(crate) struct Consumers {
    pub(crate) name: String,
    /// The index of the tenant; `None` is the tenant of `--user`.
    pub(crate) tenant: Option<usize>,
    pub(crate) count: u32,
    /// The ways, which the consumers use in turn.
    pub(crate) ways: Vec<Way>,
    pub(crate) watches: Vec<Watched>,
    /// The largest number of notifications in the response to a long poll.
    pub(crate) batch: u32,
    /// The time for which the server holds a long poll, to the second.
    pub(crate) wait: Duration,
    /// The pauses of the readers, if they have any.
    pub(crate) away: Option<Away>,
    /// The bounds of the backlog in bytes and seconds; the server has defaults.
    pub(crate) max_bytes: Option<u64>,
    pub(crate) max_age: Option<u64>,
}

/// The times in which a reader is away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Away {
    /// The time from the end of a pause to the next one.
    pub(crate) every: Between,
    pub(crate) lasts: Between,
}

impl Consumers {
    /// Returns the channels.
    pub(super) fn channels(&self) -> Vec<String> {
        let channel = |watched: &Watched| match watched {
            Watched::Objects(object) => format!("{}/*", object.channel()),
            Watched::Operations => "/operations/*".to_owned(),
            Watched::Inventory => "/managedobjects/*".to_owned(),
        };
        self.watches.iter().map(channel).collect()
    }

    /// Returns the topics of the posts that the consumers receive.
    pub(super) fn topics(&self) -> Vec<u32> {
        let topic_of = |watched: &Watched| match watched {
            Watched::Objects(object) => Some(topic(*object)),
            Watched::Operations => Some(OPERATIONS),
            Watched::Inventory => None,
        };
        self.watches.iter().filter_map(topic_of).collect()
    }

    /// Returns whether the channels see every change of a tenant, so that positions have no holes.
    pub(crate) fn is_dense(&self) -> bool {
        WATCHED.iter().all(|(_, watched)| self.watches.contains(watched))
    }
}
