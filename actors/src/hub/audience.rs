//! Whether anybody listens: asked by whoever publishes, so that a fleet nobody watches wakes no hub.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::bayeux::{Pattern, Resource};

/// How many patterns of a tenant's listeners there are for each resource. The hub counts; what is published after a
/// subscription was answered finds it counted.
#[derive(Debug, Clone, Default)]
pub(crate) struct Audience(Arc<[AtomicUsize; Resource::COUNT]>);

impl Audience {
    /// Whether somebody listens to some channel of this resource.
    pub(crate) fn hears(&self, resource: Resource) -> bool {
        self.0[resource as usize].load(Ordering::Acquire) > 0
    }

    /// The first listener of a pattern came.
    pub(super) fn joined(&self, pattern: &Pattern) {
        if let Some(resource) = pattern.resource() {
            self.0[resource as usize].fetch_add(1, Ordering::Release);
        }
    }

    /// The last listener of a pattern left.
    pub(super) fn left(&self, pattern: &Pattern) {
        if let Some(resource) = pattern.resource() {
            self.0[resource as usize].fetch_sub(1, Ordering::Release);
        }
    }
}
