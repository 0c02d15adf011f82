//! That this process runs the modules of a tenant, and until when it may believe so.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Part of a lease, counted from its end, in which its holder does not rely on it any more.
const MARGIN: u32 = 10;

/// A lease as its holder believes in it. Shared by all modules of the tenant.
#[derive(Debug)]
pub(crate) struct Hold {
    fence: i64,
    /// `None` when it is over for good.
    believed_until: Mutex<Option<Instant>>,
}

impl Hold {
    /// A lease of this length that was asked for at `asked`: the database granted it later than that, so it ends later there.
    pub(crate) fn new(fence: i64, asked: Instant, lease: Duration) -> Self {
        Self { fence, believed_until: Mutex::new(Some(believed_until(asked, lease))) }
    }

    /// The number by which it is held; writes carry it.
    pub(crate) fn fence(&self) -> i64 {
        self.fence
    }

    /// Whether nobody can have taken over yet. When not, modules neither go on nor are they over: it may still be renewed.
    pub(crate) fn is_believed(&self) -> bool {
        self.believed_until.lock().is_some_and(|until| Instant::now() < until)
    }

    /// It was renewed; nobody had taken over.
    pub(crate) fn renewed(&self, asked: Instant, lease: Duration) {
        if let Some(until) = &mut *self.believed_until.lock() {
            *until = believed_until(asked, lease);
        }
    }

    /// The connection by which it is held is gone: until it was renewed by another, somebody may take over.
    pub(crate) fn lapse(&self) {
        if let Some(until) = &mut *self.believed_until.lock() {
            *until = Instant::now();
        }
    }

    /// Somebody took over, or it was given back.
    pub(crate) fn end(&self) {
        *self.believed_until.lock() = None;
    }
}

fn believed_until(asked: Instant, lease: Duration) -> Instant {
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
    fn lease_is_believed_in_until_shortly_before_its_end() {
        assert!(Hold::new(1, ago(8), LEASE).is_believed());
        assert!(!Hold::new(1, ago(9), LEASE).is_believed());
    }

    #[test]
    fn lease_that_lapsed_is_believed_in_again_when_it_is_renewed() {
        let hold = Hold::new(1, ago(20), LEASE);
        hold.renewed(ago(0), LEASE);
        assert!(hold.is_believed());
    }

    #[test]
    fn lease_whose_connection_is_gone_is_not_believed_in_until_it_is_renewed() {
        let hold = Hold::new(1, ago(0), LEASE);
        hold.lapse();
        assert!(!hold.is_believed());
        hold.renewed(ago(0), LEASE);
        assert!(hold.is_believed());
    }

    #[test]
    fn lease_that_is_over_stays_so() {
        let hold = Hold::new(1, ago(0), LEASE);
        hold.end();
        hold.renewed(ago(0), LEASE);
        assert!(!hold.is_believed());
    }
}
