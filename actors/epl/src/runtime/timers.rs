//! Timers: the deadlines of windows and statements, in order.
//!
//! Each owner arms its deadlines here; there may be hundreds of thousands. A deadline that has become void is not
//! removed: it fires, and its owner finds that there is nothing to do.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The owner of a deadline. Of equal deadlines those of windows come first, because statements see the windows'
/// contents; then those of statements in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Owner {
    Window(usize),
    Statement { statement: usize, partition: usize },
}

/// The deadlines in the order of their time, in milliseconds since 1970.
#[derive(Debug, Default)]
pub(super) struct Timers(BinaryHeap<Reverse<(i64, Owner)>>);

/// The earliest deadline that an owner has in [`Timers`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Armed(Option<i64>);

impl Timers {
    /// Arms a timer, so that the owner is called at `deadline`.
    pub(super) fn arm(&mut self, owner: Owner, armed: &mut Armed, deadline: Option<i64>) {
        let Some(deadline) = deadline else { return };
        if armed.0.is_none_or(|known| deadline < known) {
            armed.0 = Some(deadline);
            self.0.push(Reverse((deadline, owner)));
        }
    }

    /// Returns the earliest deadline; it may be void.
    pub(super) fn next(&self) -> Option<i64> {
        self.0.peek().map(|Reverse((deadline, _))| *deadline)
    }

    /// Removes and returns the earliest deadline that is due.
    pub(super) fn take_due(&mut self, now: i64) -> Option<(i64, Owner)> {
        if self.next()? > now {
            return None;
        }
        self.0.pop().map(|Reverse(due)| due)
    }
}

impl Armed {
    /// Returns whether the deadline that fired is the one the owner armed last.
    pub(super) fn went_off(&mut self, deadline: i64) -> bool {
        let is_it = self.0 == Some(deadline);
        if is_it {
            self.0 = None;
        }
        is_it
    }
}
