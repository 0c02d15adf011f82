//! A map that mostly holds one entry, which then needs no table: the channel of one device has one listener, its user one
//! session.

use std::collections::HashMap;
use std::hash::Hash;

use crate::own_keys::OwnKeys;

/// Entries by key, which the server made.
#[expect(clippy::box_collection, reason = "without the box one entry took as much as a table")]
#[derive(Debug)]
pub(crate) enum Few<K, V> {
    /// The one entry.
    One(K, V),
    /// Any number; boxed, so that the usual case is not as large as a table.
    Many(Box<HashMap<K, V, OwnKeys>>),
}

impl<K, V> Default for Few<K, V> {
    fn default() -> Self {
        Self::Many(Box::default())
    }
}

impl<K: Eq + Hash, V> Few<K, V> {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::One(..) => 1,
            Self::Many(many) => many.len(),
        }
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether this key has an entry.
    pub(crate) fn contains(&self, key: &K) -> bool {
        match self {
            Self::One(only, _) => only == key,
            Self::Many(many) => many.contains_key(key),
        }
    }

    /// Each entry, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        let (one, many) = match self {
            Self::One(key, value) => (Some((key, value)), None),
            Self::Many(many) => (None, Some(many.iter())),
        };
        one.into_iter().chain(many.into_iter().flatten())
    }

    /// Enters a value; the one that stood there goes.
    pub(crate) fn insert(&mut self, key: K, value: V) {
        *self = match std::mem::take(self) {
            Self::One(only, _) if only == key => Self::One(key, value),
            Self::One(only, its) => Self::Many(Box::new(HashMap::from_iter([(only, its), (key, value)]))),
            Self::Many(many) if many.is_empty() => Self::One(key, value),
            Self::Many(mut many) => {
                many.insert(key, value);
                Self::Many(many)
            }
        }
    }

    /// Takes an entry out. What a crowd needed is given back when it has gone.
    pub(crate) fn remove(&mut self, key: &K) {
        match self {
            Self::One(only, _) if only == key => *self = Self::default(),
            Self::One(..) => {}
            Self::Many(many) => {
                many.remove(key);
                if many.capacity() > 64 && many.len() < many.capacity() / 4 {
                    many.shrink_to_fit();
                }
            }
        }
    }

    /// Keeps what the condition holds for.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&K, &V) -> bool) {
        match self {
            Self::One(key, value) if !keep(key, value) => *self = Self::default(),
            Self::One(..) => {}
            Self::Many(many) => many.retain(|key, value| keep(key, value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(few: &Few<u32, &'static str>) -> Vec<(u32, &'static str)> {
        let mut entries: Vec<_> = few.iter().map(|(key, value)| (*key, *value)).collect();
        entries.sort_unstable();
        entries
    }

    #[test]
    fn entries_are_found_whether_they_are_one_or_many() {
        let mut few = Few::default();
        few.insert(1, "a");
        few.insert(1, "b");
        assert_eq!((few.len(), few.contains(&1), few.contains(&2)), (1, true, false));
        few.insert(2, "c");
        few.insert(3, "d");
        few.remove(&1);
        assert_eq!(sorted(&few), [(2, "c"), (3, "d")]);
        few.retain(|key, _| *key == 9);
        assert!(few.is_empty());
    }

    #[test]
    fn the_only_entry_needs_no_table_and_goes_alone() {
        let mut few = Few::default();
        few.insert(1, "a");
        assert!(matches!(few, Few::One(..)));
        few.remove(&2);
        few.remove(&1);
        assert!(few.is_empty());
        few.insert(2, "b");
        assert_eq!(sorted(&few), [(2, "b")]);
    }
}
