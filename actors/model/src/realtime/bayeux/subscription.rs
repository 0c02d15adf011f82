//! A subscription of a session, or of a consumer: a channel, maybe with a filter (B-35).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Pattern;
use crate::realtime::filter::{self, NotificationFilter};

/// The notifications that a session receives on a channel or a set of channels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub struct Subscription {
    /// The channel.
    pub pattern: Pattern,
    /// The condition on the notifications; `None` for all of them.
    pub filter: Option<Arc<NotificationFilter>>,
}

/// The form in which servers send and store subscriptions: without a filter it is the channel alone.
#[derive(Clone, Serialize, Deserialize)]
#[serde(untagged)]
enum Stored {
    Filtered {
        pattern: Pattern,
        #[serde(serialize_with = "filter::serialize", deserialize_with = "filter::deserialize")]
        filter: Arc<NotificationFilter>,
    },
    Plain(Pattern),
}

impl From<Stored> for Subscription {
    fn from(stored: Stored) -> Self {
        match stored {
            Stored::Filtered { pattern, filter } => Self { pattern, filter: Some(filter) },
            Stored::Plain(pattern) => Self { pattern, filter: None },
        }
    }
}

impl From<Subscription> for Stored {
    fn from(Subscription { pattern, filter }: Subscription) -> Self {
        match filter {
            Some(filter) => Self::Filtered { pattern, filter },
            None => Self::Plain(pattern),
        }
    }
}

impl From<Pattern> for Subscription {
    fn from(pattern: Pattern) -> Self {
        Self { pattern, filter: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::realtime::bayeux::Resource;

    #[test]
    fn subscription_without_a_filter_is_stored_as_its_channel() {
        let pattern = Pattern::All(Resource::Alarms);
        let plain = Subscription::from(pattern.clone());
        let json = serde_json::to_string(&plain).expect("JSON");
        assert_eq!(json, serde_json::to_string(&pattern).expect("JSON"));
        assert_eq!(serde_json::from_str::<Subscription>(&json).expect(&json), plain);
    }

    #[test]
    fn filter_is_stored_as_its_text() {
        let filter = NotificationFilter::compile("severity eq 'CRITICAL'").expect("a filter");
        let module = Pattern::Module { module: "pumps".into(), statement: None };
        for pattern in [Pattern::All(Resource::Alarms), module] {
            let subscription = Subscription { pattern, filter: Some(filter.clone()) };
            let json = serde_json::to_string(&subscription).expect("JSON");
            assert!(json.contains(r#""filter":"severity eq 'CRITICAL'""#), "{json}");
            let restored: Subscription = serde_json::from_str(&json).expect(&json);
            assert_eq!(restored, subscription);
            assert!(Arc::ptr_eq(&restored.filter.expect("a filter"), &filter), "it is the same one");
        }
    }
}
