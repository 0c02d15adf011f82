//! The two sides of a join: the events that each retains, and the keys by which they are found.

use std::collections::{BTreeMap, HashMap};

use super::join_conditions::JoinKeys;
use super::results::Results;
use super::step::Step;
use super::views::{Entered, Held, View};
use crate::plan::{SourcePlan, Stream};
use crate::value::{Key, StreamEvent, Value};

/// The approximate additional size of an event on a side, in bytes.
pub(super) const LINKED: usize = 192;

/// One side of a join in one partition.
#[derive(Debug)]
pub(super) struct Side {
    pub(super) kept: Kept,
    /// The events of the side by key, and under each key by sequence number. An event whose key contains a null has
    /// no partners.
    pub(super) index: HashMap<Key, BTreeMap<u64, StreamEvent>>,
    next: u64,
}

/// The events that a side of a join retains.
#[derive(Debug)]
pub(super) enum Kept {
    Nothing,
    View(View<Linked>),
    /// The rows of a named window, by their numbers there.
    Contents(HashMap<u64, Option<Key>>),
}

/// The sequence number and the key under which an event is indexed.
#[derive(Debug, Clone, Default)]
pub(super) struct Linked {
    pub(super) number: u64,
    pub(super) key: Option<Key>,
}

/// An event that entered a side, with its sequence number.
#[derive(Debug)]
pub(super) struct EnteredEvent {
    pub(super) number: u64,
    pub(super) key: Option<Key>,
    pub(super) event: StreamEvent,
}

/// The events that entered and left one side.
#[derive(Debug, Default)]
pub(super) struct SideChange {
    pub(super) entered: Vec<EnteredEvent>,
    pub(super) left: Vec<Linked>,
}

impl Side {
    pub(super) fn new(source: &SourcePlan, streams: &[Stream]) -> Self {
        let kept = match (&source.view, &streams[source.stream]) {
            (Some(view), _) => Kept::View(View::new(view)),
            (None, Stream::Window(_)) => Kept::Contents(HashMap::new()),
            (None, _) => Kept::Nothing,
        };
        Self { kept, index: HashMap::new(), next: 1 }
    }

    /// Returns the events that may be paired with one of this key, in the order they came.
    pub(super) fn partners(&self, key: Option<&Key>) -> impl Iterator<Item = (u64, &StreamEvent)> {
        key.and_then(|key| self.index.get(key)).into_iter().flatten().map(|(number, event)| (*number, event))
    }

    /// Adds an event that is not retained.
    pub(super) fn pass(
        &mut self,
        side: usize,
        event: &StreamEvent,
        keys: &JoinKeys,
        results: &Results,
        step: &mut Step<'_>,
    ) -> SideChange {
        let key = link_key(side, event, keys, results, step);
        let number = self.number();
        SideChange { entered: vec![EnteredEvent { number, key, event: event.clone() }], left: Vec::new() }
    }

    pub(super) fn change(
        &mut self,
        side: usize,
        entered: Entered,
        left: Vec<Held<Linked>>,
        keys: &JoinKeys,
        results: &Results,
        step: &mut Step<'_>,
    ) -> SideChange {
        let mut change = SideChange::default();
        let Kept::View(view) = &mut self.kept else { return change };
        for held in view.entered_mut(entered) {
            let key = link_key(side, &held.event, keys, results, step);
            held.memory = Linked { number: self.next, key: key.clone() };
            self.next += 1;
            change.entered.push(EnteredEvent { number: held.memory.number, key, event: held.event.clone() });
        }
        for held in left {
            step.retained.remove(held.event.weight() + LINKED);
            change.left.push(held.memory);
        }
        change
    }

    fn number(&mut self) -> u64 {
        let number = self.next;
        self.next += 1;
        number
    }

    pub(super) fn link(&mut self, change: &SideChange) {
        for EnteredEvent { number, key, event } in &change.entered {
            if let Some(key) = key {
                self.index.entry(key.clone()).or_default().insert(*number, event.clone());
            }
        }
        for Linked { number, key } in &change.left {
            self.unlink(*number, key.as_ref());
        }
    }

    /// Removes events that are not retained from the index.
    pub(super) fn unlink_passing(&mut self, change: &SideChange) {
        if matches!(self.kept, Kept::Nothing) {
            for EnteredEvent { number, key, .. } in &change.entered {
                self.unlink(*number, key.as_ref());
            }
        }
    }

    fn unlink(&mut self, number: u64, key: Option<&Key>) {
        let Some(key) = key else { return };
        if let Some(events) = self.index.get_mut(key) {
            events.remove(&number);
            if events.is_empty() {
                self.index.remove(key);
            }
        }
    }
}

impl SideChange {
    pub(super) fn append(&mut self, mut other: Self) {
        self.entered.append(&mut other.entered);
        self.left.append(&mut other.left);
    }
}

/// Returns the key by which the other side looks up the event; `None` when a part of it is null or cannot be
/// evaluated.
pub(super) fn link_key(
    side: usize,
    event: &StreamEvent,
    keys: &JoinKeys,
    results: &Results,
    step: &mut Step<'_>,
) -> Option<Key> {
    let sources = if side == 0 { [Some(event), None] } else { [None, Some(event)] };
    let key = step.key(&keys.0[side], sources, results.keys())?;
    (!key.0.iter().any(|value| matches!(value, Value::Null))).then_some(key)
}
