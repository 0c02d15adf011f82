//! Filters of notifications: conditions in the query language of the inventory (I-08) that are compared in memory with
//! the members of a notification (B-35).
//!
//! A condition means the same as in the inventory, where PostgreSQL compares it; a test compares the results of both.

mod comparison;
mod content;
mod decimal;
mod interned;
mod membership;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::devices::inventory_query::{Condition, Subject};
use crate::error::Result;
pub use content::Content;
pub use membership::Membership;

/// The most values of a notification that one filter looks at. A filter that had to look at more matches, so that
/// nothing is lost, and so that no notification and no filter takes long.
const MOST_VALUES: usize = 10_000;

/// A filter of notifications. All filters with the same text are the same one.
pub struct NotificationFilter {
    text: Box<str>,
    condition: Condition,
}

impl NotificationFilter {
    /// Compiles a filter, or returns the one with this text that is in use.
    ///
    /// # Errors
    /// `Invalid` names the position, the expected syntax and the text at that position.
    pub fn compile(text: &str) -> Result<Arc<Self>> {
        interned::find_or_insert(text, || Condition::parse(text, Subject::Notifications))
    }

    /// Returns the text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether a notification satisfies the condition.
    pub fn matches(&self, content: &Content<'_>) -> bool {
        content.begin();
        comparison::holds(&self.condition, content) || content.is_exhausted()
    }
}

impl PartialEq for NotificationFilter {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for NotificationFilter {}

impl Drop for NotificationFilter {
    fn drop(&mut self) {
        interned::forget(&self.text);
    }
}

impl fmt::Debug for NotificationFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NotificationFilter").field(&self.text).finish()
    }
}

/// A filter is stored and sent as its text.
pub(super) fn serialize<S: Serializer>(
    filter: &Arc<NotificationFilter>,
    to: S,
) -> std::result::Result<S::Ok, S::Error> {
    filter.text.serialize(to)
}

/// Compiles a filter that was stored or sent.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(
    from: D,
) -> std::result::Result<Arc<NotificationFilter>, D::Error> {
    NotificationFilter::compile(&Box::<str>::deserialize(from)?).map_err(de::Error::custom)
}
