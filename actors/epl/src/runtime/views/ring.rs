//! Events in the order they came, of which the oldest leave first.

use std::collections::VecDeque;

use super::{Entered, Held, millis};
use crate::plan::ViewPlan;
use crate::value::StreamEvent;

/// A window over the last events by number or by time.
#[derive(Debug)]
pub(in crate::runtime) struct Ring<T, E = StreamEvent> {
    held: VecDeque<Held<T, E>>,
    bound: Bound,
}

#[derive(Debug, Clone, Copy)]
enum Bound {
    None,
    Length(usize),
    Period(i64),
}

impl<T, E> Ring<T, E> {
    fn unbounded() -> Self {
        Self { held: VecDeque::new(), bound: Bound::None }
    }

    fn of_length(most: usize) -> Self {
        Self { held: VecDeque::new(), bound: Bound::Length(most.max(1)) }
    }

    fn for_period(period: i64) -> Self {
        Self { held: VecDeque::new(), bound: Bound::Period(period) }
    }

    /// Returns the ring for a view whose events leave in the order they came; none for other views.
    pub(in crate::runtime) fn of(view: &ViewPlan) -> Option<Self> {
        match view {
            ViewPlan::Time(period) => Some(Self::for_period(millis(*period))),
            ViewPlan::Length(most) => Some(Self::of_length(*most)),
            ViewPlan::LastEvent => Some(Self::of_length(1)),
            ViewPlan::KeepAll => Some(Self::unbounded()),
            ViewPlan::TimeBatch(_) | ViewPlan::LengthBatch(_) | ViewPlan::Unique(_) => None,
        }
    }

    /// Returns whether the window is bounded by its length, so that each new event displaces an old one.
    pub(in crate::runtime) fn counts(&self) -> bool {
        matches!(self.bound, Bound::Length(_))
    }

    pub(in crate::runtime) fn insert(&mut self, held: Held<T, E>, left: &mut Vec<Held<T, E>>) -> Entered {
        if let Bound::Length(most) = self.bound
            && self.held.len() >= most
        {
            left.extend(self.held.pop_front());
        }
        self.push(held);
        Entered::One
    }

    pub(in crate::runtime) fn expire(&mut self, now: i64, left: &mut Vec<Held<T, E>>) -> Entered {
        while self.next_deadline().is_some_and(|deadline| deadline <= now) {
            left.extend(self.held.pop_front());
        }
        // After a burst, part of the capacity is released.
        if self.held.capacity() > 64 && self.held.len() < self.held.capacity() / 4 {
            self.held.shrink_to(self.held.len() * 2);
        }
        Entered::Nothing
    }

    pub(super) fn newest_mut(&mut self) -> &mut [Held<T, E>] {
        self.held.back_mut().map_or(&mut [], std::slice::from_mut)
    }

    pub(super) fn contents(&self) -> impl Iterator<Item = &Held<T, E>> {
        self.held.iter()
    }

    pub(super) fn remove(&mut self, chosen: &mut dyn FnMut(&Held<T, E>) -> bool, left: &mut Vec<Held<T, E>>) {
        for held in std::mem::take(&mut self.held) {
            if chosen(&held) { left.push(held) } else { self.push(held) }
        }
    }

    pub(in crate::runtime) fn next_deadline(&self) -> Option<i64> {
        let Bound::Period(period) = self.bound else { return None };
        self.held.front().map(|oldest| oldest.at.saturating_add(period))
    }

    /// Appends an event. A window that is bounded by its length never allocates more than that; until then it grows by
    /// a quarter at a time, since it may be long.
    fn push(&mut self, held: Held<T, E>) {
        let length = self.held.len();
        if let Bound::Length(most) = self.bound
            && length == self.held.capacity()
        {
            self.held.reserve_exact((length / 4).max(4).min(most.saturating_sub(length)));
        }
        self.held.push_back(held);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::value::Match;

    #[test]
    fn length_window_needs_little_more_memory_than_its_events() {
        for most in [1, 3, 100, 1000] {
            let mut ring = Ring::of_length(most);
            let mut left = Vec::new();
            let event = StreamEvent::Match(Arc::new(Match(Box::new([]))));
            for at in 0..3000 {
                ring.insert(Held { event: event.clone(), at, memory: () }, &mut left);
                let (length, capacity) = (ring.held.len(), ring.held.capacity());
                assert!(
                    capacity <= most.min(length + (length / 4).max(4)),
                    "{capacity} for {length} of {most}"
                );
            }
            assert_eq!((ring.held.len(), left.len()), (most, 3000 - most));
            ring.remove(&mut |held| held.at % 2 == 0, &mut left);
            assert!(ring.held.capacity() <= most);
        }
    }
}
