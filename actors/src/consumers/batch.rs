//! The results of a reader of a consumer: a batch of notifications, or an interruption.

use std::sync::Arc;

use platform_model::realtime::consumer::{JournalPosition, Missed};
use platform_store::realtime::journal::JournalEntry;

/// Notifications of a consumer, in order.
#[derive(Debug)]
pub struct Batch {
    /// The position up to which the journal was read; to acknowledge it acknowledges everything before.
    pub position: JournalPosition,
    /// The notifications that the consumer will never receive, until their end is acknowledged.
    pub missed: Option<Missed>,
    /// The number of entries of the journal after `position` that are known.
    pub remaining: i64,
    /// The notifications.
    pub notifications: Vec<ReadNotification>,
}

/// A notification of a consumer.
#[derive(Debug)]
pub struct ReadNotification {
    /// The channel on which the consumer receives it.
    pub channel: String,
    /// Its entry in the journal.
    pub entry: Arc<JournalEntry>,
}

/// An event that ends the wait of a reader early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interruption {
    /// The consumer was changed, or rights of users were: the client has to ask again.
    Changed,
    /// Another reader of the consumer took over.
    Superseded,
}
