//! Views: what is retained of a stream.
//!
//! As in Esper: of `win:time` an event leaves exactly its period after it came; `win:length` drops the oldest when one more comes.
//! A batch is kept back and comes as a whole; what came with the batch before leaves then. Time batches are counted from the arrival
//! of the first event; an empty batch after a full one is released once (what was there leaves), further empty ones are not, and
//! the rhythm stays that of the first event. `std:unique` drops the last event of the same key, `std:lastevent` the last one.

mod batch;
mod ring;
mod unique;

use crate::event_processing::plan::ViewPlan;
use crate::event_processing::stream::StreamEvent;
use crate::event_processing::value::Key;
use batch::Batch;
pub(super) use ring::Ring;
use unique::Unique;

/// An event that is retained, with what its keeper remembers of it.
#[derive(Debug, Clone)]
pub(super) struct Held<T, E = StreamEvent> {
    /// Nothing where nobody asks for it any more.
    pub(super) event: E,
    /// When it came, in milliseconds since 1970.
    pub(super) at: i64,
    pub(super) memory: T,
}

/// What one view retains.
#[derive(Debug)]
pub(super) enum View<T> {
    Ring(Ring<T>),
    Batch(Batch<T>),
    Unique(Unique<T>),
}

/// What came in by the last change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entered {
    /// Nothing, or not yet.
    Nothing,
    /// The event that was inserted last.
    One,
    /// All of the batch that was released.
    Batch,
}

impl<T: Default> View<T> {
    pub(super) fn new(plan: &ViewPlan) -> Self {
        match (Ring::of(plan), plan) {
            (Some(ring), _) => Self::Ring(ring),
            (None, ViewPlan::TimeBatch(period)) => Self::Batch(Batch::for_period(millis(*period))),
            (None, ViewPlan::LengthBatch(length)) => Self::Batch(Batch::of_length(*length)),
            (None, _) => Self::Unique(Unique::default()),
        }
    }

    /// Takes in an event; `key` is that of a unique view. What leaves for it is appended to `left`.
    pub(super) fn insert(
        &mut self,
        event: StreamEvent,
        key: Option<Key>,
        now: i64,
        left: &mut Vec<Held<T>>,
    ) -> Entered {
        let held = Held { event, at: now, memory: T::default() };
        match self {
            Self::Ring(ring) => ring.insert(held, left),
            Self::Batch(batch) => batch.insert(held, left),
            Self::Unique(unique) => unique.insert(key.unwrap_or_else(|| Key(Vec::new())), held, left),
        }
    }

    /// Time has come to `now`: what leaves is appended to `left`.
    pub(super) fn expire(&mut self, now: i64, left: &mut Vec<Held<T>>) -> Entered {
        match self {
            Self::Ring(ring) => ring.expire(now, left),
            Self::Batch(batch) => batch.expire(now, left),
            Self::Unique(_) => Entered::Nothing,
        }
    }

    /// What came in by the last change, which told `entered`.
    pub(super) fn entered_mut(&mut self, entered: Entered) -> &mut [Held<T>] {
        match (entered, self) {
            (Entered::Nothing, _) => &mut [],
            (_, Self::Ring(ring)) => ring.newest_mut(),
            (_, Self::Batch(batch)) => batch.released_mut(),
            (_, Self::Unique(unique)) => unique.newest_mut(),
        }
    }

    /// What is in it, oldest first; of a batch what was released last.
    pub(super) fn contents(&self) -> Box<dyn Iterator<Item = &Held<T>> + '_> {
        match self {
            Self::Ring(ring) => Box::new(ring.contents()),
            Self::Batch(batch) => Box::new(batch.contents()),
            Self::Unique(unique) => Box::new(unique.contents()),
        }
    }

    /// Takes out what `chosen` says; it is appended to `left`.
    pub(super) fn remove(&mut self, chosen: &mut dyn FnMut(&Held<T>) -> bool, left: &mut Vec<Held<T>>) {
        match self {
            Self::Ring(ring) => ring.remove(chosen, left),
            Self::Batch(batch) => batch.remove(chosen, left),
            Self::Unique(unique) => unique.remove(chosen, left),
        }
    }

    /// When [`expire`](Self::expire) has something to do next.
    pub(super) fn next_deadline(&self) -> Option<i64> {
        match self {
            Self::Ring(ring) => ring.next_deadline(),
            Self::Batch(batch) => batch.next_deadline(),
            Self::Unique(_) => None,
        }
    }
}

/// A period as the runtime counts time; at least one millisecond, so that time goes on.
pub(super) fn millis(period: std::time::Duration) -> i64 {
    i64::try_from(period.as_millis()).unwrap_or(i64::MAX).max(1)
}
