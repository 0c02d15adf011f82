//! Events in the order they came, of which the oldest leave first.

use std::collections::VecDeque;

use super::{Entered, Held};

/// A window over the last events, or over those of the last time.
#[derive(Debug)]
pub(crate) struct Ring<T> {
    held: VecDeque<Held<T>>,
    bound: Bound,
}

#[derive(Debug, Clone, Copy)]
enum Bound {
    None,
    Length(usize),
    Period(i64),
}

impl<T> Ring<T> {
    pub(super) fn unbounded() -> Self {
        Self { held: VecDeque::new(), bound: Bound::None }
    }

    pub(super) fn of_length(most: usize) -> Self {
        Self { held: VecDeque::new(), bound: Bound::Length(most.max(1)) }
    }

    pub(super) fn for_period(period: i64) -> Self {
        Self { held: VecDeque::new(), bound: Bound::Period(period) }
    }

    pub(super) fn insert(&mut self, held: Held<T>, left: &mut Vec<Held<T>>) -> Entered {
        if let Bound::Length(most) = self.bound
            && self.held.len() >= most
        {
            left.extend(self.held.pop_front());
        }
        self.held.push_back(held);
        Entered::One
    }

    pub(super) fn expire(&mut self, now: i64, left: &mut Vec<Held<T>>) -> Entered {
        while self.next_deadline().is_some_and(|deadline| deadline <= now) {
            left.extend(self.held.pop_front());
        }
        // Half of what a burst took is given back when it is over.
        if self.held.capacity() > 64 && self.held.len() < self.held.capacity() / 4 {
            self.held.shrink_to(self.held.len() * 2);
        }
        Entered::Nothing
    }

    pub(super) fn newest_mut(&mut self) -> &mut [Held<T>] {
        self.held.back_mut().map_or(&mut [], std::slice::from_mut)
    }

    pub(super) fn contents(&self) -> impl Iterator<Item = &Held<T>> {
        self.held.iter()
    }

    pub(super) fn remove(&mut self, chosen: &mut dyn FnMut(&Held<T>) -> bool, left: &mut Vec<Held<T>>) {
        for held in std::mem::take(&mut self.held) {
            if chosen(&held) { left.push(held) } else { self.held.push_back(held) }
        }
    }

    pub(super) fn next_deadline(&self) -> Option<i64> {
        let Bound::Period(period) = self.bound else { return None };
        self.held.front().map(|oldest| oldest.at.saturating_add(period))
    }
}
