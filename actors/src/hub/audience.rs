//! Whether anybody listens: asked by whoever publishes, so that a fleet nobody watches wakes no hub.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::bayeux::{Pattern, Resource};

/// How many patterns of a tenant's listeners there are for each resource, for agents, and for modules. The hub counts; what is published
/// after a subscription was answered finds it counted.
#[derive(Debug, Clone, Default)]
pub(crate) struct Audience(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    resources: [AtomicUsize; Resource::COUNT],
    agents: AtomicUsize,
    modules: AtomicUsize,
}

impl Audience {
    /// Whether somebody listens to some channel of this resource.
    pub(crate) fn hears(&self, resource: Resource) -> bool {
        self.0.resources[resource as usize].load(Ordering::Acquire) > 0
    }

    /// Whether some agent waits for operations (B-04).
    pub(crate) fn has_agents(&self) -> bool {
        self.0.agents.load(Ordering::Acquire) > 0
    }

    /// Whether somebody listens to some module, so that it is worth encoding what its statements make (B-05).
    pub(crate) fn hears_modules(&self) -> bool {
        self.0.modules.load(Ordering::Acquire) > 0
    }

    /// The first listener of a pattern came.
    pub(super) fn joined(&self, pattern: &Pattern) {
        if let Some(count) = self.count_of(pattern) {
            count.fetch_add(1, Ordering::Release);
        }
    }

    /// The last listener of a pattern left.
    pub(super) fn left(&self, pattern: &Pattern) {
        if let Some(count) = self.count_of(pattern) {
            count.fetch_sub(1, Ordering::Release);
        }
    }

    fn count_of(&self, pattern: &Pattern) -> Option<&AtomicUsize> {
        match pattern {
            Pattern::Agent(_) => Some(&self.0.agents),
            Pattern::Module { .. } => Some(&self.0.modules),
            _ => pattern.resource().map(|resource| &self.0.resources[resource as usize]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::id::ManagedObjectId;

    #[test]
    fn agents_are_counted_apart_from_those_who_watch_operations() {
        let audience = Audience::default();
        let (agent, watcher) = (Pattern::Agent(ManagedObjectId(7)), Pattern::All(Resource::Operations));
        audience.joined(&agent);
        assert_eq!((audience.has_agents(), audience.hears(Resource::Operations)), (true, false));
        audience.joined(&watcher);
        audience.left(&agent);
        assert_eq!((audience.has_agents(), audience.hears(Resource::Operations)), (false, true));
    }

    #[test]
    fn listeners_of_modules_are_counted_until_the_last_leaves() {
        let audience = Audience::default();
        let pattern = |statement: Option<&str>| Pattern::Module {
            module: "pumps".into(),
            statement: statement.map(Into::into),
        };
        audience.joined(&pattern(None));
        audience.joined(&pattern(Some("hot")));
        assert!(audience.hears_modules());
        audience.left(&pattern(None));
        assert!(audience.hears_modules());
        audience.left(&pattern(Some("hot")));
        assert!(!audience.hears_modules());
    }
}
