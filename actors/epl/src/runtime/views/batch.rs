//! Batches: events are kept back until there are enough of them, or their period is over, and are then released
//! together.

use super::{Entered, Held};

#[derive(Debug)]
pub(crate) struct Batch<T> {
    /// The events that are kept back.
    waiting: Vec<Held<T>>,
    /// The events of the last batch.
    released: Vec<Held<T>>,
    bound: Bound,
}

#[derive(Debug, Clone, Copy)]
enum Bound {
    Length(usize),
    Period {
        millis: i64,
        /// The end of the batch, set by the first event. Later ends follow in whole periods.
        end: Option<i64>,
    },
}

impl<T> Batch<T> {
    pub(super) fn of_length(length: usize) -> Self {
        Self::new(Bound::Length(length.max(1)))
    }

    pub(super) fn for_period(millis: i64) -> Self {
        Self::new(Bound::Period { millis, end: None })
    }

    fn new(bound: Bound) -> Self {
        Self { waiting: Vec::new(), released: Vec::new(), bound }
    }

    pub(super) fn insert(&mut self, held: Held<T>, left: &mut Vec<Held<T>>) -> Entered {
        let now = held.at;
        let rests = self.rests();
        self.waiting.push(held);
        match &mut self.bound {
            Bound::Length(length) if self.waiting.len() >= *length => self.release(left),
            Bound::Length(_) => Entered::Nothing,
            Bound::Period { millis, end } => {
                match end {
                    None => *end = Some(now.saturating_add(*millis)),
                    Some(end) if rests => *end = next_end(*end, *millis, now),
                    Some(_) => {}
                }
                Entered::Nothing
            }
        }
    }

    pub(super) fn expire(&mut self, now: i64, left: &mut Vec<Held<T>>) -> Entered {
        if self.next_deadline().is_none_or(|deadline| deadline > now) {
            return Entered::Nothing;
        }
        if let Bound::Period { millis, end: Some(end) } = &mut self.bound {
            *end = end.saturating_add(*millis);
        }
        self.release(left)
    }

    pub(super) fn released_mut(&mut self) -> &mut [Held<T>] {
        &mut self.released
    }

    pub(super) fn contents(&self) -> impl Iterator<Item = &Held<T>> {
        self.released.iter()
    }

    /// Events that are kept back have not entered yet, so they cannot leave.
    pub(super) fn remove(&mut self, chosen: &mut dyn FnMut(&Held<T>) -> bool, left: &mut Vec<Held<T>>) {
        for held in std::mem::take(&mut self.released) {
            if chosen(&held) { left.push(held) } else { self.released.push(held) }
        }
    }

    pub(super) fn next_deadline(&self) -> Option<i64> {
        match self.bound {
            Bound::Period { end, .. } if !self.rests() => end,
            _ => None,
        }
    }

    /// Returns whether there is nothing to release and nothing to remove.
    fn rests(&self) -> bool {
        self.waiting.is_empty() && self.released.is_empty()
    }

    fn release(&mut self, left: &mut Vec<Held<T>>) -> Entered {
        left.append(&mut self.released);
        self.released = std::mem::take(&mut self.waiting);
        Entered::Batch
    }
}

/// Returns the first end after `now`, in whole periods from a known one.
fn next_end(end: i64, millis: i64, now: i64) -> i64 {
    if end > now {
        return end;
    }
    let missed = now.saturating_sub(end) / millis + 1;
    end.saturating_add(missed.saturating_mul(millis))
}
