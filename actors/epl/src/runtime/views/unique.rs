//! A view of the last event of each key.

use std::collections::{BTreeMap, HashMap};

use super::{Entered, Held};
use crate::value::Key;

#[derive(Debug)]
pub(crate) struct Unique<T> {
    /// The number of the event of each key.
    numbers: HashMap<Key, u64>,
    /// The events by their number, which is the order they came in.
    held: BTreeMap<u64, Held<T>>,
    next: u64,
}

impl<T> Default for Unique<T> {
    fn default() -> Self {
        Self { numbers: HashMap::new(), held: BTreeMap::new(), next: 0 }
    }
}

impl<T> Unique<T> {
    pub(super) fn insert(&mut self, key: Key, held: Held<T>, left: &mut Vec<Held<T>>) -> Entered {
        let number = self.next;
        self.next += 1;
        if let Some(before) = self.numbers.insert(key, number) {
            left.extend(self.held.remove(&before));
        }
        self.held.insert(number, held);
        Entered::One
    }

    pub(super) fn newest_mut(&mut self) -> &mut [Held<T>] {
        self.held.last_entry().map_or(&mut [], |entry| std::slice::from_mut(entry.into_mut()))
    }

    pub(super) fn contents(&self) -> impl Iterator<Item = &Held<T>> {
        self.held.values()
    }

    pub(super) fn remove(&mut self, chosen: &mut dyn FnMut(&Held<T>) -> bool, left: &mut Vec<Held<T>>) {
        left.extend(self.held.extract_if(.., |_, held| chosen(held)).map(|(_, held)| held));
        let held = &self.held;
        self.numbers.retain(|_, number| held.contains_key(number));
    }
}
