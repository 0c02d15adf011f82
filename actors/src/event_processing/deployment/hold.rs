//! The lease with which this process runs the modules of a tenant, and the time until which the process may rely on it.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// The fraction of a lease, counted from its end, in which its holder does not rely on it any more: one part in this
/// many.
const MARGIN: u32 = 10;

/// A lease from the view of its holder. It is shared by all modules of the tenant.
#[derive(Debug)]
pub(crate) struct Hold {
    fence: i64,
    /// The time until which the process relies on the lease; `None` when the lease is over for good.
    valid_until: Mutex<Option<Instant>>,
}

impl Hold {
    /// Returns a lease of this length that was requested at `asked`. The database granted it later than that, so in
    /// the database it also ends later.
    pub(crate) fn new(fence: i64, asked: Instant, lease: Duration) -> Self {
        Self { fence, valid_until: Mutex::new(Some(valid_until(asked, lease))) }
    }

    /// Returns the fence of the lease; writes carry it.
    pub(crate) fn fence(&self) -> i64 {
        self.fence
    }

    /// Returns whether no other process can have taken over yet. If not, modules pause but do not end: the lease may
    /// still be renewed.
    pub(crate) fn is_valid(&self) -> bool {
        self.valid_until.lock().is_some_and(|until| Instant::now() < until)
    }

    /// Extends the lease after it was renewed, before any other process took over.
    pub(crate) fn renewed(&self, asked: Instant, lease: Duration) {
        if let Some(until) = &mut *self.valid_until.lock() {
            *until = valid_until(asked, lease);
        }
    }

    /// Suspends the lease after its connection was lost: until it is renewed through another one, another process may
    /// take over.
    pub(crate) fn lapse(&self) {
        if let Some(until) = &mut *self.valid_until.lock() {
            *until = Instant::now();
        }
    }

    /// Ends the lease after another process took over, or it was given back.
    pub(crate) fn end(&self) {
        *self.valid_until.lock() = None;
    }
}

fn valid_until(asked: Instant, lease: Duration) -> Instant {
    asked + (lease - lease / MARGIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Duration = Duration::from_secs(10);

    fn ago(seconds: u64) -> Instant {
        Instant::now() - Duration::from_secs(seconds)
    }

    #[test]
    fn lease_is_valid_until_shortly_before_its_end() {
        assert!(Hold::new(1, ago(8), LEASE).is_valid());
        assert!(!Hold::new(1, ago(9), LEASE).is_valid());
    }

    #[test]
    fn lease_that_lapsed_is_valid_again_when_it_is_renewed() {
        let hold = Hold::new(1, ago(20), LEASE);
        hold.renewed(ago(0), LEASE);
        assert!(hold.is_valid());
    }

    #[test]
    fn lease_whose_connection_is_gone_is_invalid_until_it_is_renewed() {
        let hold = Hold::new(1, ago(0), LEASE);
        hold.lapse();
        assert!(!hold.is_valid());
        hold.renewed(ago(0), LEASE);
        assert!(hold.is_valid());
    }

    #[test]
    fn ended_lease_cannot_be_renewed() {
        let hold = Hold::new(1, ago(0), LEASE);
        hold.end();
        hold.renewed(ago(0), LEASE);
        assert!(!hold.is_valid());
    }
}
