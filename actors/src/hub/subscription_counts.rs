//! Counts of subscriptions. Publishers check them first, so that devices without subscriptions cause no work for the
//! hub.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use platform_model::realtime::bayeux::{Pattern, Resource};

/// The number of patterns of a tenant with subscriptions, per resource, for agents and for modules. The hub counts a
/// subscription before its client receives the response, so every later notification is published.
#[derive(Debug, Clone, Default)]
pub(crate) struct SubscriptionCounts(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    resources: [AtomicUsize; Resource::COUNT],
    agents: AtomicUsize,
    modules: AtomicUsize,
}

impl SubscriptionCounts {
    /// Returns whether any channel of this resource has subscriptions. The channels of groups count for managed objects
    /// too, whose changes decide about members (B-39).
    pub(crate) fn has_subscriptions(&self, resource: Resource) -> bool {
        self.0.resources[resource as usize].load(Ordering::Acquire) > 0
    }

    /// Returns whether any agent has a subscription for its operations (B-04).
    pub(crate) fn has_agent_subscriptions(&self) -> bool {
        self.0.agents.load(Ordering::Acquire) > 0
    }

    /// Returns whether any module channel has subscriptions, so that rows are worth encoding (B-05).
    pub(crate) fn has_module_subscriptions(&self) -> bool {
        self.0.modules.load(Ordering::Acquire) > 0
    }

    /// Returns whether there are subscriptions at all.
    pub(crate) fn has_any(&self) -> bool {
        let Counts { resources, agents, modules } = &*self.0;
        resources.iter().chain([agents, modules]).any(|count| count.load(Ordering::SeqCst) > 0)
    }

    /// Counts a pattern with its first subscription.
    pub(super) fn joined(&self, pattern: &Pattern) {
        for count in self.counts_of(pattern) {
            count.fetch_add(1, Ordering::Release);
        }
    }

    /// Removes a pattern whose last subscription ended.
    pub(super) fn left(&self, pattern: &Pattern) {
        for count in self.counts_of(pattern) {
            count.fetch_sub(1, Ordering::Release);
        }
    }

    fn counts_of(&self, pattern: &Pattern) -> impl Iterator<Item = &AtomicUsize> {
        let count = match pattern {
            Pattern::Agent(_) => Some(&self.0.agents),
            Pattern::Module { .. } => Some(&self.0.modules),
            _ => pattern.resource().map(|resource| &self.0.resources[resource as usize]),
        };
        let members = &self.0.resources[Resource::ManagedObjects as usize];
        count.into_iter().chain(matches!(pattern, Pattern::Group(_)).then_some(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use platform_model::id::ManagedObjectId;

    #[test]
    fn agents_are_counted_separately_from_subscriptions_to_operations() {
        let subscription_counts = SubscriptionCounts::default();
        let (agent, watcher) = (Pattern::Agent(ManagedObjectId(7)), Pattern::All(Resource::Operations));
        subscription_counts.joined(&agent);
        assert_eq!(
            (
                subscription_counts.has_agent_subscriptions(),
                subscription_counts.has_subscriptions(Resource::Operations)
            ),
            (true, false)
        );
        subscription_counts.joined(&watcher);
        subscription_counts.left(&agent);
        assert_eq!(
            (
                subscription_counts.has_agent_subscriptions(),
                subscription_counts.has_subscriptions(Resource::Operations)
            ),
            (false, true)
        );
    }

    #[test]
    fn module_subscriptions_are_counted_until_the_last_ends() {
        let subscription_counts = SubscriptionCounts::default();
        let pattern = |statement: Option<&str>| Pattern::Module {
            module: "pumps".into(),
            statement: statement.map(Into::into),
        };
        subscription_counts.joined(&pattern(None));
        subscription_counts.joined(&pattern(Some("hot")));
        assert!(subscription_counts.has_module_subscriptions());
        subscription_counts.left(&pattern(None));
        assert!(subscription_counts.has_module_subscriptions());
        subscription_counts.left(&pattern(Some("hot")));
        assert!(!subscription_counts.has_module_subscriptions());
    }
}
