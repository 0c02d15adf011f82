//! Views: the events of a stream that are retained.
//!
//! As in Esper, an event leaves `win:time` exactly one period after it came, and `win:length` drops the oldest event
//! when one more comes. A batch is kept back and enters as a whole; the events of the previous batch leave then. Time
//! batches are counted from the arrival of the first event; an empty batch after a full one is released once (its
//! events leave), further empty ones are not, and the intervals remain aligned with the first event. `std:unique`
//! drops the previous event of the same key, `std:lastevent` the previous one.

mod batch;
mod ring;
mod unique;

use crate::plan::ViewPlan;
use crate::value::{Key, StreamEvent};
use batch::Batch;
pub(super) use ring::Ring;
use unique::Unique;

/// A retained event, with the data that its owner remembers of it.
#[derive(Debug, Clone)]
pub(super) struct Held<T, E = StreamEvent> {
    /// The event; `()` where only the memory is needed.
    pub(super) event: E,
    /// The time at which the event entered, in milliseconds since 1970.
    pub(super) at: i64,
    pub(super) memory: T,
}

/// The contents of one view.
#[derive(Debug)]
pub(super) enum View<T> {
    Ring(Ring<T>),
    Batch(Batch<T>),
    Unique(Unique<T>),
}

/// The events that entered by the last change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entered {
    /// No event entered, or not yet.
    Nothing,
    /// The event that was inserted last entered.
    One,
    /// All events of the batch that was released entered.
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

    /// Inserts an event; `key` is its key in a unique view. Events that leave because of it are appended to `left`.
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

    /// Advances the time to `now`; events that leave are appended to `left`.
    pub(super) fn expire(&mut self, now: i64, left: &mut Vec<Held<T>>) -> Entered {
        match self {
            Self::Ring(ring) => ring.expire(now, left),
            Self::Batch(batch) => batch.expire(now, left),
            Self::Unique(_) => Entered::Nothing,
        }
    }

    /// Returns the events that entered by the last change, whose result was `entered`.
    pub(super) fn entered_mut(&mut self, entered: Entered) -> &mut [Held<T>] {
        match (entered, self) {
            (Entered::Nothing, _) => &mut [],
            (_, Self::Ring(ring)) => ring.newest_mut(),
            (_, Self::Batch(batch)) => batch.released_mut(),
            (_, Self::Unique(unique)) => unique.newest_mut(),
        }
    }

    /// Returns the contents, oldest first; of a batch view, the batch that was released last.
    pub(super) fn contents(&self) -> Box<dyn Iterator<Item = &Held<T>> + '_> {
        match self {
            Self::Ring(ring) => Box::new(ring.contents()),
            Self::Batch(batch) => Box::new(batch.contents()),
            Self::Unique(unique) => Box::new(unique.contents()),
        }
    }

    /// Removes the events for which `chosen` returns true and appends them to `left`.
    pub(super) fn remove(&mut self, chosen: &mut dyn FnMut(&Held<T>) -> bool, left: &mut Vec<Held<T>>) {
        match self {
            Self::Ring(ring) => ring.remove(chosen, left),
            Self::Batch(batch) => batch.remove(chosen, left),
            Self::Unique(unique) => unique.remove(chosen, left),
        }
    }

    /// Returns the time at which [`expire`](Self::expire) has something to do next.
    pub(super) fn next_deadline(&self) -> Option<i64> {
        match self {
            Self::Ring(ring) => ring.next_deadline(),
            Self::Batch(batch) => batch.next_deadline(),
            Self::Unique(_) => None,
        }
    }
}

/// Returns a period in the runtime's unit of time; at least one millisecond, so that time advances.
pub(super) fn millis(period: std::time::Duration) -> i64 {
    i64::try_from(period.as_millis()).unwrap_or(i64::MAX).max(1)
}
