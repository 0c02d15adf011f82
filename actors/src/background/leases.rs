//! The rows that this process works on and holds by lease, so that another process continues when this one dies.
//!
//! A row has a lease and a number, the fence. A process that takes the row over increments the fence, and every step
//! requires the fence that its process knows. So if two processes both assume that they hold the row, only one can
//! continue.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use platform_model::id::TenantId;

use platform_store::leases::Hold;

/// The rows of one kind that this process holds.
#[derive(Debug, Default)]
pub(crate) struct Leases {
    /// The fence of each row, by tenant and id.
    held: Mutex<HashMap<(TenantId, i64), i64>>,
}

impl Leases {
    /// Returns all rows that are held.
    pub(crate) fn held(&self) -> Vec<Hold> {
        let held = self.held.lock();
        let hold = |((tenant, id), fence): (&(TenantId, i64), &i64)| Hold {
            tenant: tenant.clone(),
            id: *id,
            fence: *fence,
        };
        held.iter().map(hold).collect()
    }

    /// Adds a row. Its lease is renewed until the returned guard is dropped.
    pub(crate) fn add(self: &Arc<Self>, hold: Hold) -> LeaseGuard {
        self.held.lock().insert((hold.tenant.clone(), hold.id), hold.fence);
        LeaseGuard { leases: self.clone(), hold }
    }
}

/// A guard that keeps the lease of a row renewed. The renewal ends with the guard, however its owner ends.
#[derive(Debug)]
pub(crate) struct LeaseGuard {
    leases: Arc<Leases>,
    hold: Hold,
}

impl Drop for LeaseGuard {
    /// Removes the row, unless this process has taken it over again.
    fn drop(&mut self) {
        let mut all = self.leases.held.lock();
        let key = (self.hold.tenant.clone(), self.hold.id);
        if all.get(&key) == Some(&self.hold.fence) {
            all.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hold(fence: i64) -> Hold {
        Hold { tenant: TenantId::parse("main").expect("an id"), id: 7, fence }
    }

    #[test]
    fn row_is_held_until_its_guard_is_dropped() {
        let leases = Arc::new(Leases::default());
        let lease = leases.add(hold(1));
        assert_eq!(leases.held(), [hold(1)]);
        drop(lease);
        assert!(leases.held().is_empty());
    }

    #[test]
    fn dropping_an_older_guard_keeps_the_newer_one() {
        let leases = Arc::new(Leases::default());
        let older = leases.add(hold(1));
        let _newer = leases.add(hold(2));
        drop(older);
        assert_eq!(leases.held(), [hold(2)]);
    }
}
