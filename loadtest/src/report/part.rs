//! The figures of a part of a load: a group, or all dashboards of a name.

use serde::Serialize;

use super::{Consumed, Deliveries, Kept, Posts, Queries};
use crate::ledger::latency::Delay;
use crate::ledger::session::SessionAudit;

/// The figures of a group, of dashboards or of consumers. Its members have the names of those of a report, so that a
/// threshold finds them in the same places.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Part {
    pub(crate) name: String,
    /// The posts of a group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) posts: Option<Posts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) queries: Option<Queries>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kept: Option<Kept>,
    /// The notifications that its clients received.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) deliveries: Option<Deliveries>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) delays: Vec<Delay>,
    /// The notifications of its consumers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) consumed: Option<Consumed>,
    /// The verdict on its posts and on the sessions of its clients.
    pub(crate) sessions: SessionAudit,
}

impl Part {
    pub(super) fn row(&self) -> String {
        let posts = self.posts.as_ref().map(|posts| format!("  posts {}", posts.brief()));
        let reads = self.queries.as_ref().map(|queries| format!("  reads {}", queries.brief()));
        let notified =
            self.deliveries.as_ref().map(|deliveries| format!("  notified {}", deliveries.brief()));
        let consumed = self.consumed.as_ref().map(|consumed| format!("  consumed {}", consumed.brief()));
        let SessionAudit { lost, doubled, reordered, .. } = self.sessions;
        let faults = match lost + doubled + reordered {
            0 => String::new(),
            _ => format!("  lost {lost}  doubled {doubled}  reordered {reordered}"),
        };
        let parts = [posts, reads, notified, consumed].into_iter().flatten().collect::<String>();
        format!("{}:{parts}{faults}", self.name)
    }
}
