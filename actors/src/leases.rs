//! What a process is at work on and holds by lease, so that another one goes on with it when this one is gone.
//!
//! What is held is a row with a lease and a number, the fence. Who takes over counts the fence up, and each step has it as its
//! premise: of two processes that both believe to hold a row exactly one goes on.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::model::id::TenantId;
use crate::store::leases::Hold;

/// The rows of one kind that this process holds.
#[derive(Debug, Default)]
pub(crate) struct Leases {
    /// Id and fence, by tenant and id.
    held: Mutex<HashMap<(TenantId, i64), i64>>,
}

impl Leases {
    /// All of them.
    pub(crate) fn held(&self) -> Vec<Hold> {
        let held = self.held.lock();
        let hold = |((tenant, id), fence): (&(TenantId, i64), &i64)| Hold {
            tenant: tenant.clone(),
            id: *id,
            fence: *fence,
        };
        held.iter().map(hold).collect()
    }

    /// Enters what this process holds now; until the result is dropped its lease is renewed.
    pub(crate) fn enter(self: &Arc<Self>, hold: Hold) -> Entered {
        self.held.lock().insert((hold.tenant.clone(), hold.id), hold.fence);
        Entered { leases: self.clone(), hold }
    }
}

/// A row whose lease is renewed. Whatever ends its holder, it is renewed no more.
#[derive(Debug)]
pub(crate) struct Entered {
    leases: Arc<Leases>,
    hold: Hold,
}

impl Drop for Entered {
    /// Takes the row out, unless it was taken over by this same process.
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
    fn what_is_entered_is_held_until_its_holder_ends() {
        let leases = Arc::new(Leases::default());
        let entered = leases.enter(hold(1));
        assert_eq!(leases.held(), [hold(1)]);
        drop(entered);
        assert!(leases.held().is_empty());
    }

    #[test]
    fn end_of_an_older_holder_leaves_the_newer_one_alone() {
        let leases = Arc::new(Leases::default());
        let older = leases.enter(hold(1));
        let _newer = leases.enter(hold(2));
        drop(older);
        assert_eq!(leases.held(), [hold(2)]);
    }
}
