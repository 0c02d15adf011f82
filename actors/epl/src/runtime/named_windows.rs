//! Named windows: rows that statements insert are retained according to the window's view, for all statements of the
//! module that read it.
//!
//! A statement that reads the window directly sees which rows enter and which leave. A statement that adds a view of
//! its own, or is triggered by the window, sees the inserted rows as a stream.

use super::Retained;
use super::timers::Armed;
use super::views::{Entered, Held, View};
use crate::plan::WindowPlan;
use crate::value::{Key, StreamEvent};

/// The approximate size of an event in a window, in bytes, besides its own.
const HELD: usize = 48;

/// The contents of a named window.
#[derive(Debug)]
pub(super) struct NamedWindow {
    view: View<u64>,
    /// The number of the next row. Rows are numbered from 1, in the order they came.
    next: u64,
    pub(super) armed: Armed,
}

/// The rows that entered a window and those that left it, each by its number.
#[derive(Debug, Clone, Default)]
pub(super) struct WindowChange {
    pub(super) entered: Vec<(u64, StreamEvent)>,
    pub(super) left: Vec<u64>,
}

impl NamedWindow {
    pub(super) fn new(plan: &WindowPlan) -> Self {
        Self { view: View::new(&plan.view), next: 1, armed: Armed::default() }
    }

    /// Inserts an event; `key` is its key in a unique view.
    pub(super) fn insert(
        &mut self,
        event: StreamEvent,
        key: Option<Key>,
        now: i64,
        retained: &mut Retained,
    ) -> WindowChange {
        retained.add(event.weight() + HELD);
        let mut left = Vec::new();
        let entered = self.view.insert(event, key, now, &mut left);
        self.change(entered, &left, retained)
    }

    /// Advances the time to `now` and removes the rows that expired.
    pub(super) fn expire(&mut self, now: i64, retained: &mut Retained) -> WindowChange {
        let mut left = Vec::new();
        let entered = self.view.expire(now, &mut left);
        self.change(entered, &left, retained)
    }

    /// Removes the rows with these numbers, which are in ascending order.
    pub(super) fn delete(&mut self, numbers: &[u64], retained: &mut Retained) -> WindowChange {
        let mut left = Vec::new();
        self.view.remove(&mut |held| numbers.binary_search(&held.memory).is_ok(), &mut left);
        self.change(Entered::Nothing, &left, retained)
    }

    /// Returns the contents, oldest first.
    pub(super) fn contents(&self) -> impl Iterator<Item = (u64, &StreamEvent)> {
        self.view.contents().map(|held| (held.memory, &held.event))
    }

    pub(super) fn next_deadline(&self) -> Option<i64> {
        self.view.next_deadline()
    }

    fn change(&mut self, entered: Entered, left: &[Held<u64>], retained: &mut Retained) -> WindowChange {
        let mut change = WindowChange::default();
        for held in self.view.entered_mut(entered) {
            held.memory = self.next;
            self.next += 1;
            change.entered.push((held.memory, held.event.clone()));
        }
        for held in left {
            retained.remove(held.event.weight() + HELD);
            change.left.push(held.memory);
        }
        change
    }
}

impl WindowChange {
    pub(super) fn is_empty(&self) -> bool {
        self.entered.is_empty() && self.left.is_empty()
    }
}
