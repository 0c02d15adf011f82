//! Counts what the modules of a tenant retain together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use platform_epl::runtime::Retained;

use super::trouble::{Cause, Trouble};
use crate::metrics;

/// The total of bytes that the modules of a tenant retain in this process.
#[derive(Debug)]
pub(crate) struct Total {
    bytes: AtomicUsize,
    most: usize,
}

impl Total {
    /// Returns a total of zero for modules that may retain at most `most` bytes together.
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { bytes: AtomicUsize::new(0), most })
    }
}

/// The share of one module in the total.
#[derive(Debug)]
pub(crate) struct Share {
    total: Arc<Total>,
    own: Retained,
}

impl Share {
    /// Returns the share of a module that retains nothing yet.
    pub(crate) fn new(total: Arc<Total>) -> Self {
        Self { total, own: Retained::default() }
    }

    /// Returns the maximum that all modules of the tenant may retain together.
    pub(super) fn most(&self) -> usize {
        self.total.most
    }

    /// Sets what the module retains now.
    ///
    /// # Errors
    /// A [`Trouble`] when the share grew and the total exceeds its maximum.
    pub(super) fn set(&mut self, retained: Retained) -> Result<(), Trouble> {
        let before = std::mem::replace(&mut self.own, retained);
        metrics::MODULE_RETAINED.increment(retained.events as f64 - before.events as f64);
        if retained.bytes <= before.bytes {
            self.total.bytes.fetch_sub(before.bytes - retained.bytes, Ordering::Relaxed);
            return Ok(());
        }
        let grown = retained.bytes - before.bytes;
        if self.total.bytes.fetch_add(grown, Ordering::Relaxed) + grown <= self.total.most {
            return Ok(());
        }
        let text = format!(
            "the modules of the tenant retain more than {} bytes together, {} of them this one",
            self.total.most, retained.bytes
        );
        Err(Trouble::new(Cause::Retained, text))
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.total.bytes.fetch_sub(self.own.bytes, Ordering::Relaxed);
        metrics::MODULE_RETAINED.decrement(self.own.events as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(bytes: usize) -> Retained {
        Retained { events: 1, bytes }
    }

    #[test]
    fn module_that_exceeds_the_retention_of_its_tenant_is_rejected_and_others_are_not() {
        let total = Total::new(100);
        let (mut one, mut other) = (Share::new(total.clone()), Share::new(total));
        one.set(bytes(60)).unwrap();
        other.set(bytes(40)).unwrap();

        let refused = other.set(bytes(41)).unwrap_err();

        assert_eq!(refused.cause, Cause::Retained);
        one.set(bytes(60)).unwrap();
    }

    #[test]
    fn memory_that_one_module_frees_can_be_retained_by_another() {
        let total = Total::new(100);
        let (mut one, mut other) = (Share::new(total.clone()), Share::new(total.clone()));
        one.set(bytes(90)).unwrap();
        one.set(bytes(20)).unwrap();
        other.set(bytes(80)).unwrap();
        drop(one);

        assert_eq!(total.bytes.load(Ordering::Relaxed), 80);
        other.set(bytes(100)).unwrap();
    }
}
